"""Whether a run reached its target, and in words what is missing. The gate advises; people decide."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from simulator.core.settings import MAJOR, MAX_MAJOR, Condition
from simulator.core.types import Conversation, Results, Turn, Value
from simulator.stats.answerability import answerability, handovers
from simulator.stats.corrected import CorrectedScore
from simulator.stats.figures import JudgeSummary, Summary
from simulator.stats.intervals import ends_of
from simulator.stats.red import worst
from simulator.stats.summary import turn_failure
from simulator.storage.results import counted

Floats = NDArray[np.float64]

# Steps of the integral, in the logarithm of its variable: wide and fine enough for six decimals. The more
# questions there are, the faster the waves that it sums.
_STEP, _STEP_TIMES_ROOT = 0.1, 1.3
_ENDS = (-20.0, 12.0)


class Clusters(NamedTuple):
    """What was measured, question by question: sums of values (0..1) and how many values there are.

    `floor` is the lowest value there can be: a grade of 1 out of 5 is 0.2. `scatter` is the variance of the
    values of one and the same question; None where each was asked once.
    """

    sums: Floats
    sizes: Floats
    floor: float = 0.0
    scatter: float | None = None

    @property
    def mean(self) -> float:
        """The mean of all values."""
        return float(self.sums.sum() / self.sizes.sum())

    def turned(self) -> "Clusters":
        """The same with 1 for 0: its lower bound is the upper bound of this."""
        return Clusters(self.sizes - self.sums, self.sizes, 0.0, self.scatter)

    def without_scatter(self) -> "Clusters":
        """As if each question had been asked so often that chance averages out: only questions differ.

        Their means are drawn together by the share of variance between questions (the intraclass
        correlation of a mean; Donner and Koval, 1980).
        """
        means = self.sums / self.sizes
        seen = float(means.var(ddof=1)) if len(means) > 1 else 0.0
        chance = (self.scatter or 0.0) * float((1 / self.sizes).mean())
        kept = np.sqrt(max(0.0, 1 - chance / seen)) if seen > 0 else 1.0
        return self._replace(sums=self.sizes * (self.mean + kept * (means - self.mean)), scatter=0.0)


def clusters(values: Sequence[float], names: Sequence[str], floor: float = 0.0) -> Clusters:
    """Values by the names of their questions, in the order of the names."""
    _, places = np.unique(np.asarray(names, dtype=object).astype(str), return_inverse=True)
    given = np.asarray(values, dtype=float)
    sums, sizes = np.bincount(places, weights=given).astype(float), np.bincount(places).astype(float)
    free = len(given) - len(sizes)
    scatter = float(((given - (sums / sizes)[places]) ** 2).sum() / free) if free else None
    return Clusters(sums, sizes, floor, scatter)


def doubt(found: Clusters, target: float, times: float = 1.0) -> float:
    """The one-sided p-value (0..1) of a mean that is really below the target.

    `times` as many questions with the same results are imagined.
    """
    gains, counts = np.unique(np.round(found.sums - found.sizes * target, 10), return_counts=True)
    worst = float(np.max(found.sizes)) * (found.floor - target)
    return float(doubts(times * counts[None, :].astype(float), gains, worst)[0])


def doubts(counts: Floats, gains: Floats, worst: float) -> Floats:
    """The p-values of many samples: `counts` (samples, gains) says how often each gain occurs in each.

    A gain is what a question has above the target; `worst` is that of the question that went as badly as
    can be. It is the chance that their sum, each weighed by an exponential draw, is not above 0: the
    inversion of its characteristic function (Gil-Pelaez, 1951; Imhof, 1961).
    """
    scale = max(float(np.max(np.abs(gains), initial=0.0)), abs(worst))
    if worst >= 0 or scale == 0:
        return np.where(counts @ (gains < 0), 1.0, 0.0) if worst >= 0 else np.ones(len(counts))
    step = min(_STEP, _STEP_TIMES_ROOT / float(np.max(counts.sum(axis=1), initial=1.0)) ** 0.5)
    at = _points(step)[:, None] / scale
    waves = counts @ np.arctan(at * gains).T + np.arctan(at[:, 0] * worst)
    damping = counts @ np.log1p((at * gains) ** 2).T + np.log1p((at[:, 0] * worst) ** 2)
    integral = (np.sin(waves) * np.exp(-damping / 2)).sum(axis=1) * step
    chances: Floats = np.clip(0.5 - integral / np.pi, 0, 1)
    return chances


@lru_cache(maxsize=8)
def _points(step: float) -> Floats:
    points: Floats = np.exp(np.arange(*_ENDS, step))
    return points


def lower(found: Clusters, level: float) -> float:
    """The one-sided lower bound of the mean at a level of confidence (0.95)."""
    low, high = found.floor, found.mean
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if doubt(found, middle) <= 1 - level else (low, middle)
    return low


def upper(found: Clusters, level: float) -> float:
    """The one-sided upper bound of the mean at a level of confidence (0.95)."""
    return 1 - lower(found.turned(), level)


# The share of answers that may be slower than `p95_seconds`.
QUICK = 0.95

# A value with the question it belongs to.
Pairs = list[tuple[float, str]]


class MeasuredFigure(NamedTuple):
    """A figure of the run as it is shown, and the 0..1 values behind it, by question.

    `n` counts `of` what it was measured; `failed` could not be. `found` is missing where nothing was there.
    For seconds the values say whether an answer was quick enough, and `goal` which share has to be. `least`
    is what a share will be at least, however the questions go that nobody has asked yet.
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


