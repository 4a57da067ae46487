"""From which score on an answer is taken as right, by answers that people called right or wrong.

scores .2 .5 .6 .7 .8 .9, of which the first two are wrong answers
suggest   -> 0.6   every right answer passes, no wrong one
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simulator.core.types import Value
from simulator.results.draws import Draws, interval
from simulator.results.intervals import Floats

# The share of right answers that may stay below a threshold.
FAILING = 0.05
# Below so many right answers a threshold is marked as unreliable: of 20 the lowest 5 % are a single one.
ENOUGH_RIGHT = 20
# Thresholds are written with four decimals.
_DECIMALS = 1e4


class Suggestion(Value):
    """A threshold at or above which an answer is taken as right; None where the scores speak for none.

    `interval` holds it in 95 % of the samples of as many rows. `right_passing` and `wrong_passing` (0..1) are
    the shares of the right and of the wrong answers that reach it; `right` and `wrong` count both.
    """

    threshold: float | None
    interval: tuple[float, float] | None
    right: int
    wrong: int
    right_passing: float | None
    wrong_passing: float | None

    @property
    def few(self) -> bool:
        """Whether it rests on too few right answers."""
        return self.right < ENOUGH_RIGHT


def suggest(scores: Sequence[float], right: Sequence[bool], groups: Sequence[str], seed: int) -> Suggestion:
    """The highest threshold that 95 % of the right answers reach, with a bootstrap interval over `groups`."""
    values, good = np.asarray(scores, dtype=float), np.asarray(right, dtype=bool)
    rows = np.arange(len(values))

    def drawn(weights: Floats) -> Floats:
        """The threshold of each draw, in which every row counts so often."""
        samples = (np.repeat(rows, repeats) for repeats in weights.astype(int))
        return np.array([_threshold(values[at], good[at]) for at in samples])

    cut = _threshold(values, good)
    threshold = None if math.isnan(cut) else rounded_down(cut)
    between = None if threshold is None else interval(Draws(groups, seed=seed).by_rows(rows, drawn))

    def passing(which: NDArray[np.bool_]) -> float | None:
        if threshold is None or not which.any():
            return None
        return float((values[which] >= threshold - 1e-9).mean())

    return Suggestion(
        threshold=threshold,
        interval=between and (rounded_down(between[0]), rounded_down(between[1])),
        right=int(good.sum()),
        wrong=int((~good).sum()),
        right_passing=passing(good),
        wrong_passing=passing(~good),
    )


def rounded_down(value: float) -> float:
    """Four decimals, never more than the score itself: what reached it still does.

    0.123456 -> 0.1234. Rounding half up would fail the very answer that a threshold was taken from.
    """
    return math.floor(value * _DECIMALS + 1e-7) / _DECIMALS


def _threshold(values: Floats, good: NDArray[np.bool_]) -> float:
    """The threshold of one sample; NaN without right answers."""
    ordered = np.sort(values[good])
    # The hair is for shares such as 0.05 * 20, which is 1 on paper.
    at = min(len(ordered) - 1, math.floor(FAILING * len(ordered) + 1e-9))
    return float(ordered[at]) if len(ordered) else math.nan
