"""Whether a change can be chance: tests of paired differences, and of a trend over time.

They are exact where it matters: few pairs, ties and zeros. Under "nothing changed" every difference may as
well have the other sign, and every order of runs is as likely; each test counts how many of these are as
extreme as what was found, and takes the normal approximation only where there are too many to count.

    six cases, each 0.2 better          wilcoxon 0.03125: six is the fewest that can be below 5 %
    five cases, each 0.2 better         wilcoxon 0.0625: nothing can be said, whatever happened
    five better, one worse by as much   wilcoxon 0.219
    six cases turned red, none green    mcnemar 0.03125
    five runs, each below the last      mann_kendall 0.0167; of four it is 0.083 at best
"""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from math import comb, sqrt
from statistics import NormalDist, median
from typing import Literal

from simulator.core.types import Value
from simulator.results.agreement import average_ranks

# What is less likely than this by chance counts as a change.
ALPHA = 0.05
_NORMAL = NormalDist()
# Differences of floats that are equal on paper are equal here, too: ties and zeros decide ranks.
_PLACES = 9
# Up to as many differences other than zero, and as many runs, everything is counted; beyond, the normal
# approximation is as good and takes no time.
EXACT_DIFFERENCES, EXACT_RUNS = 25, 50
# Fewer runs than this cannot show a trend: the exact test stays above 5 % whatever the order.
MIN_RUNS = 5
Direction = Literal["too_few", "falling", "rising", "steady"]


def wilcoxon(differences: Sequence[float]) -> float:
    """The two-sided p of Wilcoxon's signed-rank test (1945); 1 when nothing differs.

    Zeros by Pratt (1959): they are ranked with the others, then left out. Ties share the mean of their
    ranks. Exact up to 25 differences other than zero, ties included; above, normal without continuity
    correction, its variance from the very ranks, which corrects for ties and zeros.
    """
    import numpy as np

    # 0.6 - 0.4 and 0.8 - 0.6 are the same difference.
    values = np.round(np.asarray(differences, dtype=float), _PLACES)
    signed = values != 0
    if not signed.any():
        return 1.0
    # Doubled, mean ranks are whole numbers.
    ranks = np.rint(2 * average_ranks(np.abs(values)))[signed].astype(int)
    above = int(ranks[values[signed] > 0].sum())
    whole = int(ranks.sum())
    # The smaller of both sums of ranks; the test is two-sided, so that it does not matter which.
    extreme = min(above, whole - above)
    if len(ranks) > EXACT_DIFFERENCES:
        deviation = (extreme - whole / 2) / sqrt(float((ranks.astype(float) ** 2).sum()) / 4)
        return min(1.0, 2 * float(_NORMAL.cdf(deviation)))
    # ways[s]: how many assignments of signs give the positive ranks the sum s. Each rank doubles them, and
    # with 25 of them 2 ** 25 still fits an integer.
    ways = np.zeros(whole + 1, dtype=np.int64)
    ways[0] = 1
    for rank in ranks:
        ways[rank:] = ways[rank:] + ways[:-rank]
    return min(1.0, 2 * int(ways[: extreme + 1].sum()) / (1 << len(ranks)))


def sign_test(better: int, worse: int) -> float:
    """The one-sided exact p of so many changes for the better, or more: 5 and 0 are 1/32; 1 of none."""
    n = better + worse
    return sum(comb(n, k) for k in range(worse + 1)) / (1 << n)


def mcnemar(worse: int, better: int) -> float:
    """The two-sided exact p of McNemar's test (1947): changes one way against changes the other way.

    Binomial with a half; what did not change says nothing. 1 without any change; 6 against 0 is 0.03125, 5
    against 1 is 0.219. Doubling the smaller tail can exceed 1, which is then 1.
    """
    return min(1.0, 2 * sign_test(max(worse, better), min(worse, better)))


class Trend(Value):
    """A slope per step (Theil and Sen) with its 95 % interval, and the p of Mann and Kendall's test."""

    n: int
    slope: float
    interval: tuple[float, float]
    p: float

    @property
    def direction(self) -> Direction:
        """Falling or rising where the slope's interval and the test agree that it is."""
        low, high = self.interval
        sloping: Direction = "falling" if high < 0 else "rising" if low > 0 else "steady"
        return sloping if self.p < ALPHA else "steady"


def trend(values: Sequence[float], level: float = 0.95) -> Trend | None:
    """The trend of values in order, equally far apart; None under 5 of them.

    The slope is the median of the slopes between all pairs (Theil, 1950; Sen, 1968): one bad night among
    twenty does not move it, as it would a least-squares line.
    """
    if len(values) < MIN_RUNS:
        return None
    slopes = sorted((values[j] - values[i]) / (j - i) for i, j in combinations(range(len(values)), 2))
    # Sen's interval (1968): the slopes whose ranks are as far from the middle as the test allows.
    reach = _NORMAL.inv_cdf(0.5 + level / 2) * _deviation(values)
    low, high = round((len(slopes) - reach) / 2) - 1, round((len(slopes) + reach) / 2)
    interval = slopes[max(0, low)], slopes[min(len(slopes) - 1, high)]
    return Trend(n=len(values), slope=median(slopes), interval=interval, p=mann_kendall(values))


def mann_kendall(values: Sequence[float]) -> float:
    """The two-sided p of Mann's test against a trend (1945), which is Kendall's tau against the order.

    Exact up to 50 values without ties; otherwise normal, without continuity correction, corrected for ties.
    """
    import numpy as np

    signs = [(b > a) - (b < a) for a, b in combinations(values, 2)]
    apart = abs(sum(signs))
    if 0 not in signs and len(values) <= EXACT_RUNS:
        # How many orders of so many things have 0, 1, 2, ... pairs the wrong way round.
        ways = np.ones(1)
        for size in range(2, len(values) + 1):
            ways = np.convolve(ways, np.ones(size))
        inversions = (len(signs) - apart) // 2
        return min(1.0, 2 * float(ways[: inversions + 1].sum() / ways.sum()))
    deviation = _deviation(values)
    return 2 * _NORMAL.cdf(-apart / deviation) if deviation else 1.0


def _deviation(values: Sequence[float]) -> float:
    """The standard deviation of Kendall's S when there is no trend, corrected for ties (Kendall, 1970)."""
    n = len(values)
    tied = sum(k * (k - 1) * (2 * k + 5) for k in Counter(values).values())
    return sqrt((n * (n - 1) * (2 * n + 5) - tied) / 18)
