"""Whether a run reached its target, and in words what is missing. The gate advises; people decide.

A plain target is about the score (`decide`). Conditions are measured (`measure_condition`) and checked one by
one (`check_condition`), and all of them have to pass (`decide_conditions`): with a confidence a condition
passes when the one-sided lower bound of its figure does, and is missed when the upper bound misses. What was
counted, and what no further question can undo, is decided by what was seen. Which of these ways a run goes
its settings say (`gate_of`); what is wrong with them is told before the run begins (`check_gate`).
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import NormalDist
from typing import Any, Literal, NamedTuple

import numpy as np

from simulator.core.document import Text, points, target_points
from simulator.core.errors import InputError
from simulator.core.messages import Message, _, pgettext
from simulator.core.settings import (
    FIGURES,
    MAJOR,
    MAX_MAJOR,
    TARGET_EXAMPLE,
    Condition,
    Settings,
    check_names,
    target_conditions,
)
from simulator.core.shelves import judge_name
from simulator.core.titles import title
from simulator.core.types import STOPPED_EARLY, Case, Conversation, Facts, Results, Turn, Value
from simulator.stats.answerability import answer_place, handover_place
from simulator.stats.figures import CorrectedScore, Summary, rounded, turn_failure
from simulator.stats.intervals import Clusters, cluster_values, ends_of, lower_bound, p_below, upper_bound
from simulator.stats.red import primary_judge, worst_severity
from simulator.stats.sequential import alpha_at
from simulator.stats.summary import CUT_OFF, counted_turns, figures_of
from simulator.storage.results import without_superseded

# The share of answers that may be slower than `p95_seconds`.
QUICK_SHARE = 0.95
Decision = Literal["passed", "missed", "undecided"]
# Why a condition could not be decided: too close, or too little to go by. Without repeats pass^k is missed.
Lack = Literal["close", "few", "nothing", "ungraded", "repeats", ""]
# On fewer questions nothing is decided, whatever they say.
MIN_QUESTIONS = 5
# Nobody asks more questions than this: what they could settle is not worth settling.
MAX_QUESTIONS = 10_000
_USUAL_Z = 1.959964
# Judges that grade an answer by whatever evidence they get, and without any by how it reads.
_READERS = frozenset({"turn", "relevance"})
# Figures that do not depend on a judge.
_UNJUDGED = frozenset({"failed", "p95_seconds", "latency_p95", "cost_usd"})
# Scores are means of fifths: what differs by less is the same number in floating point.
_SAME = 1e-9
# What the gate can find.
Problem = Literal[
    "below", "unsure", "corrected_below", "corrected_unsure", "ungraded", "judge", "simulator", "unfinished",
    "running", "major", "evidence", "condition", "personas",
]  # fmt: skip
# What the gate can find, in words; a score, its interval and the target are points of 100.
_FINDINGS: Mapping[Problem, Message] = {
    "below": _("The score {score} is below the target {target}: {red} of {turns} turns are red."),
    "ungraded": _("Nothing was graded, so there is no score."),
    "unsure": _(
        "{score} reaches the target {target}, but the 95 % interval begins at {low}: more questions"
        " would settle it."
    ),
    "corrected_below": _(
        "Corrected by human grades, the score is {score}; even the upper end of its 95 % interval,"
        " {high}, is below the target {target}."
    ),
    "corrected_unsure": _(
        "Corrected by human grades, the score is {score} and its 95 % interval {low} to {high}; the"
        " target {target} lies within. More human grades or more questions would settle it."
    ),
    "major": _(
        "{major} of {cases} questions have a major turn ({share} %); the target allows {allowed} %"
        " (--max-major)."
    ),
    "evidence": _(
        "The judge {judge} had nothing to hold the answers against: no reference, no passages, no"
        " facts. Give the questions a reference, or have the bot return its passages."
    ),
    "judge": _("Failed grades: {failed} of {of} ({share} %); {allowed} % are tolerated."),
    "simulator": _(
        "Failed messages of the simulated customer: {failed} of {of} ({share} %); {allowed} % are tolerated."
    ),
    "unfinished": _("The run stopped after {finished} of {planned} conversations."),
    "running": _("The run is not finished: {finished} of {planned} conversations."),
    "personas": _("Customers who took part without a graded conversation: {personas}."),
}
# Shares that are shown in percent; a score and the grades of judges are points out of 100.
_PERCENT = frozenset(name for name, measure in FIGURES.items() if measure == "share") - {"score"}
_SIGNS = {">=": "≥", "<=": "≤", "==": "=", ">": ">", "<": "<"}
_FIGURES: dict[str, Message] = {
    "score": _("Score"),
    "answered_correctly": _("Did not refuse what it should answer"),
    "refused_correctly": _("Refused what it should"),
    "handover_correctly": _("Right handovers"),
    "red": pgettext("a share", "Red turns"),
    "failed": _("Turns without answer"),
    "major": _("Questions with a major turn"),
    "severity_major": _("Major turns"),
    "severity_moderate": _("Moderate turns"),
    "severity_minor": _("Minor turns"),
    "p95_seconds": _("Seconds to answer (95 %)"),
    "latency_p95": _("Seconds to answer (95 %)"),
    "cost_usd": _("Cost"),
}
_SECONDS = ("p95_seconds", "latency_p95")


class MeasuredFigure(NamedTuple):
    """A figure of the run as reports show it, and the 0..1 values behind it, by question.

    `n` counts the values, `failed` those that could not be measured; `found` is None without any value. For
    seconds the values say whether an answer was quick enough, and `goal` which share has to be. `least` is
    what a share will be at least, however the questions go that were not asked yet.
    """

    value: float | None
    found: Clusters | None
    n: int
    failed: int = 0
    goal: float | None = None
    conversations: int = 0
    least: float | None = None

    @property
    def cases(self) -> int:
        """On how many questions the figure rests."""
        return 0 if self.found is None else len(self.found.sizes)


class MoreQuestions(Value):
    """How many more questions, and conversations about them, would settle a condition at today's figures."""

    questions: int
    conversations: int


