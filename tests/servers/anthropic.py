"""An Anthropic-messages endpoint over real HTTP: enough of it for a provider's own client to talk to."""

import asyncio
import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from aiohttp import web

from tests.servers.loopback import LoopbackServer

# A request in; status and the content blocks of the reply out.
Answerer = Callable[[dict[str, Any]], tuple[int, list[dict[str, Any]]]]


def speaks(request: dict[str, Any]) -> tuple[int, list[dict[str, Any]]]:
    """Fills in the tool it is asked to use, or says a line."""
    if tools := request.get("tools"):
        filled = {"message": "それはいつまでですか", "next": "stay", "reason": "期限が知りたい"}
        return 200, [{"type": "tool_use", "id": "toolu_1", "name": tools[0]["name"], "input": filled}]
    return 200, [{"type": "text", "text": "返金は5営業日です。"}]


class AnthropicServer(LoopbackServer):
    """POST /v1/messages, with what it saw in `requests`.

    Errors have `headers`; answers come a byte every `pace` seconds, where that is given.
    """

    path = ""
    headers: Mapping[str, str] = MappingProxyType({})
    pace: float | None = None

    def __init__(self, answer: Answerer = speaks) -> None:
        """`answer` decides status and content."""
        super().__init__()
        self.answer = answer

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        raw = await request.read()
        body = json.loads(raw)
        self.keep(request, raw, body)
        status, content = self.answer(body)
        if status != 200:
            error = {"type": "error", "error": {"type": "api_error", "message": f"status {status}"}}
            return web.json_response(error, status=status, headers=self.headers)
        said = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": content,
            "stop_reason": "tool_use" if content[0]["type"] == "tool_use" else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 11, "output_tokens": 7},
        }
        return web.json_response(said) if self.pace is None else await self._drop(request, said, self.pace)

    async def _drop(self, request: web.BaseRequest, said: dict[str, Any], pace: float) -> web.StreamResponse:
        """The answer byte by byte: no wait is long, the whole is."""
        response = web.StreamResponse(headers={"content-type": "application/json"})
        await response.prepare(request)
        for byte in json.dumps(said).encode():
            await response.write(bytes([byte]))
            await asyncio.sleep(pace)
        return response
