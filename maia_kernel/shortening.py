"""Long texts cut in the middle, where a line or a word ends.

Secrets are to be hidden before a text is cut: half of a key has no shape to be known by.
"""

_LINE = 4  # a quarter of a part may go for the sake of whole lines
_WORD = 200  # characters that may go for the sake of a whole word


def shortened(text: str, limit: int) -> str:
    """`text`, or its beginning and end around a note of what is left out between them."""
    if len(text) <= limit:
        return text
    head = whole_head(text[: limit // 2])
    tail = whole_tail(text[-(limit - limit // 2) :])
    left = len(text) - len(head) - len(tail)
    head = head.removesuffix("\n")
    return f"{head}\n[... {left:,} characters left out ...]\n{tail}"


def whole_head(text: str) -> str:
    """The beginning of a longer text, without the part of a line or word at its end."""
    line = text.rfind("\n") + 1
    if line and line >= len(text) - len(text) // _LINE:
        return text[:line]
    begin = max(1, len(text) - _WORD)
    word = next((at for at in range(len(text), begin - 1, -1) if text[at - 1].isspace()), 0)
    return text[:word] if word else text


def whole_tail(text: str) -> str:
    """The end of a longer text, without the part of a line or word at its beginning."""
    line = text.find("\n") + 1
    if line and line <= len(text) // _LINE:
        return text[line:]
    end = min(len(text), _WORD)
    word = next((at for at in range(end) if text[at].isspace()), None)
    return text if word is None else text[word:]
