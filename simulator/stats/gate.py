"""Whether a run reached its target, and in words what is missing. The gate advises; people decide.

A plain target is about the score (`decide`); conditions are measured and checked one by one, and all of them
have to pass (`decide_conditions`).
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import NormalDist
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from simulator.core.settings import MAJOR, MAX_MAJOR, Condition
from simulator.core.types import Conversation, Results, Turn, Value
from simulator.stats.answerability import answerability, handovers
from simulator.stats.corrected import CorrectedScore
from simulator.stats.figures import JudgeSummary, Summary, rounded
from simulator.stats.intervals import Clusters, cluster_values, ends_of, lower_bound, p_below, upper_bound
from simulator.stats.red import worst_severity
from simulator.stats.summary import turn_failure
from simulator.storage.results import without_superseded

# The share of answers that may be slower than `p95_seconds`.
QUICK_SHARE = 0.95
# A value with the question it belongs to.
ValuesByQuestion = list[tuple[float, str]]
Decision = Literal["passed", "missed", "undecided"]
# Why a condition could not be decided: too close, or too little to go by.
Lack = Literal["close", "few", "nothing", "ungraded", ""]
# On fewer questions nothing is decided, whatever they say.
MIN_QUESTIONS = 5
# Nobody asks more questions than this: what they could settle is not worth settling.
MAX_QUESTIONS = 10_000
_USUAL_Z = 1.959964
# Scores are means of fifths: what differs by less is the same number in floating point.
_SAME = 1e-9
Problem = Literal[
    "below", "unsure", "corrected_below", "corrected_unsure", "ungraded", "judge", "simulator", "unfinished",
    "running", "major", "evidence",
]  # fmt: skip
# Problems of conditions: a verdict, but nothing that could be finished.
ConditionProblem = Literal[
    "few", "nothing", "no_cost", "unmeasured", "close", "never", "missed", "missed_major", "personas"
]
CONDITION_PROBLEMS: frozenset[str] = frozenset(get_args(ConditionProblem))
_TOO_MANY = (
    "{major} of {cases} questions have a turn with a major mark ({share} %),"
    " more than --max-major allows ({allowed} %)"
)
_SENTENCES: dict[Problem | ConditionProblem, str] = {
    "below": "score {score} is {short} below the target {target}: {red} of {turns} turns are red",
    "unsure": "score {score} reaches the target {target}, but its 95 % interval begins at {low}",
    "corrected_below": "score {score}, corrected by {n} human grades, is {short} below the target {target}:"
    " its 95 % interval ends at {high}",
    "corrected_unsure": "it is not settled whether the target {target} is reached: the 95 % interval of"
    " score {score}, corrected by {n} human grades, is {low} to {high}",
    "ungraded": "nothing was graded, so there is no score",
    "judge": "{failed} of {of} grades failed ({share} %), more than --max-failed allows ({allowed} %)",
    "simulator": "{failed} of {of} messages of the simulated customer failed ({share} %),"
    " more than --max-failed allows ({allowed} %)",
    "unfinished": "the run stopped after {finished} of {planned} conversations",
    "running": "the run is not finished: {finished} of {planned} conversations",
    "major": _TOO_MANY,
    "missed_major": _TOO_MANY,
    "evidence": "the judge {judge} had nothing to hold the answers against:"
    " no reference, no passages, no facts",
    "few": "{condition}: only {cases} questions say anything about it, it takes {least}",
    "nothing": "{condition}: nothing in this run says anything about it",
    "no_cost": "{condition}: a model has no known price",
    "unmeasured": "{condition}: {failed} of {of} values are missing",
    "close": "{condition} is not settled: {value} ({low} to {high}); about {conversations} more conversations"
    " on {questions} more questions would settle it",
    "never": "{condition} is not settled: {value} ({low} to {high}), too close for more questions to settle",
    "missed": "{condition} is missed: {value}{range}",
    "personas": "no graded conversation of {personas}, who took part",
}


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
    """How many more questions, and conversations about them, would settle a condition at today's figures.

    `repeats` says whether asking the same questions more often could settle it, too; None where each was
    asked once, so that nobody knows.
    """

    questions: int
    conversations: int
    repeats: bool | None


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
        value, low, high = (
            None if figure is None or math.isinf(figure) else figure
            for figure in (self.value, self.low, self.high)
        )
        shown = {
            "condition": self.condition.text,
            "decision": self.decision,
            "value": value,
            "bounds": [low, high],
            "n": self.n,
            "cases": self.cases,
            "by_default": self.by_default,
            "more": self.more and self.more.model_dump(include={"questions", "conversations"}),
        }
        return rounded(shown)  # type: ignore[no-any-return]


class Finding(Value):
    """One thing the gate found; `figures` are the numbers its sentence is made of, as text."""

    problem: Problem | ConditionProblem
    figures: dict[str, str]

    @property
    def sentence(self) -> str:
        """The finding in English."""
        return _SENTENCES[self.problem].format(**self.figures)


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
    reasons: tuple[str, ...] = ()
    incomplete: bool = False
    findings: tuple[Finding, ...] = ()
    corrected: CorrectedScore | None = None
    asked: float | str | None = None
    confidence: float | None = None
    decision: Decision | None = None
    conditions: tuple[CheckedCondition, ...] = ()

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


def measure_condition(condition: Condition, results: Results, summary: Summary) -> MeasuredFigure:
    """The figure that a condition is about."""
    turns = _CountedTurns(without_superseded(results), summary)
    if condition.name in ("score", summary.primary):
        return turns.score()
    if condition.name in summary.judges:
        return turns.judge(condition.name)
    return _FIGURES[condition.name](turns, condition)


class _CountedTurns:
    """The turns of a run that count, beside its summary."""

    def __init__(self, results: Results, summary: Summary) -> None:
        played = summary.simulator.customers
        self.left_out = frozenset(played.spoilt) if played.handling == "exclude" else frozenset()
        self.results, self.summary = results, summary
        self.conversations = results.conversations.select("begun")

    def turns(self) -> Iterator[tuple[Conversation, Turn]]:
        """Every turn whose grade counts; a silent bot always does."""
        for conversation in self.conversations:
            for turn in conversation.turns:
                if (conversation.id, turn.index) not in self.left_out or turn_failure(turn):
                    yield conversation, turn

    def score(self) -> MeasuredFigure:
        """The run's score: the mean over conversations."""
        scores = self.summary.conversation_scores
        cases = {conversation.id: conversation.case.id for conversation in self.conversations}
        pairs = [(value, cases[key]) for key, value in scores.items() if key in cases]
        graded = self.summary.judges.get(self.summary.primary)
        failed = self.summary.missing if graded is None else max(self.summary.missing, graded.failed)
        return _mean_figure(pairs, self._floor(self.summary.primary), failed, len(pairs))

    def judge(self, name: str) -> MeasuredFigure:
        """The mean of a judge's grades over turns."""
        counts = {(conversation.id, turn.index): conversation.case.id for conversation, turn in self.turns()}
        pairs = [
            (score.value, counts[score.conversation, score.turn])
            for score in self.results.scores.of_judge(name, "scored")
            if score.value is not None
            and (score.conversation, score.turn) in counts
        ]  # fmt: skip
        conversations = len({conversation for conversation, _ in counts})
        return _mean_figure(pairs, self._floor(name), self.summary.judges[name].failed, conversations)

    def _floor(self, judge: str) -> float:
        """The lowest value that a judge can give, or gave."""
        scored = [(s.scale, s.value) for s in self.results.scores.of_judge(judge) if s.value is not None]
        return min([ends_of(scale for scale, _ in scored)[0], *(value for _, value in scored)])

    def of_turns(self, value: Callable[[Conversation, Turn], float | None]) -> MeasuredFigure:
        """The share of turns of which something is true."""
        known = [(value(conversation, turn), conversation.case.id) for conversation, turn in self.turns()]
        pairs = [(each, case) for each, case in known if each is not None]
        return _mean_figure(pairs, 0.0, len(known) - len(pairs), len(self.conversations))

    def of_conversations(self, tally: Callable[[Results], tuple[int, int]]) -> MeasuredFigure:
        """The share of conversations of which something is true, where it can be said."""
        pairs: ValuesByQuestion = []
        blank = self.results.model_copy(update={"scores": (), "verdicts": (), "notes": {}})
        for conversation in self.conversations:
            hits, n = tally(blank.model_copy(update={"conversations": (conversation,)}))
            pairs += [(hits / n, conversation.case.id)] if n else []
        return _mean_figure(pairs, 0.0, 0, len(pairs))


