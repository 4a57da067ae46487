"""Bodies that cannot fill the memory, of models and bots alike.

They are unpacked while they arrive, a piece at a time, and counted as they come out: one megabyte of gzip can
hold a gigabyte of zeros, which libraries unpack before anybody can look at their length.
"""

import codecs
import contextlib
import zlib
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

from simulator.core.messages import _

if TYPE_CHECKING:
    from aiohttp import StreamReader

# Bytes of one answer, unpacked; the longest that anybody needs, a batch of embeddings, take a tenth of it.
LARGEST_BODY = 8 * 2**20
# The ways to compress that are asked for. Others make gigabytes of a few bytes.
ACCEPTED = "gzip, deflate"
# Bytes that are read, or unpacked, at once.
PIECE = 2**14
# A gzip file can be many in a row (RFC 1952); so many are nobody's answer, but a way to keep a reader busy.
_MOST_PARTS = 1000
_EITHER = zlib.MAX_WBITS + 32  # with the header of gzip or of zlib
_GZIP = b"\x1f\x8b"


# Content-Encodings that pack nothing; the name of a charset is a mistake that many servers make.
_UNPACKED = ("", "identity", "none", "utf-8", "utf8")
# Charsets by the names that Windows has for them, which holds more than the standard of the same name.
_CHARSETS = dict.fromkeys(("shift_jis", "shift-jis", "sjis", "x-sjis", "windows-31j", "ms_kanji"), "cp932")
# What servers call a body whose charset nobody told them.
_BY_DEFAULT = ("iso8859-1", "ascii", "cp1252")


class BodyError(Exception):
    """An answer's body that is not read to its end, and why."""


def codec_of(charset: str | None) -> str:
    """The codec of a charset, UTF-8 where it is unknown or only a server's default; a mark may come first."""
    name = (charset or "").strip("\"' ").lower()
    with contextlib.suppress(LookupError):
        codec = codecs.lookup(_CHARSETS.get(name, name)).name
        if codec not in _BY_DEFAULT and codec != "utf-8":
            return codec
    return "utf-8-sig"


def decoded(content: bytes, charset: str | None = None) -> str:
    """A body as text: by its mark, in its charset, as UTF-8; without a charset also as what it can only be.

    Nothing is refused: what does not fit becomes question marks. EUC-JP goes before Shift_JIS, which hardly
    ever looks like it, while the reverse is common.
    """
    is_utf16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    for codec in ("utf-16" if is_utf16 else codec_of(charset), "utf-8-sig", charset or "utf-8"):
        with contextlib.suppress(ValueError, LookupError):
            return content.decode(codec)
    text = content.decode(codec_of(charset), "replace")
    # One wrong byte in a text of UTF-8 is no sign of another encoding; many are.
    if not charset and 2 * text.count("\ufffd") > sum(character > "\x7f" for character in text):
        for codec in ("euc_jp", "cp932"):
            with contextlib.suppress(ValueError):
                return content.decode(codec)
    return text


async def unpacked(chunks: AsyncIterator[bytes], encoding: str | None) -> AsyncIterator[bytes]:
    """A body piece by piece as it arrives, without its Content-Encoding.

    Raises BodyError once it is longer than LARGEST_BODY, or when it is packed in a way nobody asked for.
    """
    body = _Body(encoding)
    async for chunk in chunks:
        for piece in body.pieces(chunk):
            yield piece


async def whole_body(stream: "StreamReader", encoding: str | None) -> bytes:
    """A body to its end, unpacked like `unpacked` does."""
    body, pieces = _Body(encoding), list[bytes]()
    while chunk := await stream.read(PIECE):
        pieces += body.pieces(chunk)
    return b"".join(pieces)


class _Body:
    """A body as far as it has arrived, of which gzip or deflate is undone a little at a time."""

    def __init__(self, encoding: str | None) -> None:
        self._name = (encoding or "").strip().lower()
        if self._name not in (*_UNPACKED, "gzip", "x-gzip", "deflate"):
            msg = _("the answer is compressed as {name}; gzip or deflate was asked for", name=self._name[:40])
            raise BodyError(msg)
        self._packed = self._size = self._parts = 0
        self._part: Any = None

    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        """What the next chunk holds."""
        self._packed += len(chunk)
        # Both are counted: a packed body of 8 MB is too long, whatever is in it.
        for piece in (chunk,) if self._name in _UNPACKED else self._undone(chunk):
            self._size += len(piece)
            if max(self._size, self._packed) > LARGEST_BODY:
                raise BodyError(_("the answer is longer than {size} MB", size=LARGEST_BODY // 2**20))
            yield piece

    def _undone(self, chunk: bytes) -> Iterator[bytes]:
        """What a packed chunk holds; nothing of what follows the last part."""
        piece = b""
        while chunk or len(piece) == PIECE:  # a full piece: there may be more of the same chunk
            # What follows a part and is no other one is left aside, as gzip's own program does.
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
        bare = self._name == "deflate" and chunk[0] & 0x0F != zlib.DEFLATED
        self._part = zlib.decompressobj(-zlib.MAX_WBITS if bare else _EITHER)
