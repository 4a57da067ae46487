"""Limits of calls to endpoints: how many at once, and how many requests and tokens a minute.

First the limits by the minute, which the user configures; then `Limiter`, the queue of calls for a place at
an endpoint, which adapts to what it bears; then the patience of one call, and notices of waiting.

A call waits for two things at once, and only goes out when it has both:

    a place    `Limiter`, one for each host: at most --calls in flight, fewer where it is too slow or refuses
    room       `Rates`, one for each model: its `Window`s (--rpm, --tpm), and no `Pause` after a 429

Who goes first: the calls of dialogues before grades, because somebody waits for them, and each kind in order
of arrival. After seven of the dialogue one grade goes, or grades would pile up to the end of the run. The bot
under test gets at most half of the places at an endpoint that it shares with our models, since its answers
would be measured as slow for no fault of its own.

Windows count what was estimated, and are corrected when the reply tells the real tokens: with --rpm 2 and
calls at 0 s and 10 s, a third one asked for at 20 s waits 40.5 s, until the first is a minute old.

What nobody may do here is wait twice for the same minute: time in the queue for a place among our own calls
does not count as --patience, whether they queue here or at the server (`Limiter.was_crowded_out`); a stop
that the endpoint asked for does.
"""

import asyncio
import contextlib
import itertools
import json
import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, AsyncExitStack, nullcontext
from dataclasses import dataclass, field
from typing import Any

from tenacity import RetryCallState, wait_random_exponential
from tenacity.wait import wait_base

from simulator.core.clock import awake
from simulator.core.messages import Message, _, say
from simulator.core.roles import DIALOGUE
from simulator.models.exchange import NoAnswer
from simulator.models.waits import wait_asked_for as wait_asked_for  # adapters look for it here
from simulator.models.waits import wait_of

# Seconds. Half a second more than a minute, because requests do not take equally long to arrive.
MINUTE = 60.5
# Bytes of UTF-8 per token, without a tokenizer; a little fewer than in Japanese (3 bytes a character, 1.1
# characters a token) or English prose (4), so that the estimate is rather too high.
BYTES_PER_TOKEN = 3.0
# The estimated tokens of a reply, until there are replies to go by (a running mean, of which each new reply
# is a sixteenth).
FIRST_REPLY = 200.0

REQUESTS, TOKENS = 0, 1


@dataclass(slots=True)
class Entry:
    """What one call used of one limit, and when; `counts` until it has left the window."""

    at: float
    amount: float
    counts: bool = True


@dataclass(slots=True)
class Permit:
    """A place among the calls in flight, and what the call reserved of its rates."""

    entered: float
    entries: Sequence[Entry] = ()
    # The answers that the endpoint had given by then.
    answers: int = 0


class Window:
    """A configured limit: at most `most` within any minute. Times (`now`) are those of the event loop."""

    def __init__(self, kind: int, most: float) -> None:
        self.kind, self.most = kind, most
        self._sum = 0.0
        self._entries: deque[Entry] = deque()

    def delay(self, amount: float, now: float) -> float:
        """Seconds until there is room for `amount`: until enough entries are older than a minute."""
        while self._entries and self._entries[0].at + MINUTE <= now:
            entry = self._entries.popleft()
            entry.counts = False
            self._sum -= entry.amount
        # A call larger than the limit goes out alone; otherwise it would never go out.
        # How much has to leave the window first, from its oldest entry on.
        over = self._sum + min(amount, self.most) - self.most
        for entry in self._entries:
            if over <= 0:
                return 0.0
            over -= entry.amount
            if over <= 0:
                return entry.at + MINUTE - now
        return 0.0

    def take(self, amount: float, now: float) -> Entry:
        """Counts `amount` as used, whether or not there is room."""
        entry = Entry(now, amount)
        self._entries.append(entry)
        self._sum += amount
        return entry

    def correct(self, entry: Entry, amount: float) -> None:
        """Counts `amount` instead of the estimate, unless the entry has left the window."""
        if entry.counts:
            self._sum += amount - entry.amount
            entry.amount = amount


