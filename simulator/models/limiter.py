"""Requests and tokens a minute: as the user gives them, and as an endpoint tells them in its headers."""

import asyncio
import contextlib
import itertools
import json
import math
import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import zip_longest
from typing import Any, NamedTuple, Protocol

from tenacity import RetryCallState, wait_random_exponential
from tenacity.wait import wait_base

# Seconds. Half a second over the minute: requests do not all take equally long to arrive.
MINUTE = 60.5
# An endpoint whose headers say that nothing is left for longer than this is asked all the same.
LONGEST_TOLD = 60.0
# Without a tokenizer: so many bytes of UTF-8 a token, a little fewer than in Japanese or English prose.
BYTES_PER_TOKEN = 3.0
# Tokens a reply is taken to have, until there were some.
FIRST_REPLY = 200.0

REQUESTS, TOKENS = 0, 1
KINDS = ("requests", "tokens")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")


class Limit(Protocol):
    """One thing of which there is only so much: `kind` says whether it counts requests or tokens."""

    kind: int

    def delay(self, amount: float, now: float) -> float:
        """Seconds until there is room for `amount`; 0 when there is."""
        ...

    def take(self, amount: float, now: float) -> "Entry":
        """Takes it, whether or not there is room."""
        ...

    def correct(self, entry: "Entry", amount: float) -> None:
        """What was taken turned out to be `amount`."""
        ...


@dataclass(slots=True)
class Entry:
    """What one call took of one limit, and when."""

    at: float
    amount: float
    counts: bool = True


class Window:
    """At most `most` within any minute, wherever the minute begins."""

    def __init__(self, kind: int, most: float) -> None:
        """`most` requests or tokens."""
        self.kind, self.most = kind, most
        self._sum = 0.0
        self._entries: deque[Entry] = deque()

    def delay(self, amount: float, now: float) -> float:
        """Seconds until enough of what was taken is more than a minute ago."""
        self._forget(now)
        # A call larger than the limit goes when it is alone; it would never go otherwise.
        over = self._sum + min(amount, self.most) - self.most
        for entry in self._entries:
            if over <= 0:
                return 0.0
            over -= entry.amount
            if over <= 0:
                return entry.at + MINUTE - now
        return 0.0

    def take(self, amount: float, now: float) -> Entry:
        """Takes it."""
        entry = Entry(now, amount)
        self._entries.append(entry)
        self._sum += amount
        return entry

    def correct(self, entry: Entry, amount: float) -> None:
        """Counts `amount` in place of the estimate, unless the entry is a minute old."""
        if entry.counts:
            self._sum += amount - entry.amount
            entry.amount = amount

    def _forget(self, now: float) -> None:
        while self._entries and self._entries[0].at + MINUTE <= now:
            entry = self._entries.popleft()
            entry.counts = False
            self._sum -= entry.amount


class Bucket:
    """What an endpoint says is left, filling up again at the rate that its own figures imply."""

    def __init__(self, kind: int) -> None:
        """Holds nobody up until the endpoint has told something."""
        self.kind = kind
        self.most, self._left, self._rate, self._at = math.inf, math.inf, 0.0, 0.0
        self._taken, self._heard = 0.0, 0.0

    @property
    def is_told(self) -> bool:
        """Whether the endpoint has told a limit of this kind."""
        return math.isfinite(self.most)

    @property
    def taken(self) -> float:
        """All that was ever taken, to tell what an answer did not know of yet."""
        return self._taken

    def told(self, figures: "Figures", unseen: float, now: float) -> None:
        """What an answer says; `unseen` was taken after its call, and is not in its figures."""
        used, reset = figures.most - figures.left, figures.reset
        self._rate = used / reset if reset and used > 0 else figures.most / 60
        self.most, self._left, self._at, self._heard = figures.most, figures.left - unseen, now, now

    def delay(self, amount: float, now: float) -> float:
        """Seconds until there is enough again, by the endpoint's own figures."""
        lacking = min(amount, self.most) - self._now(now)
        if lacking <= 1e-6:
            return 0.0
        # A limit by the day is asked about now and then: what was told may be no longer true.
        return max(0.0, min(lacking / self._rate, self._heard + LONGEST_TOLD - now))

    def take(self, amount: float, now: float) -> Entry:
        """Takes it from what is left."""
        self._taken += amount
        if self.is_told:
            self._left, self._at, self._heard = self._now(now) - amount, now, now
        return Entry(now, amount)

    def correct(self, entry: Entry, amount: float) -> None:
        """Nothing: the endpoint's next answer says what is left."""

    def _now(self, now: float) -> float:
        if not self.is_told:
            return math.inf
        return min(self.most, self._left + self._rate * (now - self._at))


