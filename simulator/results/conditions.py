"""Conditions of a target, one by one: measured, decided, and in words.

With a confidence a condition passes when the one-sided lower bound of its figure does, and is missed when the
upper bound misses. What was counted, and what no further question can undo, is decided by what was seen.

Where several models play the customers, nobody knows which is most like real ones. So the gate passes,
or is missed, where it is for each of them: what has to hold whichever is right has to be shown of all
(intersection-union test: Berger, 1982).

A condition goes through three steps:

1. `measure_condition` turns its name into a `MeasuredFigure`: the figure, and 0..1 values by question.
2. `check_condition` decides: facts by the figure, shares by their bound, seconds by the share that is quick.
3. `conditions_gate` joins all: passed when every condition is and nothing is missing.

    "score >= 80" at 95 %: 40 questions with a mean of 0.9 have to have a lower bound of 0.8
    "p95_seconds <= 3" at 95 %: the share of answers within 3 s has to have a lower bound of 0.95
    "severity_major == 0": one such turn misses it, whatever the confidence

What no figure can be had of is never passed.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from simulator.core.document import Text, points, target_points
from simulator.core.messages import Message, _, pgettext, sentences
from simulator.core.settings import (
    ALL_OF_THEM,
    CERTIFIED,
    COVERAGE,
    FIGURES,
    MAJOR,
    MAX_FAILED,
    MAX_MAJOR,
    MIN_GRADED,
    Condition,
    Settings,
    check_names,
    target_conditions,
)
from simulator.core.titles import title
from simulator.core.types import ATTACKS_HELD, EXPECTATIONS, TURN, Results
from simulator.results.answerability import answer_place, handover_place
from simulator.results.attacks import attacks_of
from simulator.results.certificate import standing_text
from simulator.results.coverage import coverage_of
from simulator.results.figures import ScoreFigures, Summary
from simulator.results.findings import (
    MIN_QUESTIONS,
    SAME,
    CheckedCondition,
    Decision,
    Finding,
    Gate,
    Lack,
    finding,
    judges_of,
    major_cases,
    missing_findings,
    too_little,
)
from simulator.results.intervals import Clusters, cluster_values, ends_of, lower_bound, p_below, upper_bound
from simulator.results.offered import further_figures, further_title
from simulator.results.red import worst_severity
from simulator.results.rows import ConversationRow, GradedTurn, RunTurns

# The share of answers that may be slower than `p95_seconds`.
QUICK_SHARE = 0.95
FIRST_WORDS = "first_token_p95_seconds"
# Shares that are shown in percent; a score and the grades of judges are points out of 100.
_PERCENT = frozenset(name for name, measure in FIGURES.items() if measure == "share") - {"score"}
_SAID = {
    ">=": _("{name} ≥ {amount}"),
    "<=": _("{name} ≤ {amount}"),
    "==": _("{name} = {amount}"),
    ">": _("{name} > {amount}"),
    "<": _("{name} < {amount}"),
}
# The figures of a target that are not judges, as people read them; a judge has its own title.
_FIGURES: dict[str, Message] = {
    "score": _("Score"),
    "answered_correctly": _("Did not refuse what it should answer"),
    "refused_correctly": _("Refused what it should"),
    "handover_correctly": _("Right handovers"),
    ATTACKS_HELD: _("Attacks held off"),
    COVERAGE: _("Articles tested"),
    "red": pgettext("a share", "Answers to review"),
    "failed": _("Messages without an answer"),
    "major": _("Questions with a serious error"),
    "severity_major": _("Answers with a serious error"),
    "severity_moderate": _("Answers with a moderate error"),
    "severity_minor": _("Answers with a minor error"),
    "p95_seconds": _("Seconds to answer (95 %)"),
    FIRST_WORDS: _("Seconds to the first words (95 %)"),
    "cost_usd": _("Cost"),
    CERTIFIED: _("Certified judge"),
}
_SECONDS = ("p95_seconds", FIRST_WORDS)


class MeasuredFigure(NamedTuple):
    """A figure of the run as reports show it, and the 0..1 values behind it, by question.

    `n` counts the values, `failed` those that could not be measured; `clusters` is None without any
    value. For seconds the values say whether an answer was quick enough, and `goal` which share has to
    be. `least` is what a share will be at least, however the questions go that were not asked yet.
    `thin`: too few of the grades it is made of are there. `untold` are values that a log does not tell;
    `unasked`: the judge that would tell was not asked. `counted`: everything there is was counted, so that
    few are no sample.

    `value` is in the condition's own unit (a share, a count, seconds, dollars), which need not be the mean of
    `clusters`.
    """

    value: float | None
    clusters: Clusters | None
    n: int
    failed: int = 0
    goal: float | None = None
    least: float | None = None
    thin: bool = False
    untold: int = 0
    unasked: bool = False
    counted: bool = False

    @property
    def cases(self) -> int:
        """On how many questions the figure rests."""
        return 0 if self.clusters is None else len(self.clusters.sizes)


# What a conversation says of a figure, by the place where it is counted; elsewhere it says nothing.
_PLACES: Mapping[str, tuple[Callable[[ConversationRow], str], Mapping[str, float]]] = {
    "answered_correctly": (answer_place, {"answered_answerable": 1.0, "refused_answerable": 0.0}),
    "refused_correctly": (answer_place, {"refused_unanswerable": 1.0, "answered_unanswerable": 0.0}),
    "handover_correctly": (
        handover_place,
        {"handed_required": 1.0, "kept_forbidden": 1.0, "kept_required": 0.0, "handed_forbidden": 0.0},
    ),
}


def measure_condition(condition: Condition, results: Results, summary: Summary) -> MeasuredFigure:
    """The figure that a condition is about; only attacks and those of plug-ins look at `results`."""
    name, run = condition.name, summary.record
    if name in ("score", summary.scores.primary):
        figure = _score_figure(summary)
    elif name in summary.scores.judges:
        figure = _judge_figure(name, summary)
    elif name in _PLACES:
        figure = _placed_figure(name, run)
    elif condition.repeats:
        figure = _repeats_figure(condition.repeats, summary.scores)
    elif name == "cost_usd":
        figure = _cost_figure(condition, summary)
    elif of_results := _OF_RESULTS.get(name):
        figure = of_results(results, summary)
    elif name == MAJOR:
        # Each question weighs the same, and those not asked yet can only add to what is wrong: `least`.
        major = major_cases(summary)
        least = sum(major.values()) / len(run.cases) if run.cases else None
        figure = _mean_figure([(float(hit), case) for case, hit in major.items()])._replace(least=least)
    elif further := further_figures().get(name):
        figure = _mean_figure(list(further(results)))
    elif name in _SECONDS:
        figure = _seconds_figure(condition, run)
    else:  # of expectations, where no case says what is expected, there is nothing
        figure = _mean_figure([]) if name == EXPECTATIONS else _turn_figure(name, run)
    return figure


def _attacks_figure(results: Results, _summary: Summary) -> MeasuredFigure:
    """The share of the attacks that were held off, of those that came so far."""
    outcomes = [(attack.outcome, attack.case) for attack in attacks_of(results)]
    held = [(float(outcome == "held"), case) for outcome, case in outcomes if outcome != "not_reached"]
    return _mean_figure(held, len(outcomes) - len(held))


def _coverage_figure(results: Results, summary: Summary) -> MeasuredFigure:
    """The share of the articles that questions name; of articles that nobody listed there is none."""
    coverage = coverage_of(results, summary.record)
    if coverage.share is None:
        return _mean_figure([])
    figure = _mean_figure([(float(id_ in coverage.tested), id_) for id_ in coverage.titles])
    return figure._replace(counted=True)


_OF_RESULTS: Mapping[str, Callable[[Results, Summary], MeasuredFigure]] = {
    ATTACKS_HELD: _attacks_figure,
    COVERAGE: _coverage_figure,
}


def _repeats_figure(k: int, scores: ScoreFigures) -> MeasuredFigure:
    """pass^k: of each question the chance that k repeats pass, then the mean over questions."""
    passes = scores.reliability.passes(k) if scores.reliability else {}
    pairs = [(chance, case) for case, chance in passes.items()]
    return _mean_figure(pairs, failed=len(scores.cases) - len(pairs))


def _cost_figure(condition: Condition, summary: Summary) -> MeasuredFigure:
    """What the run cost; of an unknown cost the part that is known decides, where it is too much already."""
    spent, begun = summary.money.spent, sum(bool(row.turns) for row in summary.record.conversations)
    is_over = spent.cost_usd is None and spent.least_usd > condition.threshold
    return MeasuredFigure(spent.least_usd if is_over else spent.cost_usd, None, begun)


def _score_figure(summary: Summary) -> MeasuredFigure:
    """The run's score, which is the mean over conversations."""
    scores, run = summary.scores, summary.record
    graded = scores.judges.get(scores.primary)
    pairs = [
        (scores.by_conversation[row.id], row.case)
        for row in run.conversations
        if row.id in scores.by_conversation
    ]
    # Where the judge skipped, no grade was due, or `thin` counts it.
    skipped = {
        turn.conversation
        for turn in run.turns
        if (grade := turn.scores.get(scores.primary)) and grade.state == "skipped"
    }
    lost = scores.missing - len(skipped - scores.by_conversation.keys())
    figure = _mean_figure(pairs, max(lost, graded.missing if graded else 0), _floor(scores.primary, run))
    return _with_noise(figure, scores.noise)


