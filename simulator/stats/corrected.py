"""The run score corrected by people's blind grades: prediction-powered inference.

The judge has graded every turn and people some of them: what the judge gives on average, less how far it
is off where people looked (Angelopoulos et al., Science 2023). Grades given on sight of the judge's own
are never used, and what was graded by rule (no answer) needs no correction.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from simulator.core.types import HumanVerdict, Value
from simulator.stats.agreement import Floats
from simulator.stats.intervals import RESAMPLES, interval

# So many grades are needed, counting those of a second reviewer of the same turn,
ENOUGH_GRADES = 50
# and so many in each stratum that has as many turns.
MIN_PER_STRATUM = 2
TOP_GRADE = 5
Stratum = Literal["red", "not_red"]
STRATA: tuple[Stratum, ...] = ("red", "not_red")
# Keeps the matrix of drawn cases under about 32 MB, however many cases there are.
_DRAWS_AT_ONCE = 4_000_000
# Of each stratum: weight of its turns, weight of the labelled ones, weighted sums of human and judge.
_OF_STRATUM = 4


class CorrectedScore(Value):
    """The score (0..1) as people would have given it, with a 95 % interval, from `n` turns they graded.

    `bias` is judge less people on those turns, by stratum (red, not_red): positive is lenient.
    `power` (0..1) is how much the judge's grades helped; at 0 they told nothing of people's.
    """

    score: float
    interval: tuple[float, float]
    n: int
    bias: Mapping[Stratum, float]
    power: float

    def as_json(self) -> dict[str, Any]:
        """What `--json` prints of it, rounded to 4 decimals."""
        return {
            "score": round(self.score, 4),
            "interval": [round(end, 4) for end in self.interval],
            "n": self.n,
            "bias": {stratum: round(bias, 4) for stratum, bias in self.bias.items()},
        }


class Shortage(Value):
    """Why `labels` grades do not correct a score: how many more it takes, `red` and `not_red` ones.

    `turns` is how many there are to be graded; with too few, or of one question only, none can be corrected.
    """

    labels: int
    more: int
    red: int
    not_red: int
    turns: int


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


def blind_grades(verdicts: Iterable[HumanVerdict]) -> dict[tuple[str, int], BlindGrade]:
    """The turns that people graded without seeing a score, by conversation and turn."""
    by_turn: dict[tuple[str, int], list[HumanVerdict]] = {}
    for verdict in verdicts:
        if verdict.source == "blind" and verdict.grade is not None:
            by_turn.setdefault((verdict.conversation, verdict.turn), []).append(verdict)
    return {key: _mean_grade(graded) for key, graded in by_turn.items()}


def _mean_grade(verdicts: Sequence[HumanVerdict]) -> BlindGrade:
    grades = sorted(verdict.grade or 0.0 for verdict in verdicts)
    rates = [verdict.sampled for verdict in verdicts if verdict.sampled is not None]
    return BlindGrade(sum(grades) / len(grades) / TOP_GRADE, rates[0] if rates else None, len(grades))


def labelled_turns(turns: Iterable[StratifiedTurn]) -> list[StratifiedTurn]:
    """The turns whose human grade counts."""
    return [turn for turn in turns if turn.stratum and turn.human]


def shortage(turns: Sequence[StratifiedTurn]) -> Shortage | None:
    """What is missing for a correction; None when nothing is, or when nobody has graded anything."""
    found = labelled_turns(turns)
    if not found:
        return None
    lacking = {name: _lacking(turns, name) for name in STRATA}
    grades = sum(turn.human.graders for turn in found if turn.human)
    more = max(ENOUGH_GRADES - grades, sum(lacking.values()), 0)
    if not more and len({turn.case for turn in turns}) > 1:
        return None
    return Shortage(
        labels=grades, more=more, **lacking, turns=sum(turn.stratum is not None for turn in turns)
    )


def _lacking(turns: Sequence[StratifiedTurn], stratum: Stratum) -> int:
    own = [turn for turn in turns if turn.stratum == stratum]
    return max(0, min(MIN_PER_STRATUM, len(own)) - sum(turn.human is not None for turn in own))


def correct(
    turns: Sequence[StratifiedTurn], *, seed: int, resamples: int = RESAMPLES
) -> CorrectedScore | None:
    """The corrected score of a run; None without enough labels.

    The correction is the mean of human less judge, post-stratified by red; the judge's part is weighed for
    the smallest variance (PPI++, Angelopoulos, Duchi and Zrnic 2023). The interval is the percentile
    bootstrap's, cases being drawn with all their turns, and widened a little for few labelled cases.
    """
    if not labelled_turns(turns) or shortage(turns):
        return None
    table = _by_case(turns)
    drawn = _estimates(_drawn(table, seed, resamples))
    power = _power(drawn)
    found = float(_estimates(table.sum(axis=0)[None, :])[0] @ (1, power))
    bounds = interval(drawn @ (1, power))
    if bounds is None:
        return None
    wider = _small_sample(len({turn.case for turn in labelled_turns(turns)}))
    score, low, high = np.clip([found, *(found + wider * (bound - found) for bound in bounds)], 0, 1)
    return CorrectedScore(
        score=float(score),
        interval=(float(low), float(high)),
        n=len(labelled_turns(turns)),
        bias=_bias(turns),
        power=power,
    )


def _power(drawn: Floats) -> float:
    """How much of the judge's part keeps the variance smallest: it is a control variate of people's."""
    known = drawn[np.isfinite(drawn).all(axis=1)]
    if len(known) < 2 or known[:, 1].var() < 1e-18:
        return 1.0
    covariance = np.cov(known.T)
    return float(np.clip(-covariance[0, 1] / covariance[1, 1], 0, 1))


def _small_sample(cases: int) -> float:
    """How much wider few cases make an interval: Student's t over the normal quantile, to first order."""
    free = max(1, cases - 1)
    return (1 + (1.96**2 + 1) / (4 * free)) * math.sqrt((free + 1) / free)


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