class Pause:
    """Nothing at all until an endpoint that said 429 wants to be asked again."""

    kind = REQUESTS

    def __init__(self) -> None:
        """There is none yet."""
        self.until = -math.inf
        self._since = self._earlier = 0.0

    def hold(self, seconds: float, now: float) -> None:
        """Nothing more for so long."""
        if now >= self.until:
            self._earlier, self._since = self.closed(now), now
        self.until = max(self.until, now + seconds)

    def closed(self, now: float) -> float:
        """For how many seconds in all there has been nothing so far."""
        return self._earlier + max(0.0, min(now, self.until) - self._since)

    def delay(self, amount: float, now: float) -> float:
        """Seconds until its end."""
        return max(0.0, self.until - now)

    def take(self, amount: float, now: float) -> Entry:
        """Takes nothing."""
        return Entry(now, amount)

    def correct(self, entry: Entry, amount: float) -> None:
        """Nothing to correct."""


@dataclass(slots=True)
class Reservation:
    """What one call took: its place in the order of all calls, and its entries in each limit."""

    number: int
    entries: Sequence[Entry]
    taken: tuple[float, float]


@dataclass
class Rates:
    """The limits that the calls to one model are under; `given` ones may be shared with other models."""

    given: Sequence[Window] = ()
    told_of: tuple[Bucket, Bucket] = field(default_factory=lambda: (Bucket(REQUESTS), Bucket(TOKENS)))
    pause: Pause = field(default_factory=Pause)
    reply: float = FIRST_REPLY
    _started: int = 0
    _newest: int = -1

    @property
    def limits(self) -> Iterator[Limit]:
        """All of them, the given ones first."""
        yield from self.given
        yield from self.told_of
        yield self.pause

    def estimate(self, body: Mapping[str, Any]) -> float:
        """Tokens that a request will take, its reply included; 0 where nobody limits tokens."""
        if not (self.told_of[TOKENS].is_told or any(limit.kind == TOKENS for limit in self.given)):
            return 0.0
        asked = body.get("messages") or body.get("input") or ""
        size = len(json.dumps(asked, ensure_ascii=False).encode("utf-8", "surrogatepass"))
        return size / BYTES_PER_TOKEN + (self.reply if "messages" in body else 0.0)

    def hindered(self, tokens: float, now: float) -> dict[Limit, float]:
        """The limits that have no room for a call yet, and for how many seconds."""
        waits = {limit: limit.delay(_amount(limit, tokens), now) for limit in self.limits}
        return {limit: wait for limit, wait in waits.items() if wait > 0}

    def take(self, tokens: float, now: float) -> Reservation:
        """The room for one call."""
        self._started += 1
        entries = [limit.take(_amount(limit, tokens), now) for limit in self.limits]
        requests, used = self.told_of
        return Reservation(self._started, entries, (requests.taken, used.taken))

    def answered(self, ticket: Reservation, headers: Mapping[str, str], now: float) -> None:
        """What an answer's headers tell of the limits. Older answers than the newest tell nothing new."""
        if ticket.number < self._newest:
            return
        for bucket, taken in zip(self.told_of, ticket.taken, strict=True):
            figures = told_in(headers, KINDS[bucket.kind])
            if figures is not None:
                self._newest = ticket.number
                bucket.told(figures, bucket.taken - taken, now)

    def spent(self, ticket: Reservation, tokens_in: int, tokens_out: int) -> None:
        """The tokens that a call really took, in place of those it was taken to take."""
        self._settle(ticket, tokens_in + tokens_out)
        if tokens_out:
            self.reply += (tokens_out - self.reply) / 16

    def failed(self, ticket: Reservation) -> None:
        """A call that was refused, or never answered, takes no tokens."""
        self._settle(ticket, 0)

    def hold(self, seconds: float, now: float) -> None:
        """Nothing more for so long."""
        self.pause.hold(seconds, now)

    def _settle(self, ticket: Reservation, tokens: float) -> None:
        for limit, entry in zip_longest(self.given, ticket.entries[: len(self.given)]):
            if limit.kind == TOKENS:
                limit.correct(entry, tokens)


def _amount(limit: Limit, tokens: float) -> float:
    return tokens if limit.kind == TOKENS else 1.0


class Figures(NamedTuple):
    """The limit, what is left of it, and the seconds until all of it is back (None: not told)."""

    most: float
    left: float
    reset: float | None


