"""Ratings from pairwise verdicts: the model of Bradley and Terry (1952), ties as half a win each.

P(i beats j) = p_i / (p_i + p_j). Fitted by the MM algorithm of Hunter (2004), all bootstrap draws at once.
"""

import math

import numpy as np
from numpy.typing import NDArray

from simulator.stats.agreement import Floats

# Virtual wins of each side of every pair that met, together one tie: a run that won everything stays finite.
PRIOR = 0.5
# Where the mean of all runs lies, and how much is ten times the odds: the scale of Elo (1978).
MIDDLE, DECADE = 1000.0, 400.0
_ITERATIONS, _ENOUGH = 5000, 1e-10


def log_strengths(wins: Floats, *, prior: float = PRIOR) -> Floats:
    """The log-odds strengths of k runs, with mean 0; NaN for runs that never met the first one's circle.

    `wins[..., i, j]` is how often i was preferred to j, ties as halves; leading axes are draws.
    """
    met = _met(wins)
    mine = _circle(met)
    counted = np.where(met, wins + prior, 0.0)[..., mine, :][..., :, mine]
    found = np.full(wins.shape[:-1], np.nan)
    found[..., mine] = _fitted(counted)
    return found


def elo(strengths: Floats) -> Floats:
    """Log-odds strengths on Elo's scale, mean 1000."""
    scaled: Floats = MIDDLE + strengths * DECADE / math.log(10)
    return scaled


def _met(wins: Floats) -> NDArray[np.bool_]:
    """Which runs were compared in any draw: (k, k), symmetric."""
    any_draw = wins.reshape(-1, *wins.shape[-2:]).sum(axis=0)
    found: NDArray[np.bool_] = (any_draw + any_draw.T) > 0
    return found


def _circle(met: NDArray[np.bool_]) -> NDArray[np.intp]:
    """The runs that are linked by comparisons with the first one."""
    reached, fresh = {0}, {0}
    while fresh:
        fresh = {int(j) for i in fresh for j in np.flatnonzero(met[i])} - reached
        reached |= fresh
    return np.array(sorted(reached), dtype=np.intp)


def _fitted(wins: Floats) -> Floats:
    """The MM iteration; every step raises the likelihood."""
    totals, met = wins.sum(axis=-1), wins + np.swapaxes(wins, -1, -2)
    logs = np.zeros(totals.shape)
    for _ in range(_ITERATIONS):
        strengths = np.exp(logs)
        with np.errstate(divide="ignore", invalid="ignore"):
            expected = met / (strengths[..., :, None] + strengths[..., None, :])
            new = np.log(totals) - np.log(expected.sum(axis=-1))
        new = np.nan_to_num(new, nan=0.0, neginf=-50.0, posinf=50.0)
        new -= new.mean(axis=-1, keepdims=True)
        moved, logs = float(np.abs(new - logs).max(initial=0.0)), new
        if moved < _ENOUGH:
            break
    return logs