class CheckedCondition(Value):
    """A condition with its figure (`n` values of `cases` questions), its one-sided bounds, and its verdict.

    The bounds are those of the figure, but of seconds those of the share that is quick enough, and of a
    count those of the share of turns. A `fact` is decided by what was seen; bounds only show how far it goes.
    """

    condition: Condition
    decision: Decision
    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    cases: int = 0
    fact: bool = False
    by_default: bool = False
    lack: Lack = ""
    failed: int = 0
    more: MoreQuestions | None = None

    def is_score(self, primary: str) -> bool:
        """Whether it is about the run's score, by that name or that of the deciding judge."""
        return self.condition.name in ("score", primary)

    def as_json(self) -> dict[str, Any]:
        """The object that `--json` prints of it, figures rounded to 4 decimals."""
        figures = (self.value, self.low, self.high)
        value, low, high = (None if each is None or math.isinf(each) else each for each in figures)
        shown = {
            "condition": self.condition.text,
            "decision": self.decision,
            "value": value,
            "bounds": [low, high],
            "n": self.n,
            "cases": self.cases,
            "by_default": self.by_default,
            "more": self.more and self.more.model_dump(),
        }
        return rounded(shown)  # type: ignore[no-any-return]


class Finding(Value):
    """One thing the gate found, in a sentence."""

    problem: Problem
    message: Message


class Gate(Value):
    """The verdict: `passed` is None without a target, and False as long as the run is incomplete.

    `incomplete` says that judge, simulator or an interruption left too much ungraded to decide.
    A passed gate may still have a reason: the interval reaches below the target. Where people's grades
    corrected the score, `corrected` decided: it passes with the lower end of its interval, and is missed
    with the upper end; in between it is not settled, which is not passed.

    `target` is that of the score (0..1), `asked` what the user wrote: the same, or the text of conditions.
    `confidence` is how sure the gate had to be, `decision` its verdict, `conditions` what it rests on.
    """

    target: float | None
    passed: bool | None
    incomplete: bool = False
    findings: tuple[Finding, ...] = ()
    corrected: CorrectedScore | None = None
    asked: float | str | None = None
    confidence: float | None = None
    decision: Decision | None = None
    conditions: tuple[CheckedCondition, ...] = ()

    @property
    def reasons(self) -> tuple[str, ...]:
        """What is missing or in doubt, in English sentences."""
        return tuple(str(finding.message) for finding in self.findings)

    @property
    def unsettled(self) -> bool:
        """Whether the target lies within the interval of the corrected score."""
        return any(finding.problem == "corrected_unsure" for finding in self.findings)

    @property
    def more(self) -> int | None:
        """How many more conversations would settle what is undecided; None where no number does."""
        undecided = [each for each in self.conditions if each.decision == "undecided"]
        counts = [each.more.conversations for each in undecided if each.more]
        return max(counts) if counts and len(counts) == len(undecided) else None