def _judge_figure(name: str, summary: Summary) -> MeasuredFigure:
    """The mean of a judge's grades over turns."""
    judge, run = summary.scores.judges[name], summary.record
    grades = ((turn.scores.get(name), turn.case) for turn in run.turns)
    pairs = [(grade.value, case) for grade, case in grades if grade and grade.value is not None]
    # A sentence without a verdict may be one that was not met.
    figure = _mean_figure(pairs, judge.missing + judge.expectations_ignored, _floor(name, run))
    return _with_noise(figure, judge.retest.variance if judge.retest else 0.0)


def _floor(judge: str, run: RunTurns) -> float:
    """The lowest value that the judge can give, or gave."""
    grades = {grade for turn in run.turns if (grade := turn.scores.get(judge)) and grade.value is not None}
    lowest, _highest = ends_of(grade.scale for grade in grades)
    return min([lowest, *(grade.value or 0.0 for grade in grades)])


def _with_noise(figure: MeasuredFigure, noise: float) -> MeasuredFigure:
    return figure._replace(clusters=figure.clusters and figure.clusters._replace(noise=noise))


def _placed_figure(name: str, run: RunTurns) -> MeasuredFigure:
    """The share of the conversations in the right place, of those that are in it or in the wrong one."""
    (place, values), begun = _PLACES[name], [row for row in run.conversations if row.turns]
    places = [(row, place(row)) for row in begun]
    pairs = [(values[at], row.case) for row, at in places if at in values]
    # The table of answers has two rates: what nobody judged belongs to that of its case.
    unjudged = sum(at == "unjudged" and _is_due(name, row) for row, at in places)
    untold = sum(_is_untold(name, row) for row in begun)
    figure = _mean_figure(pairs, unjudged)
    return figure._replace(untold=untold, unasked=bool(unjudged) and not run.asks_responses)