class Pause:
    """A stop of all calls until the time that an endpoint named with a 429.

    Without it every call in the queue would go out, be refused, and wait by itself.
    """

    kind = REQUESTS

    def __init__(self) -> None:
        self.until = -math.inf
        self._since = self._earlier = 0.0
        # Called at each 429: whoever waits may have to give up.
        self.watchers: set[Callable[[], None]] = set()

    def hold(self, seconds: float, now: float) -> None:
        """Stops all calls for these seconds."""
        # A new stop, after an earlier one was over; else the same one grows.
        if now >= self.until:
            self._earlier, self._since = self.closed(now), now
        if now + seconds > self.until:
            self.until = now + seconds
            for look in self.watchers:
                look()

    def closed(self, now: float) -> float:
        """The seconds that all stops together have taken so far."""
        return self._earlier + max(0.0, min(now, self.until) - self._since)

    def delay(self, _amount: float, now: float) -> float:
        """Seconds until the stop ends."""
        return max(0.0, self.until - now)


Limit = Window | Pause


class Rates:
    """The limits of the calls to one model; those `configured` may be shared with other models."""

    def __init__(self, configured: Sequence[Window] = ()) -> None:
        self.configured = configured
        self.pause = Pause()
        self.limits: tuple[Limit, ...] = (*configured, self.pause)
        self._reply = FIRST_REPLY

    def estimate(self, body: Mapping[str, Any]) -> float:
        """The estimated tokens of a request with its reply; 0 when tokens are not limited."""
        if not any(limit.kind == TOKENS for limit in self.configured):
            return 0.0
        content = body.get("messages") or body.get("input") or ""
        # Only what the model reads; the schema is the same for all calls, and small.
        size = len(json.dumps(content, ensure_ascii=False).encode("utf-8", "surrogatepass"))
        return size / BYTES_PER_TOKEN + (self._reply if "messages" in body else 0.0)

    def delays(self, tokens: float, now: float) -> dict[Limit, float]:
        """The limits that have no room for a call yet, with the seconds until they have."""
        return {
            limit: wait for limit in self.limits if (wait := limit.delay(_amount(limit, tokens), now)) > 0
        }

    def take(self, tokens: float, now: float) -> Permit:
        """Reserves the room for one call."""
        return Permit(now, [window.take(_amount(window, tokens), now) for window in self.configured])

    def spent(self, permit: Permit, tokens_in: int = 0, tokens_out: int = 0) -> None:
        """Replaces the estimated tokens of a call by the real ones; a call that failed used none."""
        for window, entry in zip(self.configured, permit.entries, strict=True):
            if window.kind == TOKENS:
                window.correct(entry, tokens_in + tokens_out)
        if tokens_out:
            self._reply += (tokens_out - self._reply) / 16


def _amount(limit: Limit, tokens: float) -> float:
    return tokens if limit.kind == TOKENS else 1.0


# After this many calls of the dialogue in a row a waiting grade goes first.
DIALOGUE_IN_A_ROW = 7


@dataclass(slots=True)
class _Waiter:
    order: int
    tokens: float
    permit: asyncio.Future[Permit]


@dataclass
class Queue:
    """Waiting calls of the same priority and rates, in order of arrival."""

    priority: int
    rates: Rates
    is_bot: bool
    active: int = 0
    waiting: deque[_Waiter] = field(default_factory=deque)

    def head(self) -> _Waiter | None:
        """The next waiting call that was not cancelled, or None."""
        while self.waiting and self.waiting[0].permit.done():
            self.waiting.popleft()
        return self.waiting[0] if self.waiting else None


