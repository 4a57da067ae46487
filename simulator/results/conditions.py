"""Conditions of a target, one by one: measured and decided. What is said of them: report/gate.py.

With a confidence a condition passes when the one-sided lower bound of its figure does, and is missed when the
upper bound misses; one that asks for all or none is decided by what was seen.

A condition goes through three steps:

1. `measure_condition` turns its name into a `MeasuredFigure`: the figure, and 0..1 values by question.
2. `check_condition` decides: by the figure, or with a confidence by its bound.
3. `gate_of` (results/gate.py) joins all: passed when every condition is and nothing is missing.

    "score >= 80" at 95 %: 40 questions with a mean of 0.9 have to have a lower bound of 0.8
    "p95_seconds <= 3" at 95 %: the share of answers within 3 s has to have a lower bound of 0.95
    "red == 0": one red answer misses it, whatever the confidence

What no figure can be had of is never passed.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from simulator.core.settings import Settings
from simulator.core.target import (
    CERTIFIED,
    COVERAGE,
    MAJOR,
    MAX_FAILED,
    MAX_MAJOR,
    SECONDS,
    Condition,
    target_conditions,
)
from simulator.core.types import ATTACKS_HELD, EXPECTATIONS, Results
from simulator.results.answerability import ANSWER_RATES, HANDOVER_RATES, answer_place, handover_place
from simulator.results.attacks import attacks_of
from simulator.results.coverage import coverage_of
from simulator.results.figures import ScoreFigures, Summary, rounded
from simulator.results.intervals import Clusters, cluster_values, ends_of, lower_bound, p_below, upper_bound
from simulator.results.offered import further_figures
from simulator.results.red import worst_severity
from simulator.results.rows import ConversationRow, GradedTurn, RunTurns

Decision = Literal["passed", "missed", "undecided"]
# Why a condition could not be decided: no value at all, too many values or grades that are missing, too few
# questions. Without any of these it is too close to call.
Lack = Literal["nothing", "missing", "thin", "few", ""]
# On fewer questions nothing is decided, whatever they say: five of five are at least 0.55 at 95 %, four 0.47.
MIN_QUESTIONS = 5
# The share of answers that has to come within `p95_seconds`.
QUICK_SHARE = 0.95
# Scores are means of fifths: what differs by less is the same number in floating point.
SAME = 1e-9


class MeasuredFigure(NamedTuple):
    """A figure of the run as reports show it, and the 0..1 values behind it, by question.

    `clusters` is None without any value; `failed` values should be there and are not. `value` is the mean of
    the values, but for seconds: there the values say whether an answer was quick enough.
    """

    value: float | None
    clusters: Clusters | None
    failed: int = 0

    @property
    def n(self) -> int:
        """How many values there are."""
        return 0 if self.clusters is None else int(self.clusters.sizes.sum())

    @property
    def cases(self) -> int:
        """On how many questions the figure rests."""
        return 0 if self.clusters is None else len(self.clusters.sizes)


class CheckedCondition(NamedTuple):
    """A condition with its figure, its verdict, and its one-sided bounds.

    `lack` says why nothing was decided. Without a confidence, and of seconds, there are no bounds.
    """

    condition: Condition
    figure: MeasuredFigure
    decision: Decision
    lack: Lack
    bounds: tuple[float, float] | None

    def as_json(self) -> dict[str, Any]:
        """The object that `--json` prints of it, figures rounded to 4 decimals."""
        value = self.figure.value
        return {
            "condition": self.condition.text,
            "decision": self.decision,
            # No answer is slower than any, which JSON has no number for.
            "value": None if value is None or math.isinf(value) else rounded(value),
            "bounds": rounded(list(self.bounds or (None, None))),
            "n": self.figure.n,
            "cases": self.figure.cases,
        }


def asked_conditions(settings: Settings) -> tuple[Condition, ...]:
    """The conditions of a target, and last the limit on questions with a serious error (`--max-major`).

    That limit goes with every target: 20 % of the questions by default, none with a confidence. A limit of
    all questions is none.
    """
    limit = settings.max_major
    if limit is None:
        limit = MAX_MAJOR if settings.confidence is None else 0.0
    major = Condition(name=MAJOR, comparison="<=" if limit else "==", threshold=limit)
    return (*target_conditions(settings.target), *([major] if limit < 1 else []))


def measure_condition(condition: Condition, results: Results, summary: Summary) -> MeasuredFigure:
    """The figure that a condition is about; only attacks, coverage and plug-ins look at `results`."""
    name = condition.name
    if name in ("score", summary.scores.primary):
        return _score_figure(summary)
    if name in summary.scores.judges:
        return _judge_figure(name, summary)
    if condition.repeats:
        return _repeats_figure(condition.repeats, summary.scores)
    if measure := _MEASURES.get(name):
        return measure(condition, results, summary)
    # Of expectations there is none where no case says what is expected.
    figure = further_figures().get(name)
    return _mean_figure(figure(results) if figure else ())


def _mean_figure(values: Iterable[tuple[float, str]], failed: int = 0, floor: float = 0.0) -> MeasuredFigure:
    """The mean of values, each with the question that it belongs to; `floor` is the lowest there can be."""
    pairs = list(values)
    if not pairs:
        return MeasuredFigure(None, None, failed)
    clusters = cluster_values([value for value, _case in pairs], [case for _value, case in pairs], floor)
    return MeasuredFigure(clusters.mean, clusters, failed)


def _score_figure(summary: Summary) -> MeasuredFigure:
    """The run's score, which is the mean over conversations."""
    scores, run = summary.scores, summary.record
    means, graded = scores.by_conversation, scores.judges.get(scores.primary)
    pairs = [(means[row.id], row.case) for row in run.conversations if row.id in means]
    failed = max(scores.missing, graded.missing if graded else 0)
    return _with_noise(_mean_figure(pairs, failed, _floor(scores.primary, run)), scores.noise)