def measured(condition: Condition, results: Results, summary: Summary) -> MeasuredFigure:
    """The figure that a condition is about."""
    held = _CountedTurns(counted(results), summary)
    if condition.name in ("score", summary.primary):
        return held.score()
    if condition.name in summary.judges:
        return held.judge(condition.name)
    return _FIGURES[condition.name](held, condition)


class _CountedTurns:
    """The turns of a run that count, beside its summary."""

    def __init__(self, results: Results, summary: Summary) -> None:
        played = summary.simulator.customers
        self.left_out = frozenset(played.spoilt) if played.handling == "exclude" else frozenset()
        self.results, self.summary = results, summary
        self.conversations = {
            conversation.id: conversation for conversation in results.conversations if conversation.turns
        }

    def turns(self) -> Iterator[tuple[Conversation, Turn]]:
        """Every turn whose grade counts; a silent bot always does."""
        for conversation in self.conversations.values():
            for turn in conversation.turns:
                if (conversation.id, turn.index) not in self.left_out or turn_failure(turn):
                    yield conversation, turn

    def score(self) -> MeasuredFigure:
        """The run's score: the mean over conversations."""
        scores = self.summary.conversation_scores
        pairs = [
            (value, self.conversations[conversation].case.id)
            for conversation, value in scores.items()
            if conversation in self.conversations
        ]
        graded = self.summary.judges.get(self.summary.primary)
        failed = self.summary.missing if graded is None else max(self.summary.missing, graded.failed)
        return _shares(pairs, self._floor(self.summary.primary), failed, len(pairs))

    def judge(self, name: str) -> MeasuredFigure:
        """The mean of a judge's grades over turns."""
        counts = {(conversation.id, turn.index): conversation.case.id for conversation, turn in self.turns()}
        pairs = [
            (score.value, counts[score.conversation, score.turn])
            for score in self.results.scores
            if score.judge == name and score.state == "scored" and score.value is not None
            and (score.conversation, score.turn) in counts
        ]  # fmt: skip
        conversations = len({conversation for conversation, _ in counts})
        return _shares(pairs, self._floor(name), self.summary.judges[name].failed, conversations)

    def _floor(self, judge: str) -> float:
        """The lowest value that a judge can give, or gave."""
        scored = [s for s in self.results.scores if s.judge == judge and s.value is not None]
        return min([ends_of(scored)[0], *(s.value or 0.0 for s in scored)])

    def of_turns(self, value: Callable[[Conversation, Turn], float | None]) -> MeasuredFigure:
        """The share of turns of which something is true."""
        known = [(value(conversation, turn), conversation.case.id) for conversation, turn in self.turns()]
        pairs = [(each, case) for each, case in known if each is not None]
        return _shares(pairs, 0.0, len(known) - len(pairs), len(self.conversations))

    def of_talks(self, tally: Callable[[Results], tuple[int, int]]) -> MeasuredFigure:
        """The share of conversations of which something is true, where it can be said."""
        pairs: Pairs = []
        for conversation in self.conversations.values():
            hits, n = tally(self.results.model_copy(update={"conversations": (conversation,), "scores": ()}))
            pairs += [(hits / n, conversation.case.id)] if n else []
        return _shares(pairs, 0.0, 0, len(pairs))


