"""What an endpoint takes in a minute: the requests and tokens that are set for it, and stops after a 429.

A call goes out once each `Window` (--rpm, --tpm) of its model's `Rates` has room and no `Pause` holds it.
Windows count what was estimated, and are corrected when the reply tells the real tokens: with --rpm 2 and
calls at 0 s and 10 s, a third one asked for at 20 s waits 40.5 s, until the first is a minute old.
"""

import json
import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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

    def hold(self, seconds: float, now: float) -> None:
        """Stops all calls for these seconds."""
        # A new stop, after an earlier one was over; else the same one grows.
        if now >= self.until:
            self._earlier, self._since = self.closed(now), now
        self.until = max(self.until, now + seconds)

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
