"""How many calls may be in flight, who goes first, and how long to wait after a refusal."""

import asyncio
import heapq
import itertools
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tenacity import RetryCallState, wait_random_exponential
from tenacity.wait import wait_base

DIALOGUE, GRADING = 0, 1  # conversations wait for their own calls only; grades can come later


class Limiter:
    """An adaptive limit: halves on 429, grows back by one per round of successes (AIMD).

    Waiting calls are served by priority, then in order of arrival.
    """

    def __init__(self, calls: int) -> None:
        """At most `calls` at once."""
        self.ceiling = calls
        self.allowed = float(calls)
        self.active = 0
        self._halved_at = 0.0
        self._order = itertools.count()
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []

    @asynccontextmanager
    async def slot(self, priority: int) -> AsyncIterator[float]:
        """A place among the calls in flight; gives the time it was entered."""
        await self._enter(priority)
        try:
            yield time.monotonic()
        finally:
            self.active -= 1
            self._wake()

    async def _enter(self, priority: int) -> None:
        if self.active < int(self.allowed) and not self._waiting:
            self.active += 1
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (priority, next(self._order), place))
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():  # woken and cancelled at once: give it back
                self.active -= 1
                self._wake()
            raise

    def _wake(self) -> None:
        while self._waiting and self.active < int(self.allowed):
            place = heapq.heappop(self._waiting)[2]
            if not place.done():
                self.active += 1
                place.set_result(None)

    def succeeded(self) -> None:
        """One call went through: a little more room."""
        self.allowed = min(self.ceiling, self.allowed + 1 / self.allowed)
        self._wake()

    def refused(self, entered: float) -> None:
        """The endpoint said 429: half the room, once per round (calls from before do not count)."""
        if entered >= self._halved_at:
            self.allowed = max(1.0, self.allowed / 2)
            self._halved_at = time.monotonic()


class RetryAfter(wait_base):
    """Waits as long as the endpoint asked for, otherwise random-exponentially from 1 to 60 seconds."""

    def __init__(self, longest: float = 120.0) -> None:
        """No single wait is longer than `longest` seconds."""
        self.longest = longest
        self.otherwise = wait_random_exponential(multiplier=1, max=60)

    def __call__(self, retry_state: RetryCallState) -> float:
        """Seconds until the next attempt."""
        error = retry_state.outcome.exception() if retry_state.outcome else None
        headers = getattr(getattr(error, "response", None), "headers", {})
        try:
            return min(self.longest, max(0.0, float(headers.get("retry-after", ""))))
        except ValueError:
            return self.otherwise(retry_state)