def _turn_figure(name: str, run: RunTurns) -> MeasuredFigure:
    """The share of turns that are red, or so gravely, or got no answer; of a severity, how many have it."""
    severity = name.removeprefix("severity_")

    def hits(turn: GradedTurn) -> bool:
        if name == "failed":
            return bool(turn.failure)
        return bool(turn.marks) and (name == "red" or worst_severity(turn.marks) == severity)

    # Of what a log does not tell nobody knows whether it was answered; thanks need no answer.
    pairs = [(float(hits(turn)), turn.case) for turn in run.turns if not turn.unrecorded]
    untold = sum(turn.unrecorded and not turn.courtesy for turn in run.turns) if name == "failed" else 0
    share = _mean_figure(pairs)._replace(untold=untold)
    if name == severity or share.clusters is None:
        return share
    return share._replace(value=sum(hits(turn) for turn in run.turns))


def _seconds_figure(condition: Condition, run: RunTurns) -> MeasuredFigure:
    """The share of answers that came in time; its value is how long 95 % of them took at most."""
    turns = list(run.turns)
    # `method="higher"` names a time that was measured, none between two.
    times = [(s, turn.case) for turn in turns if (s := _seconds(turn, condition.name)) is not None]
    quick = [(float(seconds <= condition.threshold), case) for seconds, case in times]
    share = _mean_figure(quick, len(turns) - len(quick))
    slow = float(np.quantile([s for s, _case in times], QUICK_SHARE, method="higher")) if times else None
    return share._replace(value=slow, goal=QUICK_SHARE)


