"""The run score corrected by people's blind grades: prediction-powered inference.

The judge has graded every turn and people some of them: what the judge gives on average, less how far it
is off where people looked (Angelopoulos et al., Science 2023). Grades given on sight of the judge's own
are never used, and what was graded by rule (no answer) needs no correction.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from simulator.core.types import HumanVerdict
from simulator.stats.draws import RESAMPLES, Draws, interval
from simulator.stats.figures import ENOUGH_GRADES, CorrectedScore, Shortage, Stratum
from simulator.stats.intervals import Floats
from simulator.stats.summary import GradedTurn

# In each stratum that has as many turns, so many grades are needed.
MIN_PER_STRATUM = 2
TOP_GRADE = 5
STRATA: tuple[Stratum, ...] = ("red", "not_red")
# Of each stratum: weight of its turns, weight of the labelled ones, weighted sums of human and judge.
_OF_STRATUM = 4


class BlindGrade(NamedTuple):
    """People's blind grade of a turn: the mean over its reviewers (0..1), and its sampling rate.

    `graders` is how many of them graded it.
    """

    value: float
    sampled: float | None = None
    graders: int = 1


class StratifiedTurn(NamedTuple):
    """A turn that the deciding judge gave `value` (0..1); without a stratum it was graded by rule."""

    case: str
    conversation: str
    value: float
    stratum: Stratum | None
    human: BlindGrade | None = None


def blind_verdicts(verdicts: Iterable[HumanVerdict]) -> dict[tuple[str, int], list[HumanVerdict]]:
    """The grades that people gave without seeing a score, by conversation and turn."""
    by_turn: dict[tuple[str, int], list[HumanVerdict]] = {}
    for verdict in verdicts:
        if verdict.source == "blind" and verdict.grade is not None:
            by_turn.setdefault((verdict.conversation, verdict.turn), []).append(verdict)
    return by_turn


def blind_grades(verdicts: Iterable[HumanVerdict]) -> dict[tuple[str, int], BlindGrade]:
    """The turns that people graded without seeing a score, by conversation and turn."""
    found = {}
    for key, graded in blind_verdicts(verdicts).items():
        grades = sorted(verdict.grade or 0.0 for verdict in graded)
        rate = next((verdict.sampled for verdict in graded if verdict.sampled is not None), None)
        found[key] = BlindGrade(sum(grades) / len(grades) / TOP_GRADE, rate, len(grades))
    return found


def by_people(verdicts: Iterable[HumanVerdict], graded: Iterable[GradedTurn], *, seed: int) -> dict[str, Any]:
    """What people's blind grades make of a run: `corrected`, `labels` and `shortage` of its summary."""
    people = blind_grades(verdicts)
    turns = [
        StratifiedTurn(
            case=turn.case,
            conversation=turn.conversation,
            value=turn.value,
            # Those without an answer are graded by rule.
            stratum=None if turn.failure else "red" if turn.marks else "not_red",
            human=people.get((turn.conversation, turn.turn)),
        )
        for turn in graded
        if people and turn.value is not None
    ]
    found = correct(turns, seed=seed)
    return {"corrected": found, "labels": len(labelled_turns(turns)), "shortage": shortage(turns)}


def labelled_turns(turns: Iterable[StratifiedTurn]) -> list[StratifiedTurn]:
    """The turns whose human grade counts."""
    return [turn for turn in turns if turn.stratum and turn.human]


def shortage(turns: Sequence[StratifiedTurn]) -> Shortage | None:
    """What is missing for a correction; None when nothing is, or when nobody has graded anything."""
    found = labelled_turns(turns)
    if not found:
        return None
    lacking = {}
    for name in STRATA:
        own = [turn for turn in turns if turn.stratum == name]
        labelled = sum(turn.human is not None for turn in own)
        lacking[name] = max(0, min(MIN_PER_STRATUM, len(own)) - labelled)
    grades = sum(turn.human.graders for turn in found if turn.human)
    more = max(ENOUGH_GRADES - grades, sum(lacking.values()), 0)
    if not more and len({turn.case for turn in turns}) > 1:
        return None
    return Shortage(
        labels=grades, more=more, **lacking, turns=sum(turn.stratum is not None for turn in turns)
    )


