"""Standard errors and intervals of values that come in clusters, as turns of a case do.

A cluster is a question. What different customers make of one question is more alike than what one customer
makes of different questions, so questions are what is drawn, and ten turns about one question are little
more than one observation. All values are shares (0..1): a grade of 1 to 5 counts by fifths.

Three uses, each with its own function:

- the interval that reports show beside a score, at both ends: `interval_of_mean`
- the bounds of the gate, at one end each: `lower_bound`, `upper_bound`, or whether they reach: `p_below`
- the standard error in tables: `clustered_stderr`

    ten questions, all right          interval 0.74 to 1.00, lower bound at 95 % 0.741
    ten questions, eight of ten right interval 0.47 to 0.96
    five questions, four of five      lower bound 0.343, upper bound 0.990
    four questions                    no interval

Nothing here depends on the order of the rows: clusters are sorted by name before anything is drawn or added
up, so the same grades give the same digits. Intervals of differences are bootstrapped: results/draws.py.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from math import sqrt
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from simulator.core.replies import share_of
from simulator.results.bisection import bisected

Floats: TypeAlias = NDArray[np.float64]
# Of fewer clusters no interval is shown: it would be too wide to say anything, or too narrow to be true.
MIN_CLUSTERS = 5
LEVEL = 0.95
# Draws of an interval: from one seed to another the ends of eight right in ten move by 0.6 points of 100
# (standard deviation of 40 seeds), those of 32 in 40 by 0.2, and those of 160 in 200 by 0.1.
DRAWS = 4000
# The 97.5 % quantile of the normal distribution.
_Z = 1.959964
# Draws times clusters (or rows) that are held at once, about 16 MB, however many there are of either.
_AT_ONCE = 2_000_000
# Steps of the integral in `p_values_below`, in the logarithm of its variable: wide and fine enough for six
# decimals. The more questions there are, the faster the waves that it sums.
_STEP, _STEP_TIMES_ROOT = 0.1, 1.3
_ENDS = (-20.0, 12.0)


class Clusters(NamedTuple):
    """Values (0..1) question by question: their sums, and how many there are.

    `floor` is the lowest value there can be: a grade of 1 out of 5 is 0.2. `noise` is the variance of a value
    that grading the same again brings (`retest_variance`). Both arrays have one entry for each question, in
    the order of the questions' names: 0.2 for "b", 0.4 and 1.0 for "a" are the sums (1.4, 0.2) and the sizes
    (2, 1).
    """

    sums: Floats
    sizes: Floats
    floor: float = 0.0
    noise: float = 0.0

    @property
    def mean(self) -> float:
        """The mean of all values."""
        return float(self.sums.sum() / self.sizes.sum())

    def turned(self) -> "Clusters":
        """The values as 1 - value, so that a lower bound becomes an upper one.

        The floor is not taken along: the best value there can be is 1, which turned is 0.
        """
        return Clusters(self.sizes - self.sums, self.sizes, noise=self.noise)


def standard_error(share: float, n: int) -> float | None:
    """The standard error of a share of n independent rows: sqrt(p (1 - p) / (n - 1)); None of one row."""
    return sqrt(share * (1 - share) / (n - 1)) if n > 1 else None


def clustered_stderr(values: Sequence[float], clusters: Sequence[str]) -> float | None:
    """The cluster-robust standard error of a mean (Liang and Zeger, 1986); None under 2 clusters.

    With the small-sample factor G / (G - 1), so that clusters of one value each give the usual
    standard error.

        1, 1, 0, 0 of four questions                  0.289
        1, 1 of one question and 0, 0 of another      0.5
    """
    groups = cluster_values(values, clusters)
    n = len(groups.sums)
    if n < 2:
        return None
    squares = float(((groups.sums - groups.sizes * groups.mean) ** 2).sum())
    return sqrt(squares * n / (n - 1)) / len(values)


def retest_variance(pairs: Sequence[tuple[float, float]]) -> float:
    """The variance of a value that grading the same once more brings: half the mean of (first - second)².

    The simple response variance, by which censuses that ask a sample twice tell how far one answer can be
    relied on (Hansen, Hurwitz and Pritzker, 1964); of verdicts of 0 and 1 it is half the share of flips. A
    mean of n grades has its n-th part, beside the variance that the choice of questions brings (Hansen,
    Hurwitz and Bershad, 1961). Some of it is in the spread between questions already, so that intervals are
    rather too wide than too narrow. One verdict of four that flips, (1, 1), (1, 0), (0, 0), (1, 1), is a
    variance of 0.125; without pairs it is 0, as if every grade were certain.
    """
    return sum((first - other) ** 2 for first, other in pairs) / (2 * len(pairs)) if pairs else 0.0


def interval_of_mean(
    values: Sequence[float],
    clusters: Sequence[str],
    *,
    seed: int,
    ends: tuple[float, float] = (0.0, 1.0),
    draws: int = DRAWS,
    noise: float = 0.0,
) -> tuple[float, float] | None:
    """The 95 % interval of a mean of values that lie between `ends`; None under 5 clusters.

    `noise` is the `retest_variance` of a value, which widens it: a normal error is added to every draw.

    After Gaffke (2005), as the bounds of the gate: clusters are weighed by exponential draws, and one more
    is among them that went as badly as can be, or as well. Half of the draws have the one, half the other,
    which for yes and no is the mid-P interval (Lancaster, 1961). Where all n went well it begins at
    0.05 ** (1 / n), the rule of three, and never above the gate's own bound at 95 %.

    Measured on samples of 5 to 50 cases with five-step grades, from evenly spread to nearly all 5, asked
    once or three times: it held the true mean in 94 to 100 % of them, and the plain percentile bootstrap in
    40 to 96 % (`make bench-intervals`).
    """
    by_cluster = cluster_values(values, clusters)
    groups = np.column_stack([by_cluster.sums, by_cluster.sizes])
    if len(groups) < MIN_CLUSTERS:
        return None
    means = _weighed(groups, ends, seed, draws, noise)
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    # Drawn quantiles may miss the mean itself by a hair where all questions are alike.
    return min(float(low), by_cluster.mean), max(float(high), by_cluster.mean)


def joint_interval(
    intervals: Sequence[tuple[float, float] | None],
) -> tuple[float, float] | None:
    """The 95 % interval of a figure of which there are several, and nobody knows which is the right one.

    From the lowest end to the highest: whichever is right, it is in there at least as often as in its own
    interval, so that the spread between them is in it, too. The figure is known up to a set (Horowitz and
    Manski, 2000); the narrower interval of Imbens and Manski (2004) takes ends that are normally distributed,
    which those of a few questions are not. None where one of them is not known.

    Measured on two simulators of 10 and 30 questions whose true scores lie 0 to 30 points apart: it held the
    right one in 96 to 100 % of samples, the interval of all grades together in 46 to 97 %.

        (0.6, 0.8) and (0.5, 0.7) -> (0.5, 0.8)
    """
    ends = [interval for interval in intervals if interval is not None]
    if not ends or len(ends) < len(intervals):
        return None
    return min(low for low, _high in ends), max(high for _low, high in ends)


def ends_of(scales: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """Between what the values of grades on some scales can lie: 1 of 5 is 0.2, other scales begin at 0.

    Of several scales the lowest end counts: (1, 5) alone is (0.2, 1.0), beside (0, 1) it is (0.0, 1.0).
    """
    lowest = {share_of(scale[0], scale) for scale in set(scales) if scale[1] > scale[0]}
    return min(lowest, default=0.0), 1.0


def cluster_values(values: Sequence[float], names: Sequence[str], floor: float = 0.0) -> Clusters:
    """Values by the names of their questions, in the order of the names; that of the rows does not matter."""
    given, owners = np.asarray(values, dtype=float), np.asarray(names, dtype=object).astype(str)
    _, places = np.unique(owners, return_inverse=True)
    order = np.lexsort((given, places))  # so that float sums never drift
    sums = np.bincount(places[order], weights=given[order])
    return Clusters(sums.astype(float), np.bincount(places).astype(float), floor)


def p_below(values: Clusters, target: float) -> float:
    """The one-sided p-value (0..1) of a mean that is really below the target.

    Ten questions that all went well are 0.0282 against a target of 0.7, which is 0.7 ** 10: so often ten of
    ten happen to a bot that is right in 70 of 100.
    """
    # Questions with the same gain are counted together, so that 10,000 of them cost no more than a few dozen.
    gains, counts = np.unique(np.round(values.sums - values.sizes * target, 10), return_counts=True)
    worst = float(np.max(values.sizes)) * (values.floor - target)
    noise = values.noise * float(values.sizes.sum())
    return float(p_values_below(counts[None, :].astype(float), gains, worst, noise)[0])


def p_values_below(counts: Floats, gains: Floats, worst: float, noise: float = 0.0) -> Floats:
    """The p-values of many samples: `counts` (samples, gains) says how often each gain occurs in each.

    A gain is what a question has above the target; `worst` is that of the question that went as badly as
    can be. It is the chance that their sum, each weighed by an exponential draw, is not above 0: the
    inversion of its characteristic function (Gil-Pelaez, 1951; Imhof, 1961). `noise` is the variance of a
    normal error of that sum.
    """
    # Nothing can go worse than the target: no integral is needed.
    if worst >= 0:
        return np.where(counts @ (gains < 0), 1.0, 0.0)
    scale = max(float(np.max(np.abs(gains), initial=0.0)), -worst)
    # The integral of Imhof over a variable that runs through all orders of magnitude, on an even grid of its
    # logarithm: the sine is the phase of all questions together, the exponential how far they have damped it.
    step = min(_STEP, _STEP_TIMES_ROOT / float(np.max(counts.sum(axis=1), initial=1.0)) ** 0.5)
    at = _integral_points(step) / scale
    turns = np.outer(gains, at)
    waves = counts @ np.arctan(turns) + np.arctan(at * worst)
    damping = counts @ np.log1p(turns**2) + np.log1p((at * worst) ** 2) + noise * at**2
    integral = (np.sin(waves) * np.exp(-damping / 2)).sum(axis=1) * step
    chances: Floats = np.clip(0.5 - integral / np.pi, 0, 1)
    return chances


@lru_cache
def _integral_points(step: float) -> Floats:
    points: Floats = np.exp(np.arange(*_ENDS, step))
    return points


def blocks(draws: int, width: int) -> Iterator[int]:
    """In how many at a time so many draws of `width` values each are made, so that they fit the memory."""
    step = max(1, _AT_ONCE // max(1, width))
    return (min(step, draws - start) for start in range(0, draws, step))


def lower_bound(values: Clusters, level: float) -> float:
    """The one-sided lower bound of the mean at a level of confidence (0.95)."""
    return bisected(values.floor, values.mean, lambda at: p_below(values, at) <= 1 - level)


def upper_bound(values: Clusters, level: float) -> float:
    """The one-sided upper bound of the mean at a level of confidence (0.95)."""
    return 1 - lower_bound(values.turned(), level)


def _weighed(groups: Floats, ends: tuple[float, float], seed: int, draws: int, noise: float) -> Floats:
    """Means under exponential weights (Rubin, 1981): every draw with one more cluster at either end.

    `groups` has a row of sum and size for each cluster. The invented one is as large as the largest, so that
    a single long question cannot make the interval narrow. Returned are twice as many means as draws, the
    first half of them with the low end.
    """
    random, width = np.random.default_rng(seed), len(groups) + 1
    # A judge of one's own may go below what its scale says: what was seen is possible.
    low, high = min(ends[0], float(np.min(groups[:, 0] / groups[:, 1]))), ends[1]
    largest, means_at_ends = float(np.max(groups[:, 1])), []
    for size in blocks(draws, width):
        weights = random.standard_exponential((size, width))
        sums, more = weights[:, :-1] @ groups, largest * weights[:, -1]
        means_at_ends += [(sums[:, 0] + more * end) / (sums[:, 1] + more) for end in (low, high)]
    means = np.concatenate(means_at_ends)
    if noise:
        means += random.normal(0.0, sqrt(noise / float(np.sum(groups[:, 1]))), len(means))
    return np.clip(means, low, high)


def wilson(hits: int, n: int) -> tuple[float, float] | None:
    """The 95 % interval of a share (Wilson, 1927); None without trials.

    For rows that are independent of each other: labels, thresholds, reviewed marks. 8 of 10 are 0.49 to 0.94.
    """
    if not n:
        return None
    share, spread = hits / n, _Z * ((hits * (n - hits) / n + _Z**2 / 4) ** 0.5)
    middle, width = n * share + _Z**2 / 2, n + _Z**2
    return max(0.0, (middle - spread) / width), min(1.0, (middle + spread) / width)
