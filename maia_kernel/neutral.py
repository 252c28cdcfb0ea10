"""Untrusted text made harmless to look at: what it hides becomes visible, what it controls is gone.

Characters that a screen would obey (control codes, ANSI sequences), reorder (bidirectional marks) or
not show at all (zero width, tags) could make a command look like another one. `visible` loses nothing
and is for text that a person decides on; `output` is for what a program printed.
"""

import re

# Control codes except newline and tab, soft hyphen, Arabic letter mark, Hangul fillers (blank letters),
# Mongolian separator, zero width and direction marks, line separators, invisible operators, byte order
# mark, interlinear marks, lone surrogates, tag characters and the variation selectors that can carry data.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f\U000e0100-\U000e01ef]"
)
# ECMA-48: CSI sequences, strings (OSC, DCS, SOS, PM, APC) up to their terminator, other escapes.
_ANSI = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]"
    "|(?:\x1b[\\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\\\|\x9c)?"
    "|\x1b[ -/]*[0-~]"
)
_JOINERS = "\u200c\u200d"  # needed by Persian, by Indic scripts and by compound emoji


def visible(text: str) -> str:
    """`text` with every hidden character shown as a sign of its own; newlines and tabs stay."""
    return _HIDDEN.sub(_sign, text.replace("\r\n", "\n"))


def line(text: str) -> str:
    """`text` on one line: `visible`, line breaks as `⏎`, runs of spaces as one."""
    return " ".join(visible(text.strip()).replace("\n", " ⏎ ").split())


def prose(text: str) -> str:
    """`text` of a model: `visible`, but for the joiners that languages and emoji need.

    Works piece by piece on a stream: no sequence reaches a terminal, however it is cut.
    """
    return _HIDDEN.sub(lambda m: m[0] if m[0] in _JOINERS else _sign(m), text)


def output(text: str) -> str:
    """What a program printed, as a terminal would have left it: no ANSI, overwritten lines gone."""
    plain = _ANSI.sub("", text).replace("\r\n", "\n")
    if "\r" in plain:
        plain = "\n".join(row.rstrip("\r").rsplit("\r", 1)[-1] for row in plain.split("\n"))
    return prose(plain)


def _sign(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)  # Unicode "Control Pictures"
    return "␡" if code == 0x7F else f"⟨U+{code:04X}⟩"