def _shares(pairs: Pairs, floor: float, failed: int, conversations: int) -> MeasuredFigure:
    if not pairs:
        return MeasuredFigure(None, None, 0, failed)
    found = clusters([value for value, _ in pairs], [case for _, case in pairs], floor)
    return MeasuredFigure(found.mean, found, len(pairs), failed, conversations=conversations)


def _red(held: _CountedTurns, _: Condition) -> MeasuredFigure:
    red = {(turn.conversation, turn.turn) for turn in held.summary.reddest}
    return held.of_turns(lambda conversation, turn: float((conversation.id, turn.index) in red))


def _measured_failed(held: _CountedTurns, _: Condition) -> MeasuredFigure:
    return held.of_turns(lambda _, turn: float(turn_failure(turn) is not None))


def major_cases(summary: Summary) -> dict[str, bool]:
    """The questions that were asked, each with whether a turn of it has a major mark."""
    major = {turn.case for turn in summary.reddest if worst(turn.marks) == "major"}
    return {each.case: each.case in major for each in summary.cases if each.turns}


def _major(held: _CountedTurns, _: Condition) -> MeasuredFigure:
    found = major_cases(held.summary)
    share = _shares([(float(hit), case) for case, hit in found.items()], 0.0, 0, len(held.conversations))
    planned = {conversation.case.id for conversation in held.results.conversations}
    return share._replace(least=sum(found.values()) / len(planned) if planned else None)


def _severity(held: _CountedTurns, condition: Condition) -> MeasuredFigure:
    """A count of turns; the share of turns stands behind it."""
    severity = condition.name.removeprefix("severity_")
    red = {(t.conversation, t.turn) for t in held.summary.reddest if worst(t.marks) == severity}
    share = held.of_turns(lambda conversation, turn: float((conversation.id, turn.index) in red))
    return share._replace(value=None if share.found is None else len(red))


def _seconds(held: _CountedTurns, condition: Condition) -> MeasuredFigure:
    """The 95th percentile of the bot's seconds; no answer is slower than any."""

    def taken(turn: Turn) -> float | None:
        if turn.unrecorded:
            return None
        return float("inf") if turn_failure(turn) else turn.answer.seconds

    times = [seconds for _, turn in held.turns() if (seconds := taken(turn)) is not None]
    share = held.of_turns(
        lambda _, turn: None if (seconds := taken(turn)) is None else float(seconds <= condition.threshold)
    )
    value = float(np.quantile(times, QUICK, method="higher")) if times else None
    return share._replace(value=value, goal=QUICK)


def _cost(held: _CountedTurns, _: Condition) -> MeasuredFigure:
    return MeasuredFigure(held.summary.cost_usd, None, len(held.conversations))


def _answered(results: Results) -> tuple[int, int]:
    found = answerability(results)
    return found.answered_answerable, found.answered_answerable + found.refused_answerable


def _refused(results: Results) -> tuple[int, int]:
    found = answerability(results)
    return found.refused_unanswerable, found.refused_unanswerable + found.answered_unanswerable


def _handed(results: Results) -> tuple[int, int]:
    found = handovers(results)
    right, wrong = found.handed_required + found.kept_forbidden, found.kept_required + found.handed_forbidden
    return right, right + wrong


