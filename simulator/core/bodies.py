"""Bodies of HTTP answers, decompressed piece by piece within a limit: none may fill the memory."""

import zlib
from collections.abc import AsyncIterator, Iterator
from typing import Any

from simulator.core.messages import _

# Bytes of one answer, unpacked; the longest that anybody needs take a tenth of it.
LARGEST_BODY = 8 * 2**20
# The ways to compress that are asked for. Others make gigabytes of a few bytes.
ACCEPTED = "gzip, deflate"
# Bytes that are read, or unpacked, at once.
PIECE = 2**14
# A gzip file can be many in a row; so many are nobody's answer.
_MOST_PARTS = 1000
_EITHER = zlib.MAX_WBITS + 32  # with the header of gzip or of zlib
_GZIP = b"\x1f\x8b"


class BodyError(Exception):
    """An answer's body that is not read to its end, and why."""


async def unpacked(chunks: AsyncIterator[bytes], encoding: str | None) -> AsyncIterator[bytes]:
    """A body piece by piece as it arrives, without its Content-Encoding.

    Raises BodyError once it is longer than LARGEST_BODY, or when it is packed in a way nobody asked for.
    """
    name = (encoding or "").strip().lower()
    if name not in ("", "identity", "gzip", "x-gzip", "deflate"):
        msg = _("the answer is compressed as {name}; gzip or deflate was asked for", name=name[:40])
        raise BodyError(msg)
    unpacker = None if name in ("", "identity") else _Unpacker(is_deflate=name == "deflate")
    packed = size = 0
    async for chunk in chunks:
        packed += len(chunk)
        for piece in unpacker.pieces(chunk) if unpacker else (chunk,):
            size += len(piece)
            if max(size, packed) > LARGEST_BODY:
                raise BodyError(_("the answer is longer than {size} MB", size=LARGEST_BODY // 2**20))
            yield piece


class _Unpacker:
    """Undoes gzip or deflate a little at a time."""

    def __init__(self, *, is_deflate: bool) -> None:
        self.is_deflate = is_deflate
        self._parts = 0
        self._part: Any = None

    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        """What a chunk holds; nothing of what follows the last part."""
        piece = b""
        while chunk or len(piece) == PIECE:  # a full piece: there may be more of the same chunk
            if self._part is None or (self._part.eof and chunk.startswith(_GZIP)):
                self._begin(chunk)
            elif self._part.eof:
                return
            try:
                piece = self._part.decompress(chunk, PIECE)
            except zlib.error:
                msg = _("the answer cannot be decompressed: it is not what its Content-Encoding says")
                raise BodyError(msg) from None
            yield piece
            chunk = self._part.unused_data if self._part.eof else self._part.unconsumed_tail

    def _begin(self, chunk: bytes) -> None:
        self._parts += 1
        if self._parts > _MOST_PARTS:
            raise BodyError(_("the answer is compressed in more than {n} parts", n=_MOST_PARTS))
        # Some servers leave out deflate's header, by which it would be known.
        bare = self.is_deflate and chunk[0] & 0x0F != zlib.DEFLATED
        self._part = zlib.decompressobj(-zlib.MAX_WBITS if bare else _EITHER)