def _mean_figure(pairs: ValuesByQuestion, floor: float, failed: int, conversations: int) -> MeasuredFigure:
    if not pairs:
        return MeasuredFigure(None, None, 0, failed)
    found = cluster_values([value for value, _ in pairs], [case for _, case in pairs], floor)
    return MeasuredFigure(found.mean, found, len(pairs), failed, conversations=conversations)


def _red_share(turns: _CountedTurns, _: Condition) -> MeasuredFigure:
    red = {(turn.conversation, turn.turn) for turn in turns.summary.reddest}
    return turns.of_turns(lambda conversation, turn: float((conversation.id, turn.index) in red))


def _failed_share(turns: _CountedTurns, _: Condition) -> MeasuredFigure:
    return turns.of_turns(lambda _, turn: float(turn_failure(turn) is not None))


def major_cases(summary: Summary) -> dict[str, bool]:
    """The questions that were asked, each with whether a turn of it has a major mark."""
    major = {turn.case for turn in summary.reddest if worst_severity(turn.marks) == "major"}
    return {each.case: each.case in major for each in summary.cases if each.turns}


def _major_share(turns: _CountedTurns, _: Condition) -> MeasuredFigure:
    found = major_cases(turns.summary)
    share = _mean_figure(
        [(float(hit), case) for case, hit in found.items()], 0.0, 0, len(turns.conversations)
    )
    planned = {conversation.case.id for conversation in turns.results.conversations}
    return share._replace(least=sum(found.values()) / len(planned) if planned else None)