_FIGURES: Mapping[str, Callable[[_CountedTurns, Condition], MeasuredFigure]] = {
    "red": _red,
    "failed": _measured_failed,
    "major": _major,
    "severity_major": _severity,
    "severity_moderate": _severity,
    "severity_minor": _severity,
    "p95_seconds": _seconds,
    "latency_p95": _seconds,
    "cost_usd": _cost,
    "answered_correctly": lambda held, _: held.of_talks(_answered),
    "refused_correctly": lambda held, _: held.of_talks(_refused),
    "handover_correctly": lambda held, _: held.of_talks(_handed),
}


def unheard(results: Results, summary: Summary) -> tuple[str, ...]:
    """The personas that were planned, and of whom no conversation was graded."""
    heard = {
        conversation.persona
        for conversation in results.conversations
        if conversation.id in summary.conversation_scores
    }
    planned: Iterable[str] = (persona.id for persona in results.personas)
    return tuple(name for name in planned if name not in heard)


Decision = Literal["passed", "missed", "undecided"]
# Why a condition could not be decided: too close, or too little to go by.
Lack = Literal["close", "few", "nothing", "ungraded", ""]

# On fewer questions nothing is decided, whatever they say.
MIN_CASES = 5
# More questions than this nobody asks: what they could settle is not worth settling.
MOST = 10_000
_USUAL_Z = 1.959964


class More(Value):
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
    more: More | None = None

    def is_score(self, primary: str) -> bool:
        """Whether it is about the run's score, by that name or that of the deciding judge."""
        return self.condition.name in ("score", primary)

    def as_json(self) -> dict[str, object]:
        """The object that `--json` prints of it, figures rounded to 4 decimals."""
        more = self.more and {k: getattr(self.more, k) for k in ("questions", "conversations")}
        return {
            "condition": self.condition.text,
            "decision": self.decision,
            "value": _rounded(self.value),
            "bounds": [_rounded(self.low), _rounded(self.high)],
            "n": self.n,
            "cases": self.cases,
            "by_default": self.by_default,
            "more": more,
        }


def is_fact(condition: Condition, level: float | None) -> bool:
    """Whether what was seen decides: without a level, for counts, costs, `== 0` and questions gone wrong."""
    seen = condition.measure in ("count", "cost") or condition.name == MAJOR
    return level is None or seen or condition.comparison == "=="


def check(
    condition: Condition, found: MeasuredFigure, level: float | None, max_failed: float
) -> CheckedCondition:
    """The condition decided at a one-sided level of confidence; without one the figure itself decides."""
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
        ends = {"low": lower(found.found, level), "high": upper(found.found, level)}
        checked = checked.model_copy(update=ends)
    if found.value is not None and _exceeded(condition, found):
        return checked.model_copy(update={"decision": "missed", "lack": ""})
    if checked.lack or found.value is None:
        return checked
    if fact and found.least is not None and not condition.holds(found.value):
        return checked.model_copy(update={"lack": "close"})  # those that are not asked yet may go well
    if fact:
        return checked.model_copy(update={"decision": _of_facts(condition, found.value)})
    return checked.model_copy(update=_by_bound(condition, found, 1 - (level or 0)))


def _lack(condition: Condition, found: MeasuredFigure, max_failed: float) -> Lack:
    """What is missing to decide at all."""
    if found.value is None:
        return "nothing"
    if found.failed > (found.n + found.failed) * max_failed + _SAME:
        return "ungraded"
    return "few" if condition.measure != "cost" and found.cases < MIN_CASES else ""


def _exceeded(condition: Condition, found: MeasuredFigure) -> bool:
    """Whether it is missed already, however few were asked: what has happened does not go away with more."""
    if found.least is not None:
        return not condition.holds(found.least)
    grows = condition.measure in ("count", "cost") or condition.comparison == "=="
    return grows and found.value is not None and not condition.holds(found.value)