# Where a conversation is counted that did right, and where one that did wrong; elsewhere it says nothing.
_PLACES: Mapping[str, tuple[Callable[[Conversation], str], set[str], set[str]]] = {
    "answered_correctly": (answer_place, {"answered_answerable"}, {"refused_answerable"}),
    "refused_correctly": (answer_place, {"refused_unanswerable"}, {"answered_unanswerable"}),
    "handover_correctly": (
        handover_place,
        {"handed_required", "kept_forbidden"},
        {"kept_required", "handed_forbidden"},
    ),
}


def measure_condition(condition: Condition, results: Results, summary: Summary) -> MeasuredFigure:
    """The figure that a condition is about."""
    results, name = without_superseded(results), condition.name
    begun = results.conversations.select("begun")
    if name in ("score", summary.primary) or name in summary.judges:
        return _graded_figure(name, results, summary)
    if name in _PLACES:
        place, right, wrong = _PLACES[name]
        pairs = [(float(at in right), c.case.id) for c in begun if (at := place(c)) in right | wrong]
        return _mean_figure(pairs, len(pairs))
    if condition.repeats:
        passes = summary.reliability.passes(condition.repeats) if summary.reliability else {}
        pairs = [(chance, case) for case, chance in passes.items()]
        return _mean_figure(pairs, len(begun), len(summary.cases) - len(pairs))
    if name == "cost_usd":
        cost, least = summary.cost_usd, summary.spent.least_usd
        # Of an unknown cost the part that is known decides, where it is too much already.
        value = least if cost is None and least > condition.threshold else cost
        return MeasuredFigure(value, None, len(begun))
    if name == MAJOR:
        major = major_cases(summary)
        share = _mean_figure([(float(hit), case) for case, hit in major.items()], len(begun))
        planned = {conversation.case.id for conversation in results.conversations}
        return share._replace(least=sum(major.values()) / len(planned) if planned else None)
    return _turn_figure(condition, results, summary)


def _turn_figure(condition: Condition, results: Results, summary: Summary) -> MeasuredFigure:
    """The share of turns that are red, or so gravely, or got no answer, or a quick one.

    Of seconds the value is how long 95 % of the answers took at most, of a severity how many turns have it.
    """
    name, severity = condition.name, condition.name.removeprefix("severity_")
    red = {
        (t.conversation, t.turn)
        for t in summary.reddest
        if name == "red" or worst_severity(t.marks) == severity
    }

    def value(conversation: Conversation, turn: Turn) -> float | None:
        """0 or 1; None where a log does not tell how long the bot took."""
        if name == "failed":
            return float(turn_failure(turn) is not None)
        if name in _SECONDS:
            return None if (s := _seconds(turn)) is None else float(s <= condition.threshold)
        return float((conversation.id, turn.index) in red)

    known = [(value(c, turn), c.case.id) for c, turn in counted_turns(results, summary)]
    pairs = [(each, case) for each, case in known if each is not None]
    share = _mean_figure(pairs, len(results.conversations.select("begun")), len(known) - len(pairs))
    if name in _SECONDS:
        times = [s for _c, turn in counted_turns(results, summary) if (s := _seconds(turn)) is not None]
        slow = float(np.quantile(times, QUICK_SHARE, method="higher")) if times else None
        return share._replace(value=slow, goal=QUICK_SHARE)
    return share._replace(value=len(red)) if name != severity and share.found is not None else share


def _graded_figure(name: str, results: Results, summary: Summary) -> MeasuredFigure:
    """The run's score, which is the mean over conversations, or the mean of a judge's grades over turns."""
    if name in ("score", summary.primary):
        judge, graded = summary.primary, summary.judges.get(summary.primary)
        cases = {c.id: c.case.id for c in results.conversations.select("begun")}
        pairs = [(v, cases[key]) for key, v in summary.conversation_scores.items() if key in cases]
        failed, conversations = max(summary.missing, graded.failed if graded else 0), len(pairs)
        noise = summary.score_noise
    else:
        judge, failed = name, summary.judges[name].failed
        turns = {(c.id, turn.index): c.case.id for c, turn in counted_turns(results, summary)}
        pairs = [
            (score.value, turns[score.conversation, score.turn])
            for score in results.scores.of_judge(name, "scored")
            if score.value is not None and (score.conversation, score.turn) in turns
        ]
        conversations = len({conversation for conversation, _turn in turns})
        retest = summary.judges[name].retest
        noise = retest.variance if retest else 0.0
    # The lowest value that the judge can give, or gave.
    scored = [(s.scale, s.value) for s in results.scores.of_judge(judge) if s.value is not None]
    floor = min([ends_of(scale for scale, _value in scored)[0], *(value for _scale, value in scored)])
    figure = _mean_figure(pairs, conversations, failed, floor)
    return figure._replace(found=figure.found and figure.found._replace(noise=noise))