def _severity_count(turns: _CountedTurns, condition: Condition) -> MeasuredFigure:
    """A count of turns; the share of turns stands behind it."""
    severity = condition.name.removeprefix("severity_")
    red = {(t.conversation, t.turn) for t in turns.summary.reddest if worst_severity(t.marks) == severity}
    share = turns.of_turns(lambda conversation, turn: float((conversation.id, turn.index) in red))
    return share._replace(value=None if share.found is None else len(red))


def _seconds(turns: _CountedTurns, condition: Condition) -> MeasuredFigure:
    """The 95th percentile of the bot's seconds; no answer is slower than any."""

    def taken(turn: Turn) -> float | None:
        if turn.unrecorded:
            return None
        return float("inf") if turn_failure(turn) else turn.answer.seconds

    times = [seconds for _, turn in turns.turns() if (seconds := taken(turn)) is not None]
    share = turns.of_turns(
        lambda _, turn: None if (seconds := taken(turn)) is None else float(seconds <= condition.threshold)
    )
    value = float(np.quantile(times, QUICK_SHARE, method="higher")) if times else None
    return share._replace(value=value, goal=QUICK_SHARE)


def _cost_usd(turns: _CountedTurns, _: Condition) -> MeasuredFigure:
    return MeasuredFigure(turns.summary.cost_usd, None, len(turns.conversations))


def _answered_tally(results: Results) -> tuple[int, int]:
    found = answerability(results)
    return found.answered_answerable, found.answered_answerable + found.refused_answerable


def _refused_tally(results: Results) -> tuple[int, int]:
    found = answerability(results)
    return found.refused_unanswerable, found.refused_unanswerable + found.answered_unanswerable


def _handover_tally(results: Results) -> tuple[int, int]:
    found = handovers(results)
    right, wrong = found.handed_required + found.kept_forbidden, found.kept_required + found.handed_forbidden
    return right, right + wrong


_FIGURES: Mapping[str, Callable[[_CountedTurns, Condition], MeasuredFigure]] = {
    "red": _red_share,
    "failed": _failed_share,
    "major": _major_share,
    "severity_major": _severity_count,
    "severity_moderate": _severity_count,
    "severity_minor": _severity_count,
    "p95_seconds": _seconds,
    "latency_p95": _seconds,
    "cost_usd": _cost_usd,
    "answered_correctly": lambda turns, _: turns.of_conversations(_answered_tally),
    "refused_correctly": lambda turns, _: turns.of_conversations(_refused_tally),
    "handover_correctly": lambda turns, _: turns.of_conversations(_handover_tally),
}


def ungraded_personas(results: Results, summary: Summary) -> tuple[str, ...]:
    """The personas of the run without a graded conversation."""
    graded = {
        conversation.persona
        for conversation in results.conversations
        if conversation.id in summary.conversation_scores
    }
    planned: Iterable[str] = (persona.id for persona in results.personas)
    return tuple(name for name in planned if name not in graded)


