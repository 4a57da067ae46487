"""Bodies that cannot fill the memory, of models and bots alike: they are counted while they arrive.

Nothing is asked for packed, and nothing packed is read: one megabyte of gzip can hold a gigabyte of zeros.
"""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from simulator.core.messages import _

if TYPE_CHECKING:
    from aiohttp import StreamReader

# Bytes of one answer; the longest that anybody needs, a batch of embeddings, take a tenth of it.
LARGEST_BODY = 8 * 2**20
# What is asked for as Accept-Encoding: bodies as they are.
ACCEPTED = "identity"
# Bytes that are read at once.
PIECE = 2**14


class BodyError(Exception):
    """An answer's body that is not read to its end, and why."""


async def limited(chunks: AsyncIterator[bytes], encoding: str | None) -> AsyncIterator[bytes]:
    """A body as it arrives; raises BodyError once it is longer than LARGEST_BODY, or for a packed one."""
    name, size = (encoding or ACCEPTED).strip().lower(), 0
    if name != ACCEPTED:
        raise BodyError(_("the answer is compressed as {name}, which nobody asked for", name=name[:40]))
    async for chunk in chunks:
        size += len(chunk)
        if size > LARGEST_BODY:
            raise BodyError(_("the answer is longer than {size} MB", size=LARGEST_BODY // 2**20))
        yield chunk


async def whole_body(stream: "StreamReader", encoding: str | None) -> bytes:
    """A body to its end. Raises BodyError as `limited` does."""
    return b"".join([chunk async for chunk in limited(stream.iter_chunked(PIECE), encoding)])
