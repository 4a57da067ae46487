"""Stopping as soon as the answer is certain, without being fooled by looking often.

Whoever looks eight times at a bot that is just not good enough, and stops at the first pleasing sight, is
pleased far too often. The error that is allowed is therefore spent over the looks (Lan and DeMets, 1983) by
the power family of Kim and DeMets (1987): after a share t of the questions, alpha * t ** 1.5 may be spent.
"""

import math
import random
from collections.abc import Sequence
from functools import cache
from statistics import NormalDist

import numpy as np

from simulator.core.settings import Settings
from simulator.core.types import STOPPED_EARLY, Conversation, Results
from simulator.stats.gate import Decision, gate_of
from simulator.stats.summary import figures_of

LOOKS = 8
# Between Pocock's spending, which stops soonest and passes fewest in the end, and O'Brien and Fleming's.
POWER = 1.5

_WIDTH, _POINTS = 8.0, 3201
_NORMAL = NormalDist()


def looks(cases: int) -> tuple[int, ...]:
    """After how many of the questions the gate is looked at: eight times at most, the last time at all."""
    return tuple(sorted({math.ceil(cases * look / LOOKS) for look in range(1, LOOKS + 1)}))


def alpha_at(held: int, cases: int, alpha: float) -> float:
    """The error that a single look may make after `held` of `cases` questions."""
    planned = looks(cases)
    seen = [at for at in planned if at <= held] or [planned[0]]
    return nominal_levels(tuple(at / cases for at in planned), alpha)[len(seen) - 1]


@cache
def nominal_levels(fractions: tuple[float, ...], alpha: float, power: float = POWER) -> tuple[float, ...]:
    """The one-sided level of each look at these shares of the questions, all together `alpha`.

    The recursive integration of Armitage, McPherson and Rowe (1969) over a sum of independent increments:
    the density of what has not been stopped yet, and the boundary that cuts off what may be spent.
    """
    grid = np.linspace(-_WIDTH, _WIDTH, _POINTS)
    step, steps = float(grid[1] - grid[0]), np.arange(1 - _POINTS, _POINTS)
    density = np.zeros(_POINTS)
    density[_POINTS // 2] = 1 / step
    levels, before, spent = [], 0.0, 0.0
    for at in fractions:
        grown = at - before
        kernel = np.exp(-((steps * step) ** 2) / 2 / grown) / math.sqrt(2 * math.pi * grown)
        density = np.convolve(density, kernel)[_POINTS - 1 : 2 * _POINTS - 1] * step
        tail = np.cumsum(density[::-1])[::-1] * step
        boundary = float(np.interp(alpha * at**power - spent, tail[::-1], grid[::-1] - step / 2))
        levels.append(1 - _NORMAL.cdf(boundary / math.sqrt(at)))
        density, before, spent = np.where(grid < boundary, density, 0.0), at, alpha * at**power
    return tuple(levels)


def batches(plan: Sequence[Conversation], seed: int) -> tuple[tuple[Conversation, ...], ...]:
    """The plan in parts, one for each look, whole questions in an order by lot.

    Files are sorted by topic or difficulty: their first questions are no sample of all.
    """
    by_case: dict[str, list[Conversation]] = {}
    for conversation in plan:
        by_case.setdefault(conversation.case.id, []).append(conversation)
    order = sorted(by_case)
    random.Random(f"sequential/{seed}").shuffle(order)  # noqa: S311 - a lot, not a secret
    ends = looks(len(order))
    return tuple(
        tuple(conversation for case in order[start:end] for conversation in by_case[case])
        for start, end in zip((0, *ends), ends, strict=False)
    )


def certain_decision(results: Results, settings: Settings) -> Decision | None:
    """The decision if the run ended here: passed or missed; None while it needs more conversations."""
    finished = results.run.model_copy(update={"status": "finished"})
    stopped = {**results.notes, STOPPED_EARLY: True}
    now = results.model_copy(update={"run": finished, "notes": stopped})
    decision = gate_of(now, figures_of(now, settings), settings).decision
    return None if decision == "undecided" else decision
