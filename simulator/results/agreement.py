"""How well two gradings agree: by rank (rho, tau, AUROC), on one scale (kappa).

Ranks ask whether the better answer is graded higher, and are the same for a mild and a strict judge; kappa
asks whether it is the same grade. A judge that gives everything one grade more has a rho of 1 and a low
kappa.

    spearman([1, 2, 3], [3, 2, 1])                        -1.0
    kendall([1, 2, 3, 4], [1, 2, 4, 3])                    0.667   five pairs in order, one reversed
    auroc([1, 3, 3, 4], [False, False, True, True])        0.875   one tie of four pairs
    quadratic_kappa([1, 2, 3, 4], [1, 2, 3, 5])            0.929
    quadratic_kappa([1, 5], [5, 1])                       -1.0

Each is None where it has no meaning: one side constant, all rows of one kind.
"""

from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def average_ranks(values: ArrayLike) -> Floats:
    """Ranks from 1 upwards; equal values share the mean of their ranks: 3, 1, 1, 2 are 4, 1.5, 1.5, 3."""
    _, group, sizes = np.unique(np.asarray(values, dtype=float), return_inverse=True, return_counts=True)
    means: Floats = np.cumsum(sizes) - (sizes - 1) / 2
    return means[group]


def spearman(scores: ArrayLike, labels: ArrayLike) -> float | None:
    """Spearman's rho (-1..1): Pearson's correlation of the average ranks. None when one side is constant."""
    ranks, other = average_ranks(scores), average_ranks(labels)
    ranks, other = ranks - ranks.mean(), other - other.mean()
    scale = float(np.sqrt((ranks @ ranks) * (other @ other)))
    return float(ranks @ other) / scale if scale else None


def kendall(scores: Sequence[float], labels: Sequence[float]) -> float | None:
    """Kendall's tau-b (-1..1): pairs in the same order less pairs in the opposite one, corrected for ties.

    Knight's way (1966): rows sorted by score, then label, and inversions of the labels counted.
    None when one side is constant.
    """
    rows = sorted(zip(scores, labels, strict=True))
    seen: list[float] = []
    discordant = 0
    for _, label in rows:
        discordant += len(seen) - bisect_right(seen, label)
        insort(seen, label)
    pairs, tied_scores, tied_labels = len(rows) * (len(rows) - 1) // 2, _tied(scores), _tied(labels)
    # Pairs that are tied in both have been taken away twice.
    concordant = pairs - tied_scores - tied_labels + _tied(rows) - discordant
    scale = ((pairs - tied_scores) * (pairs - tied_labels)) ** 0.5
    return (concordant - discordant) / scale if scale else None


def _tied(values: Iterable[Hashable]) -> int:
    """How many pairs of equal values there are."""
    return sum(size * (size - 1) // 2 for size in Counter(values).values())


def auroc(scores: ArrayLike, positive: ArrayLike, weights: ArrayLike | None = None) -> float | None:
    """How often (0..1) a positive row scores above a negative one, ties counting half; 0.5 is chance.

    The Mann-Whitney U statistic as a share of all pairs, where rows count by `weights`. None when all rows
    are of one kind.
    """
    values, good = np.asarray(scores, dtype=float), np.asarray(positive, dtype=bool)
    if good.all() or not good.any():
        return None
    weight = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=float)
    order = np.argsort(values[~good], kind="stable")
    # For each positive row the weight of the negatives strictly under it, and of those up to it: their mean
    # counts ties half. Comparing every pair would take minutes for 100,000 rows; this takes milliseconds.
    others, below = values[~good][order], np.concatenate(([0.0], np.cumsum(weight[~good][order])))
    under, up_to = (below[np.searchsorted(others, values[good], side=side)] for side in ("left", "right"))
    return float(((under + up_to) / 2) @ weight[good] / (below[-1] * weight[good].sum()))


def quadratic_kappa(grades: ArrayLike, other: ArrayLike, weights: ArrayLike | None = None) -> float | None:
    """Cohen's kappa with quadratic weights (1968) of two gradings on one scale; 1 is full, 0 chance.

    1 less the mean squared difference over the one that chance would give, which is the sum of both
    variances and the squared difference of the means; rows count by `weights`. None when both sides are one
    and the same constant.
    """
    first, second = np.asarray(grades, dtype=float), np.asarray(other, dtype=float)
    weight = None if weights is None else np.asarray(weights, dtype=float)
    a, b = (float(np.average(side, weights=weight)) for side in (first, second))
    # In moments rather than in a table of grades: scales need not be whole numbers.
    apart = np.average((first - a) ** 2 + (second - b) ** 2, weights=weight)
    by_chance = float(apart + (a - b) ** 2)
    observed = float(np.average((first - second) ** 2, weights=weight))
    return 1 - observed / by_chance if by_chance > 1e-12 else None


def nearest_levels(shares: ArrayLike, levels: Sequence[float]) -> Floats:
    """Shares (0..1) of a scale as the nearest of its levels; halfway goes up.

    On the levels 1 to 5 the shares 0, 0.2, 0.375, 0.5 and 1 are 1, 2, 3, 3 and 5: 0.375 is 2.5 of them.
    """
    steps = np.asarray(sorted(levels), dtype=float)
    values = steps[0] + np.asarray(shares, dtype=float) * (steps[-1] - steps[0])
    limits = [(low + high) / 2 for low, high in pairwise(steps)]
    # What is halfway but for the rounding of floats goes up, too.
    levels_of_values: Floats = steps[np.searchsorted(limits, values + 1e-9, side="right")]
    return levels_of_values