def told_in(headers: Mapping[str, str], kind: str) -> Figures | None:
    """What x-ratelimit-*-requests, or -tokens, say; None when they are absent or make no sense."""
    limit, left = (_number(headers.get(f"x-ratelimit-{what}-{kind}")) for what in ("limit", "remaining"))
    if limit is None or left is None or not 0 <= left <= limit or limit < 1:
        return None
    return Figures(limit, left, seconds_in(headers.get(f"x-ratelimit-reset-{kind}")))


def seconds_in(text: str | None) -> float | None:
    """`6m0s`, `1.5s`, `20ms` or a plain number as seconds; None when it is none of these."""
    text = (text or "").strip().lower()
    parts = _DURATION.findall(text)
    if parts and "".join(map("".join, parts)) == text:
        return sum(float(number) * _UNITS[unit] for number, unit in parts)
    return _number(text)


def wait_asked_for(headers: Mapping[str, str]) -> float | None:
    """The seconds of Retry-After (a number or a date) or retry-after-ms; None for nonsense and the past."""
    exact, asked = _number(headers.get("retry-after-ms")), headers.get("retry-after")
    if exact is not None and exact >= 0:
        return exact / 1000
    seconds = _number(asked)
    if seconds is None and asked:
        seconds = _seconds_until(asked, headers.get("date"))
    return seconds if seconds is not None and seconds >= 0 else None


def _seconds_until(date: str, now: str | None) -> float | None:
    """Until an HTTP date, by the clock of whoever wrote it where they say what it shows."""
    try:
        return (_http_date(date) - (_http_date(now) if now else datetime.now(tz=UTC))).total_seconds()
    except (TypeError, ValueError, OverflowError):
        return None


def _http_date(text: str) -> datetime:
    read = parsedate_to_datetime(text)
    return read if read.tzinfo else read.replace(tzinfo=UTC)


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) else None


DIALOGUE, GRADING = 0, 1  # conversations wait for their own calls only; grades can come later
# After so many calls of the dialogue in a row a waiting grade goes in.
DIALOGUE_IN_A_ROW = 7
# One place in so many is kept for the dialogue: grades that take for ever must not hold it up.
KEPT_FOR_DIALOGUE = 32


@dataclass(slots=True)
class Permit:
    """A place among the calls in flight: when it was entered, and what it took of the rates."""

    entered: float
    ticket: Reservation | None = None


@dataclass(slots=True)
class _Waiter:
    order: int
    tokens: float
    place: asyncio.Future[Permit]


@dataclass
class Queue:
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
        self._lines: dict[tuple[int, int, bool], Queue] = {}
        self._in_a_row = 0
        self._timer: asyncio.TimerHandle | None = None

    @asynccontextmanager
    async def slot(
        self, priority: int, rates: Rates | None = None, *, tokens: float = 0.0, is_bot: bool = False
    ) -> AsyncIterator[Permit]:
        """A place among the calls in flight, as soon as there is one and the rates have room."""
        line = self._line(priority, rates, is_bot=is_bot)
        place = await self._enter(line, tokens)
        try:
            yield place
        finally:
            self._leave(line)

    def _line(self, priority: int, rates: Rates | None, *, is_bot: bool) -> Queue:
        key = (priority, id(rates), is_bot)  # the line keeps its rates alive, so that the id stays theirs
        if key not in self._lines:
            self._lines[key] = Queue(priority, rates, is_bot)
        return self._lines[key]

    async def _enter(self, line: Queue, tokens: float) -> Permit:
        future: asyncio.Future[Permit] = asyncio.get_running_loop().create_future()
        line.waiting.append(_Waiter(next(self._order), tokens, future))
        self._wake()
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():  # let in and cancelled at once: give it back
                self._leave(line)
            raise

    def _leave(self, line: Queue) -> None:
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
            waiter.place.set_result(Permit(now, line.rates.take(waiter.tokens, now) if line.rates else None))

    def _next(self, now: float) -> Queue | None:
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

    def _in_turn(self) -> Iterator[tuple[Queue, _Waiter]]:
        """The lines in which somebody waits, in the order in which they may go."""
        waiting = [(line, head) for line in self._lines.values() if (head := line.head())]
        grades_first = self._in_a_row >= DIALOGUE_IN_A_ROW
        waiting.sort(key=lambda pair: ((pair[0].priority == DIALOGUE) is grades_first, pair[1].order))
        return iter(waiting)

    def _has_room(self, line: Queue) -> bool:
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

    def refused(self, place: Permit) -> None:
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
