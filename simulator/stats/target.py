"""What is wrong with a target, told before anything is paid; and stopping as soon as the answer is certain.

Whoever looks eight times at a bot that is just not good enough, and stops at the first pleasing sight, is
pleased far too often. The error that is allowed is therefore spent over the looks (Lan and DeMets, 1983) by
the power family of Kim and DeMets (1987): after a share t of the questions, alpha * t ** 1.5 may be spent.

A run with `--sequential` goes like this, here with 21 questions at `--confidence 0.95`:

1. `batches` puts the questions into an order by lot, in parts that end where `looks(21)` says: after 3, 6, 8,
   11, 14, 16, 19 and 21 questions.
2. After each part `certain_decision` asks the gate. The gate takes the level of that look from `alpha_at`: an
   error of 0.0027 after 3 questions, 0.0277 after all 21, which together are 0.05.
3. As soon as the answer is passed or missed, the rest is not held, and the run's notes say so
   (STOPPED_EARLY).

Of simulated bots that are just at the target at most 4.0 % pass this way (`make bench-gate`).
"""

import math
import random
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from statistics import NormalDist

import numpy as np

from simulator.core.errors import InputError
from simulator.core.messages import _
from simulator.core.settings import TARGET_EXAMPLE, Settings, check_names, target_conditions
from simulator.core.shelves import judge_name
from simulator.core.types import STOPPED_EARLY, Case, Conversation, Results
from simulator.stats.gate import Decision, depends_on, gate_of, has_evidence
from simulator.stats.red import primary_judge
from simulator.stats.summary import figures_of


def check_gate(settings: Settings, is_of_outputs: Callable[[str], bool]) -> None:
    """Raises InputError for a target about figures that the run will not have, or for no target at all.

    `is_of_outputs` says whether the metric file has scores of a name.
    """
    conditions = target_conditions(settings.target)
    of_outputs = (each.name for each in conditions if is_of_outputs(each.name))
    check_names(settings.target, [*map(judge_name, settings.judges), *of_outputs])
    check_certainty(settings)
    for each in conditions:
        if each.repeats and each.repeats > settings.repeats and not settings.replay:
            msg = _(
                "--target {condition} takes {k} repeats of each question: add --repeats {k}.",
                condition=each.text,
                k=each.repeats,
            )
            raise InputError(msg)
    if settings.sequential and settings.customer_faults == "replay":
        msg = _("--sequential decides before anything is held again: leave out --customer-faults replay.")
        raise InputError(msg)


def check_certainty(settings: Settings) -> None:
    """Raises InputError for --confidence or --sequential without a target.

    `settings.certainty` is set by either of them.
    """
    flag = "--sequential" if settings.sequential else "--confidence"
    if settings.target is None and settings.certainty is not None:
        msg = _(
            "{flag} is about a target: add --target 90, or conditions ({example}).",
            flag=flag,
            example=TARGET_EXAMPLE,
        )
        raise InputError(msg)


def check_evidence(settings: Settings, cases: Iterable[Case]) -> None:
    """Raises InputError for a target about recorded answers with nothing to hold them against.

    Of a live bot nobody knows before it is asked whether it shows its passages; there the gate finds it out
    afterwards (`evidence`). It is enough that one row has evidence: the others are then skipped and counted.
    """
    primary = primary_judge(map(judge_name, settings.judges))
    if settings.adapter != "recorded" or not depends_on(primary, settings.target):
        return
    evidence = [
        has_evidence(case) or case.contexts or any(answer.passages for answer in case.recorded)
        for case in cases
        if case.answer or case.recorded
    ]
    if evidence and not any(evidence):
        msg = _(
            "--target: the judge {primary} has nothing to hold the answers of {cases} against. Add"
            " a column 'reference' or 'contexts'.",
            primary=primary,
            cases=settings.cases,
        )
        raise InputError(msg)


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


def certain_decision(results: Results, settings: Settings) -> Decision | None:
    """The decision if the run ended here: passed or missed; None while it needs more conversations.

    The gate is asked as if the run were finished, because an unfinished one is never decided; that it was
    stopped keeps it from missing the conversations that are not held.
    """
    finished = results.run.model_copy(update={"status": "finished"})
    stopped = {**results.notes, STOPPED_EARLY: True}
    now = results.model_copy(update={"run": finished, "notes": stopped})
    decision = gate_of(now, figures_of(now, settings), settings).decision
    return None if decision == "undecided" else decision