# Calls in flight until the first answer says how long one takes.
FIRST_CALLS = 4
# --calls as usual; whoever sets more of them knows the endpoint.
USUAL_CALLS = 64
# Growth beyond what once came too late is so many times slower.
WARY = 16


class Limiter:
    """An adaptive limit: halves under pressure, grows back by one per round of successes (AIMD, as TCP does).

    Additive increase and multiplicative decrease find the rate that an endpoint really allows, without being
    told, and share it fairly among several programs that use the same account. Pressure is a 429, a server
    that calls itself busy, and no answer in time. A server that works on one call at a time lets the others
    time out, and may go on with those as well; so the first calls are few, until an answer tells how long one
    takes: with --timeout 60 one of 7.5 s keeps it at 4, one of 0.5 s makes room for 30.

    Waiting calls of the dialogue go first, then grades, each in order of arrival; but a grade follows every
    few calls of the dialogue. A call that waits for its own rates blocks no others. The bot under test, if
    its model is at the same endpoint, never has more than half of the places.
    """

    def __init__(
        self, calls: int, on_wait: Callable[[float], object] = lambda _: None, *, timeout: float | None = None
    ) -> None:
        """At most `calls` at once. `on_wait` gets the seconds for which the rates stop every call.

        With the `timeout` of a call in seconds it begins with few.
        """
        self.ceiling, self.on_wait, self.timeout = calls, on_wait, timeout
        # Whether it still looks for what the endpoint bears, and grows by one with every quick answer.
        self._is_starting = timeout is not None and calls <= USUAL_CALLS
        self.allowed = float(min(calls, FIRST_CALLS) if self._is_starting else calls)
        self.active = self.answers = 0
        self._quickest = self._too_many = math.inf
        self._halved_at = 0.0
        self.order = itertools.count()
        self._queues: dict[tuple[int, Rates, bool], Queue] = {}
        self._in_a_row = 0
        self._timer: asyncio.TimerHandle | None = None

    def slot(
        self,
        priority: int,
        rates: Rates,
        *,
        tokens: float = 0.0,
        is_bot: bool = False,
        patience: "Patience | None" = None,
    ) -> AbstractAsyncContextManager[Permit]:
        """Waits for a place among the calls in flight and for room in the rates, while `patience` is left."""
        key = (priority, rates, is_bot)
        if key not in self._queues:
            self._queues[key] = Queue(*key)
        return _Slot(self, self._queues[key], tokens, patience)

    def wake(self) -> None:
        """Lets in as many waiting calls as there are places for."""
        # `allowed` grows by fractions; a place is a whole one.
        while self.active < int(self.allowed):
            now = asyncio.get_running_loop().time()
            queue = self._next(now)
            if queue is None:
                return
            waiter = queue.waiting.popleft()
            self.active += 1
            queue.active += 1
            self._in_a_row = self._in_a_row + 1 if queue.priority == DIALOGUE else 0
            permit = queue.rates.take(waiter.tokens, now)
            permit.answers = self.answers
            waiter.permit.set_result(permit)

    def _next(self, now: float) -> Queue | None:
        """The queue whose turn it is; None when no call waits, or none may go out."""
        waiting = [(queue, head) for queue in self._queues.values() if (head := queue.head())]
        if not waiting:
            return None
        # Sorted by whose turn it is, then by arrival; the first that may go out goes.
        grades_first = self._in_a_row >= DIALOGUE_IN_A_ROW
        waiting.sort(key=lambda pair: ((pair[0].priority == DIALOGUE) is grades_first, pair[1].order))
        blocked: set[Limit] = set()
        soonest = math.inf
        for queue, waiter in waiting:
            if not self._has_room(queue):
                continue
            delays = queue.rates.delays(waiter.tokens, now)
            if not delays and blocked.isdisjoint(queue.rates.limits):
                return queue
            # Later calls must not use up what an earlier one waits for, or it might wait for ever: a long
            # prompt needs many tokens at once, which short ones behind it would take one by one.
            blocked |= delays.keys()
            soonest = min(soonest, max(delays.values(), default=math.inf))
        # All that wait do so for the clock: nobody will wake them but a timer.
        if soonest < math.inf:
            self.on_wait(soonest)
            if self._timer is not None:
                self._timer.cancel()
            self._timer = asyncio.get_running_loop().call_later(soonest + 0.001, self.wake)
        return None

    def _has_room(self, queue: Queue) -> bool:
        if not queue.is_bot or queue.active < max(1, int(self.allowed) // 2):
            return True
        # Nobody but the bot is asked here: then it may have all places.
        return all(each.is_bot for each in self._queues.values())

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


@dataclass
class _Slot(AbstractAsyncContextManager[Permit]):
    """A place of one call; no generator, for every call of a run takes one."""

    limiter: Limiter
    queue: Queue
    tokens: float
    patience: "Patience | None"

    async def __aenter__(self) -> Permit:
        self.permit: asyncio.Future[Permit] = asyncio.get_running_loop().create_future()
        self.queue.waiting.append(_Waiter(next(self.limiter.order), self.tokens, self.permit))
        try:
            self.limiter.wake()
            if self.patience is not None and not self.permit.done():
                return await self.patience.queueing(self.permit, self.queue.rates.pause)
            return await self.permit
        except BaseException:
            await self.__aexit__()
            raise

    async def __aexit__(self, *_error: object) -> None:
        # Let in, maybe to be cancelled in the same moment.
        if self.permit.done() and not self.permit.cancelled() and self.permit.exception() is None:
            self.queue.active -= 1
            self.limiter.active -= 1
            self.limiter.wake()


class RetryAfter(wait_base):
    """Waits as long as the endpoint asks for, otherwise random-exponentially from 1 to 60 seconds.

    Also where it has asked twice for less than a second in vain: all attempts would be over in no time.
    """

    def __init__(self, longest: float = 120.0) -> None:
        """No single wait is longer than `longest` seconds."""
        self.longest = longest
        self.otherwise: wait_base = wait_random_exponential(multiplier=1, max=60)

    def __call__(self, retry_state: RetryCallState) -> float:
        """Seconds until the next attempt."""
        # Of OpenAI's errors; NoAnswer has the answer to the provider's client, if any.
        seconds = wait_of(retry_state.outcome.exception() if retry_state.outcome else None)
        if seconds is None or (seconds < 1 and retry_state.attempt_number > 2):
            return self.otherwise(retry_state)
        return min(self.longest, seconds)


class BotPlaces(AbstractAsyncContextManager[None]):
    """The places of a bot under test that calls a model's endpoint with a client of its own.

    Every task that enters waits for one of the bot's `own` places, where it has any, then for the endpoint's.
    Else our own load would draw 429s for the bot, which are counted as its failures.
    """

    def __init__(self, limiter: Limiter, rates: Rates, own: AbstractAsyncContextManager[Any] | None) -> None:
        self._limiter, self._rates, self._own = limiter, rates, own or nullcontext()
        self._entered: dict[asyncio.Task[Any] | None, AsyncExitStack] = {}

    async def __aenter__(self) -> None:
        """Waits for a place."""
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._own)
            await stack.enter_async_context(self._limiter.slot(DIALOGUE, self._rates, is_bot=True))
            self._entered[asyncio.current_task()] = stack.pop_all()

    async def __aexit__(self, *error: object) -> None:
        """Leaves it."""
        await self._entered.pop(asyncio.current_task()).aclose()