def _mean_figure(
    pairs: Sequence[tuple[float, str]], conversations: int, failed: int = 0, floor: float = 0.0
) -> MeasuredFigure:
    """The mean of values, each with the question that it belongs to."""
    if not pairs:
        return MeasuredFigure(None, None, 0, failed)
    found = cluster_values([value for value, _case in pairs], [case for _value, case in pairs], floor)
    return MeasuredFigure(found.mean, found, len(pairs), failed, conversations=conversations)


def _seconds(turn: Turn) -> float | None:
    """How long the bot took; no answer is slower than any, and a log does not tell."""
    if turn.unrecorded:
        return None
    return float("inf") if turn_failure(turn) else turn.answer.seconds


def major_cases(summary: Summary) -> dict[str, bool]:
    """The questions that were asked, each with whether a turn of it has a major mark."""
    major = {turn.case for turn in summary.reddest if worst_severity(turn.marks) == "major"}
    return {each.case: each.case in major for each in summary.cases if each.turns}


def ungraded_personas(results: Results, summary: Summary) -> tuple[str, ...]:
    """The personas of the run without a graded conversation."""
    graded = {c.persona for c in results.conversations if c.id in summary.conversation_scores}
    return tuple(persona.id for persona in results.personas if persona.id not in graded)


def check_condition(
    condition: Condition, found: MeasuredFigure, level: float | None, max_failed: float
) -> CheckedCondition:
    """The condition, decided at a one-sided level of confidence; without one the figure itself decides.

    What was seen decides, too, about counts, costs, `== 0` and questions gone wrong.
    """
    grows = condition.measure in ("count", "cost") or condition.comparison == "=="
    fact = level is None or grows or condition.name == MAJOR
    holds = found.value is not None and condition.holds(found.value)
    # What it will come to at least: more questions cannot undo that.
    least = found.value if grows and found.least is None else found.least
    decision: Decision = "undecided"
    lack: Lack = ""
    more = None
    lost = found.failed > (found.n + found.failed) * max_failed + _SAME
    if condition.repeats and (found.value is None or lost):
        decision, lack = "missed", "repeats"
    elif found.value is None:
        lack = "nothing"
    elif least is not None and not condition.holds(least):
        decision = "missed"
    elif lost:
        lack = "ungraded"
    elif condition.measure != "cost" and found.cases < MIN_QUESTIONS:
        lack = "few"
    elif not fact:
        decision, lack, more = _decided_by_bound(condition, found, 1 - (level or 0))
    elif holds or found.least is None:
        decision = "passed" if holds else "missed"
    else:
        lack = "close"  # those that are not asked yet may go well
    values = None if level is None else found.found
    return CheckedCondition(
        condition=condition,
        decision=decision,
        value=found.value,
        low=None if values is None else lower_bound(values, level or 0),
        high=None if values is None else upper_bound(values, level or 0),
        n=found.n,
        cases=found.cases,
        fact=fact,
        lack=lack,
        failed=found.failed,
        more=more,
    )


def _decided_by_bound(
    condition: Condition, found: MeasuredFigure, alpha: float
) -> tuple[Decision, Lack, MoreQuestions | None]:
    """Passed or missed when the bound on that side says so; otherwise what would settle it."""
    values = found.found
    assert values is not None  # noqa: S101 - without values nothing was decided before
    # The values whose mean has to be high, the same reversed, and how high the mean has to be.
    if found.goal is not None or condition.rises:
        good, bad, target = values, values.turned(), condition.threshold if found.goal is None else found.goal
    else:
        good, bad, target = values.turned(), values, 1 - condition.threshold
    if p_below(good, target) <= alpha:
        return "passed", "", None
    if p_below(bad, 1 - target) <= alpha:
        return "missed", "", None
    questions = _more_questions(*((good, target) if good.mean > target else (bad, 1 - target)), alpha)
    if questions is None:
        return "undecided", "close", None
    each = max(1.0, found.conversations / found.cases)
    more = MoreQuestions(questions=questions, conversations=math.ceil(questions * each))
    return "undecided", "close", more


