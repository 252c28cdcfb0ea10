"""Text files: encoding and line ends found out, kept, and written back as they were."""

import codecs
import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

from maia_kernel.files.atomic import digest_of
from maia_kernel.files.reading import Unreadable, open_regular, read_bytes

ENTIRE_LIMIT = 10_000_000
"""Bytes up to which a file is read whole; larger ones only by range."""

# Longest first: the mark of UTF-32 little endian begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SAMPLE = 65_536
_PIECE = 1 << 20  # longer lines of large files are shown cut
_CONTROLS = bytes(set(range(32)) - {7, 8, 9, 10, 12, 13, 27}) + b"\x7f"
_HIGH_RUNS = re.compile(rb"[\x80-\xff]+")


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file's text with its line ends untouched, and what is needed to write it back alike.

    `newline` is the line end that prevails, `mark` the byte order mark if there was one.
    """

    text: str
    encoding: str
    mark: bytes
    newline: str
    digest: str
    mtime_ns: int

    def lines(self) -> list[str]:
        """The lines without their ends; a final line end does not open another line."""
        return split_lines(self.text)

    def with_newlines(self, text: str) -> str:
        """`text` with every line end turned into this file's."""
        return re.sub(r"\r\n|\r|\n", lambda _: self.newline, text)

    def encode(self, text: str) -> bytes:
        """`text` in this file's encoding, behind its mark.

        Raises:
            UnicodeEncodeError: a character does not exist in that encoding.
        """
        return self.mark + text.encode(self.encoding)


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines `first` (from 1) to `first + len(lines) - 1` of a file that has `total` lines."""

    lines: tuple[str, ...]
    first: int
    total: int
    digest: str
    mtime_ns: int

    @property
    def left(self) -> int:
        """Lines after the last one given."""
        return max(0, self.total - (self.first - 1) - len(self.lines))


def read_text(path: Path, *, limit: int = ENTIRE_LIMIT) -> TextFile:
    """The text file at `path`.

    Raises:
        Unreadable: not a regular file, larger than `limit` bytes, or not text.
    """
    data, state = read_bytes(path, limit=limit)
    decoded = decode(data)
    if decoded is None:
        raise Unreadable(path, "binary", len(data))
    text, encoding, mark = decoded
    return TextFile(text, encoding, mark, _newline(text), digest_of(data), state.st_mtime_ns)


def read_excerpt(path: Path, *, first: int, count: int) -> Excerpt:
    """At most `count` lines from line `first` on, of a file of any size.

    A file over `ENTIRE_LIMIT` bytes is read line by line as UTF-8, its faulty bytes replaced.

    Raises:
        Unreadable: not a regular file, or not text.
    """
    with open_regular(path) as (_, state):
        large = state.st_size > ENTIRE_LIMIT
    if large:
        return _stream_excerpt(path, first, count)
    file = read_text(path)
    lines = file.lines()
    return Excerpt(
        tuple(lines[first - 1 : first - 1 + count]), first, len(lines), file.digest, file.mtime_ns
    )


def split_lines(text: str) -> list[str]:
    r"""Lines ended by \n or \r\n, or by \r where nothing else ends one.

    Unlike `str.splitlines`, form feeds and Unicode separators stay inside a line, so that numbers
    agree with editors and ripgrep.
    """
    if not text:
        return []
    lines = text.split("\n") if "\n" in text else text.split("\r")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def decode(data: bytes) -> tuple[str, str, bytes] | None:
    """Text, encoding and byte order mark of `data`; None when it is not text.

    Whatever is chosen encodes back to the same bytes.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            text = _exact(data[len(mark) :], encoding)
            return None if text is None else (text, encoding, mark)
    wide = _wide_encoding(data)
    if wide and (text := _exact(data, wide)) is not None:
        return text, wide, b""
    if _looks_binary(data):
        return None
    for encoding in ("utf-8", *_guesses(data)):
        text = _exact(data, encoding)
        if text is not None:
            return text, encoding, b""
    return None


def _exact(data: bytes, encoding: str) -> str | None:
    try:
        text = data.decode(encoding)
        return text if text.encode(encoding) == data else None
    except (UnicodeError, LookupError):
        return None


def _wide_encoding(data: bytes) -> str | None:
    """UTF-16 without a mark: in mostly Latin text every second byte is NUL."""
    sample = data[:_SAMPLE]
    half = len(sample) // 2
    if half < 2 or len(data) % 2:
        return None
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    if odd > 0.7 * half and even < 0.05 * half:
        return "utf-16-le"
    if even > 0.7 * half and odd < 0.05 * half:
        return "utf-16-be"
    return None


def _looks_binary(data: bytes) -> bool:
    if b"\0" in data:
        return True
    sample = data[:_SAMPLE]
    return len(sample) - len(sample.translate(None, _CONTROLS)) > 0.05 * len(sample)


def _guesses(data: bytes) -> list[str]:
    """Single-byte and East Asian encodings worth trying, likeliest first."""
    first = next((match.start() for match in _HIGH_RUNS.finditer(data)), 0)
    sample = data[max(0, first - 1_000) : first + _SAMPLE]
    runs = [len(match.group()) for match in _HIGH_RUNS.finditer(sample)]
    # Accents of Western text stand alone between ASCII letters; other scripts come in runs. The
    # statistical guess is poor with few accents: it takes "café" for Urdu.
    if not runs or sum(runs) / len(runs) < 1.5:
        return ["cp1252", "latin-1"]
    import charset_normalizer  # heavy: 30 ms, only for such files

    best = charset_normalizer.from_bytes(sample).best()
    return [*([best.encoding] if best else []), "cp1252", "latin-1"]


def _newline(text: str) -> str:
    windows = text.count("\r\n")
    unix = text.count("\n") - windows
    if windows > unix:
        return "\r\n"
    return "\r" if "\r" in text and "\n" not in text else "\n"


def _stream_excerpt(path: Path, first: int, count: int) -> Excerpt:
    hasher = hashlib.sha256()
    lines: list[str] = []
    number = 0
    begins = True
    with (
        open_regular(path) as (descriptor, state),
        os.fdopen(descriptor, "rb", closefd=False) as stream,
    ):
        if _looks_binary(stream.read(_SAMPLE)):
            raise Unreadable(path, "binary", state.st_size)
        stream.seek(0)
        # A bounded piece at a time: a "line" of gigabytes must not fill the memory.
        while piece := stream.readline(_PIECE):
            hasher.update(piece)
            if begins:
                number += 1
                if first <= number < first + count:
                    lines.append(piece.decode("utf-8", "replace").rstrip("\r\n"))
            begins = piece.endswith(b"\n")
    return Excerpt(tuple(lines), first, number, hasher.hexdigest(), state.st_mtime_ns)
