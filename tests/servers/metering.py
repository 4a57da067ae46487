"""Requests and tokens a minute, as endpoints meter them: shown in headers, 429 above the limit."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.servers.faults import Reply, error


@dataclass
class Meter:
    """Two buckets that fill up evenly; a shorter `minute` (in seconds) makes for quicker tests.

    `silent` leaves the headers out, as many servers do.
    """

    requests: float | None = None
    tokens: float | None = None
    minute: float = 60.0
    silent: bool = False
    refused: int = 0
    _left: dict[str, float] = field(default_factory=dict)
    _at: float = field(default_factory=time.monotonic)

    def admit(self, tokens: float) -> Reply | None:
        """Counts a request; gives the refusal where there is no room for it."""
        self._fill()
        wanted = {"requests": 1.0, "tokens": tokens}
        lacking = {kind: wanted[kind] - left for kind, left in self._left.items() if wanted[kind] > left}
        if lacking:
            self.refused += 1
            wait = max(lack / self._most(kind) * self.minute for kind, lack in lacking.items())
            told = {"retry-after-ms": str(int(wait * 1000) + 1)}
            return error(429, headers=told | dict(self.headers()))
        for kind in self._left:
            self._left[kind] -= wanted[kind]
        return None

    def headers(self) -> Mapping[str, str]:
        """What is left, and when all of it will be there again."""
        found: dict[str, str] = {}
        for kind, left in {} if self.silent else self._left.items():
            most = self._most(kind)
            reset = (most - left) / most * self.minute
            found |= {
                f"x-ratelimit-limit-{kind}": f"{most:.0f}",
                f"x-ratelimit-remaining-{kind}": f"{int(left)}",
                f"x-ratelimit-reset-{kind}": f"{reset * 1000:.0f}ms",
            }
        return found

    def _most(self, kind: str) -> float:
        return (self.requests if kind == "requests" else self.tokens) or 0.0

    def _fill(self) -> None:
        now = time.monotonic()
        for kind in ("requests", "tokens"):
            if most := self._most(kind):
                grown = self._left.get(kind, most) + most * (now - self._at) / self.minute
                self._left[kind] = min(most, grown)
        self._at = now