def is_fact(condition: Condition, level: float | None) -> bool:
    """Whether what was seen decides: without a level, for counts, costs, `== 0` and questions gone wrong."""
    seen = condition.measure in ("count", "cost") or condition.name == MAJOR
    return level is None or seen or condition.comparison == "=="


def check_condition(
    condition: Condition, found: MeasuredFigure, level: float | None, max_failed: float
) -> CheckedCondition:
    """The condition, decided at a one-sided level of confidence; without one the figure itself decides."""
    fact = is_fact(condition, level)
    checked = CheckedCondition(
        condition=condition,
        decision="undecided",
        value=found.value,
        n=found.n,
        cases=found.cases,
        fact=fact,
        failed=found.failed,
        lack=_lack(condition, found, max_failed),
    )
    if level is not None and found.found is not None:
        ends = {"low": lower_bound(found.found, level), "high": upper_bound(found.found, level)}
        checked = checked.model_copy(update=ends)
    if found.value is not None and _exceeded(condition, found):
        return checked.model_copy(update={"decision": "missed", "lack": ""})
    if checked.lack or found.value is None:
        return checked
    if fact and found.least is not None and not condition.holds(found.value):
        return checked.model_copy(update={"lack": "close"})  # those that are not asked yet may go well
    if fact:
        return checked.model_copy(update={"decision": "passed" if condition.holds(found.value) else "missed"})
    return checked.model_copy(update=_decided_by_bound(condition, found, 1 - (level or 0)))


def _lack(condition: Condition, found: MeasuredFigure, max_failed: float) -> Lack:
    """What is missing to decide at all."""
    if found.value is None:
        return "nothing"
    if found.failed > (found.n + found.failed) * max_failed + _SAME:
        return "ungraded"
    return "few" if condition.measure != "cost" and found.cases < MIN_QUESTIONS else ""


def _exceeded(condition: Condition, found: MeasuredFigure) -> bool:
    """Whether it is missed already, however few were asked: more questions cannot undo it."""
    if found.least is not None:
        return not condition.holds(found.least)
    grows = condition.measure in ("count", "cost") or condition.comparison == "=="
    return grows and found.value is not None and not condition.holds(found.value)


def _decided_by_bound(condition: Condition, found: MeasuredFigure, alpha: float) -> dict[str, object]:
    """Passed or missed when the bound on that side says so; otherwise what would settle it."""
    good, bad, target = _directions(condition, found)
    if p_below(good, target) <= alpha:
        return {"decision": "passed"}
    if p_below(bad, 1 - target) <= alpha:
        return {"decision": "missed"}
    towards, aim = (good, target) if good.mean > target else (bad, 1 - target)
    questions = _more_questions(towards, aim, alpha)
    if questions is None:
        return {"lack": "close"}
    each = max(1.0, found.conversations / found.cases)
    asked_again = towards.scatter is not None and found.conversations > found.cases
    repeats = p_below(towards.without_scatter(), aim) <= alpha if asked_again else None
    more = MoreQuestions(questions=questions, conversations=math.ceil(questions * each), repeats=repeats)
    return {"lack": "close", "more": more}