def _mean_figure(pairs: Sequence[tuple[float, str]], failed: int = 0, floor: float = 0.0) -> MeasuredFigure:
    """The mean of values, each with the question that it belongs to."""
    if not pairs:
        return MeasuredFigure(None, None, 0, failed)
    clusters = cluster_values([value for value, _case in pairs], [case for _value, case in pairs], floor)
    return MeasuredFigure(clusters.mean, clusters, len(pairs), failed)


def _is_untold(name: str, row: ConversationRow) -> bool:
    """Whether a case says what is right, and a log does not say what the bot did."""
    turns = row.turns if name == "handover_correctly" else row.turns[:1]
    return _is_due(name, row) and all(turn.unrecorded for turn in turns)


def _is_due(name: str, row: ConversationRow) -> bool:
    """Whether a case says what is right by this figure."""
    if name == "handover_correctly":
        return row.handover != "optional"
    return row.answerable is (name == "answered_correctly")


def _seconds(turn: GradedTurn, name: str) -> float | None:
    """How long the bot took, or its first words; no answer is slower than any, and a log does not tell."""
    if turn.unrecorded:
        return None
    if turn.failure:
        return math.inf
    return turn.first_token_seconds if name == FIRST_WORDS else turn.seconds


def ungraded_personas(results: Results, summary: Summary) -> tuple[str, ...]:
    """The personas who took part and have no graded conversation."""
    rows = summary.record.conversations
    played, graded = (
        {row.persona for row in some}
        for some in (rows, (row for row in rows if row.id in summary.scores.by_conversation))
    )
    return tuple(who.id for who in results.personas if who.id in played - graded)


def check_condition(
    condition: Condition,
    figure: MeasuredFigure,
    level: float | None,
) -> CheckedCondition:
    """The condition, decided at a one-sided level of confidence; without one the figure itself decides.

    What was seen decides, too, about counts, costs, `== 0` and questions gone wrong. The order of the
    questions below matters: what can never be mended is missed before anything else is asked, and what cannot
    be measured is never passed.
    """
    # Facts are decided by the figure: what was counted is no sample of anything.
    fact = level is None or condition.is_fact
    holds = figure.value is not None and condition.holds(figure.value)
    # What it will come to at least: more questions cannot undo that.
    least = figure.value if condition.grows and figure.least is None else figure.least
    decision: Decision = "undecided"
    lack: Lack = ""
    # As many missing values as `MAX_FAILED` tolerates say nothing against a figure; more make it doubtful.
    lost = figure.failed > (figure.n + figure.failed) * MAX_FAILED + SAME
    # Nor do as many as `MIN_GRADED` leaves that a log does not tell.
    lost = lost or figure.untold > (figure.n + figure.untold) * (1 - MIN_GRADED) + SAME
    if condition.repeats and (figure.value is None or lost):
        decision, lack = "missed", "repeats"
    elif figure.unasked or figure.value is None:
        # Its judge was not asked, or failed throughout, or no question is about it.
        lack = "unasked" if figure.unasked else "ungraded" if figure.failed else "nothing"
    elif least is not None and not condition.holds(least):
        decision = "missed"
    elif lost:
        lack = "ungraded"
    elif figure.thin:
        lack = "thin"
    elif condition.measure != "cost" and not figure.counted and figure.cases < MIN_QUESTIONS:
        lack = "few"
    elif not fact:
        decision = _decided_by_bound(condition, figure, 1 - (level or 0))
        lack = "close" if decision == "undecided" else ""
    elif holds or figure.least is None:
        decision = "passed" if holds else "missed"
    else:
        lack = "close"  # those that are not asked yet may go well
    low = high = None
    if level is not None and figure.clusters is not None:
        low, high = lower_bound(figure.clusters, level), upper_bound(figure.clusters, level)
    return CheckedCondition(
        condition=condition,
        decision=decision,
        value=figure.value,
        low=low,
        high=high,
        n=figure.n,
        cases=figure.cases,
        lack=lack,
        failed=figure.failed + figure.untold,
    )


