"""Untrusted text made harmless to look at: what it hides becomes visible, what it controls is gone.

Characters that a screen would obey (control codes, ANSI sequences), reorder (bidirectional marks), not
show at all (zero width, tags), pile up (combining marks) or show as something else (letters of other
scripts that look Latin) could make a command look like another one. `visible` loses nothing and is for
text that a person decides on; `output` is for what a program printed.
"""

import re
import unicodedata
from functools import cache
from typing import Final

# Control codes except newline and tab, soft hyphen, invisible joiners and fillers (combining grapheme
# joiner, Hangul fillers, Khmer inherent vowels, Mongolian separators), Arabic letter mark, Syriac mark,
# zero width and direction marks, line separators, invisible operators, byte order mark, interlinear
# marks, lone surrogates, format controls of musical and other notations, tag characters and the
# variation selectors that can carry data: Unicode's Default_Ignorable_Code_Point and category Cf.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u070f\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb"
    "\ud800-\udfff\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
# Where a decision is made: also blanks that are not the space they look like (category Zs, Braille
# blank), the emoji selector, which is not seen after other signs, and signs that look like those of
# shells and paths: full width and mathematical letters, Roman numerals, slashes, colons, a semicolon,
# dots, and dashes where an option would begin.
_DECEIVING = re.compile(
    f"{_HIDDEN.pattern}|[\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000\ufe0f]"
    "|[\uff01-\uff5e\U0001d400-\U0001d7ff\u2160-\u217f\u2044\u2215\u29f8\u2236\ua789\u037e\u2024\u01c3]"
    r"|(?<!\S)[\u2010-\u2015\u2212\ufe58\ufe63](?=\w)"
)
# Letters that look like Latin ones (after UTS 39, "confusables"): Cyrillic, Greek, Armenian, IPA.
_LOOKALIKES = frozenset(
    "аеорсухѕіјһԁԛԝҽѵьгАВЕКМНОРСТУХЅІЈҮԌԚԜЬЗονρυικταγωΑΒΕΖΗΙΚΜΝΟΡΤΥΧօսոցհքյզɡɑıɩ"
)
_WORD = re.compile(r"[^\W\d_]+")
_WIDE = re.compile("[ \t]{80,}|\t{20,}")
"""So many blanks that what follows them would be looked for elsewhere."""
_MOST_MARKS: Final = 4
"""Combining marks on one letter; no language has more."""
# ECMA-48: CSI sequences, strings (OSC, DCS, SOS, PM, APC) up to their terminator, other escapes.
_ANSI = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]"
    "|(?:\x1b[\\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\\\|\x9c)?"
    "|\x1b[ -/]*[0-~]"
)
_JOINERS = "\u200c\u200d"  # needed by Persian, by Indic scripts and by compound emoji


def visible(text: str) -> str:
    """`text` with every deceiving character shown as a sign of its own; newlines and tabs stay."""
    if not text.isascii():
        text = _without_floods(text)
        text = "\n".join(row if row.isascii() else _told_apart(row) for row in text.split("\n"))
    return _WIDE.sub(_blanks, _DECEIVING.sub(_sign, text))


def line(text: str) -> str:
    """`text` on one line: `visible`, line breaks as `⏎`, blanks that one would overlook as `␣`."""
    rows = visible(text.replace("\r\n", "\n").strip("\n")).split("\n")
    if len(rows) > 1:
        rows = [row.strip() for row in rows]  # how lines are indented says nothing here
    rows = [re.sub(r"^ +| +$| {2,}", _blanks, row.replace("\t", "␉")) for row in rows]
    return " ".join(" ⏎ ".join(rows).split())


def prose(text: str) -> str:
    """`text` of a model: without control, but with the joiners and blanks that languages need.

    Works piece by piece on a stream: no sequence reaches a terminal, however it is cut.
    """
    if not text.isascii():
        text = _without_floods(text)
    return _HIDDEN.sub(lambda m: m[0] if m[0] in _JOINERS else _sign(m), text)


def output(text: str) -> str:
    """What a program printed, as a terminal would have left it: no ANSI, overwritten lines gone."""
    plain = _ANSI.sub("", text).replace("\r\n", "\n")
    if "\r" in plain:
        plain = "\n".join(row.rstrip("\r").rsplit("\r", 1)[-1] for row in plain.split("\n"))
    return prose(plain)


def shortened(text: str, limit: int) -> str:
    """`line` of a text whose whole is shown elsewhere: at most `limit` characters and how many more."""
    words = line(text[: 2 * limit]) if len(text) > 2 * limit else line(text)
    if len(words) <= limit and len(text) <= 2 * limit:
        return words
    return f"{words[:limit]} … ⟨+{len(text) - limit:,}⟩"


def _told_apart(row: str) -> str:
    """`row` with the letters signed that pass for Latin ones: within a Latin word, or as a word that
    has no other letters, in a row that has nothing else of their script.
    """
    foreign = [char for word in _WORD.findall(row) for char in word if not char.isascii()]
    alone = bool(foreign) and all(char in _LOOKALIKES for char in foreign)

    def told(match: re.Match[str]) -> str:
        word = match[0]
        if word.isascii() or not (alone or any(char.isascii() for char in word)):
            return word
        return "".join(f"⟨U+{ord(c):04X}⟩" if c in _LOOKALIKES else c for c in word)

    return _WORD.sub(told, row)


def _without_floods(text: str) -> str:
    """`text` with the combining marks signed that are too many for one letter."""
    return _floods().sub(
        lambda m: m[0][:_MOST_MARKS] + "".join(f"⟨U+{ord(c):04X}⟩" for c in m[0][_MOST_MARKS:]),
        text,
    )


@cache
def _floods() -> re.Pattern[str]:
    """Runs of combining marks of the Basic Multilingual Plane (Unicode categories Mn and Me)."""
    marks = "".join(chr(n) for n in range(0x300, 0xFE30) if unicodedata.category(chr(n)) in "MnMe")
    return re.compile(f"[{marks}]{{{_MOST_MARKS + 1},}}")


def _blanks(match: re.Match[str]) -> str:
    """A run of blanks as signs."""
    run = match[0]
    if len(run) <= 3:
        return "␣" * len(run)
    kind = "␉" if set(run) == {"\t"} else "␣"
    return f"⟨{kind}\u00d7{len(run)}⟩"


def _sign(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)  # Unicode "Control Pictures"
    return "␡" if code == 0x7F else f"⟨U+{code:04X}⟩"
