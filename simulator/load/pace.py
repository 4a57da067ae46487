"""When customers come, and how long they think: drawn from the seed, the same in every run."""

import math
import random
from collections.abc import Iterator

from simulator.core.settings import Arrival, Settings, read_arrival

# Of the logarithm of thinking times: one in six is longer than 1.6 times the median.
SPREAD = 0.5


class Pace:
    """The arrivals of one sitting, and the thinking times of its customers, in seconds."""

    def __init__(self, settings: Settings) -> None:
        """At once, if nothing else is said; nobody thinks then."""
        self.customers = settings.customers or 1
        self.think, self._seed = settings.think, settings.seed
        arrival = read_arrival(settings.arrival) if settings.arrival else None
        self._arrivals = self._arriving(arrival)

    def arrival(self) -> float | None:
        """When the next customer is due, in seconds from the start; None when as soon as there is room."""
        return next(self._arrivals, None)

    def _arriving(self, arrival: Arrival | None) -> Iterator[float]:
        if arrival is None:
            return iter([0.0] * self.customers)
        if arrival.kind == "ramp":
            return iter([arrival.amount * each / self.customers for each in range(self.customers)])
        return self._at_random(arrival.amount)

    def _at_random(self, rate: float) -> Iterator[float]:
        """A Poisson process: the gaps are exponential."""
        lot, at = random.Random(f"{self._seed}/arrivals"), 0.0  # noqa: S311 - a choice, not a secret
        while True:
            at += lot.expovariate(rate)
            yield at

    def thinking(self, conversation: str, turn: int) -> float | None:
        """How long a customer reads and types before the line of a turn: log-normal around the median."""
        if self.think is None:
            return None
        lot = random.Random(f"{self._seed}/{conversation}/{turn}")  # noqa: S311 - as above
        return self.think * math.exp(SPREAD * lot.gauss(0, 1))
