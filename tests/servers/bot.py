"""A small JSON support bot over real HTTP, well-behaved or not, for adapters to be tried on.

POST {"message", "history", "session"} to its address; it answers
{"data": {"reply", "sources": [{"id", "text", "score"}]}}.
Start it with `async with BotServer(...)` or, on a thread of its own, with `with serve(...)`.
"""

import asyncio
import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from aiohttp import web

from tests.servers.faults import Reply
from tests.servers.loopback import LoopbackServer, dumps, on_thread, reset
from tests.servers.replies import play


class ReceivedQuestion(NamedTuple):
    """One question put to the bot."""

    body: Any
    headers: dict[str, str]
    address: str = ""

    @property
    def message(self) -> str:
        """What the customer said."""
        return str(self.body.get("message", "")) if isinstance(self.body, dict) else ""


Behaviour = Callable[[ReceivedQuestion], dict[str, Any] | Reply]


def bot_reply(reply: Any, *sources: str) -> dict[str, Any]:
    """An answer in the bot's shape, its sources ranked by falling score."""
    ranked = [
        {"id": f"faq-{at}", "text": text, "score": 1 - at / 10} for at, text in enumerate(sources, start=1)
    ]
    return {"data": {"reply": reply, "sources": ranked}}


def answers(asked: ReceivedQuestion) -> dict[str, Any]:
    """A sentence of a support desk in the question's language, from two sources."""
    reply = play({"messages": [{"role": "user", "content": asked.message}]})
    return bot_reply(reply, f"Q: {asked.message}\nA: {reply}", "営業時間は平日9時から18時です。")


def hangs(asked: ReceivedQuestion) -> Reply:
    """The right answer, an hour late."""
    return Reply(body=dumps(answers(asked)), delay=3600)


def echoes_headers(asked: ReceivedQuestion) -> dict[str, Any]:
    """The request's headers, names in lower case, as JSON text."""
    return bot_reply(json.dumps(asked.headers, ensure_ascii=False))


class BotServer(LoopbackServer):
    """The bot; `behaviour` may change while it runs.

    Args:
        behaviour: Answers one question with a JSON body or a Reply (status, headers, body, delay, close):
            a function of this module or a test's own.

    """

    path = "/chat"

    def __init__(self, behaviour: Behaviour = answers) -> None:
        super().__init__()
        self.behaviour = behaviour

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one question."""
        raw = await request.read()
        if request.path != self.path or request.method != "POST":
            return web.Response(status=404, text="not found")
        try:
            body = json.loads(raw)
        except ValueError:
            if not raw:
                return web.Response(status=400, text="the body is no JSON")
            body = raw.decode()  # a form, or a text
        self.keep(request, raw, body)
        headers = {name.lower(): value for name, value in request.headers.items()}
        answer = self.behaviour(ReceivedQuestion(body, headers, request.path_qs))
        reply = answer if isinstance(answer, Reply) else Reply(body=dumps(answer))
        await asyncio.sleep(reply.delay or 0)
        if reply.close:
            return reset(request)
        response = web.Response(body=reply.body or b"", status=reply.status, content_type="application/json")
        response.headers.update(reply.headers)
        return response


def serve(behaviour: Behaviour = answers) -> AbstractContextManager[BotServer]:
    """A BotServer on a daemon thread, for callers without an event loop."""
    return on_thread(BotServer(behaviour))
