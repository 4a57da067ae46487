"""How many calls may be in flight, who goes first, and how long to wait after a refusal."""

import asyncio
import contextlib
import itertools
import math
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tenacity import RetryCallState, wait_random_exponential
from tenacity.wait import wait_base

from simulator.rates import Limit, Rates, Ticket, wait_asked_for

DIALOGUE, GRADING = 0, 1  # conversations wait for their own calls only; grades can come later
# After so many calls of the dialogue in a row a waiting grade goes in.
DIALOGUE_IN_A_ROW = 7
# One place in so many is kept for the dialogue: grades that take for ever must not hold it up.
KEPT_FOR_DIALOGUE = 32


@dataclass(slots=True)
class Place:
    """A place among the calls in flight: when it was entered, and what it took of the rates."""

    entered: float
    ticket: Ticket | None = None


@dataclass(slots=True)
class _Waiter:
    order: int
    tokens: float
    place: asyncio.Future[Place]


@dataclass
class Line:
    """Calls that wait for the same: in order of arrival, under the same rates."""

    priority: int
    rates: Rates | None = None
    is_bot: bool = False
    active: int = 0
    waiting: deque[_Waiter] = field(default_factory=deque)

    def head(self) -> _Waiter | None:
        """Who is next; those that were cancelled are passed over."""
        while self.waiting and self.waiting[0].place.done():
            self.waiting.popleft()
        return self.waiting[0] if self.waiting else None


class Limiter:
    """An adaptive limit: halves on 429, grows back by one per round of successes (AIMD).

    Waiting calls of the dialogue go first, then grades, each in order of arrival; but a grade follows
    every few calls of the dialogue. No one waits behind a call that only its own rates keep back. The bot
    under rehearsal, where its model is at the same endpoint, never has more than half of the places.
    """

    def __init__(self, calls: int, said: Callable[[float], None] = lambda _: None) -> None:
        """At most `calls` at once; `said` is told for how many seconds the rates let nobody in."""
        self.ceiling, self.said = calls, said
        self.allowed = float(calls)
        self.active = 0
        self._dialogue_goes_on = True
        self._halved_at = 0.0
        self._order = itertools.count()
        self._lines: dict[tuple[int, int, bool], Line] = {}
        self._in_a_row = 0
        self._timer: asyncio.TimerHandle | None = None

    @asynccontextmanager
    async def slot(
        self, priority: int, rates: Rates | None = None, *, tokens: float = 0.0, is_bot: bool = False
    ) -> AsyncIterator[Place]:
        """A place among the calls in flight, as soon as there is one and the rates have room."""
        line = self._line(priority, rates, is_bot=is_bot)
        place = await self._enter(line, tokens)
        try:
            yield place
        finally:
            self._leave(line)

    def _line(self, priority: int, rates: Rates | None, *, is_bot: bool) -> Line:
        key = (priority, id(rates), is_bot)  # the line keeps its rates alive, so that the id stays theirs
        if key not in self._lines:
            self._lines[key] = Line(priority, rates, is_bot)
        return self._lines[key]

    async def _enter(self, line: Line, tokens: float) -> Place:
        future: asyncio.Future[Place] = asyncio.get_running_loop().create_future()
        line.waiting.append(_Waiter(next(self._order), tokens, future))
        self._wake()
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():  # let in and cancelled at once: give it back
                self._leave(line)
            raise

    def _leave(self, line: Line) -> None:
        line.active -= 1
        self.active -= 1
        self._wake()

    def _wake(self) -> None:
        while self.active < int(self.allowed):
            now = asyncio.get_running_loop().time()
            line = self._next(now)
            if line is None:
                return
            waiter = line.waiting.popleft()
            self.active += 1
            line.active += 1
            self._in_a_row = self._in_a_row + 1 if line.priority == DIALOGUE else 0
            waiter.place.set_result(Place(now, line.rates.take(waiter.tokens, now) if line.rates else None))

    def _next(self, now: float) -> Line | None:
        """The line whose turn it is; None when there is nobody, no room, or nothing left of the rates."""
        held: set[Limit] = set()
        soonest = math.inf
        for line, waiter in self._in_turn():
            if not self._has_room(line):
                continue
            if line.rates is None:
                return line
            hindered = line.rates.hindered(waiter.tokens, now)
            if not hindered and held.isdisjoint(line.rates.limits):
                return line
            # What one waits for is not taken away by those behind it: it might never be enough.
            held |= hindered.keys()
            soonest = min(soonest, max(hindered.values(), default=math.inf))
        if soonest < math.inf:
            self.said(soonest)
            self._wake_in(soonest)
        return None

    def _in_turn(self) -> Iterator[tuple[Line, _Waiter]]:
        """The lines in which somebody waits, in the order in which they may go."""
        waiting = [(line, head) for line in self._lines.values() if (head := line.head())]
        grades_first = self._in_a_row >= DIALOGUE_IN_A_ROW
        waiting.sort(key=lambda pair: ((pair[0].priority == DIALOGUE) is grades_first, pair[1].order))
        return iter(waiting)

    def _has_room(self, line: Line) -> bool:
        allowed = int(self.allowed)
        if line.is_bot:
            others = any(not each.is_bot for each in self._lines.values())
            return not others or line.active < max(1, allowed // 2)
        if line.priority == DIALOGUE:
            return True
        dialogue = self._dialogue_goes_on and any(each.priority == DIALOGUE for each in self._lines.values())
        grading = sum(each.active for each in self._lines.values() if each.priority != DIALOGUE)
        return not dialogue or grading < allowed - allowed // KEPT_FOR_DIALOGUE

    def _wake_in(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        if self._timer is not None:
            self._timer.cancel()
        self._timer = loop.call_later(seconds + 0.001, self._wake)

    def dialogue(self, *, goes_on: bool) -> None:
        """Whether places are to be kept for the dialogue: none once every conversation is over."""
        self._dialogue_goes_on = goes_on
        self._wake()

    def succeeded(self) -> None:
        """One call went through: a little more room."""
        self.allowed = min(self.ceiling, self.allowed + 1 / self.allowed)
        self._wake()

    def refused(self, place: Place) -> None:
        """The endpoint said 429: half the room, once per round (calls from before do not count)."""
        if place.entered >= self._halved_at:
            self.allowed = max(1.0, self.allowed / 2)
            self._halved_at = asyncio.get_running_loop().time()

    def close(self) -> None:
        """Wakes nobody any more."""
        if self._timer is not None:
            with contextlib.suppress(RuntimeError):  # its loop is over
                self._timer.cancel()


class RetryAfter(wait_base):
    """Waits as long as the endpoint asked for, otherwise random-exponentially from 1 to 60 seconds."""

    def __init__(self, longest: float = 120.0) -> None:
        """No single wait is longer than `longest` seconds."""
        self.longest = longest
        self.otherwise: wait_base = wait_random_exponential(multiplier=1, max=60)

    def __call__(self, retry_state: RetryCallState) -> float:
        """Seconds until the next attempt."""
        error = retry_state.outcome.exception() if retry_state.outcome else None
        asked = wait_asked_for(getattr(getattr(error, "response", None), "headers", {}))
        return self.otherwise(retry_state) if asked is None else min(self.longest, asked)