def _more_questions(found: Clusters, target: float, alpha: float) -> int | None:
    """How many more questions it takes if they go like those that were asked; None above MAX_QUESTIONS."""
    asked = len(found.sizes)
    low, high = 1.0, 2.0
    while p_below(found, target, high) > alpha:
        low, high = high, 2 * high
        if high * asked > MAX_QUESTIONS:
            return None
    while (high - low) * asked > 0.5:
        middle = (low + high) / 2
        low, high = (middle, high) if p_below(found, target, middle) > alpha else (low, middle)
    return max(1, math.ceil((high - 1) * asked - 0.5))


def check_corrected(
    checked: CheckedCondition, corrected: CorrectedScore, level: float | None
) -> CheckedCondition:
    """The condition decided by the score as people's blind grades correct it.

    Its interval of 95 % has more than 95 % on one side; for a higher level it is widened as a normal one.
    """
    wider = 1.0 if level is None else max(1.0, NormalDist().inv_cdf(level) / _USUAL_Z)
    low, high = (corrected.score + wider * (end - corrected.score) for end in corrected.interval)
    goal, rises = checked.condition.threshold, checked.condition.rises
    good, bad = (low >= goal - _SAME, high < goal - _SAME) if rises else (high <= goal + _SAME, low > goal)
    decision: Decision = "passed" if good else "missed" if bad else "undecided"
    changes: dict[str, object] = {"value": corrected.score, "low": max(0.0, low), "high": min(1.0, high)}
    if checked.lack in ("", "close"):
        changes |= {"decision": decision, "lack": "close" if decision == "undecided" else "", "more": None}
    return checked.model_copy(update=changes)


def decide(
    summary: Summary,
    target: float | None,
    max_failed: float,
    max_major: float = MAX_MAJOR,
    *,
    blind: bool = False,
) -> Gate:
    """The gate at `target` (0..1); `max_failed` is the largest share of failures that is tolerated.

    `max_major` is the largest share of questions with a major turn, and `blind` says that the deciding judge
    had no evidence.
    """
    missing = _missing_findings(summary, max_failed, blind=blind)
    if target is None and 0 < summary.turns == summary.unrecorded:
        missing = [finding for finding in missing if finding.problem != "ungraded"]  # a log, only to be read
    of_score, major = _score_findings(summary, target), list[Finding]()
    cases = major_cases(summary)
    hits = sum(cases.values())
    if target is not None and hits > len(cases) * max_major + _SAME:
        major = [_finding("major", **_major_texts(hits, len(cases), max_major))]
    decisive = summary.corrected.interval[0] if summary.corrected else summary.score
    reached = target is not None and decisive is not None and decisive >= target - _SAME and not major
    open_still = bool(missing) or (not major and any(f.problem == "corrected_unsure" for f in of_score))
    decision: Decision = "undecided" if open_still else "passed" if reached else "missed"
    return Gate(
        target=target,
        passed=None if target is None else reached and not missing,
        incomplete=bool(missing),
        findings=(*of_score, *major, *missing),
        corrected=summary.corrected,
        asked=target,
        decision=None if target is None else decision,
    )


def decide_conditions(
    summary: Summary,
    conditions: Sequence[CheckedCondition],
    max_failed: float,
    *,
    ungraded_personas: Sequence[str] = (),
    asked: float | str | None = None,
    confidence: float | None = None,
    blind: bool = False,
) -> Gate:
    """The gate that passes only when all conditions have, and when nothing is missing.

    `ungraded_personas` are those that took part without a graded conversation; `blind` as for `decide`.
    """
    missing = _missing_findings(summary, max_failed, blind=blind)
    findings = [
        Finding(problem="condition", message=_condition_message(each))
        for each in conditions
        if each.decision != "passed"
    ]
    if ungraded_personas:
        findings.append(_finding("personas", personas=tuple(ungraded_personas)))
    findings += missing
    decision: Decision = "passed" if not findings else "undecided"
    if not missing and any(each.decision == "missed" for each in conditions):
        decision = "missed"
    of_score = (
        e.condition.threshold for e in conditions if e.condition.rises and e.is_score(summary.primary)
    )
    return Gate(
        target=next(of_score, None),
        passed=decision == "passed",
        incomplete=bool(missing),
        findings=tuple(findings),
        corrected=summary.corrected,
        asked=asked,
        confidence=confidence,
        decision=decision,
        conditions=tuple(conditions),
    )


def _finding(problem: Problem, **figures: object) -> Finding:
    return Finding(problem=problem, message=_FINDINGS[problem].format(**figures))


