"""Tests of paired differences that are exact where it matters: few pairs, ties, zeros, and many judges.

Under "nothing changed" every difference may as well have the other sign; each test counts how many of
these assignments are as extreme as what was found.
"""

from collections.abc import Mapping, Sequence
from math import comb, sqrt
from statistics import NormalDist

import numpy as np

from simulator.stats.agreement import average_ranks

# Up to as many differences other than zero the assignments are counted; above, the normal approximation.
EXACT_UP_TO = 25
# Differences of floats that are equal on paper are equal here, too: ties and zeros decide ranks.
_PLACES = 9
_NORMAL = NormalDist()


def wilcoxon(differences: Sequence[float]) -> float:
    """The two-sided p of Wilcoxon's signed-rank test (1945); 1 when nothing differs.

    Zeros by Pratt (1959): they are ranked with the others, then left out. Ties share the mean of their
    ranks. Exact up to 25 differences other than zero, ties included; above, normal without continuity
    correction, its variance from the very ranks, which corrects for ties and zeros.
    """
    values = np.round(np.asarray(differences, dtype=float), _PLACES)
    signed = values != 0
    if not signed.any():
        return 1.0
    # Doubled, mean ranks are whole numbers.
    ranks = np.rint(2 * average_ranks(list(np.abs(values))))[signed].astype(int)
    above = int(ranks[values[signed] > 0].sum())
    whole = int(ranks.sum())
    extreme = min(above, whole - above)
    if len(ranks) > EXACT_UP_TO:
        deviation = (extreme - whole / 2) / sqrt(float((ranks.astype(float) ** 2).sum()) / 4)
        return min(1.0, 2 * float(_NORMAL.cdf(deviation)))
    ways = np.zeros(whole + 1, dtype=np.int64)
    ways[0] = 1
    for rank in ranks:
        ways[rank:] = ways[rank:] + ways[:-rank]
    return min(1.0, 2 * int(ways[: extreme + 1].sum()) / (1 << len(ranks)))


def mcnemar(worse: int, better: int) -> float:
    """The two-sided exact p of McNemar's test (1947): changes one way against changes the other way.

    Binomial with a half; what did not change says nothing. 1 without any change.
    """
    n, fewer = worse + better, min(worse, better)
    return min(1.0, 2 * sum(comb(n, k) for k in range(fewer + 1)) / (1 << n))


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Each p as adjusted by Holm (1979): below 5 % they hold together, however many there are."""
    adjusted, least = {}, 0.0
    for place, name in enumerate(sorted(p_values, key=p_values.__getitem__)):
        least = max(least, min(1.0, (len(p_values) - place) * p_values[name]))
        adjusted[name] = least
    return {name: adjusted[name] for name in p_values}