def _of_facts(condition: Condition, value: float) -> Decision:
    return "passed" if condition.holds(value) else "missed"


def _by_bound(condition: Condition, found: MeasuredFigure, alpha: float) -> dict[str, object]:
    """Passed or missed when the bound on that side says so; otherwise what would settle it."""
    good, bad, target = _sides(condition, found)
    if doubt(good, target) <= alpha:
        return {"decision": "passed"}
    if doubt(bad, 1 - target) <= alpha:
        return {"decision": "missed"}
    towards, aim = (good, target) if good.mean > target else (bad, 1 - target)
    questions = _more_questions(towards, aim, alpha)
    if questions is None:
        return {"lack": "close"}
    each = max(1.0, found.conversations / found.cases)
    asked_again = towards.scatter is not None and found.conversations > found.cases
    repeats = doubt(towards.without_scatter(), aim) <= alpha if asked_again else None
    more = More(questions=questions, conversations=math.ceil(questions * each), repeats=repeats)
    return {"lack": "close", "more": more}


def _sides(condition: Condition, found: MeasuredFigure) -> tuple[Clusters, Clusters, float]:
    """The values whose mean has to be high, the same turned round, and how high it has to be."""
    values = found.found
    assert values is not None  # noqa: S101 - without values nothing was decided before
    if found.goal is not None or condition.rises:
        return values, values.turned(), condition.threshold if found.goal is None else found.goal
    return values.turned(), values, 1 - condition.threshold


def _more_questions(found: Clusters, target: float, alpha: float) -> int | None:
    """How many more questions it takes if they go like those that were asked; None if no sensible number."""
    asked = len(found.sizes)
    low, high = 1.0, 2.0
    while doubt(found, target, high) > alpha:
        low, high = high, 2 * high
        if high * asked > MOST:
            return None
    while (high - low) * asked > 0.5:
        middle = (low + high) / 2
        low, high = (middle, high) if doubt(found, target, middle) > alpha else (low, middle)
    return max(1, math.ceil((high - 1) * asked - 0.5))


def check_corrected(
    checked: CheckedCondition, corrected: CorrectedScore, level: float | None
) -> CheckedCondition:
    """The run's score as people's blind grades correct it decides in place of the judge's own.

    Its interval of 95 % has more than 95 % on one side; for a higher level it is widened as a normal one.
    """
    wider = 1.0 if level is None else max(1.0, _z(level) / _USUAL_Z)
    low, high = (corrected.score + wider * (end - corrected.score) for end in corrected.interval)
    goal, rises = checked.condition.threshold, checked.condition.rises
    good, bad = (low >= goal - _SAME, high < goal - _SAME) if rises else (high <= goal + _SAME, low > goal)
    decision: Decision = "passed" if good else "missed" if bad else "undecided"
    changes: dict[str, object] = {"value": corrected.score, "low": max(0.0, low), "high": min(1.0, high)}
    if checked.lack in ("", "close"):
        changes |= {"decision": decision, "lack": "close" if decision == "undecided" else "", "more": None}
    return checked.model_copy(update=changes)


