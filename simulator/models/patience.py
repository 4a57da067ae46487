"""How long one call may take in all: its attempts, the waits between them, and stops after a 429."""

import asyncio
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from tenacity import RetryCallState

from simulator.core.messages import Message, _, say
from simulator.models.exchange import NoAnswer
from simulator.models.limiter import Pause, wait_asked_for

T = TypeVar("T")
# Seconds of waiting that are worth a notice, and the seconds until the next one about the same endpoint.
WORTH_TELLING, SILENCE = 5.0, 15.0
# Seconds between two checks of the patience of a waiting call.
LOOK = 1.0


class Patience:
    """The seconds that one call may still take. Waiting for a place among our own calls does not count."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.spent = seconds, 0.0
        self.gave_up: Message | str = ""
        self._looking: asyncio.TimerHandle | None = None

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return max(0.0, self.seconds - self.spent)

    @contextmanager
    def spending(self) -> Iterator[None]:
        """Counts the time spent in the `with` block."""
        loop = asyncio.get_running_loop()
        started = loop.time()
        try:
            yield
        finally:
            self.spent += loop.time() - started

    async def sleep(self, seconds: float) -> None:
        """Waits before another attempt; the wait counts."""
        with self.spending():
            await asyncio.sleep(seconds)

    def is_over(self, state: RetryCallState) -> bool:
        """Whether the next wait would use up the patience, so that no attempt could follow."""
        if state.upcoming_sleep < self.left:
            return False
        error = state.outcome.exception() if state.outcome else None
        seconds = wait_asked_for(getattr(getattr(error, "response", None), "headers", None) or {})
        if seconds is None or seconds < self.left:
            self.gave_up = _(
                "given up after {spent:.0f} s: --patience is {patience:g} s",
                spent=self.spent,
                patience=self.seconds,
            )
        else:
            self.gave_up = _(
                "it asks for {wait:,.0f} s before another call: --patience is {patience:g} s",
                wait=seconds,
                patience=self.seconds,
            )
        return True

    async def queueing(self, entering: Awaitable[T], pause: Pause) -> T:
        """A place in the queue; raises NoAnswer where 429s close it for longer than is left."""
        loop = asyncio.get_running_loop()
        before = pause.closed(loop.time())
        try:
            async with asyncio.timeout(None) as clock:
                self._look(clock, pause, before)
                return await entering
        except TimeoutError:
            if not clock.expired():
                raise
            self.gave_up = _(
                "429: held back for longer than --patience allows ({seconds:g} s)", seconds=self.seconds
            )
            raise NoAnswer("error", self.gave_up, is_transient=False) from None
        finally:
            if self._looking is not None:
                self._looking.cancel()
            self.spent += pause.closed(loop.time()) - before

    def _look(self, clock: asyncio.Timeout, pause: Pause, before: float) -> None:
        """Ends the wait where too little is left, or looks again later; `before`: how long it was closed."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        left = self.left - (pause.closed(now) - before)
        if left <= 0 or pause.delay(1, now) > left:
            clock.reschedule(now)
        else:
            self._looking = loop.call_later(min(left, LOOK), self._look, clock, pause, before)


class Notices:
    """Notices on stderr about waiting for an endpoint, one for all calls that wait."""

    def __init__(self) -> None:
        self._until: dict[str, float] = {}

    def waiting(self, where: str, seconds: float, why: Message | str, since: float = 0.0) -> None:
        """Prints a notice of a long wait, unless one was printed lately; `since` is the time spent so far."""
        now = asyncio.get_running_loop().time()
        if since + seconds >= WORTH_TELLING and now >= self._until.get(where, now):
            self._until[where] = now + max(seconds, SILENCE)
            say(_("waiting {seconds:.0f} s: {why}", seconds=seconds, why=why))
