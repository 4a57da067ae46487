"""How long one call may take in all: its attempts, the waits between them, and what a 429 holds up."""

import asyncio
import sys
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from tenacity import RetryCallState

from simulator.models.limiter import Pause, wait_asked_for

T = TypeVar("T")
# Seconds that are worth a line, and the seconds at least until the next line about the same endpoint.
WORTH_TELLING, SILENCE = 5.0, 15.0
# Seconds between two looks at what a waiting call has left.
LOOK = 1.0


class HeldUp(Exception):
    """A call that no longer waits for the end of a 429."""


class Patience:
    """What one call has left. Waiting for a free place among our own calls costs it nothing."""

    def __init__(self, seconds: float) -> None:
        """`seconds` in all."""
        self.seconds, self.spent = seconds, 0.0
        self.gave_up = ""

    @property
    def left(self) -> float:
        """Seconds."""
        return max(0.0, self.seconds - self.spent)

    @contextmanager
    def spending(self) -> Iterator[None]:
        """What is done meanwhile takes its time from it."""
        loop = asyncio.get_running_loop()
        started = loop.time()
        try:
            yield
        finally:
            self.spent += loop.time() - started

    async def sleep(self, seconds: float) -> None:
        """Waits before another attempt."""
        with self.spending():
            await asyncio.sleep(seconds)

    def is_over(self, state: RetryCallState) -> bool:
        """Whether the next wait is not worth beginning: no attempt would follow it."""
        if state.upcoming_sleep < self.left:
            return False
        error = state.outcome.exception() if state.outcome else None
        asked = wait_asked_for(getattr(getattr(error, "response", None), "headers", None) or {})
        limit = f"--patience is {self.seconds:g} s"
        self.gave_up = (
            f"given up after {self.spent:.0f} s: {limit}"
            if asked is None or asked < self.left
            else f"it asks for {asked:,.0f} s before another call: {limit}"
        )
        return True

    async def queueing(self, entering: Awaitable[T], pause: Pause) -> T:
        """A place in the queue; raises HeldUp where 429s close it for longer than is left."""
        loop = asyncio.get_running_loop()
        before = pause.closed(loop.time())
        looking: asyncio.TimerHandle | None = None

        def look() -> None:
            nonlocal looking
            now = loop.time()
            left = self.left - (pause.closed(now) - before)
            if left <= 0 or pause.delay(1, now) > left:
                clock.reschedule(now)
            else:
                looking = loop.call_later(min(left, LOOK), look)

        try:
            async with asyncio.timeout(None) as clock:
                look()
                return await entering
        except TimeoutError:
            if not clock.expired():
                raise
            msg = f"429: held back for longer than --patience allows ({self.seconds:g} s)"
            raise HeldUp(msg) from None
        finally:
            if looking is not None:
                looking.cancel()
            self.spent += pause.closed(loop.time()) - before


class Notices:
    """Says on stderr that an endpoint is waited for; not once for each of the calls that do."""

    def __init__(self) -> None:
        """Nothing was said yet."""
        self._until: dict[str, float] = {}

    def waiting(self, where: str, seconds: float, why: str, since: float = 0.0) -> None:
        """One line, where it takes a while and none has said so; `since` is what it took already."""
        now = asyncio.get_running_loop().time()
        if since + seconds >= WORTH_TELLING and now >= self._until.get(where, now):
            self._until[where] = now + max(seconds, SILENCE)
            sys.stderr.write(f"waiting {seconds:.0f} s: {why}\n")
