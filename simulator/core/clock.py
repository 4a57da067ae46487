"""Time that the program saw pass: nobody waits while a laptop is closed, or a process is stopped.

A thread beats twice a second. Where a beat comes seconds late, the whole process stood still, and what is
beyond the usual is `slept`. A loop that is kept busy by a bot is something else: the thread goes on beating.

    async with TimeLimit(60) as limit:      asyncio.timeout, moved on by what was slept through
        with uncounted():               waiting that is no fault of whoever is measured
            ...
    limit.elapsed                       the seconds that count
"""

import asyncio
import contextlib
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from contextvars import ContextVar, Token
from typing import Any

# Seconds between two beats, and how late one has to be for a process that stood still, and not a busy one.
BEAT, LATE = 0.5, 2.0


class _Heart:
    """The beats of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = time.monotonic()
        self._slept = 0.0
        threading.Thread(target=self._go_on, name="heartbeat", daemon=True).start()

    def _go_on(self) -> None:
        while True:
            time.sleep(BEAT)
            self.slept(beat=True)

    def slept(self, *, beat: bool = False) -> float:
        """The seconds that were slept through so far, also where whoever asks wakes up before the thread."""
        with self._lock:
            now = time.monotonic()
            late = now - self._last - BEAT
            lost = late if late > LATE else 0.0
            if beat or lost:
                self._last, self._slept = now, self._slept + lost
            return self._slept


_heart: _Heart | None = None


def slept() -> float:
    """The seconds that this process has slept through since it was asked for the first time."""
    global _heart  # noqa: PLW0603 - a process has one
    if _heart is None:
        _heart = _Heart()
    return _heart.slept()


def awake() -> float:
    """The seconds of the running loop, without those slept through; only differences mean anything."""
    return asyncio.get_running_loop().time() - slept()


class TimeLimit(AbstractAsyncContextManager["TimeLimit"]):
    """At most `seconds` for what is in the block, or TimeoutError; None for no limit.

    Only seconds that count: neither those slept through, nor those within `uncounted`.
    """

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self._timeout = asyncio.timeout(None)
        self._timer: asyncio.TimerHandle | None = None
        self._left_out, self._leaving_out, self._since = 0.0, 0, 0.0

    async def __aenter__(self) -> "TimeLimit":
        await self._timeout.__aenter__()
        self._began = awake()
        self._outer: Token[tuple[TimeLimit, ...]] = _LIMITS.set((*_LIMITS.get(), self))
        if self.seconds is not None:
            self._wait(self.seconds)
        return self

    async def __aexit__(self, *error: Any) -> None:
        self._stop()
        _LIMITS.reset(self._outer)
        await self._timeout.__aexit__(*error)

    @property
    def elapsed(self) -> float:
        """The seconds so far that count."""
        now = awake()
        return now - self._began - self._left_out - (now - self._since if self._leaving_out else 0.0)

    def expired(self) -> bool:
        """Whether the time was over."""
        return self._timeout.expired()

    def leave_out(self) -> None:
        """Stops counting, until `count_again` was called as often."""
        if not self._leaving_out:
            self._stop()
            self._since = awake()
        self._leaving_out += 1

    def count_again(self) -> None:
        """Goes on counting."""
        self._leaving_out -= 1
        if not self._leaving_out:
            self._left_out += awake() - self._since
            self._look()

    def _look(self) -> None:
        if self.seconds is not None:
            self._wait(self.seconds - self.elapsed)

    def _wait(self, left: float) -> None:
        # A millisecond: clocks round, and a timer may come a little early.
        if left > 0.001:
            self._timer = asyncio.get_running_loop().call_later(left, self._look)
        else:
            self._timeout.reschedule(asyncio.get_running_loop().time())

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


# The limits that the running task is within, the outermost first.
_LIMITS: ContextVar[tuple[TimeLimit, ...]] = ContextVar("limits", default=())


@contextlib.contextmanager
def uncounted() -> Iterator[None]:
    """Time that no `TimeLimit` around it counts."""
    limits = _LIMITS.get()
    for limit in limits:
        limit.leave_out()
    try:
        yield
    finally:
        for limit in limits:
            limit.count_again()