# Seconds of waiting that are worth a notice, and the seconds until the next one about the same endpoint:
# whoever looks at a terminal that stands still should know why, and not read the same line for each of 64
# calls.
WORTH_TELLING, SILENCE = 5.0, 15.0
# Seconds for a last attempt.
LAST = 1.0
# Time-outs of one call for which it is not to blame; a prompt that no server answers has an end.
MOST_FORGIVEN = 4


class Patience(AbstractContextManager[None]):
    """The seconds that one call may still take.

    Neither waiting for a place among our own calls counts, nor the time for which the process was suspended.
    `with patience:` counts the time of its block, `tries` the attempts. `gave_up` says why nobody waits any
    more, "" as long as somebody does.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds, self.spent = seconds, 0.0
        self.tries = self.forgiven = 0
        self.gave_up: Message | str = ""
        # Whether the endpoint itself named a wait that is too long.
        self.is_told = False

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return max(0.0, self.seconds - self.spent)

    def __enter__(self) -> None:
        """Counts the time spent in the `with` block."""
        self._entered = awake()

    def __exit__(self, *_error: object) -> None:
        self.spent += awake() - self._entered

    def fitting(self, seconds: float, state: RetryCallState) -> float:
        """A wait that leaves time for an attempt after it, unless the endpoint itself asked for it."""
        error = state.outcome.exception() if state.outcome else None
        if seconds < self.left or self.left <= LAST or wait_of(error) is not None:
            return seconds
        return self.left - LAST

    def forgive(self, spent: float) -> None:
        """Takes back an attempt that stood behind our own calls, a few times; `spent` was spent before."""
        if self.forgiven < MOST_FORGIVEN:
            self.forgiven += 1
            self.tries -= 1
            self.spent = spent

    async def sleep(self, seconds: float) -> None:
        """Waits before another attempt; the wait counts."""
        with self:
            await asyncio.sleep(seconds)

    def is_over(self, state: RetryCallState) -> bool:
        """Whether the next wait would use up the patience, so that no attempt could follow."""
        # Without time for an attempt after it, a wait would be for nothing.
        if state.upcoming_sleep < self.left:
            return False
        seconds = wait_of(state.outcome.exception() if state.outcome else None)
        if seconds is None or seconds < self.left:
            self.gave_up = _(
                "given up after {spent:.0f} s: --patience is {patience:g} s",
                spent=self.spent,
                patience=self.seconds,
            )
        else:
            self.is_told = True
            self.gave_up = _(
                "it asks for {wait:,.0f} s before another call: --patience is {patience:g} s",
                wait=seconds,
                patience=self.seconds,
            )
        return True

    async def queueing(self, permit: asyncio.Future[Permit], pause: Pause) -> Permit:
        """A place in the queue; raises NoAnswer where 429s close it for longer than is left."""
        clock = asyncio.get_running_loop().time
        # Only stops that began or went on after the call queued up are its own.
        before = pause.closed(clock())

        def look() -> None:
            now = clock()
            left = self.left - (pause.closed(now) - before)
            if not permit.done() and (left <= 0 or pause.delay(1, now) > left):
                self.gave_up = _(
                    "429: held back for longer than --patience allows ({seconds:g} s)", seconds=self.seconds
                )
                held_back = NoAnswer("error", self.gave_up, is_transient=False, was_sent=False)
                permit.set_exception(held_back)

        look()
        pause.watchers.add(look)
        try:
            return await permit
        finally:
            pause.watchers.remove(look)
            self.spent += pause.closed(clock()) - before


class Notices:
    """Notices on stderr about waiting for an endpoint, one for all calls that wait."""

    def __init__(self) -> None:
        self._until: dict[str, float] = {}

    def waiting(self, where: str, seconds: float, why: Message | str, since: float = 0.0) -> bool:
        """Prints a notice of a long wait, unless one was printed lately; whether it did.

        `since` is the time spent so far.
        """
        now = asyncio.get_running_loop().time()
        # Short waits add up: the third of three seconds is worth a word.
        if since + seconds >= WORTH_TELLING and now >= self._until.get(where, now):
            self._until[where] = now + max(seconds, SILENCE)
            say(_("waiting {seconds:.0f} s: {why}", seconds=seconds, why=why))
            return True
        return False