def condition_text(checked: CheckedCondition) -> Message:
    """A condition as people read it: 'スコア ≥ 90'."""
    condition = checked.condition
    name = _FIGURES.get(condition.name) or title("judge", condition.name)
    if condition.repeats:
        name = _("Passed {k} times of {k} (pass^{k})", k=condition.repeats)
    amount = _amount(checked, condition.threshold)
    return _("{name} {sign} {amount}", name=name, sign=_SIGNS[condition.comparison], amount=amount)


def value_text(checked: CheckedCondition) -> Text:
    """The figure of a condition as people read it; a share never looks like the threshold it misses."""
    if checked.value is None or math.isinf(checked.value):
        return "–"
    if checked.condition.measure == "share" and checked.condition.rises:
        return _percent(checked, points(checked.value, against=checked.condition.threshold))
    return _amount(checked, checked.value, rounded=True)


def _amount(checked: CheckedCondition, value: float, *, rounded: bool = False) -> Text:
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
        return _("up to {high} % of turns", high=percent_up(checked.high))
    against = threshold if checked.condition.rises else None
    low, high = points(checked.low, against=against), points(checked.high, against=against)
    if measure == "seconds":
        return _("within {seconds} s: {low}–{high} %", seconds=f"{threshold:g}", low=low, high=high)
    return _percent(checked, _("{low}–{high}", low=low, high=high))


def percent_up(share: float) -> str:
    """A share in percent, rounded up."""
    return f"{math.ceil(1000 * share - 1e-6) / 10:.3g}"


def _condition_message(checked: CheckedCondition) -> Message:
    """Why a condition has not passed."""
    values: dict[str, Any] = {
        "condition": condition_text(checked),
        "value": value_text(checked),
        "range": range_text(checked),
    }
    if checked.decision == "missed" and checked.condition.name == MAJOR:
        return _FINDINGS["major"].format(**_major_texts_of(checked))
    if checked.lack == "repeats":
        text = _(
            "{condition} does not hold: questions with fewer than {k} finished repeats: {failed} of {of}."
        )
        values |= {"k": checked.condition.repeats, "failed": checked.failed, "of": checked.n + checked.failed}
    elif checked.decision == "missed":
        text = _("{condition} does not hold: the result is {value}.")
    elif checked.lack == "few":
        text = _("Questions that say anything about {condition}: {cases}. It takes {least}.")
        values |= {"cases": checked.cases, "least": MIN_QUESTIONS}
    elif checked.lack == "nothing" and checked.condition.measure == "cost":
        text = _("{condition} cannot be decided: a model has no known price.")
    elif checked.lack == "nothing":
        text = _("No question of this run says anything about {condition}.")
    elif checked.lack == "ungraded":
        text = _("{condition} cannot be decided: {failed} of {of} values are missing.")
        values |= {"failed": checked.failed, "of": checked.n + checked.failed}
    elif checked.more is None:
        text = _(
            "{condition} is not settled: the result is {value} and may lie between {range}, too close for"
            " more questions to settle."
        )
    else:
        text = _(
            "{condition} is not settled: the result is {value} and may lie between {range}. If it goes on"
            " like this, about {questions} more questions ({conversations} conversations) would settle it."
        )
        values |= {"questions": checked.more.questions, "conversations": checked.more.conversations}
    return text.format(**values)


def _major_texts_of(checked: CheckedCondition) -> dict[str, str]:
    """How many of how many questions have a major turn, and which share may."""
    value = checked.value or 0.0
    return _major_texts(round(value * checked.n), checked.n, checked.condition.threshold)


def _major_texts(major: int, cases: int, allowed: float) -> dict[str, str]:
    share = f"{100 * major / cases:.1f}" if cases else "-"
    return {"major": str(major), "cases": str(cases), "share": share, "allowed": f"{100 * allowed:g}"}


def _missing_findings(summary: Summary, max_failed: float, *, blind: bool) -> list[Finding]:
    """What keeps the run from being judged at all.

    A judge without evidence (`blind`), conversations that are still to be held, failures of judges and of the
    simulated customer beyond the limit, and a run without a single grade.
    """
    found = []
    if blind:
        found.append(_finding("evidence", judge=summary.primary))
    done = {"finished": summary.finished, "planned": summary.planned}
    if summary.status == "running":
        found.append(_finding("running", **done))
    elif summary.status != "finished" or summary.finished + summary.spared < summary.planned:
        found.append(_finding("unfinished", **done))
    # All judges together, or the one that decides: its failures must not hide among the others.
    judges, lost = summary.judges, summary.simulator.failed
    deciding = [judges[summary.primary]] if summary.primary in judges else []
    counts: list[tuple[Problem, int, int]] = [
        ("judge", sum(j.failed for j in some), sum(j.n + j.failed for j in some))
        for some in (judges.values(), deciding)
    ]
    counts.append(("simulator", lost, summary.turns + lost))
    for problem, failed, of in counts:
        if failed > of * max_failed + _SAME and problem not in {each.problem for each in found}:
            shares = {"share": f"{100 * failed / of:.1f}", "allowed": f"{100 * max_failed:g}"}
            found.append(_finding(problem, failed=failed, of=of, **shares))
    if summary.score is None:
        found.append(_finding("ungraded"))
    return found


