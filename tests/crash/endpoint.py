"""An endpoint that remembers what was asked and when it was answered, and may kill who asks."""

import asyncio
import hashlib
import json
import os
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from tests.servers.openai import OpenAIServer

_EMBEDDING = "embedding of "


@dataclass
class Call:
    """What one request asks for, each to be paid: a chat completion, or the embedding of a text."""

    asked: tuple[str, ...]
    arrived: float
    answered: float | None = None
    # What the answer cost.
    tokens: int = 0

    @property
    def is_chat(self) -> bool:
        """Whether it was no embedding."""
        return not self.asked[0].startswith(_EMBEDDING)


class Watching(OpenAIServer):
    """The fake endpoint with its `calls`; `aim` has it kill a process at a certain request or reply."""

    def __init__(self, **options: Any) -> None:
        super().__init__(record=False, **options)
        self.calls: list[Call] = []
        self.process = 0
        self.killed_at: float | None = None
        self._event, self._left, self._delay = "", 0, 0.0

    def aim(self, event: str = "", count: int = 0, delay: float = 0.0) -> None:
        """At the `count`-th `request` that arrives, or `delay` seconds after the `count`-th `reply`."""
        self.process, self.killed_at = 0, None
        self._event, self._left, self._delay = event, count, delay

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request, and remember it."""
        call = Call(_asked(request.path, await request.read()), time.monotonic())
        self.calls.append(call)
        self._met("request")
        response = await super().handle(request)
        if response.status == 200:
            call.answered = time.monotonic()
            call.tokens = json.loads(response.body)["usage"]["total_tokens"]  # type: ignore[attr-defined]
        self._met("reply")
        return response

    def _met(self, event: str) -> None:
        if event == self._event:
            self._left -= 1
            if self._left == 0:
                asyncio.get_running_loop().call_later(self._delay, self.kill)

    def kill(self) -> None:
        """Kills with -9, and keeps the moment."""
        if self.process and self.killed_at is None:
            self.killed_at = time.monotonic()
            os.kill(self.process, signal.SIGKILL)


def _asked(path: str, raw: bytes) -> tuple[str, ...]:
    if path.endswith("/embeddings"):
        # Which texts go out together is a matter of the moment.
        given: str | Sequence[str] = json.loads(raw)["input"]
        return tuple(_EMBEDDING + text for text in ([given] if isinstance(given, str) else given))
    return (hashlib.sha256(path.encode() + raw).hexdigest(),)
