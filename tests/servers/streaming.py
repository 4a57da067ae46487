"""Bots that stream their answers: any bytes, in any chunks."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from aiohttp import web

from tests.servers.loopback import LoopbackServer, dumps, reset


def event(data: Any, name: str = "") -> bytes:
    """One server-sent event; a text is sent as it is, anything else as JSON."""
    text = data if isinstance(data, str) else dumps(data).decode()
    lines = [f"event: {name}"] if name else []
    return "\n".join([*lines, *(f"data: {line}" for line in text.split("\n")), "", ""]).encode()


class StreamServer(LoopbackServer):
    """Answers every POST with `chunks`: bytes are sent, seconds waited for, None resets the connection.

    Both `chunks` and `content_type` may change while it runs; `left` is set when a client hangs up early.
    """

    path = "/chat"

    def __init__(self, chunks: Sequence[bytes | float | None] = ()) -> None:
        super().__init__()
        self.chunks = chunks
        self.content_type = "text/event-stream"
        self.status = 200
        self.left = asyncio.Event()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one question."""
        raw = await request.read()
        self.keep(request, raw, json.loads(raw) if raw else None)
        response = web.StreamResponse(status=self.status, headers={"content-type": self.content_type})
        await response.prepare(request)
        try:
            for chunk in self.chunks:
                if chunk is None:
                    return reset(request)
                await (response.write(chunk) if isinstance(chunk, bytes) else asyncio.sleep(chunk))
            await response.write_eof()
        except (ConnectionError, asyncio.CancelledError):
            self.left.set()
            raise
        return response


async def trickled(
    request: web.BaseRequest, body: bytes, *, pace: float = 0.0, half: bool = False
) -> web.StreamResponse:
    """An answer whose bytes come `pace` seconds apart, or that ends after `half` of what it announced."""
    headers = {"content-type": "application/json", "content-length": str(len(body))}
    response = web.StreamResponse(headers=headers)
    await response.prepare(request)
    for at in range(len(body)) if pace else ():
        await response.write(body[at : at + 1])
        await asyncio.sleep(pace)
    if half and request.transport is not None:
        await response.write(body[: len(body) // 2])
        request.transport.close()
    return response