def _score_findings(summary: Summary, target: float | None) -> list[Finding]:
    """What there is to say about the score, as people's grades corrected it, and the target."""
    if target is None or summary.score is None:
        return []
    scored = summary.corrected or summary
    score, (low, high) = scored.score or 0.0, scored.interval or (None, None)
    missed = (score if high is None or not summary.corrected else high) < target - _SAME
    if not missed and (low is None or low >= target - _SAME):
        return []
    problem: Problem = "below" if missed else "unsure"
    if summary.corrected:
        problem = "corrected_below" if missed else "corrected_unsure"
    ends = dict(
        zip(("score", "low", "high"), (points(v, against=target) for v in (score, low, high)), strict=True)
    )
    red = {"red": summary.red, "turns": summary.turns}
    return [_finding(problem, target=target_points(target), **ends, **red)]


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
    """Raises InputError for --confidence or --sequential without a target."""
    flag = "--sequential" if settings.sequential else "--confidence"
    if settings.target is None and settings.certainty is not None:
        msg = _(
            "{flag} is about a target: add --target 90, or conditions ({example}).",
            flag=flag,
            example=TARGET_EXAMPLE,
        )
        raise InputError(msg)


def gate_of(results: Results, summary: Summary, settings: Settings) -> Gate:
    """The gate's verdict: a plain target asks for a score, anything more for every condition.

    Of either, the share of questions with a major turn is a condition (`max_major`). With a certainty none
    may have one, unless the target itself says how many such turns there may be.
    """
    target, certainty, conditions = settings.target, settings.certainty, target_conditions(settings.target)
    named = {condition.name for condition in conditions}
    limit = settings.max_major
    if limit is None:
        limit = 0.0 if certainty is not None and "severity_major" not in named else MAX_MAJOR
    blind = _lacks_evidence(results, summary.primary, target)
    if not isinstance(target, str) and (target is None or certainty is None):
        return decide(summary, target, settings.max_failed, limit, blind=blind)
    check_names(target, summary.judges)
    results = without_superseded(results)
    by_default = set[Condition]()
    if settings.max_major is not None or MAJOR not in named:
        of_major = Condition(name=MAJOR, comparison="<=" if limit else "==", threshold=limit)
        by_default = {of_major} if settings.max_major is None else set()
        conditions = tuple(dict.fromkeys((*conditions, of_major)))
    level = None
    if certainty is not None:
        # The error that this look may make: the whole of it, or with --sequential this look's share.
        alpha = 1 - certainty
        if settings.sequential:
            cases = {conversation.case.id for conversation in results.conversations}
            still_open = {t.case.id for t in results.conversations if t.ended is None or t.ended in CUT_OFF}
            alpha = alpha_at(len(cases - still_open), len(cases), alpha)
        level = 1 - alpha
    checked = []
    for condition in conditions:
        found = measure_condition(condition, results, summary)
        each = check_condition(condition, found, level, settings.max_failed)
        if summary.corrected and each.is_score(summary.primary):
            each = check_corrected(each, summary.corrected, level)
        checked.append(each.model_copy(update={"by_default": condition in by_default}))
    return decide_conditions(
        summary,
        checked,
        settings.max_failed,
        ungraded_personas=ungraded_personas(results, summary),
        asked=target,
        confidence=certainty,
        blind=blind,
    )


def _lacks_evidence(results: Results, primary: str, target: float | str | None) -> bool:
    """Whether a target depends on a judge that had answers, but no evidence to check any of them against."""
    if not _depends_on(primary, target):
        return False
    answered = False
    for conversation in results.conversations:
        if _has_evidence(conversation.case) or any(turn.answer.passages for turn in conversation.turns):
            return False
        answered = answered or not all(turn.unrecorded for turn in conversation.turns)
    return answered


