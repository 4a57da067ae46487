"""The queue of calls for a place at an endpoint, which takes as many at once as the endpoint bears.

A call waits for two things at once, and only goes out when it has both:

    a place      `Limiter`, one for each host: at most --calls in flight, fewer where it is slow or refuses
    no `Pause`   one for each model: the time for which a 429 asked to be left alone

Who goes first: the calls of dialogues before grades, because somebody waits for them, and each kind in order
of arrival. After seven of the dialogue one grade goes, or grades would pile up to the end of the run. The bot
under test gets at most half of the places at an endpoint that it shares with our models, since its answers
would be measured as slow for no fault of its own.
"""

import asyncio
import contextlib
import math
from collections import deque
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

from simulator.core.messages import _
from simulator.models.patience import Patience
from simulator.models.refusals import NoAnswer

# Priorities of calls. A conversation waits for each of its calls; grades may come later.
DIALOGUE, GRADING = 0, 1
# After this many calls of the dialogue in a row a waiting grade goes first.
DIALOGUE_IN_A_ROW = 7


# Calls in flight until the first answer says how long one takes.
FIRST_CALLS = 4
# --calls as usual; whoever sets more of them knows the endpoint.
USUAL_CALLS = 64
# Growth beyond what once came too late is so many times slower.
WARY = 16
# Seconds in which no model answers: a bot that is quicker had its answer in a cache.
FROM_CACHE = 0.05


class Permit(NamedTuple):
    """A place among the calls in flight: since when, and how many answers the endpoint had given by then."""

    entered: float
    answers: int = 0


class Pause:
    """A stop of all calls to a model until the time that its endpoint named with a 429.

    Without it every call in the queue would go out, be refused, and wait by itself. Times (`now`) are those
    of the event loop.
    """

    def __init__(self) -> None:
        self.until = self._since = self._earlier = 0.0

    def hold(self, seconds: float, now: float) -> None:
        """Stops all calls for these seconds."""
        # A new stop, after an earlier one was over; else the same one grows.
        if now >= self.until:
            self._earlier, self._since = self.closed(now), now
        self.until = max(self.until, now + seconds)

    def closed(self, now: float) -> float:
        """The seconds that all stops together have taken so far."""
        return self._earlier + min(now, self.until) - self._since

    def delay(self, now: float) -> float:
        """Seconds until the stop ends."""
        return max(0.0, self.until - now)