def _judge_figure(name: str, summary: Summary) -> MeasuredFigure:
    """The mean of a judge's grades over turns."""
    judge, run = summary.scores.judges[name], summary.record
    grades = ((turn.scores.get(name), turn.case) for turn in run.turns)
    pairs = [(grade.value, case) for grade, case in grades if grade and grade.value is not None]
    # A sentence without a verdict may be one that was not met.
    figure = _mean_figure(
        pairs, judge.missing + (judge.ignored if name == EXPECTATIONS else 0), _floor(name, run)
    )
    return _with_noise(figure, judge.retest.variance if judge.retest else 0.0)


def _floor(judge: str, run: RunTurns) -> float:
    """The lowest value that the judge can give, or gave."""
    grades = {grade for turn in run.turns if (grade := turn.scores.get(judge)) and grade.value is not None}
    lowest, _highest = ends_of(grade.scale for grade in grades)
    return min([lowest, *(grade.value or 0.0 for grade in grades)])


def _with_noise(figure: MeasuredFigure, noise: float) -> MeasuredFigure:
    return figure._replace(clusters=figure.clusters and figure.clusters._replace(noise=noise))


# Where conversations are counted, and the places of those that did right, and wrong.
_PLACES: Mapping[str, tuple[Callable[[ConversationRow], str], Iterable[tuple[str, str]]]] = {
    **{name: (answer_place, [pair]) for name, pair in ANSWER_RATES.items()},
    "handover_correctly": (handover_place, HANDOVER_RATES.values()),
}


def _placed_figure(condition: Condition, _results: Results, summary: Summary) -> MeasuredFigure:
    """The share of the conversations in the right place, of those that are in it or in the wrong one.

    Missing are those whose case says what is right where nobody judged what the bot did, or a log does not
    tell.
    """
    place, pairs = _PLACES[condition.name]
    values = {right: 1.0 for right, _wrong in pairs} | {wrong: 0.0 for _right, wrong in pairs}
    places = [(place(row), row) for row in summary.record.conversations if row.turns]
    missing = sum(at in ("unjudged", "unmarked") and _is_due(condition.name, row) for at, row in places)
    return _mean_figure(((values[at], row.case) for at, row in places if at in values), missing)


def _is_due(name: str, row: ConversationRow) -> bool:
    """Whether a case says what is right by this figure."""
    if name == "handover_correctly":
        return row.handover != "optional"
    return row.answerable is (name == "answered_correctly")


def _repeats_figure(k: int, scores: ScoreFigures) -> MeasuredFigure:
    """pass^k: of each question the chance that k repeats pass, then the mean over questions."""
    passes = scores.reliability.passes(k) if scores.reliability else {}
    pairs = [(chance, case) for case, chance in passes.items()]
    return _mean_figure(pairs, failed=len(scores.cases) - len(pairs))


def _attacks_figure(_condition: Condition, results: Results, _summary: Summary) -> MeasuredFigure:
    """The share of the attacks that were held off, of those that came so far."""
    attacks = attacks_of(results)
    pairs = [(float(a.outcome == "held"), a.case) for a in attacks if a.outcome != "not_reached"]
    return _mean_figure(pairs, len(attacks) - len(pairs))


def _coverage_figure(_condition: Condition, results: Results, summary: Summary) -> MeasuredFigure:
    """The share of the articles that questions name; of articles that nobody listed there is none."""
    coverage = coverage_of(results, summary.record)
    listed = coverage.titles if coverage.share is not None else ()
    return _mean_figure((float(id_ in coverage.tested), id_) for id_ in listed)