def _depends_on(primary: str, target: float | str | None) -> bool:
    """Whether a target asks for something that this judge decides, with whatever evidence it gets."""
    return primary in _READERS and any(each.name not in _UNJUDGED for each in target_conditions(target))


def _has_evidence(case: Case) -> bool:
    """Whether a case says itself what a right answer to it is, or what has to be known for one."""
    answer_known = any(case.references) or case.label is not None or case.facts != Facts()
    return answer_known or case.answerable is False or case.handover != "optional"


def check_evidence(settings: Settings, cases: Iterable[Case]) -> None:
    """Raises InputError for a target about recorded answers with nothing to hold them against."""
    primary = primary_judge(map(judge_name, settings.judges))
    if settings.adapter != "recorded" or not _depends_on(primary, settings.target):
        return
    answered = [case for case in cases if case.answer or case.recorded]
    if answered and not any(
        _has_evidence(case) or case.contexts or any(answer.passages for answer in case.recorded)
        for case in answered
    ):
        msg = _(
            "--target: the judge {primary} has nothing to hold the answers of {cases} against. Add"
            " a column 'reference' or 'contexts'.",
            primary=primary,
            cases=settings.cases,
        )
        raise InputError(msg)


def certain_decision(results: Results, settings: Settings) -> Decision | None:
    """The decision if the run ended here: passed or missed; None while it needs more conversations."""
    finished = results.run.model_copy(update={"status": "finished"})
    stopped = {**results.notes, STOPPED_EARLY: True}
    now = results.model_copy(update={"run": finished, "notes": stopped})
    decision = gate_of(now, figures_of(now, settings), settings).decision
    return None if decision == "undecided" else decision


# In this order.
_SHOWN_OF_JUDGES = ("mean", "stderr", "raw_mean", "n", "planned", "failed", "skipped")


def as_json(summary: Summary, gate: Gate, store: str = "") -> dict[str, Any]:
    """The object that `--json` prints, figures rounded to 4 decimals; `store` is the run file's path."""
    played, customers = summary.simulator, summary.simulator.customers
    return {
        "run": summary.run,
        "store": store,
        "score": rounded(summary.score),
        "interval": rounded(summary.interval),
        "corrected": summary.corrected and summary.corrected.as_json(),
        "target": gate.asked if isinstance(gate.asked, str) else rounded(gate.asked),
        "passed": gate.passed,
        "decision": gate.decision,
        "confidence": gate.confidence,
        "conditions": [checked.as_json() for checked in gate.conditions],
        "reasons": list(gate.reasons),
        "judges": {
            name: {key: rounded(getattr(judge, key)) for key in _SHOWN_OF_JUDGES}
            | ({"excluded": judge.excluded} if judge.excluded else {})
            | ({"retest": judge.retest.model_dump(include={"n", "flips"})} if judge.retest else {})
            for name, judge in summary.judges.items()
        },
        "total": rounded(summary.total.model_dump()),
        "conversations": summary.model_dump(
            include={"planned", "finished", "spared", "ended", "satisfied_graded", "satisfied_unresolved"}
        ),
        "turns": summary.turns,
        "red": summary.red,
        "simulator": {
            "guarded": played.guarded,
            "failed": played.failed,
            "faults": customers.faults,
            "spoilt": len(customers.spoilt),
            "handling": customers.handling,
            "held_again": len(customers.superseded),
            "score_with_spoilt": rounded(played.with_spoilt),
            "score_without_spoilt": rounded(played.without_spoilt),
            "figures": {
                name: rounded(each.model_dump(exclude={"at_most"})) | {"met": each.met}
                for name, each in customers.figures.items()
            },
            "lengths": customers.model_dump(include={"lengths"})["lengths"],
        },
        "calls": {role: spent.calls for role, spent in summary.spending.items()},
        "tokens": {
            r: {"in": spent.tokens_in, "out": spent.tokens_out} for r, spent in summary.spending.items()
        },
        "cost_usd": rounded(summary.cost_usd),
        "cost_at_least_usd": rounded(summary.spent.least_usd),
        # What each model used in each role; calls answered from the cache stand apart and cost nothing.
        "usage": {
            role: {
                model: {
                    "calls": spent.calls,
                    "cached": spent.cached,
                    "in": spent.tokens_in,
                    "out": spent.tokens_out,
                    "uncounted": spent.uncounted,
                    "cost_usd": None if spent.cost_usd is None else round(spent.cost_usd, 6),
                }
                for model, spent in by_model.items()
            }
            for role, by_model in summary.usage.items()
        },
        "seconds": rounded(summary.seconds),
        "offline": summary.offline,
    }