def correct(
    turns: Sequence[StratifiedTurn], *, seed: int, resamples: int = RESAMPLES
) -> CorrectedScore | None:
    """The corrected score of a run; None without enough labels.

    The correction is the mean of human less judge, post-stratified by red; the judge's part is weighed for
    the smallest variance (PPI++, Angelopoulos, Duchi and Zrnic 2023). The interval is the percentile
    bootstrap's, cases being drawn with all their turns, and widened a little for few labelled cases.
    """
    labelled = labelled_turns(turns)
    if not labelled or shortage(turns):
        return None
    cases, table = _by_case(turns)
    drawn = _estimates(Draws(cases, seed=seed, resamples=resamples).sums(list(table.T)))
    power = _power(drawn)
    found = float(_estimates(table.sum(axis=0)[None, :])[0] @ (1, power))
    bounds = interval(drawn @ (1, power))
    if bounds is None:
        return None
    # Student's t over the normal quantile, to first order: few cases make the interval wider.
    free = max(1, len({turn.case for turn in labelled}) - 1)
    wider = (1 + (1.96**2 + 1) / (4 * free)) * math.sqrt((free + 1) / free)
    score, low, high = np.clip([found, *(found + wider * (bound - found) for bound in bounds)], 0, 1)
    apart = {
        name: sorted(
            turn.value - turn.human.value for turn in labelled if turn.stratum == name and turn.human
        )
        for name in STRATA
    }
    return CorrectedScore(
        score=float(score),
        interval=(float(low), float(high)),
        n=len(labelled),
        bias={name: sum(each) / len(each) for name, each in apart.items() if each},
    )


def _power(drawn: Floats) -> float:
    """How much of the judge's part keeps the variance smallest: it is a control variate of people's."""
    known = drawn[np.isfinite(drawn).all(axis=1)]
    if len(known) < 2 or known[:, 1].var() < 1e-18:
        return 1.0
    covariance = np.cov(known.T)
    return float(np.clip(-covariance[0, 1] / covariance[1, 1], 0, 1))


def _estimates(sums: Floats) -> Floats:
    """From sums over cases: the score by people's grades alone, and what the judge's grades add to it.

    NaN for a draw that has turns of a stratum, and none of them labelled.
    """
    whole, judged, by_rule = sums[:, 0], sums[:, 1], sums[:, 2]
    people, judge = by_rule.copy(), by_rule.copy()
    for at in range(3, sums.shape[1], _OF_STRATUM):
        weight, labels, human, graded = sums[:, at : at + _OF_STRATUM].T
        with np.errstate(invalid="ignore", divide="ignore"):
            people += np.where(weight > 0, weight * human / labels, 0)
            judge += np.where(weight > 0, weight * graded / labels, 0)
    return np.column_stack([people / whole, (judged - judge) / whole])


def _by_case(turns: Sequence[StratifiedTurn]) -> tuple[list[str], Floats]:
    """The cases by name, and a row of sums for each: weight, weighted grades, those by rule, both strata.

    The run score is the mean of conversation means, so a turn weighs its share of its conversation.
    """
    sizes = Counter(turn.conversation for turn in turns)
    rows = []
    for turn in turns:
        weight = 1 / sizes[turn.conversation]
        row = [weight, weight * turn.value, weight * turn.value if turn.stratum is None else 0.0]
        for name in STRATA:
            # One that was less likely to be sampled stands for more turns like it.
            label = weight / (turn.human.sampled or 1) if turn.human else 0.0
            human = turn.human.value if turn.human else 0.0
            row += [weight, label, label * human, label * turn.value] if turn.stratum == name else [0.0] * 4
        rows.append((turn.case, row))
    # In one fixed order, so that float sums never drift with the order of the turns.
    rows.sort()
    cases, places = np.unique([case for case, _row in rows], return_inverse=True)
    table = np.zeros((len(cases), 3 + _OF_STRATUM * len(STRATA)))
    np.add.at(table, places, [row for _case, row in rows])
    return list(cases), table