def _directions(condition: Condition, found: MeasuredFigure) -> tuple[Clusters, Clusters, float]:
    """The values whose mean has to be high, the same reversed, and how high the mean has to be."""
    values = found.found
    assert values is not None  # noqa: S101 - without values nothing was decided before
    if found.goal is not None or condition.rises:
        return values, values.turned(), condition.threshold if found.goal is None else found.goal
    return values.turned(), values, 1 - condition.threshold


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
    missing, of_score = _missing_findings(summary, max_failed), _score_findings(summary, target)
    if target is None and 0 < summary.turns == summary.unrecorded:
        missing = [finding for finding in missing if finding.problem != "ungraded"]  # a log, only to be read
    major = _too_many_major(summary, max_major) if target is not None else []
    no_evidence = [_no_evidence(summary)] if blind and target is not None else []
    decisive = summary.corrected.interval[0] if summary.corrected else summary.score
    reached = target is not None and decisive is not None and decisive >= target - _SAME and not major
    missing = no_evidence + missing
    findings = tuple(of_score + major + missing)
    open_still = bool(missing) or (not major and any(f.problem == "corrected_unsure" for f in of_score))
    decision: Decision = "undecided" if open_still else "passed" if reached else "missed"
    return Gate(
        target=target,
        passed=None if target is None else reached and not missing,
        reasons=tuple(finding.sentence for finding in findings),
        incomplete=bool(missing),
        findings=findings,
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

    `unheard` are the personas that took part without a graded conversation; `blind` as for `decide`.
    """
    missing = [*([_no_evidence(summary)] if blind else []), *_missing_findings(summary, max_failed)]
    personas = (
        [Finding(problem="personas", figures={"personas": ", ".join(ungraded_personas)})]
        if ungraded_personas
        else []
    )
    findings = (
        *(_condition_finding(each) for each in conditions if each.decision != "passed"),
        *personas,
        *missing,
    )
    decision: Decision = "passed" if not findings else "undecided"
    if not missing and any(each.decision == "missed" for each in conditions):
        decision = "missed"
    of_score = (
        e.condition.threshold for e in conditions if e.condition.rises and e.is_score(summary.primary)
    )
    return Gate(
        target=next(of_score, None),
        passed=decision == "passed",
        reasons=tuple(finding.sentence for finding in findings),
        incomplete=bool(missing),
        findings=findings,
        corrected=summary.corrected,
        asked=asked,
        confidence=confidence,
        decision=decision,
        conditions=tuple(conditions),
    )


def _condition_finding(checked: CheckedCondition) -> Finding:
    """Why a condition has not passed."""
    figures = {"condition": checked.condition.text, "value": value_text(checked), **_bound_texts(checked)}
    if checked.decision == "missed":
        grave = checked.condition.name == MAJOR
        figures |= major_texts(checked) if grave else {}
        return Finding(problem="missed_major" if grave else "missed", figures=figures)
    if checked.lack == "ungraded":
        failed = {"failed": str(checked.failed), "of": str(checked.n + checked.failed)}
        return Finding(problem="unmeasured", figures=figures | failed)
    if checked.lack == "few":
        counts = {"cases": str(checked.cases), "least": str(MIN_QUESTIONS)}
        return Finding(problem="few", figures=figures | counts)
    if checked.lack == "nothing":
        no_cost = checked.condition.measure == "cost"
        return Finding(problem="no_cost" if no_cost else "nothing", figures=figures)
    if checked.more is None:
        return Finding(problem="never", figures=figures)
    more = {key: str(getattr(checked.more, key)) for key in ("questions", "conversations")}
    return Finding(problem="close", figures=figures | more)


def major_texts(checked: CheckedCondition) -> dict[str, str]:
    """How many of how many questions have a major turn, and which share may."""
    value = checked.value or 0.0
    return _major_texts(round(value * checked.n), checked.n, checked.condition.threshold)


def _major_texts(major: int, cases: int, allowed: float) -> dict[str, str]:
    share = f"{100 * major / cases:.1f}" if cases else "-"
    return {"major": str(major), "cases": str(cases), "share": share, "allowed": f"{100 * allowed:g}"}


def _too_many_major(summary: Summary, max_major: float) -> list[Finding]:
    """More questions with a major turn than a target allows."""
    found = major_cases(summary)
    if not _exceeds(sum(found.values()), len(found), max_major):
        return []
    return [Finding(problem="major", figures=_major_texts(sum(found.values()), len(found), max_major))]


def _no_evidence(summary: Summary) -> Finding:
    return Finding(problem="evidence", figures={"judge": summary.primary})


def value_text(checked: CheckedCondition) -> str:
    """The figure of a condition as text: a share by two decimals or more, a count as it is."""
    if checked.value is None:
        return "-"
    if checked.condition.measure == "share":
        return texts_apart(checked.value, checked.condition.threshold)[0]
    return f"{checked.value:.4g}"


def _bound_texts(checked: CheckedCondition) -> dict[str, str]:
    """The bounds of a condition as text, where they are about the figure that is shown."""
    if checked.low is None or checked.high is None:
        return {"low": "-", "high": "-", "range": ""}
    threshold = checked.condition.threshold if checked.condition.measure == "share" else 0.0
    low, high = (texts_apart(end, threshold)[0] for end in (checked.low, checked.high))
    share = checked.condition.measure == "share" and not checked.fact
    return {"low": low, "high": high, "range": f" ({low} to {high})" if share else ""}


def _missing_findings(summary: Summary, max_failed: float) -> list[Finding]:
    """What keeps the run from being judged at all."""
    return [*_unfinished(summary), *_failed(summary, max_failed), *_ungraded(summary)]


def _score_findings(summary: Summary, target: float | None) -> list[Finding]:
    """What there is to say about the score and the target."""
    if target is None or summary.score is None:
        return []
    if summary.corrected:
        return _corrected_findings(summary.corrected, target)
    if summary.score < target - _SAME:
        return [_below(summary, summary.score, target)]
    if summary.interval and summary.interval[0] < target - _SAME:
        score, _, goal = texts_apart(summary.score, target)
        low, _, _ = texts_apart(summary.interval[0], target)
        return [Finding(problem="unsure", figures={"score": score, "target": goal, "low": low})]
    return []


def _corrected_findings(corrected: CorrectedScore, target: float) -> list[Finding]:
    """What there is to say about the corrected score, unless its whole interval reaches the target."""
    low, high = corrected.interval
    if low >= target - _SAME:
        return []
    score, short, _ = texts_apart(corrected.score, target)
    low_text, _, goal = texts_apart(low, target)
    high_text = texts_apart(high, target)[0]
    figures = {"score": score, "n": str(corrected.n), "low": low_text, "high": high_text, "target": goal}
    if high < target - _SAME:
        return [Finding(problem="corrected_below", figures=figures | {"short": short})]
    return [Finding(problem="corrected_unsure", figures=figures)]


def _below(summary: Summary, score: float, target: float) -> Finding:
    """The target was missed: by how much, and how many turns are red."""
    score_text, short, goal = texts_apart(score, target)
    figures = {"score": score_text, "short": short, "target": goal}
    return Finding(problem="below", figures=figures | {"red": str(summary.red), "turns": str(summary.turns)})


def _unfinished(summary: Summary) -> list[Finding]:
    """Conversations that are still to be held."""
    if summary.status == "finished" and summary.finished + summary.spared >= summary.planned:
        return []
    problem: Problem = "running" if summary.status == "running" else "unfinished"
    figures = {"finished": str(summary.finished), "planned": str(summary.planned)}
    return [Finding(problem=problem, figures=figures)]


def _failed(summary: Summary, max_failed: float) -> list[Finding]:
    """Failures of judges and of the simulated customer beyond the limit."""
    deciding = [judge for name, judge in summary.judges.items() if name == summary.primary]
    # All judges together, or the one that decides: its failures must not hide among the others.
    grades = (_failed_grades(list(summary.judges.values())), _failed_grades(deciding))
    over = [share for share in grades if _exceeds(*share, max_failed)][:1]
    found = [_share_finding("judge", *share, max_failed) for share in over]
    messages = (summary.simulator.failed, summary.turns + summary.simulator.failed)
    return found + (
        [_share_finding("simulator", *messages, max_failed)] if _exceeds(*messages, max_failed) else []
    )


def _failed_grades(judges: list[JudgeSummary]) -> tuple[int, int]:
    """How many grades failed, of how many that were asked for."""
    return sum(j.failed for j in judges), sum(j.n + j.failed for j in judges)


def _exceeds(failed: int, of: int, limit: float) -> bool:
    """Whether the failures are more than the limit's share."""
    return failed > of * limit + _SAME


def _share_finding(problem: Problem, failed: int, of: int, limit: float) -> Finding:
    """The failures as a finding."""
    figures = {"failed": str(failed), "of": str(of), "share": f"{100 * failed / of:.1f}"}
    return Finding(problem=problem, figures=figures | {"allowed": f"{100 * limit:g}"})


def _ungraded(summary: Summary) -> list[Finding]:
    """A run without a single grade."""
    return [] if summary.score is not None else [Finding(problem="ungraded", figures={})]


def texts_apart(score: float, target: float) -> tuple[str, str, str]:
    """Score, distance and target with as many decimals as show that they differ: two, mostly."""
    for places in (2, 3, 4, 5, 6):
        score_text, goal = f"{score:.{places}f}", f"{target:.{places}f}"
        if score_text != goal or abs(score - target) < _SAME:
            break
    return score_text, f"{abs(float(goal) - float(score_text)):.{places}f}", goal
