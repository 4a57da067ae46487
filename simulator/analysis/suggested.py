"""Which threshold the scores of right and wrong answers speak for, and how sure that is."""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from simulator.analysis.agreement import Floats
from simulator.analysis.resampling import Draws, interval
from simulator.analysis.thresholds import best_threshold
from simulator.core.types import Value

Method = Literal["quantile", "balanced"]
# Right answers, below which a threshold rests on too little.
ENOUGH = 20
_DECIMALS = 1e4


class Suggestion(Value):
    """A threshold at or above which an answer is taken as right; None where the scores speak for none.

    `interval` holds it in 95 % of the samples of as many rows. `right_passing` and `wrong_passing` (0..1) are
    the shares of the right and of the wrong answers that reach it.
    """

    method: Method
    threshold: float | None
    interval: tuple[float, float] | None
    right: int
    wrong: int
    right_passing: float | None
    wrong_passing: float | None

    @property
    def few(self) -> bool:
        """Whether it rests on too few right answers."""
        return self.right < ENOUGH


def suggest(  # noqa: PLR0917 - the rows in three columns, and how they are read
    scores: Sequence[float],
    right: Sequence[bool],
    groups: Sequence[str],
    method: Method,
    quantile: float,
    seed: int,
) -> Suggestion:
    """The threshold by one of two methods, with a bootstrap interval over `groups` of rows.

    `quantile`: the highest that at least 1 - `quantile` of the right answers reach. `balanced`: the cut with
    the best balanced accuracy, which needs wrong answers too; None where it is no better than chance.
    """
    values, good = np.asarray(scores, dtype=float), np.asarray(right, dtype=bool)
    draws = Draws(groups, seed=seed)
    if method == "quantile":
        found, drawn = (
            _lower_quantile(values[good], quantile),
            _drawn_quantiles(values, good, quantile, draws),
        )
    else:
        best = best_threshold(values.tolist(), good.tolist())
        found, drawn = best.grade if best else None, _drawn_cuts(values, good, draws)
    threshold = None if found is None else rounded_down(found)
    between = None if threshold is None else interval(drawn)
    return Suggestion(
        method=method,
        threshold=threshold,
        interval=between and (rounded_down(between[0]), rounded_down(between[1])),
        right=int(good.sum()),
        wrong=int((~good).sum()),
        right_passing=_share(values[good], threshold),
        wrong_passing=_share(values[~good], threshold),
    )


def rounded_down(value: float) -> float:
    """Four decimals, never more than the score itself: what reached it still does."""
    return math.floor(value * _DECIMALS + 1e-7) / _DECIMALS


def _share(scores: Floats, threshold: float | None) -> float | None:
    if threshold is None or not len(scores):
        return None
    return float((scores >= threshold - 1e-9).mean())


def _lower_quantile(scores: Floats, quantile: float) -> float | None:
    """The score that at most this share of them is below."""
    if not len(scores):
        return None
    return float(np.sort(scores)[min(len(scores) - 1, math.floor(quantile * len(scores) + 1e-9))])


def _drawn_quantiles(scores: Floats, right: ArrayLike, quantile: float, draws: Draws) -> Floats:
    """The same of every draw; NaN where a draw has no right answer."""
    rows = np.flatnonzero(right)
    rows = rows[np.argsort(scores[rows], kind="stable")]
    ordered = scores[rows]

    def figure(weights: Floats) -> Floats:
        below = np.cumsum(weights, axis=1)
        total = below[:, -1]
        at = np.argmax(below > (quantile * total + 1e-9)[:, None], axis=1)
        found: Floats = np.where(total > 0, ordered[at], np.nan)
        return found

    return draws.by_rows(rows, figure) if len(rows) else np.full(1, np.nan)


def _drawn_cuts(scores: Floats, right: ArrayLike, draws: Draws) -> Floats:
    """The best cut of every draw, the stricter of equals; NaN where a draw has answers of one kind only."""
    rows = np.argsort(scores, kind="stable")
    ordered, good = scores[rows], np.asarray(right, dtype=float)[rows]
    starts = np.concatenate(([0], np.flatnonzero(np.diff(ordered)) + 1))

    def figure(weights: Floats) -> Floats:
        hits, false = _at_or_above(weights * good, starts), _at_or_above(weights * (1 - good), starts)
        with np.errstate(invalid="ignore", divide="ignore"):
            balanced = np.round((hits / hits[:, :1] + 1 - false / false[:, :1]) / 2, 9)
        known = np.isfinite(balanced[:, 0])
        last = len(starts) - 1 - np.argmax(np.nan_to_num(balanced)[:, ::-1], axis=1)
        better = known & (np.nan_to_num(balanced).max(axis=1) > 0.5)
        found: Floats = np.where(better, ordered[starts][last], np.nan)
        return found

    return draws.by_rows(rows, figure)


def _at_or_above(weights: Floats, starts: ArrayLike) -> Floats:
    """The weight at or above every distinct score, of every draw."""
    by_score = np.add.reduceat(weights, np.asarray(starts), axis=1)
    found: Floats = np.cumsum(by_score[:, ::-1], axis=1)[:, ::-1]
    return found
