"""Requests and tokens a minute: as the user gives them, and as an endpoint tells them in its headers."""

import json
import math
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import zip_longest
from typing import Any, NamedTuple, Protocol

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
class Ticket:
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

    def take(self, tokens: float, now: float) -> Ticket:
        """The room for one call."""
        self._started += 1
        entries = [limit.take(_amount(limit, tokens), now) for limit in self.limits]
        requests, used = self.told_of
        return Ticket(self._started, entries, (requests.taken, used.taken))

    def answered(self, ticket: Ticket, headers: Mapping[str, str], now: float) -> None:
        """What an answer's headers tell of the limits. Older answers than the newest tell nothing new."""
        if ticket.number < self._newest:
            return
        for bucket, taken in zip(self.told_of, ticket.taken, strict=True):
            figures = told_in(headers, KINDS[bucket.kind])
            if figures is not None:
                self._newest = ticket.number
                bucket.told(figures, bucket.taken - taken, now)

    def spent(self, ticket: Ticket, tokens_in: int, tokens_out: int) -> None:
        """The tokens that a call really took, in place of those it was taken to take."""
        self._settle(ticket, tokens_in + tokens_out)
        if tokens_out:
            self.reply += (tokens_out - self.reply) / 16

    def failed(self, ticket: Ticket) -> None:
        """A call that was refused, or never answered, takes no tokens."""
        self._settle(ticket, 0)

    def hold(self, seconds: float, now: float) -> None:
        """Nothing more for so long."""
        self.pause.hold(seconds, now)

    def _settle(self, ticket: Ticket, tokens: float) -> None:
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
