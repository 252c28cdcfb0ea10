"""The body of an answer as it was meant, piece by piece, and never more of it than asked for."""

import zlib
from collections.abc import AsyncGenerator, AsyncIterable, Iterator

ACCEPTED = "gzip, deflate"
_GZIP_OR_ZLIB = zlib.MAX_WBITS | 32
_BARE = -zlib.MAX_WBITS
_PIECE = 65_536


class BadEncoding(Exception):
    """The body is not in the encoding that its header says, or in one nobody asked for."""


class Truncated(Exception):
    """The body ended before it was complete; what came before is good."""


async def unpacked(pieces: AsyncIterable[bytes], encoding: str) -> AsyncGenerator[bytes]:
    """The decoded body of `encoding` (a `Content-Encoding`), in pieces of at most 64 KiB.

    A few bytes can stand for gigabytes; whoever stops asking has decoded no more than was given.

    Raises:
        BadEncoding: the body is damaged, or `encoding` is none of `ACCEPTED`.
        Truncated: the body ends too early.
    """
    names = [name.strip() for name in encoding.lower().split(",")]
    names = [name for name in names if name not in ("", "identity")]
    if not names:
        async for piece in pieces:
            yield piece
        return
    if len(names) > 1 or names[0] not in ("gzip", "x-gzip", "deflate"):
        raise BadEncoding(f"it is compressed as {encoding[:40]!r}, which was not asked for")
    decoder = _Decoder(bare_too=names[0] == "deflate")
    async for piece in pieces:
        for part in decoder.feed(piece):
            yield part
    if not decoder.complete:
        raise Truncated


class _Decoder:
    """One compressed stream. Servers send "deflate" with the zlib header it should have, and without."""

    def __init__(self, *, bare_too: bool) -> None:
        self._bare_too = bare_too
        self._stream = zlib.decompressobj(_GZIP_OR_ZLIB)
        self._begun = False

    @property
    def complete(self) -> bool:
        return self._stream.eof or not self._begun

    def feed(self, data: bytes) -> Iterator[bytes]:
        while not self._stream.eof:
            part = self._part(data)
            if part:
                yield part
            data = self._stream.unconsumed_tail
            if not data and len(part) < _PIECE:
                return

    def _part(self, data: bytes) -> bytes:
        try:
            part = self._stream.decompress(data, _PIECE)
        except zlib.error as error:
            if self._begun or not self._bare_too:
                raise BadEncoding("its compressed body is damaged") from error
            self._stream = zlib.decompressobj(_BARE)
            self._bare_too = False
            return self._part(data)
        self._begun = True
        return part
