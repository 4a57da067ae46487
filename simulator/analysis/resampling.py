"""Bootstrap intervals of agreement: rows come in clusters, so clusters are drawn; all draws at once."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.analysis.agreement import Floats

RESAMPLES = 2000
# Keeps one block of draws by rows under about 16 MB.
_AT_ONCE = 2_000_000

Codes = NDArray[np.intp]


class Draws:
    """Clusters drawn with replacement: how often each row counts in each of the draws.

    The same clusters and seed give the same draws, so figures of two scorers on the same rows can be
    subtracted draw by draw (a paired bootstrap).
    """

    def __init__(self, clusters: Sequence[str], *, seed: int, resamples: int = RESAMPLES) -> None:
        """Clusters are drawn in the order of their names: the order of the rows does not matter."""
        names, self.cluster = np.unique(np.asarray(clusters, dtype=object).astype(str), return_inverse=True)
        self.clusters = len(names)
        drawn = np.random.default_rng(seed).integers(0, self.clusters, size=(resamples, self.clusters))
        offsets = drawn + np.arange(resamples)[:, None] * self.clusters
        flat = np.bincount(offsets.ravel(), minlength=resamples * self.clusters)
        self._counts = flat.reshape(resamples, self.clusters).astype(np.float64)

    def by_rows(self, rows: Codes, figure: Callable[[Floats], Floats]) -> Floats:
        """A figure of every draw; it is given blocks of (draws, rows) weights, in the order of `rows`."""
        step = max(1, _AT_ONCE // max(1, len(rows)))
        blocks = range(0, len(self._counts), step)
        clusters = self.cluster[rows]
        return np.concatenate([figure(self._counts[at : at + step][:, clusters]) for at in blocks])

    def sums(self, columns: Sequence[ArrayLike]) -> Floats:
        """The sum of each column in every draw: (draws, columns)."""
        table = np.column_stack([np.asarray(column, dtype=float) for column in columns])
        by_cluster = np.zeros((self.clusters, table.shape[1]))
        np.add.at(by_cluster, self.cluster, table)
        found: Floats = self._counts @ by_cluster
        return found


def interval(draws: Floats, level: float = 0.95) -> tuple[float, float] | None:
    """The percentile interval of a drawn figure; None when half of the draws have none."""
    known = draws[np.isfinite(draws)]
    if len(known) * 2 <= len(draws):
        return None
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def drawn_ranks(
    scores: ArrayLike, labels: ArrayLike, good: ArrayLike | None, draws: Draws
) -> tuple[Floats, Floats]:
    """Spearman's rho and AUROC of every draw; NaN where a draw has none, AUROC also without `good`."""
    cells = _Cells(np.asarray(scores, dtype=float), np.asarray(labels, dtype=float))
    is_good = None if good is None else np.asarray(good, dtype=float)[cells.rows[cells.starts]]

    def both(weights: Floats) -> Floats:
        by_cell = np.add.reduceat(weights, cells.starts, axis=1)
        by_score = _weighted_ranks(by_cell, cells.score_starts, cells.score)
        by_label = _weighted_ranks(by_cell[:, cells.label_order], cells.label_starts, cells.label)
        area = np.full(len(by_cell), np.nan) if is_good is None else _area(by_cell, by_score, is_good)
        return np.column_stack([_correlation(by_cell, by_score, by_label), area])

    found = draws.by_rows(cells.rows, both)
    return found[:, 0], found[:, 1]


def drawn_kappa(one: ArrayLike, other: ArrayLike, draws: Draws) -> Floats:
    """Quadratic weighted kappa of every draw, from its moments."""
    a, b = np.asarray(one, dtype=float), np.asarray(other, dtype=float)
    sums = draws.sums([np.ones(len(a)), a, b, a * a, b * b, (a - b) ** 2])
    mean_a, mean_b, square_a, square_b, apart = (sums[:, 1:] / sums[:, :1]).T
    chance = square_a - mean_a**2 + square_b - mean_b**2 + (mean_a - mean_b) ** 2
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Floats = np.where(chance > 1e-12, 1 - apart / chance, np.nan)
    return found


def drawn_mean(values: ArrayLike, draws: Draws) -> Floats:
    """The mean of every draw."""
    given = np.asarray(values, dtype=float)
    sums = draws.sums([np.ones(len(given)), given])
    found: Floats = sums[:, 1] / sums[:, 0]
    return found


class _Cells:
    """Rows that share score and label are one cell; a draw then only has to be summed by cell."""

    def __init__(self, scores: Floats, labels: Floats) -> None:
        self.rows: Codes = np.lexsort((labels, scores))
        scores, labels = scores[self.rows], labels[self.rows]
        self.starts = _starts((np.diff(scores) != 0) | (np.diff(labels) != 0))
        scores, labels = scores[self.starts], labels[self.starts]
        _, self.score = np.unique(scores, return_inverse=True)
        _, self.label = np.unique(labels, return_inverse=True)
        self.label_order = np.argsort(self.label, kind="stable")
        self.score_starts = _starts(np.diff(self.score) != 0)
        self.label_starts = _starts(np.diff(self.label[self.label_order]) != 0)


def _starts(changes: NDArray[np.bool_]) -> Codes:
    return np.concatenate(([0], np.flatnonzero(changes) + 1))


def _weighted_ranks(sorted_weights: Floats, starts: Codes, codes: Codes) -> Floats:
    """The average rank of each cell, where it stands for as many rows as it weighs."""
    sizes = np.add.reduceat(sorted_weights, starts, axis=1)
    ranks = np.cumsum(sizes, axis=1) - (sizes - 1) / 2
    found: Floats = ranks[:, codes]
    return found


def _correlation(weights: Floats, one: Floats, other: Floats) -> Floats:
    """Pearson's, of ranks whose mean is known."""
    middle = (weights.sum(axis=1, keepdims=True) + 1) / 2
    one, other = one - middle, other - middle
    weighed = weights * one
    together = np.einsum("dc,dc->d", weighed, other)
    scale = np.einsum("dc,dc->d", weighed, one) * np.einsum("dc,dc,dc->d", weights, other, other)
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Floats = np.where(scale > 0, together / np.sqrt(scale), np.nan)
    return found


def _area(weights: Floats, ranks: Floats, good: Floats) -> Floats:
    positive = weights @ good
    negative = weights.sum(axis=1) - positive
    above = np.einsum("dc,dc,c->d", weights, ranks, good) - positive * (positive + 1) / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Floats = np.where(positive * negative > 0, above / (positive * negative), np.nan)
    return found