def _z(level: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(level)


def _rounded(value: float | None) -> float | None:
    return None if value is None or math.isinf(value) else round(value, 4)


# Scores are means of fifths: what differs by less is the same number in floating point.
_SAME = 1e-9

Problem = Literal[
    "below", "unsure", "corrected_below", "corrected_unsure", "ungraded", "judge", "simulator", "unfinished",
    "running", "major", "evidence",
]  # fmt: skip
# What is found where more than a plain score is asked for: a verdict, but nothing to finish.
Shortcoming = Literal[
    "few", "nothing", "no_cost", "unmeasured", "close", "never", "missed", "missed_major", "personas"
]
SHORTCOMINGS: frozenset[str] = frozenset(get_args(Shortcoming))

_TOO_MANY = (
    "{major} of {cases} questions have a turn with a major mark ({share} %),"
    " more than --max-major allows ({allowed} %)"
)
_SENTENCES: dict[Problem | Shortcoming, str] = {
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


class Finding(Value):
    """One thing the gate found; `figures` are the numbers its sentence is made of, as text."""

    problem: Problem | Shortcoming
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

    `target` is that of the score (0..1), `asked` what was asked for: the same, or the text of conditions.
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
        open_ones = [each for each in self.conditions if each.decision == "undecided"]
        counts = [each.more.conversations for each in open_ones if each.more]
        return max(counts) if counts and len(counts) == len(open_ones) else None


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
    missing, against = _missing(summary, max_failed), _against(summary, target)
    if target is None and 0 < summary.turns == summary.unrecorded:
        missing = [finding for finding in missing if finding.problem != "ungraded"]  # a log, only to be read
    grave = _too_many(summary, max_major) if target is not None else []
    unseen = [_unseen(summary)] if blind and target is not None else []
    decisive = summary.corrected.interval[0] if summary.corrected else summary.score
    reached = target is not None and decisive is not None and decisive >= target - _SAME and not grave
    missing = unseen + missing
    findings = tuple(against + grave + missing)
    open_still = bool(missing) or (not grave and any(f.problem == "corrected_unsure" for f in against))
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
    unheard: Sequence[str] = (),
    asked: float | str | None = None,
    confidence: float | None = None,
    blind: bool = False,
) -> Gate:
    """The gate that passes only when all conditions have, and when nothing is missing.

    `unheard` are the personas that took part without a graded conversation; `blind` as for `decide`.
    """
    missing = [*([_unseen(summary)] if blind else []), *_missing(summary, max_failed)]
    silent = [Finding(problem="personas", figures={"personas": ", ".join(unheard)})] if unheard else []
    findings = (*(_of_condition(each) for each in conditions if each.decision != "passed"), *silent, *missing)
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


def _of_condition(checked: CheckedCondition) -> Finding:
    """Why a condition has not passed."""
    figures = {"condition": checked.condition.text, "value": shown(checked), **_bounds(checked)}
    if checked.decision == "missed":
        grave = checked.condition.name == MAJOR
        figures |= major_figures(checked) if grave else {}
        return Finding(problem="missed_major" if grave else "missed", figures=figures)
    if checked.lack == "ungraded":
        failed = {"failed": str(checked.failed), "of": str(checked.n + checked.failed)}
        return Finding(problem="unmeasured", figures=figures | failed)
    if checked.lack == "few":
        counts = {"cases": str(checked.cases), "least": str(MIN_CASES)}
        return Finding(problem="few", figures=figures | counts)
    if checked.lack == "nothing":
        no_cost = checked.condition.measure == "cost"
        return Finding(problem="no_cost" if no_cost else "nothing", figures=figures)
    if checked.more is None:
        return Finding(problem="never", figures=figures)
    more = {key: str(getattr(checked.more, key)) for key in ("questions", "conversations")}
    return Finding(problem="close", figures=figures | more)


def major_figures(checked: CheckedCondition) -> dict[str, str]:
    """How many of how many questions have a major turn, and which share may."""
    value = checked.value or 0.0
    return _of_major(round(value * checked.n), checked.n, checked.condition.threshold)


def _of_major(major: int, cases: int, allowed: float) -> dict[str, str]:
    share = f"{100 * major / cases:.1f}" if cases else "-"
    return {"major": str(major), "cases": str(cases), "share": share, "allowed": f"{100 * allowed:g}"}


def _too_many(summary: Summary, max_major: float) -> list[Finding]:
    """More questions with a major turn than a target allows."""
    found = major_cases(summary)
    if not _exceeds(sum(found.values()), len(found), max_major):
        return []
    return [Finding(problem="major", figures=_of_major(sum(found.values()), len(found), max_major))]


def _unseen(summary: Summary) -> Finding:
    return Finding(problem="evidence", figures={"judge": summary.primary})


def shown(checked: CheckedCondition) -> str:
    """The figure of a condition as text: a share by two decimals or more, a count as it is."""
    if checked.value is None:
        return "-"
    if checked.condition.measure == "share":
        return apart(checked.value, checked.condition.threshold)[0]
    return f"{checked.value:.4g}"


def _bounds(checked: CheckedCondition) -> dict[str, str]:
    """The bounds of a condition as text, where they are about the figure that is shown."""
    if checked.low is None or checked.high is None:
        return {"low": "-", "high": "-", "range": ""}
    threshold = checked.condition.threshold if checked.condition.measure == "share" else 0.0
    low, high = (apart(end, threshold)[0] for end in (checked.low, checked.high))
    share = checked.condition.measure == "share" and not checked.fact
    return {"low": low, "high": high, "range": f" ({low} to {high})" if share else ""}


def _missing(summary: Summary, max_failed: float) -> list[Finding]:
    """What keeps the run from being judged at all."""
    return [*_unfinished(summary), *_failed(summary, max_failed), *_ungraded(summary)]


def _against(summary: Summary, target: float | None) -> list[Finding]:
    """How the score stands to the target, where that needs saying."""
    if target is None or summary.score is None:
        return []
    if summary.corrected:
        return _against_corrected(summary.corrected, target)
    if summary.score < target - _SAME:
        return [_below(summary, summary.score, target)]
    if summary.interval and summary.interval[0] < target - _SAME:
        score, _, shown = apart(summary.score, target)
        low, _, _ = apart(summary.interval[0], target)
        return [Finding(problem="unsure", figures={"score": score, "target": shown, "low": low})]
    return []


def _against_corrected(corrected: CorrectedScore, target: float) -> list[Finding]:
    """How the corrected score stands to the target, unless its whole interval reaches it."""
    low, high = corrected.interval
    if low >= target - _SAME:
        return []
    score, short, _ = apart(corrected.score, target)
    shown, _, goal = apart(low, target)
    figures = {"score": score, "n": str(corrected.n), "low": shown, "high": apart(high, target)[0]}
    figures["target"] = goal
    if high < target - _SAME:
        return [Finding(problem="corrected_below", figures=figures | {"short": short})]
    return [Finding(problem="corrected_unsure", figures=figures)]


def _below(summary: Summary, score: float, target: float) -> Finding:
    """By how much the target was missed, and how many turns are red."""
    shown, short, goal = apart(score, target)
    figures = {"score": shown, "short": short, "target": goal}
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
    grades = (_grades(list(summary.judges.values())), _grades(deciding))
    over = [share for share in grades if _exceeds(*share, max_failed)][:1]
    found = [_share("judge", *share, max_failed) for share in over]
    said = (summary.simulator.failed, summary.turns + summary.simulator.failed)
    return found + ([_share("simulator", *said, max_failed)] if _exceeds(*said, max_failed) else [])


def _grades(judges: list[JudgeSummary]) -> tuple[int, int]:
    """How many grades failed, of how many that were asked for."""
    return sum(j.failed for j in judges), sum(j.n + j.failed for j in judges)


def _exceeds(failed: int, of: int, limit: float) -> bool:
    """Whether the failures are more than the limit's share."""
    return failed > of * limit + _SAME


def _share(problem: Problem, failed: int, of: int, limit: float) -> Finding:
    """The failures as a finding."""
    figures = {"failed": str(failed), "of": str(of), "share": f"{100 * failed / of:.1f}"}
    return Finding(problem=problem, figures=figures | {"allowed": f"{100 * limit:g}"})


def _ungraded(summary: Summary) -> list[Finding]:
    """A run without a single grade."""
    return [] if summary.score is not None else [Finding(problem="ungraded", figures={})]


def apart(score: float, target: float) -> tuple[str, str, str]:
    """Score, distance and target with as many decimals as show that they differ: two, mostly."""
    for places in (2, 3, 4, 5, 6):
        shown, goal = f"{score:.{places}f}", f"{target:.{places}f}"
        if shown != goal or abs(score - target) < _SAME:
            break
    return shown, f"{abs(float(goal) - float(shown)):.{places}f}", goal
