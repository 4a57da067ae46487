"""How well two gradings agree: by rank (AUROC), on one scale (kappa).

Ranks ask whether the better answer is graded higher, and are the same for a mild and a strict judge; kappa
asks whether it is the same grade. A judge that gives everything one grade more has an AUROC of 1 and a
low kappa.

    auroc([1, 3, 3, 4], [False, False, True, True])        0.875   one tie of four pairs
    quadratic_kappa([1, 2, 3, 4], [1, 2, 3, 5])            0.929
    quadratic_kappa([1, 5], [5, 1])                       -1.0

Each is None where it has no meaning: one side constant, all rows of one kind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simulator.results.intervals import Floats

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def divided(part: Floats, whole: Floats) -> Floats:
    """The quotients; NaN where the divisor is hardly above 0."""
    quotients: Floats = np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 1e-12)
    return quotients


def number_or_none(value: float) -> float | None:
    """The value; None for NaN."""
    return None if np.isnan(value) else value


def auroc(scores: ArrayLike, positive: ArrayLike) -> float | None:
    """How often (0..1) a positive row scores above a negative one, ties counting half; 0.5 is chance.

    The Mann-Whitney U statistic as a share of all pairs. None when all rows are of one kind.
    """
    _, codes = np.unique(np.asarray(scores, dtype=float), return_inverse=True)
    good = np.asarray(positive, dtype=bool)
    # By score, from the lowest: how many are good, and how many are not.
    high, low = (np.bincount(codes, side) for side in (good, ~good))
    pairs = float(high.sum() * low.sum())
    return float(high @ (np.cumsum(low) - low / 2)) / pairs if pairs else None


def moments(grades: ArrayLike, other: ArrayLike) -> list[Floats]:
    """The columns whose weighted sums are all that `kappa_of_sums` needs."""
    a, b = np.asarray(grades, dtype=float), np.asarray(other, dtype=float)
    # Around the mean of both, so that the squares of large grades do not swallow small differences.
    middle = (a.mean() + b.mean()) / 2
    a, b = a - middle, b - middle
    return [np.ones(len(a)), a, b, a * a, b * b, (a - b) ** 2]


def kappa_of_sums(sums: Floats) -> Floats:
    """Quadratic weighted kappa of each row of sums of `moments`; NaN where both sides are one constant.

    1 less the mean squared difference over the one that chance would give, which is the sum of both
    variances and the squared difference of the means. In moments rather than in a table of grades: scales
    need not be whole numbers.
    """
    a, b, square_a, square_b, apart = (sums[:, 1:] / sums[:, :1]).T
    kappa: Floats = 1 - divided(apart, square_a - a**2 + square_b - b**2 + (a - b) ** 2)
    return kappa


def quadratic_kappa(grades: ArrayLike, other: ArrayLike) -> float | None:
    """Cohen's kappa with quadratic weights (1968) of two gradings on one scale; 1 is full, 0 chance.

    None when both sides are one and the same constant.
    """
    sums = np.array([column.sum() for column in moments(grades, other)])
    return number_or_none(float(kappa_of_sums(sums[None, :])[0]))


def best_cut(scores: Floats, good: NDArray[np.bool_]) -> float:
    """The grade with the best balanced accuracy, the stricter of equals; NaN where none beats chance."""
    if good.all() or not good.any():
        return np.nan
    # Only grades that were given can be cuts: between two of them nothing changes.
    grades, codes = np.unique(scores, return_inverse=True)
    counts = (np.bincount(codes[which], minlength=len(grades)) for which in (good, ~good))
    # The shares of good and of other rows that have at least each grade.
    recall, false = (np.cumsum(count[::-1])[::-1] / count.sum() for count in counts)
    # Rounded, so that cuts that are equal on paper are equal here, and the stricter of them is taken.
    balanced = np.round((recall + 1 - false) / 2, 9)
    return float(grades[balanced == balanced.max()][-1]) if balanced.max() > 0.5 else np.nan