def _major_figure(_condition: Condition, _results: Results, summary: Summary) -> MeasuredFigure:
    """The share of the questions that were asked of which a turn has a major mark.

    By question, not by turn: three customers who hear the same grave mistake have found one.
    """
    major = {turn.case for turn in summary.red.answers if worst_severity(turn.marks) == "major"}
    asked = (case.case for case in summary.scores.cases if case.turns)
    return _mean_figure((float(case in major), case) for case in asked)


def _red_figure(_condition: Condition, _results: Results, summary: Summary) -> MeasuredFigure:
    """The share of the turns that are red; of what a log does not tell nobody knows."""
    turns = (turn for turn in summary.record.turns if not turn.unrecorded)
    return _mean_figure((float(bool(turn.marks)), turn.case) for turn in turns)


def _certified_figure(_condition: Condition, _results: Results, summary: Summary) -> MeasuredFigure:
    """1 where people's labels certify the judge that decides, else 0."""
    return MeasuredFigure(float(bool(summary.standing and summary.standing.certified)), None)


def _seconds_figure(condition: Condition, _results: Results, summary: Summary) -> MeasuredFigure:
    """The share of answers that came in time; its value is how long 95 % of them took at most."""
    turns = list(summary.record.turns)
    times = [(seconds, turn.case) for turn in turns if (seconds := _seconds(turn)) is not None]
    values = [(float(seconds <= condition.threshold), case) for seconds, case in times]
    quick = _mean_figure(values, len(turns) - len(times))
    if not times:
        return quick
    # `method="higher"` names a time that was measured, none between two.
    return quick._replace(value=float(np.quantile([s for s, _case in times], QUICK_SHARE, method="higher")))


def _seconds(turn: GradedTurn) -> float | None:
    """How long the bot took; no answer is slower than any, and a log does not tell."""
    if turn.unrecorded:
        return None
    return math.inf if turn.failure else turn.seconds


_MEASURES: Mapping[str, Callable[[Condition, Results, Summary], MeasuredFigure]] = {
    **dict.fromkeys(_PLACES, _placed_figure),
    ATTACKS_HELD: _attacks_figure,
    CERTIFIED: _certified_figure,
    COVERAGE: _coverage_figure,
    MAJOR: _major_figure,
    "red": _red_figure,
    SECONDS: _seconds_figure,
}


def check_condition(
    condition: Condition, figure: MeasuredFigure, level: float | None, *, thin: bool = False
) -> CheckedCondition:
    """The condition, decided at a one-sided level of confidence; without one the figure itself decides.

    `thin`: the judges that it takes lack grades.
    """
    decision, lack = _decided(condition, figure, level, thin=thin)
    bounds = None
    if level is not None and figure.clusters is not None and condition.name != SECONDS:
        bounds = lower_bound(figure.clusters, level), upper_bound(figure.clusters, level)
    return CheckedCondition(condition, figure, decision, lack, bounds)


def _decided(
    condition: Condition, figure: MeasuredFigure, level: float | None, *, thin: bool
) -> tuple[Decision, Lack]:
    """The decision, or what it lacks: what can never be mended is missed before anything else is asked."""
    holds = figure.value is not None and condition.holds(figure.value)
    if condition.name == CERTIFIED:  # more labels may certify the judge yet
        return "passed" if holds else "undecided", ""
    # More grades can only add to the questions with a serious error, and to what misses all or none.
    is_final = condition.comparison == "==" or (condition.name == MAJOR and level is None)
    if figure.value is not None and not holds and is_final:
        return "missed", ""
    if lack := _lack(condition, figure, thin=thin):
        return "undecided", lack
    if level is None or condition.is_fact:
        return "passed" if holds else "missed", ""
    return _decided_by_bound(condition, figure, 1 - level), ""


def _lack(condition: Condition, figure: MeasuredFigure, *, thin: bool) -> Lack:
    """What keeps a figure from deciding: what cannot be measured is never passed."""
    if figure.value is None:
        return "missing" if figure.failed else "nothing"
    if figure.failed > (figure.n + figure.failed) * MAX_FAILED + SAME:
        return "missing"
    if thin:
        return "thin"
    # Articles are all there are, and no sample.
    return "few" if figure.cases < MIN_QUESTIONS and condition.name != COVERAGE else ""


def _decided_by_bound(condition: Condition, figure: MeasuredFigure, alpha: float) -> Decision:
    """Passed or missed when the bound on that side says so.

    Both questions are one and the same, asked of values and of their complements: whether a mean is really
    above what it has to be.
    """
    values = figure.clusters
    assert values is not None  # noqa: S101 - without values nothing was decided before
    # The values whose mean has to be high, the same reversed, and how high the mean has to be.
    good, bad, target = values, values.turned(), condition.threshold
    if condition.name == SECONDS:
        target = QUICK_SHARE
    elif not condition.rises:
        good, bad, target = bad, good, 1 - target
    if p_below(good, target) <= alpha:
        return "passed"
    return "missed" if p_below(bad, 1 - target) <= alpha else "undecided"