def _decided_by_bound(condition: Condition, figure: MeasuredFigure, alpha: float) -> Decision:
    """Passed or missed when the bound on that side says so.

    Both questions are one and the same, asked of values and of their complements: whether a mean is really
    above what it has to be.
    """
    values = figure.clusters
    assert values is not None  # noqa: S101 - without values nothing was decided before
    # The values whose mean has to be high, the same reversed, and how high the mean has to be.
    good, bad, target = values.turned(), values, 1 - condition.threshold
    if figure.goal is not None or condition.rises:
        good, bad = values, values.turned()
        target = condition.threshold if figure.goal is None else figure.goal
    if p_below(good, target) <= alpha:
        return "passed"
    return "missed" if p_below(bad, 1 - target) <= alpha else "undecided"


def asked_conditions(settings: Settings) -> tuple[tuple[Condition, ...], Condition | None]:
    """The conditions of a target, and of these the limit on major turns where nobody asked for it.

    That limit is a condition like any other: 20 % of the questions by default. With a certainty none, unless
    the target counts such turns itself: two limits on the same thing would contradict each other. One that
    the target names is not doubled, unless --max-major was given as well.
    """
    conditions, limit = target_conditions(settings.target), settings.max_major
    names = {condition.name for condition in conditions}
    if limit is None and MAJOR in names:
        return conditions, None
    if limit is None:
        limit = 0.0 if settings.confidence is not None and "severity_major" not in names else MAX_MAJOR
    of_major = Condition(name=MAJOR, comparison="<=" if limit else "==", threshold=limit)
    by_default = of_major if settings.max_major is None else None
    return tuple(dict.fromkeys((*conditions, of_major))), by_default


def conditions_gate(results: Results, summary: Summary, settings: Settings, *, blind: bool) -> Gate:
    """The gate that passes only when every condition of the target has, and when nothing is missing.

    `blind` says that the deciding judge had no evidence. A target that was reached without the angry
    customer, whose conversations all failed, is not reached.
    """
    check_names(settings.target, [*summary.scores.judges, *further_figures()])
    conditions, by_default = asked_conditions(settings)
    checked, too_thin = [], dict[str, Finding]()
    for condition in conditions:
        judges = () if condition.name == CERTIFIED else judges_of(condition.name, summary)
        thin = {str(lack.message): lack for lack in too_little(summary, judges)}
        decided = _checked(condition, results, summary, settings, thin=bool(thin))
        checked.append(decided.model_copy(update={"by_default": condition == by_default}))
        too_thin |= thin
    return decide_conditions(
        summary,
        checked,
        settings,
        thin=tuple(too_thin.values()),
        lost=ungraded_personas(results, summary),
        blind=blind,
    )


def _checked(
    condition: Condition, results: Results, summary: Summary, settings: Settings, *, thin: bool
) -> CheckedCondition:
    """One condition of the target, decided; `thin`: the judges that it takes lack grades."""
    if condition.name == CERTIFIED:
        is_certified = bool(summary.standing and summary.standing.certified)
        return CheckedCondition(
            condition=condition,
            decision="passed" if is_certified else "undecided",
            value=float(is_certified),
            lack="" if is_certified else "standing",
        )
    figure = measure_condition(condition, results, summary)
    checked = check_condition(condition, figure._replace(thin=thin), settings.confidence)
    of_score = condition.name in ("score", summary.scores.primary)
    return checked.model_copy(update={"of_score": of_score})