def _by_case(turns: Sequence[StratifiedTurn]) -> Floats:
    """A row of sums for each case, in the order of their names."""
    columns = [[weight, weight * t.value, *_parts(t, weight)] for t, weight in _weighed(turns)]
    places = {name: at for at, name in enumerate(sorted({turn.case for turn in turns}))}
    case = np.array([places[turn.case] for turn in turns])
    table = np.zeros((len(places), len(columns[0])))
    # In one fixed order, so that float sums never drift with the order of the turns.
    order = sorted(range(len(turns)), key=lambda at: (case[at], columns[at]))
    np.add.at(table, case[order], np.array(columns)[order])
    return table


def _weighed(turns: Sequence[StratifiedTurn]) -> list[tuple[StratifiedTurn, float]]:
    """Each turn with its share of its conversation: the run score is the mean of conversation means."""
    sizes: dict[str, int] = {}
    for turn in turns:
        sizes[turn.conversation] = sizes.get(turn.conversation, 0) + 1
    return [(turn, 1 / sizes[turn.conversation]) for turn in turns]


def _parts(turn: StratifiedTurn, weight: float) -> list[float]:
    parts = [weight * turn.value if turn.stratum is None else 0.0]
    for name in STRATA:
        if turn.stratum != name:
            parts += [0.0] * _OF_STRATUM
        elif turn.human is None:
            parts += [weight, 0.0, 0.0, 0.0]
        else:
            # One that was less likely to be sampled stands for more turns like it.
            label = weight / (turn.human.sampled or 1)
            parts += [weight, label, label * turn.human.value, label * turn.value]
    return parts


def _drawn(table: Floats, seed: int, resamples: int) -> Floats:
    """The sums of every draw of cases."""
    random, cases = np.random.default_rng(seed), len(table)
    rows = max(1, _DRAWS_AT_ONCE // cases)
    blocks = []
    for start in range(0, resamples, rows):
        size = min(rows, resamples - start)
        places = random.integers(0, cases, size=(size, cases)) + np.arange(size)[:, None] * cases
        counts = np.bincount(places.ravel(), minlength=size * cases).reshape(size, cases)
        blocks.append(counts @ table)
    return np.concatenate(blocks)


def _bias(turns: Iterable[StratifiedTurn]) -> dict[Stratum, float]:
    """How much more the judge gave than people did, on average over labelled turns."""
    apart: dict[Stratum, list[float]] = {}
    for turn in labelled_turns(turns):
        if turn.stratum and turn.human:
            apart.setdefault(turn.stratum, []).append(turn.value - turn.human.value)
    return {name: sum(sorted(apart[name])) / len(apart[name]) for name in STRATA if name in apart}
