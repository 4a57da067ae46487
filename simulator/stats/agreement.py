"""How well two gradings agree: by rank (rho, tau, AUROC), and on one scale (kappa).

The same for what a run has of it: several models of one rubric, and several votes of one judge.
"""

from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from itertools import pairwise
from statistics import fmean

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.core.types import Score, Value

Floats = NDArray[np.float64]


class PanelAgreement(Value):
    """A further model of the panel beside the judge's own, on the `n` turns that both graded by one rubric.

    `kappa` is quadratically weighted; `shift` is how much more (0..1) the further model gives on average.
    """

    judge: str
    model: str
    n: int
    kappa: float | None
    shift: float


class VoteAgreement(Value):
    """Several votes of one judge on the same turns: on how many they lay far apart."""

    judge: str
    n: int
    votes: int
    disagreed: int
    mean_spread: float


def average_ranks(values: Sequence[float]) -> Floats:
    """Ranks from 1 upwards; equal values share the mean of their ranks."""
    _, group, sizes = np.unique(np.asarray(values, dtype=float), return_inverse=True, return_counts=True)
    last = np.cumsum(sizes)
    means: Floats = last - (sizes - 1) / 2
    return means[group]


def spearman(scores: Sequence[float], labels: Sequence[float]) -> float | None:
    """Spearman's rho (-1..1): Pearson's correlation of the average ranks. None when one side is constant."""
    one, other = average_ranks(scores), average_ranks(labels)
    one, other = one - one.mean(), other - other.mean()
    scale = float(np.sqrt((one @ one) * (other @ other)))
    return float(one @ other) / scale if scale else None


def kendall(scores: Sequence[float], labels: Sequence[float]) -> float | None:
    """Kendall's tau-b (-1..1): pairs in the same order less pairs in the opposite one, corrected for ties.

    Knight's way (1966): rows sorted by score, then label, and inversions of the labels counted.
    None when one side is constant.
    """
    rows = sorted(zip(scores, labels, strict=True))
    pairs = _pairs(len(rows))
    tied_scores, tied_labels = _tied(scores), _tied(labels)
    discordant = _inversions([label for _, label in rows])
    concordant = pairs - tied_scores - tied_labels + _tied(rows) - discordant
    scale = ((pairs - tied_scores) * (pairs - tied_labels)) ** 0.5
    return (concordant - discordant) / scale if scale else None


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


def quadratic_kappa(one: ArrayLike, other: ArrayLike) -> float | None:
    """Cohen's kappa with quadratic weights (1968) of two gradings on one scale; 1 is full, 0 chance.

    1 less the mean squared difference over the one that chance would give, which is the sum of both
    variances and the squared difference of the means. None when both sides are one and the same constant.
    """
    first, second = np.asarray(one, dtype=float), np.asarray(other, dtype=float)
    by_chance = float(first.var() + second.var() + (first.mean() - second.mean()) ** 2)
    return 1 - float(((first - second) ** 2).mean()) / by_chance if by_chance else None


def nearest_levels(shares: ArrayLike, levels: Sequence[float]) -> Floats:
    """Shares (0..1) of a scale as the nearest of its levels; halfway goes up."""
    steps = np.asarray(sorted(levels), dtype=float)
    values = steps[0] + np.asarray(shares, dtype=float) * (steps[-1] - steps[0])
    limits = [(low + high) / 2 for low, high in pairwise(steps)]
    # What is halfway but for the rounding of floats goes up, too.
    levels_of_values: Floats = steps[np.searchsorted(limits, values + 1e-9, side="right")]
    return levels_of_values


def _inversions(values: Iterable[float]) -> int:
    seen: list[float] = []
    count = 0
    for value in values:
        count += len(seen) - bisect_right(seen, value)
        insort(seen, value)
    return count


def _tied(values: Iterable[Hashable]) -> int:
    return sum(_pairs(size) for size in Counter(values).values())


def _pairs(count: int) -> int:
    return count * (count - 1) // 2


def panel_agreement(scores: Iterable[Score]) -> tuple[PanelAgreement, ...]:
    """Every further model of the panel compared with the judge's own, by model and judge."""
    graded: dict[str, dict[tuple[str, int], Score]] = {}
    for score in scores:
        if score.state == "scored" and not score.by_rule:
            graded.setdefault(score.judge, {})[score.conversation, score.turn] = score
    found = []
    for name in graded:
        judge, beside, model = name.partition("@")
        both = [key for key in graded[name] if key in graded.get(judge, {})] if beside else []
        if both:
            own = [graded[judge][key].value or 0.0 for key in both]
            other = [graded[name][key].value or 0.0 for key in both]
            kappa, shift = quadratic_kappa(own, other), fmean(other) - fmean(own)
            found.append(PanelAgreement(judge=judge, model=model, n=len(both), kappa=kappa, shift=shift))
    return tuple(sorted(found, key=lambda pair: (pair.model, pair.judge)))


def vote_agreement(scores: Iterable[Score]) -> tuple[VoteAgreement, ...]:
    """How far the votes of each judge lay apart, for judges with several votes on a turn."""
    voted: dict[str, list[Score]] = {}
    for score in scores:
        if isinstance(score.detail.get("votes"), list):
            voted.setdefault(score.judge, []).append(score)
    return tuple(_vote(judge, found) for judge, found in sorted(voted.items()))


def _vote(judge: str, scores: list[Score]) -> VoteAgreement:
    ballots = [ballot for score in scores if isinstance(ballot := score.detail["votes"], list)]
    spreads = [spread for score in scores if isinstance(spread := score.detail.get("spread"), int | float)]
    return VoteAgreement(
        judge=judge,
        n=len(scores),
        votes=max(map(len, ballots)),
        disagreed=sum(bool(score.detail.get("disagreement")) for score in scores),
        mean_spread=fmean(spreads) if spreads else 0.0,
    )
