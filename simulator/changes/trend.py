"""Whether a series of runs rises or falls: a slope that one odd run cannot turn, and how sure it is."""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from math import comb, factorial, sqrt
from statistics import NormalDist, median

from simulator.core.types import Value

# Fewer runs than this cannot show a trend: the exact test stays above 5 % whatever the order.
FEWEST = 5
_EXACT_UP_TO = 50


class Trend(Value):
    """A slope per step (Theil and Sen) with its 95 % interval, and the p of Mann and Kendall's test."""

    n: int
    slope: float
    interval: tuple[float, float]
    p: float

    @property
    def falling(self) -> bool:
        """Whether the slope's interval and the test agree that it goes down."""
        return self.interval[1] < 0 and self.p < 0.05

    @property
    def rising(self) -> bool:
        """Whether both agree that it goes up."""
        return self.interval[0] > 0 and self.p < 0.05


def trend(values: Sequence[float], level: float = 0.95) -> Trend | None:
    """The trend of values in order, equally far apart; None under 5 of them."""
    if len(values) < FEWEST:
        return None
    slopes = sorted((values[j] - values[i]) / (j - i) for i, j in combinations(range(len(values)), 2))
    return Trend(
        n=len(values), slope=median(slopes), interval=_interval(slopes, values, level), p=mann_kendall(values)
    )


def mann_kendall(values: Sequence[float]) -> float:
    """The two-sided p of Mann's test against a trend (1945), which is Kendall's tau against the order.

    Exact up to 50 values without ties; otherwise normal, without continuity correction, corrected for ties.
    """
    signs = [(b > a) - (b < a) for a, b in combinations(values, 2)]
    apart = abs(sum(signs))
    if 0 not in signs and len(values) <= _EXACT_UP_TO:
        inversions = (len(signs) - apart) // 2
        ways = sum(_orders_by_inversions(len(values))[: inversions + 1])
        return min(1.0, 2 * ways / factorial(len(values)))
    deviation = _deviation(values)
    return min(1.0, 2 * NormalDist().cdf(-apart / deviation)) if deviation else 1.0


def _interval(slopes: Sequence[float], values: Sequence[float], level: float) -> tuple[float, float]:
    """Sen's interval (1968): the slopes whose ranks are as far from the middle as the test allows."""
    reach = NormalDist().inv_cdf(0.5 + level / 2) * _deviation(values)
    low, high = round((len(slopes) - reach) / 2) - 1, round((len(slopes) + reach) / 2)
    return slopes[max(0, low)], slopes[min(len(slopes) - 1, high)]


def _deviation(values: Sequence[float]) -> float:
    """The standard deviation of Kendall's S when there is no trend."""
    n = len(values)
    tied = sum(k * (k - 1) * (2 * k + 5) for k in Counter(values).values())
    return sqrt((n * (n - 1) * (2 * n + 5) - tied) / 18)


def _orders_by_inversions(n: int) -> list[int]:
    """How many orders of n things have 0, 1, 2, ... pairs the wrong way round."""
    ways = [1]
    for size in range(2, n + 1):
        longest = comb(size, 2) + 1
        ways = [
            sum(ways[max(0, k - size + 1) : k + 1]) if k - size + 1 < len(ways) else 0 for k in range(longest)
        ]
    return ways
