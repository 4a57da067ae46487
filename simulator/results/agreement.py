"""How well two gradings agree: by rank (rho, AUROC), on one scale (kappa).

Ranks ask whether the better answer is graded higher, and are the same for a mild and a strict judge; kappa
asks whether it is the same grade. A judge that gives everything one grade more has a rho of 1 and a low
kappa.

    spearman([1, 2, 3], [3, 2, 1])                        -1.0
    auroc([1, 3, 3, 4], [False, False, True, True])        0.875   one tie of four pairs
    quadratic_kappa([1, 2, 3, 4], [1, 2, 3, 5])            0.929
    quadratic_kappa([1, 5], [5, 1])                       -1.0

Each is None where it has no meaning: one side constant, all rows of one kind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.results.intervals import Floats

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray


def average_ranks(values: ArrayLike) -> Floats:
    """Ranks from 1 upwards; equal values share the mean of their ranks: 3, 1, 1, 2 are 4, 1.5, 1.5, 3."""
    import numpy as np

    _, group, sizes = np.unique(np.asarray(values, dtype=float), return_inverse=True, return_counts=True)
    means: Floats = np.cumsum(sizes) - (sizes - 1) / 2
    return means[group]


class Ranks:
    """Rho and AUROC of a scorer beside labels, for as many weightings of the rows at once as are asked for.

    Rows that share score and label are one cell, so that a weighting only has to be summed by cell: grades of
    1 to 5 beside labels of 0 and 1 are ten cells, however many thousand rows there are.
    """

    def __init__(self, scores: ArrayLike, labels: ArrayLike, good: ArrayLike | None = None) -> None:
        """`good` says which rows are good; without it AUROC has no value. `rows` is the order of weights."""
        import numpy as np

        pairs = np.column_stack([np.asarray(scores, dtype=float), np.asarray(labels, dtype=float)])
        self.rows = np.lexsort(pairs.T)
        changes = (np.diff(pairs[self.rows], axis=0, prepend=np.nan) != 0).any(axis=1)
        self._starts = np.flatnonzero(changes)
        cells = self.rows[self._starts]
        self._columns = [column[cells] for column in pairs.T]
        self._good = None if good is None else np.asarray(good, dtype=float)[cells]

    def under(self, weights: Floats) -> Floats:
        """Rho and AUROC under each weighting, (weightings, 2); NaN where they have no value.

        `weights` has a row for each weighting, and a column for each row of the data in the order of `rows`.
        """
        import numpy as np

        by_cell = np.add.reduceat(weights, self._starts, axis=1)
        size, (first, other) = by_cell.sum(axis=1), (_ranks(by_cell, column) for column in self._columns)
        # Pearson's correlation of the ranks, whose mean is known.
        middle = (size[:, None] + 1) / 2
        a, b = first - middle, other - middle
        scale = np.einsum("dc,dc,dc->d", by_cell, a, a) * np.einsum("dc,dc,dc->d", by_cell, b, b)
        rho = divided(np.einsum("dc,dc,dc->d", by_cell, a, b), np.sqrt(scale))
        if self._good is None:
            return np.column_stack([rho, np.full(len(rho), np.nan)])
        # Mann and Whitney's U: the ranks of the good rows, less what they have among themselves.
        positive = by_cell @ self._good
        above = np.einsum("dc,dc,c->d", by_cell, first, self._good) - positive * (positive + 1) / 2
        return np.column_stack([rho, divided(above, positive * (size - positive))])

    def of_rows(self, weights: ArrayLike | None = None) -> tuple[float | None, float | None]:
        """Rho and AUROC of the rows as they are, or by `weights` in their order; None for no value."""
        import numpy as np

        given = np.ones(len(self.rows)) if weights is None else np.asarray(weights, dtype=float)
        rho, area = self.under(given[self.rows][None, :])[0].tolist()
        return number_or_none(rho), number_or_none(area)


def _ranks(weights: Floats, values: Floats) -> Floats:
    """The average rank of each value, where it stands for as many rows as it weighs: (weightings, values)."""
    import numpy as np

    order = np.argsort(values, kind="stable")
    starts = np.flatnonzero(np.diff(values[order], prepend=np.nan) != 0)
    sizes = np.add.reduceat(weights[:, order], starts, axis=1)
    ranks: Floats = np.cumsum(sizes, axis=1) - (sizes - 1) / 2
    return ranks[:, np.unique(values, return_inverse=True)[1]]


def divided(part: Floats, whole: Floats) -> Floats:
    """The quotients; NaN where the divisor is hardly above 0."""
    import numpy as np

    quotients: Floats = np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 1e-12)
    return quotients


def number_or_none(value: float) -> float | None:
    """The value; None for NaN."""
    import numpy as np

    return None if np.isnan(value) else value


def spearman(scores: ArrayLike, labels: ArrayLike) -> float | None:
    """Spearman's rho (-1..1): Pearson's correlation of the average ranks. None when one side is constant."""
    return Ranks(scores, labels).of_rows()[0]


def auroc(scores: ArrayLike, positive: ArrayLike, weights: ArrayLike | None = None) -> float | None:
    """How often (0..1) a positive row scores above a negative one, ties counting half; 0.5 is chance.

    The Mann-Whitney U statistic as a share of all pairs, where rows count by `weights`. None when all rows
    are of one kind.
    """
    return Ranks(scores, positive, positive).of_rows(weights)[1]


def moments(grades: ArrayLike, other: ArrayLike) -> list[Floats]:
    """The columns whose weighted sums are all that `kappa_of_sums` needs."""
    import numpy as np

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


def quadratic_kappa(grades: ArrayLike, other: ArrayLike, weights: ArrayLike | None = None) -> float | None:
    """Cohen's kappa with quadratic weights (1968) of two gradings on one scale; 1 is full, 0 chance.

    Rows count by `weights`. None when both sides are one and the same constant.
    """
    import numpy as np

    table = np.column_stack(moments(grades, other))
    given = np.ones(len(table)) if weights is None else np.asarray(weights, dtype=float)
    return number_or_none(float(kappa_of_sums((given @ table)[None, :])[0]))


def best_cut(scores: Floats, good: NDArray[np.bool_]) -> float:
    """The grade with the best balanced accuracy, the stricter of equals; NaN where none beats chance."""
    import numpy as np

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
