"""Whether a change can be chance: tests of paired differences.

They are exact where it matters: few pairs, ties and zeros. Under "nothing changed" every difference may as
well have the other sign; each test counts how many assignments of signs are as extreme as what was found,
and takes the normal approximation only where there are too many to count.

    six cases, each 0.2 better          wilcoxon 0.03125: six is the fewest that can be below 5 %
    five cases, each 0.2 better         wilcoxon 0.0625: nothing can be said, whatever happened
    five better, one worse by as much   wilcoxon 0.219
    six cases turned red, none green    mcnemar 0.03125
"""

from collections.abc import Sequence
from math import comb, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from simulator.results.intervals import Floats

# What is less likely than this by chance counts as a change.
ALPHA = 0.05
_NORMAL = NormalDist()
# Differences of floats that are equal on paper are equal here, too: ties and zeros decide ranks.
_PLACES = 9
# Up to as many differences other than zero everything is counted; beyond, the normal approximation is as good
# and takes no time.
EXACT_DIFFERENCES = 25


def average_ranks(values: ArrayLike) -> Floats:
    """Ranks from 1 upwards; equal values share the mean of their ranks: 3, 1, 1, 2 are 4, 1.5, 1.5, 3."""
    _, group, sizes = np.unique(np.asarray(values, dtype=float), return_inverse=True, return_counts=True)
    means: Floats = np.cumsum(sizes) - (sizes - 1) / 2
    return means[group]


def wilcoxon(differences: Sequence[float]) -> float:
    """The two-sided p of Wilcoxon's signed-rank test (1945); 1 when nothing differs.

    Zeros by Pratt (1959): they are ranked with the others, then left out. Ties share the mean of their
    ranks. Exact up to 25 differences other than zero, ties included; above, normal without continuity
    correction, its variance from the very ranks, which corrects for ties and zeros.
    """
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
    # with 25 of them 2 ** 25 still fits an integer. Larger sums are not counted.
    ways = np.zeros(extreme + 1, dtype=np.int64)
    ways[0] = 1
    for rank in ranks:
        ways[rank:] = ways[rank:] + ways[:-rank]
    return min(1.0, 2 * int(ways.sum()) / (1 << len(ranks)))


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