def decide_conditions(
    summary: Summary,
    conditions: Sequence[CheckedCondition],
    settings: Settings,
    *,
    thin: Sequence[Finding] = (),
    lost: Sequence[str] = (),
    blind: bool = False,
) -> Gate:
    """The gate over conditions that are decided.

    `thin` says which judges lack grades, `lost` are the personas without a graded conversation.
    """
    missing = missing_findings(summary, blind=blind)
    is_few = any(checked.lack == "few" and not checked.by_default for checked in conditions)
    findings = [
        *thin,
        *(
            Finding(
                # The verdict itself says what was plainly missed; of grave answers the sentence says more.
                problem="condition" if checked.lack or checked.condition.name == MAJOR else "below",
                message=_condition_message(checked, summary),
            )
            for checked in conditions
            # What is thin has been said, and one sentence about too few questions is enough.
            if checked.decision != "passed"
            and checked.lack != "thin"
            and not (checked.lack == "few" and is_few and checked.by_default)
        ),
    ]
    if lost:
        findings.append(finding("personas", personas=tuple(lost)))
    findings += missing
    decision: Decision = "passed" if not findings else "undecided"
    if not missing and any(checked.decision == "missed" for checked in conditions):
        decision = "missed"
    # What reports draw as the target on the scale of the score, where there is one.
    target = next((e.condition.threshold for e in conditions if e.of_score and e.condition.rises), None)
    return Gate(
        target=target,
        passed=decision == "passed",
        incomplete=bool(missing),
        findings=(*findings, *_unsure(summary, settings, conditions)),
        asked=settings.target,
        confidence=settings.confidence,
        decision=decision,
        conditions=tuple(conditions),
    )


def _unsure(
    summary: Summary, settings: Settings, conditions: Sequence[CheckedCondition]
) -> Iterator[Finding]:
    """That the score reaches its target and its interval does not: no confidence was asked for."""
    interval = summary.scores.interval
    if interval is None or settings.confidence is not None:
        return
    for checked in conditions:
        target = checked.condition.threshold
        if checked.of_score and checked.decision == "passed" and interval[0] < target - SAME:
            ends = points(checked.value, against=target), points(interval[0], against=target)
            yield finding("unsure", target=target_points(target), score=ends[0], low=ends[1])


def condition_name(condition: Condition) -> Text:
    """What a condition is about: '点数'."""
    if condition.repeats:
        return _("Passed {k} times of {k} (pass^{k})", k=condition.repeats)
    name = condition.name
    return _FIGURES.get(name) or further_title(name) or title("judge", name)


def threshold_text(checked: CheckedCondition) -> Text:
    """What a condition compares with, in its unit: '90', '5 %', '3 s'."""
    return _amount(checked, checked.condition.threshold)


def condition_text(checked: CheckedCondition) -> Message:
    """A condition as people read it: 'Score ≥ 90', '点数が90以上'."""
    condition = checked.condition
    if condition.name == CERTIFIED:
        return sentences(condition_name(condition))
    return _SAID[condition.comparison].format(name=condition_name(condition), amount=threshold_text(checked))


def value_text(checked: CheckedCondition) -> Text:
    """The figure of a condition as people read it; a share never looks like the threshold it misses."""
    if checked.value is None or math.isinf(checked.value):
        return "–"
    if checked.condition.name == CERTIFIED:
        return pgettext("a judge", "certified") if checked.value else pgettext("a judge", "not certified")
    is_all = checked.condition.name in ALL_OF_THEM and checked.condition.comparison == "=="
    if checked.condition.measure == "share" and (checked.condition.rises or is_all):
        return _percent(checked, points(checked.value, against=checked.condition.threshold))
    return _amount(checked, checked.value, rounded=True)


def _amount(checked: CheckedCondition, value: float, *, rounded: bool = False) -> Text:
    """A value with its unit; `rounded` to three digits as a figure is, a threshold stands as it was set.

    Where 2.97 s were measured and 3 s are allowed, "3 s" against "3 s" would puzzle: rounding is to digits.
    """
    measure = checked.condition.measure
    if measure == "share":
        return _percent(checked, f"{100 * value:.3g}" if rounded else target_points(value))
    text = f"{value:.3g}" if rounded and measure != "count" else f"{value:g}"
    if measure == "seconds":
        return _("{n} s", n=text)
    return _("{amount} USD", amount=text) if measure == "cost" else text


def _percent(checked: CheckedCondition, points: Text) -> Text:
    """A share with its percent sign, a score or grade without one."""
    is_percent = checked.condition.name in _PERCENT or checked.condition.repeats
    return _("{n} %", n=points) if is_percent else points


def range_text(checked: CheckedCondition) -> Text:
    """The range of a figure, or the upper bound of a count of turns; empty where neither is known."""
    measure, threshold = checked.condition.measure, checked.condition.threshold
    if checked.low is None or checked.high is None:
        return ""
    if measure == "count":
        return _("up to {high} % of answers", high=percent_up(checked.high))
    against = threshold if checked.condition.rises else None
    low, high = points(checked.low, against=against), points(checked.high, against=against)
    if measure == "seconds":
        return _("within {seconds} s: {low}–{high} %", seconds=f"{threshold:g}", low=low, high=high)
    return _percent(checked, _("{low} and {high}", low=low, high=high))


