"""Agreement with labels in bootstrap draws, Kendall's tau, and shares as levels of a label."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from simulator.results.agreement import Ranks, kappa_of_sums, moments
from simulator.results.draws import Draws
from simulator.results.intervals import Floats

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


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
