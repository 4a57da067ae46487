"""When a run that stops early may look at the gate, and what each look may get wrong.

Whoever looks eight times at a bot that is just not good enough, and stops at the first pleasing sight, is
pleased far too often. The error that is allowed is therefore spent over the looks (Lan and DeMets, 1983) by
the power family of Kim and DeMets (1987): after a share t of the questions, alpha * t ** 1.5 may be spent.

A run with `--sequential` goes like this, here with 21 questions at `--confidence 0.95`:

1. `batches` puts the questions into an order by lot, in parts that end where `looks(21)` says: after 3, 6, 8,
   11, 14, 16, 19 and 21 questions.
2. After each part `certain_decision` (stats/target.py) asks the gate, which takes the level of that look from
   `alpha_at`: an error of 0.0027 after 3 questions, 0.0277 after all 21, which together are 0.05.
3. As soon as the answer is passed or missed, the rest is not held, and the run's notes say so
   (STOPPED_EARLY).

Of simulated bots that are just at the target at most 4.0 % pass this way (`make bench-gate`).
"""

import math
import random
from collections.abc import Sequence
from functools import cache
from statistics import NormalDist

import numpy as np

from simulator.core.types import Conversation

# The most looks at the gate of a run that stops early.
LOOKS = 8
# Between Pocock's spending, which stops soonest and passes fewest in the end, and O'Brien and Fleming's.
POWER = 1.5
# The grid of the integration, in standard deviations of the whole run's sum: steps of 0.005, and so wide that
# nothing falls off it.
_WIDTH, _POINTS = 8.0, 3201
_NORMAL = NormalDist()


def looks(cases: int) -> tuple[int, ...]:
    """After how many of the questions the gate is looked at: eight times at most, the last time at all.

    5 -> (1, 2, 3, 4, 5), 40 -> (5, 10, 15, 20, 25, 30, 35, 40)
    """
    return tuple(sorted({math.ceil(cases * look / LOOKS) for look in range(1, LOOKS + 1)}))


def alpha_at(held: int, cases: int, alpha: float) -> float:
    """The error that a single look may make after `held` of `cases` questions.

    What a report asks between two looks, as of a run that was interrupted, is given the level of the look
    before; before the first one, that of the first.
    """
    planned = looks(cases)
    seen = [at for at in planned if at <= held] or [planned[0]]
    return nominal_levels(tuple(at / cases for at in planned), alpha)[len(seen) - 1]


@cache
def nominal_levels(fractions: tuple[float, ...], alpha: float, power: float = POWER) -> tuple[float, ...]:
    """The one-sided level of each look at these shares of the questions, all together `alpha`.

    The recursive integration of Armitage, McPherson and Rowe (1969) over a sum of independent increments:
    the density of what has not been stopped yet, and the boundary that cuts off what may be spent. For eight
    even looks and 0.05: 0.0022, 0.0047, 0.0076, 0.0109, 0.0146, 0.0189, 0.0237, 0.0288.
    """
    grid = np.linspace(-_WIDTH, _WIDTH, _POINTS)
    step, steps = float(grid[1] - grid[0]), np.arange(1 - _POINTS, _POINTS)
    # Before anything is asked the sum is 0 for certain: all of the density in the middle of the grid.
    density = np.zeros(_POINTS)
    density[_POINTS // 2] = 1 / step
    levels, before, spent = [], 0.0, 0.0
    for at in fractions:
        grown = at - before
        kernel = np.exp(-((steps * step) ** 2) / 2 / grown) / math.sqrt(2 * math.pi * grown)
        density = np.convolve(density, kernel)[_POINTS - 1 : 2 * _POINTS - 1] * step
        tail = np.cumsum(density[::-1])[::-1] * step
        # Where the tail is what may be spent by now, less what was spent before.
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
    # By name before the lot is drawn: the order of a file must not decide which questions come first.
    order = sorted(by_case)
    random.Random(f"sequential/{seed}").shuffle(order)  # noqa: S311 - a lot, not a secret
    ends = looks(len(order))
    return tuple(
        tuple(conversation for case in order[start:end] for conversation in by_case[case])
        for start, end in zip((0, *ends), ends, strict=False)
    )