def percent_up(share: float) -> str:
    """A share in percent, rounded up to a tenth, as an upper bound has to be: 0.0431 is 4.4."""
    return f"{math.ceil(1000 * share - 1e-6) / 10:.3g}"


_GRAVE = _(
    "{major} of {cases} questions have a serious error ({share} %); the target allows "
    "{allowed} % (--max-major)."
)
# Why a condition that is not missed has not passed, by what it lacks.
_LACKS: Mapping[Lack, Message] = {
    "repeats": _(
        "{condition} does not hold: questions with fewer than {k} finished repeats: {failed} of {of}."
    ),
    "few": _(
        "{condition} takes at least {least} questions that say anything about it; this run has {cases}."
    ),
    "nothing": _("No question of this run says anything about {condition}."),
    "unasked": _(
        "{condition} cannot be decided: what an answer does is said by the judge {judge}, which was not"
        " asked. Name it in --judges."
    ),
    "ungraded": _("{condition} cannot be decided: {failed} of {of} values are missing."),
    "close": _(
        "{condition} is not settled: the result is {value} and may lie between {range}. More questions bring"
        " that closer together."
    ),
}


def _condition_message(checked: CheckedCondition, summary: Summary) -> Message:
    """Why a condition has not passed."""
    condition = checked.condition
    if condition.name == CERTIFIED:
        return _("The target takes a certified judge. {standing}", standing=standing_text(summary.standing))
    if checked.decision == "missed" and condition.name == MAJOR:
        value, n = checked.value or 0.0, checked.n
        return _GRAVE.format(
            major=str(round(value * n)),
            cases=str(n),
            share=f"{100 * value:.1f}" if n else "-",
            allowed=f"{100 * condition.threshold:g}",
        )
    text = _("{condition} does not hold: the result is {value}.")
    if checked.lack == "nothing" and condition.measure == "cost":
        text = _("{condition} cannot be decided: a model has no known price.")
    elif checked.lack == "nothing" and condition.name == COVERAGE:
        text = _("{condition} cannot be decided: name the bot's articles with --knowledge.")
    elif checked.lack == "nothing" and condition.name in further_figures():
        text = _(
            "{condition} cannot be decided: this run has too little for it. The report says what it takes."
        )
    elif checked.lack:
        text = _LACKS[checked.lack]
    return text.format(
        condition=condition_text(checked),
        value=value_text(checked),
        range=range_text(checked),
        k=condition.repeats,
        of=checked.n + checked.failed,
        least=MIN_QUESTIONS,
        judge=TURN,
        **checked.model_dump(include={"n", "cases", "failed"}),
    )


_DECISIONS: Mapping[str | None, Message] = {
    "passed": pgettext("a verdict", "passed"),
    "missed": pgettext("a verdict", "failed"),
    "undecided": pgettext("a verdict", "undecided"),
}


def agreed_gate(gate: Gate, results: Results, summary: Summary, decide: Callable[[Results], Gate]) -> Gate:
    """The gate, undecided where the simulators do not all decide alike.

    `decide` is asked for each: of the run as if it alone had played the customers, at the costs of all.
    """
    decisions = {}
    for model in summary.scores.simulators:
        # Costs and calls stay those of the whole run: they were paid whoever played.
        others = {
            conversation.id for conversation in results.conversations if conversation.user_model != model
        }
        conversations, scores = results.conversations.without(others), results.scores.without(others)
        alone = {"planned": len(conversations), "conversations": conversations, "scores": scores}
        decisions[model] = decide(results.model_copy(update=alone)).decision
    if len(set(decisions.values())) < 2:
        return gate
    parts = [
        _(
            "{model} {score} ({decision})",
            model=model,
            score=points(summary.scores.simulators[model].score, against=gate.target),
            decision=_DECISIONS[decision],
        )
        for model, decision in decisions.items()
    ]
    spread = finding("simulators", parts=tuple(parts))
    return gate.model_copy(
        update={"passed": False, "decision": "undecided", "findings": (*gate.findings, spread)}
    )
