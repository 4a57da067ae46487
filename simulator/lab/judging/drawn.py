"""Agreement with labels in bootstrap draws, Kendall's tau, and shares as levels of a label."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from simulator.results.agreement import divided, kappa_of_sums, moments
from simulator.results.draws import Draws
from simulator.results.intervals import Floats

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


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


def _ranks(weights: Floats, values: Floats) -> Floats:
    """The average rank of each value, where it stands for as many rows as it weighs: (weightings, values)."""
    import numpy as np

    order = np.argsort(values, kind="stable")
    starts = np.flatnonzero(np.diff(values[order], prepend=np.nan) != 0)
    sizes = np.add.reduceat(weights[:, order], starts, axis=1)
    ranks: Floats = np.cumsum(sizes, axis=1) - (sizes - 1) / 2
    return ranks[:, np.unique(values, return_inverse=True)[1]]


def drawn_ranks(
    scores: ArrayLike, labels: ArrayLike, good: ArrayLike | None, draws: Draws
) -> tuple[Floats, Floats]:
    """Spearman's rho and AUROC of every draw; NaN where a draw has none, AUROC also without `good`."""
    ranks = Ranks(scores, labels, good)
    drawn = draws.by_rows(ranks.rows, ranks.under)
    return drawn[:, 0], drawn[:, 1]


def drawn_kappa(grades: ArrayLike, other: ArrayLike, draws: Draws) -> Floats:
    """Quadratic weighted kappa of every draw."""
    return kappa_of_sums(draws.sums(moments(grades, other)))


def drawn_mean(values: ArrayLike, draws: Draws) -> Floats:
    """The mean of every draw."""
    import numpy as np

    given = np.asarray(values, dtype=float)
    sums = draws.sums([np.ones(len(given)), given])
    means: Floats = sums[:, 1] / sums[:, 0]
    return means


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


def nearest_levels(shares: ArrayLike, levels: Sequence[float]) -> Floats:
    """Shares (0..1) of a scale as the nearest of its levels; halfway goes up.

    On the levels 1 to 5 the shares 0, 0.2, 0.375, 0.5 and 1 are 1, 2, 3, 3 and 5: 0.375 is 2.5 of them.
    """
    import numpy as np

    steps = np.asarray(sorted(levels), dtype=float)
    values = steps[0] + np.asarray(shares, dtype=float) * (steps[-1] - steps[0])
    limits = [(low + high) / 2 for low, high in pairwise(steps)]
    # What is halfway but for the rounding of floats goes up, too.
    levels_of_values: Floats = steps[np.searchsorted(limits, values + 1e-9, side="right")]
    return levels_of_values