class Limiter:
    """An adaptive limit: halves under pressure, grows back by one per round of successes (AIMD, as TCP does).

    Additive increase and multiplicative decrease find the rate that an endpoint really allows, without being
    told, and share it fairly among several programs that use the same account. Pressure is a 429, a server
    that calls itself busy, and no answer in time. A server that works on one call at a time lets the others
    time out, and may go on with those as well; so the first calls are few, until an answer tells how long one
    takes: with --timeout 60 one of 7.5 s keeps it at 4, one of 0.5 s makes room for 30.

    Waiting calls of the dialogue go first, then grades, each in order of arrival; but a grade follows every
    few calls of the dialogue. A call that waits for its model's pause blocks no others. The bot under test,
    if its model is at the same endpoint, never has more than half of the places.
    """

    def __init__(
        self,
        calls: int,
        on_wait: Callable[[float], object] = lambda _seconds: None,
        *,
        timeout: float | None = None,
    ) -> None:
        """At most `calls` at once. `on_wait` gets the seconds for which every call is stopped.

        With the `timeout` of a call in seconds it begins with few.
        """
        self.ceiling, self.on_wait, self.timeout = calls, on_wait, timeout
        # Whether it still looks for what the endpoint bears, and grows by one with every quick answer.
        self._is_starting = timeout is not None and calls <= USUAL_CALLS
        self.allowed = float(min(calls, FIRST_CALLS) if self._is_starting else calls)
        self.active = self.answers = 0
        self._quickest = self._too_many = math.inf
        self._halved_at = 0.0
        # Who waits, by priority and in order of arrival.
        self.waiting: tuple[deque[_Slot], deque[_Slot]] = (deque(), deque())
        self.active_bots = 0
        self._has_models = False
        self._in_a_row = 0
        self._timer: asyncio.TimerHandle | None = None

    def slot(
        self,
        priority: int,
        pause: Pause,
        *,
        is_bot: bool = False,
        patience: Patience | None = None,
    ) -> AbstractAsyncContextManager[Permit]:
        """Waits for a place among the calls in flight and for the end of a pause, while patience is left."""
        self._has_models = self._has_models or not is_bot
        return _Slot(self, priority, pause, is_bot, patience)

    def wake(self) -> None:
        """Lets in as many waiting calls as there are places for."""
        # `allowed` grows by fractions; a place is a whole one.
        while self.active < int(self.allowed) and any(self.waiting):
            now = asyncio.get_running_loop().time()
            slot = self._next(now)
            if slot is None:
                return
            self.waiting[slot.priority].remove(slot)
            self.active += 1
            self.active_bots += slot.is_bot
            self._in_a_row = self._in_a_row + 1 if slot.priority == DIALOGUE else 0
            slot.permit.set_result(Permit(now, self.answers))

    def _next(self, now: float) -> "_Slot | None":
        """The call whose turn it is; None when none may go out."""
        soonest = math.inf
        calls, grades = self.waiting
        for slot in chain(*((grades, calls) if self._in_a_row >= DIALOGUE_IN_A_ROW else (calls, grades))):
            # Cancelled; or of the bot, which may have all places where nobody else is asked.
            if slot.permit.done() or (
                slot.is_bot and self._has_models and self.active_bots >= max(1, int(self.allowed) // 2)
            ):
                continue
            if not (delay := slot.pause.delay(now)):
                return slot
            soonest = min(soonest, delay)
        # All that wait do so for the clock: nobody will wake them but a timer.
        if soonest < math.inf:
            self.on_wait(soonest)
            if self._timer is not None:
                self._timer.cancel()
            self._timer = asyncio.get_running_loop().call_later(soonest + 0.001, self.wake)
        return None

    def succeeded(self, permit: Permit | None = None) -> None:
        """Raises the limit a little after a successful call, before it leaves its place."""
        self.answers += 1
        # One more for every full round: of 8 in flight each success adds an eighth.
        step = 1 / self.allowed
        if self.allowed + 1 > self._too_many:
            step /= WARY
        if self._is_starting and permit and self.timeout is not None:
            took = max(asyncio.get_running_loop().time() - permit.entered, 1e-3)
            self._quickest = min(self._quickest, took)
            # So many are answered in time even by a server that works on one at a time.
            self.allowed = max(self.allowed, min(self.ceiling, self.timeout / 4 / took))
            step = 1.0 if took <= max(self.timeout / 8, 2 * self._quickest) else step
        self.allowed = min(self.ceiling, self.allowed + step)

    def refused(self, permit: Permit) -> None:
        """Halves the limit after a 429, once per round: calls from before the last halving do not count."""
        self._is_starting = False
        # 64 calls in flight may be refused at once, which is one refusal and not 64.
        if permit.entered >= self._halved_at:
            self.allowed = max(1.0, self.allowed / 2)
            self._halved_at = asyncio.get_running_loop().time()

    def hold(self, pause: Pause, seconds: float) -> None:
        """Stops all calls of a model for some seconds, as a 429 asks; who cannot wait so long fails."""
        now = asyncio.get_running_loop().time()
        pause.hold(seconds, now)
        for slot in chain(*self.waiting):
            if slot.pause is pause:
                slot.look_at(now)

    def overloaded(self, permit: Permit, *, is_late: bool = False) -> None:
        """As `refused`, for a server that is busy, or answers too late; a call alone crowds nobody out."""
        if self.active < 2:
            return
        if is_late and permit.entered >= self._halved_at:
            self._too_many = self.active
        self.refused(permit)

    def was_crowded_out(self, permit: Permit) -> bool:
        """Whether others were answered while a call waited that was not: it stood behind them."""
        return self.answers > permit.answers

    def close(self) -> None:
        """Cancels the timer; no waiting call is let in any more."""
        if self._timer is not None:
            with contextlib.suppress(RuntimeError):  # its loop is over
                self._timer.cancel()


@dataclass(eq=False)
class _Slot(AbstractAsyncContextManager[Permit]):
    """A place of one call, which waits for it first; no generator, for every call of a run takes one."""

    limiter: Limiter
    priority: int
    pause: Pause
    is_bot: bool
    patience: Patience | None

    def look_at(self, now: float) -> None:
        """Fails a call that 429s hold back for longer than is left of its patience."""
        if self.patience is None or self.permit.done():
            return
        # Only stops that began or went on after the call queued up are its own.
        left = self.patience.left - (self.pause.closed(now) - self.closed)
        if self.pause.delay(now) > left:
            self.patience.gave_up = _(
                "429: held back for longer than --patience allows ({seconds:g} s)",
                seconds=self.patience.seconds,
            )
            error = NoAnswer("error", self.patience.gave_up, is_transient=False, was_sent=False)
            self.permit.set_exception(error)

    async def __aenter__(self) -> Permit:
        loop, pause, waiting = asyncio.get_running_loop(), self.pause, self.limiter.waiting
        self.permit: asyncio.Future[Permit] = loop.create_future()
        # For how long 429s had stopped all calls when it began to wait.
        self.closed = pause.closed(loop.time())
        waiting[self.priority].append(self)
        try:
            self.limiter.wake()
            if self.permit.done():
                return self.permit.result()
            self.look_at(loop.time())
            return await self.permit
        except BaseException:
            if self in waiting[self.priority]:
                waiting[self.priority].remove(self)
            await self.__aexit__()
            raise
        finally:
            # Our own queue costs a call nothing of its patience, a stop that the endpoint asked for does.
            if self.patience is not None:
                self.patience.spent += pause.closed(loop.time()) - self.closed

    async def __aexit__(self, *_error: object) -> None:
        # Let in, maybe to be cancelled in the same moment.
        if self.permit.done() and not self.permit.cancelled() and self.permit.exception() is None:
            self.limiter.active -= 1
            self.limiter.active_bots -= self.is_bot
            self.limiter.wake()


class BotPlaces(AbstractAsyncContextManager[None]):
    """The places of a bot under test that calls a model's endpoint with a client of its own.

    Every task that enters waits for one of the bot's `own` places, where it has any, then for the endpoint's.
    Else our own load would draw 429s for the bot, which are counted as its failures.
    """

    def __init__(self, limiter: Limiter, own: AbstractAsyncContextManager[Any] | None) -> None:
        self._limiter, self._pause, self._own = limiter, Pause(), own or nullcontext()
        self._entered: dict[asyncio.Task[Any] | None, tuple[AsyncExitStack, Permit]] = {}

    async def __aenter__(self) -> None:
        """Waits for a place."""
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._own)
            permit = await stack.enter_async_context(self._limiter.slot(DIALOGUE, self._pause, is_bot=True))
            self._entered[asyncio.current_task()] = stack.pop_all(), permit

    def answered(self) -> None:
        """The bot answered the task that is within: the endpoint bears as much as if a model had.

        An answer out of a cache of the bot's says nothing of that.
        """
        _stack, permit = self._entered[asyncio.current_task()]
        if asyncio.get_running_loop().time() - permit.entered >= FROM_CACHE:
            self._limiter.succeeded(permit)

    async def __aexit__(self, *error: object) -> None:
        """Leaves it."""
        stack, _permit = self._entered.pop(asyncio.current_task())
        await stack.aclose()
