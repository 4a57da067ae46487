"""How well scores agree with people's labels, by rank: no assumption about the scale of either."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def average_ranks(values: Sequence[float]) -> NDArray[np.float64]:
    """Ranks from 1 upwards; equal values share the mean of their ranks."""
    _, group, sizes = np.unique(np.asarray(values, dtype=float), return_inverse=True, return_counts=True)
    last = np.cumsum(sizes)
    means: NDArray[np.float64] = last - (sizes - 1) / 2
    return means[group]


def spearman(scores: Sequence[float], labels: Sequence[float]) -> float | None:
    """Spearman's rho (-1..1): Pearson's correlation of the average ranks. None when one side is constant."""
    one, other = average_ranks(scores), average_ranks(labels)
    one, other = one - one.mean(), other - other.mean()
    scale = float(np.sqrt((one @ one) * (other @ other)))
    return float(one @ other) / scale if scale else None


def auroc(scores: Sequence[float], positive: Sequence[bool]) -> float | None:
    """How often (0..1) a positive row scores above a negative one, ties counting half; 0.5 is chance.

    The Mann-Whitney U statistic as a share of all pairs. None when all rows are of one kind.
    """
    is_positive = np.asarray(positive, dtype=bool)
    good = int(is_positive.sum())
    bad = len(is_positive) - good
    if not good or not bad:
        return None
    above = float(average_ranks(scores)[is_positive].sum()) - good * (good + 1) / 2
    return above / (good * bad)
