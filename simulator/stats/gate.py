"""Whether a run reached its target, and in words what is missing. The gate advises; people decide.

A plain target is about the score (`decide`); an expression, or a confidence, goes condition by condition
(`stats/conditions.py`). Which of these ways a run goes its settings say (`gate_of`); what is wrong with them
is told before the run begins (stats/target.py).

    --target 80                     decide             the score itself, a warning where its interval is below
    --target 80 --confidence 0.95   conditions_gate    every condition by its one-sided bound
    --target "score >= 80"          conditions_gate    every condition by the figure itself, five questions

Three answers are told apart, and each has its exit code: passed (0), missed (1), and nothing that can be
said. Of the latter a run that was cut short, or whose grading failed, is `incomplete` (3); one that is too
close to call, or rests on too few of the grades and questions it was to have, is undecided (1), because
nobody may take it for a pass.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from simulator.core.document import points, target_points
from simulator.core.messages import Message, _
from simulator.core.settings import (
    MAJOR,
    MAX_MAJOR,
    MIN_GRADED,
    Condition,
    Settings,
    target_conditions,
)
from simulator.core.shelves import Features
from simulator.core.titles import title
from simulator.core.types import CONVERSATION, Case, Facts, Results, Spending, Value
from simulator.stats.figures import CorrectedScore, JudgeSummary, Summary, rounded
from simulator.stats.red import RISK, worst_severity
from simulator.stats.summary import figures_of

Decision = Literal["passed", "missed", "undecided"]
# Why a condition could not be decided: too close, or too little to go by. Without repeats pass^k is missed.
Lack = Literal["close", "few", "nothing", "ungraded", "thin", "repeats", ""]
# Imported where a target has conditions or a confidence, or several models play the customers: most runs have
# neither, and conditions bring numpy's quantiles.
feature = Features(conditions="simulator.stats.conditions")
# Judges that grade an answer by whatever evidence they get, and without any by how it reads: a fluent wrong
# answer would reach any target. So a target on these takes evidence.
_READERS = frozenset({"turn", "relevance"})
# Judges whose low grades make a turn red, whichever decides about the score.
_REDDENERS = ("groundedness", "claims", "facts", RISK, CONVERSATION)
# On fewer questions nothing is decided, whatever they say: five of five are at least 0.55 at 95 %, four 0.47.
MIN_QUESTIONS = 5
# Figures that do not depend on a judge: a target on these alone needs no evidence.
_UNJUDGED = frozenset({"failed", "p95_seconds", "first_token_p95_seconds", "cost_usd"})
# Scores are means of fifths: what differs by less is the same number in floating point.
SAME = 1e-9
# What the gate can find.
Problem = Literal[
    "below", "unsure", "corrected_below", "corrected_unsure", "ungraded", "judge", "simulator", "unfinished",
    "running", "major", "evidence", "condition", "personas", "simulators", "thin", "few",
]  # fmt: skip
# What the gate can find, in words; a score, its interval and the target are points of 100.
_FINDINGS: Mapping[Problem, Message] = {
    "below": _("The score {score} is below the target {target}: {red} of {turns} turns are red."),
    "ungraded": _("Nothing was graded, so there is no score."),
    "thin": _(
        "{judge} has {n} of {due} grades ({why}), for {cases} of {cases_due} questions; a verdict takes"
        " {share} % of both (--min-graded)."
    ),
    "few": _("A verdict takes at least {least} questions with a grade of {judge}; this run has {cases}."),
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
    "simulators": _("It depends on the model that plays the customers: {parts}."),
}


class MoreQuestions(Value):
    """How many more questions, and conversations about them, would settle a condition at today's figures.

    Estimates: they suppose that what is asked next goes like what was asked.
    """

    questions: int
    conversations: int


class CheckedCondition(Value):
    """A condition with its figure (`n` values of `cases` questions), its one-sided bounds, and its verdict.

    The bounds are those of the figure, but of seconds those of the share that is quick enough, and of a
    count those of the share of turns. `value` is None where nothing was measured; `failed` are values that
    should be there and are not; `lack` says why nothing was decided, `more` what would change that.
    `by_default` marks the limit on major turns that the user did not set, `of_score` what is about the score.
    """

    condition: Condition
    decision: Decision
    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    cases: int = 0
    by_default: bool = False
    lack: Lack = ""
    failed: int = 0
    more: MoreQuestions | None = None
    of_score: bool = False

    @property
    def is_fact(self) -> bool:
        """Whether the figure itself decides, whatever the confidence: what was counted is no sample."""
        grows = self.condition.measure in ("count", "cost") or self.condition.comparison == "=="
        return grows or self.condition.name == MAJOR

    def is_score(self, primary: str) -> bool:
        """Whether it is about the run's score, by that name or that of the deciding judge."""
        return self.condition.name in ("score", primary)

    def as_json(self) -> dict[str, Any]:
        """The object that `--json` prints of it, figures rounded to 4 decimals."""
        # No answer is slower than any, which JSON has no number for.
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
        return tuple(str(found.message) for found in self.findings)

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The one-sided bounds of the score (0..1) that decided with a confidence; None where none did."""
        for checked in self.conditions:
            if checked.of_score and checked.low is not None and checked.high is not None:
                return checked.low, checked.high
        return None

    @property
    def more(self) -> int | None:
        """How many more conversations would settle what is undecided; None where no number does."""
        undecided = [each for each in self.conditions if each.decision == "undecided"]
        counts = [each.more.conversations for each in undecided if each.more]
        return max(counts) if counts and len(counts) == len(undecided) else None


def major_cases(summary: Summary) -> dict[str, bool]:
    """The questions that were asked, each with whether a turn of it has a major mark.

    By question, not by turn: three customers who hear the same grave mistake have found one.
    """
    major = {turn.case for turn in summary.reddest if worst_severity(turn.marks) == "major"}
    return {each.case: each.case in major for each in summary.cases if each.turns}


def decide(
    summary: Summary,
    target: float | None,
    max_failed: float,
    max_major: float = MAX_MAJOR,
    *,
    blind: bool = False,
    min_graded: float = MIN_GRADED,
) -> Gate:
    """The gate at `target` (0..1); `max_failed` is the largest share of failures that is tolerated.

    `max_major` is the largest share of questions with a major turn, `blind` says that the deciding judge had
    no evidence. With fewer than `min_graded` of the grades, or of the questions, nothing is passed or missed,
    but for a share of major turns that no further grade can mend.
    """
    missing = missing_findings(summary, max_failed, blind=blind)
    # Without a target a log without answers is no failed run: its turns were to be counted.
    if target is None and 0 < summary.turns == summary.unrecorded:
        missing = [each for each in missing if each.problem != "ungraded"]  # a log, only to be read
    thin = [] if target is None else too_little(summary, judges_of(MAJOR, summary), min_graded)
    if target is not None and not thin and (few := few_questions(summary, summary.primary)):
        thin = [few]
    of_score, cases = _score_findings(summary, target), major_cases(summary)
    if thin:
        of_score = []  # what was graded says nothing about the rest
    hits = sum(cases.values())
    is_over = target is not None and hits > len(cases) * max_major + SAME
    major = [major_finding(hits, len(cases), max_major)] if is_over else []
    # People's grades have a wider interval than the judge's, so their lower end has to reach the target.
    decisive = summary.corrected.interval[0] if summary.corrected else summary.score
    reached = target is not None and decisive is not None and decisive >= target - SAME
    reached = reached and not (major or thin)
    # A grave share of major turns misses whatever other grades may still say.
    is_unsettled = bool(thin) or any(f.problem == "corrected_unsure" for f in of_score)
    open_still = bool(missing) or (not major and is_unsettled)
    decision: Decision = "undecided" if open_still else "passed" if reached else "missed"
    return Gate(
        target=target,
        passed=None if target is None else reached and not missing,
        incomplete=bool(missing),
        findings=(*of_score, *major, *(thin if open_still else ()), *missing),
        corrected=summary.corrected,
        asked=target,
        decision=None if target is None else decision,
    )


def finding(problem: Problem, **figures: object) -> Finding:
    """What was found, in words."""
    return Finding(problem=problem, message=_FINDINGS[problem].format(**figures))


def judges_of(name: str, summary: Summary) -> tuple[str, ...]:
    """The judges whose grades a figure of a target is made of; empty where it needs none.

    Red turns are those of the deciding judge and of others that have a rule of their own.
    """
    if name in summary.judges:
        return (name,)
    if name in _UNJUDGED or name.endswith("_correctly"):
        return ()
    others = () if name == "score" else (each for each in _REDDENERS if each in summary.judges)
    return tuple(dict.fromkeys((summary.primary, *others)))


def too_little(summary: Summary, judges: Iterable[str], least: float) -> list[Finding]:
    """A finding for each of these judges that lacks grades: below a share of them, or of the questions."""
    found = []
    for name in judges:
        judge = summary.judges.get(name)
        if judge is None or not _is_thin(judge, least):
            continue
        counts = {
            _("undecided because reference and passages contradict each other {n}"): judge.undecided,
            _("not answered in the log {n}"): judge.unanswered,
            _("failed {n}"): judge.failed,
        }
        why = tuple(text.format(n=n) for text, n in counts.items() if n)
        figures = judge.model_dump(include={"n", "cases", "cases_due"}) | {"due": judge.due}
        found.append(
            finding("thin", judge=title("judge", name), why=why, share=f"{100 * least:g}", **figures)
        )
    return found


def _is_thin(judge: JudgeSummary, least: float) -> bool:
    return judge.n < judge.due * least - SAME or judge.cases < judge.cases_due * least - SAME


def few_questions(summary: Summary, judge: str) -> Finding | None:
    """What is said where a judge graded answers to fewer questions than a verdict takes; None otherwise."""
    graded = summary.judges.get(judge)
    if graded is None or not 0 < graded.cases < MIN_QUESTIONS:
        return None
    return finding("few", judge=title("judge", judge), least=MIN_QUESTIONS, cases=graded.cases)


def major_finding(major: int, cases: int, allowed: float) -> Finding:
    """How many of how many questions have a major turn, and which share may."""
    share = f"{100 * major / cases:.1f}" if cases else "-"
    return finding("major", major=str(major), cases=str(cases), share=share, allowed=f"{100 * allowed:g}")


def missing_findings(summary: Summary, max_failed: float, *, blind: bool) -> list[Finding]:
    """What keeps the run from being judged at all.

    A judge without evidence (`blind`), conversations that are still to be held, failures of judges and of the
    simulated customer beyond the limit, and a run without a single grade. The bot's own failures are not
    among them: these are graded.
    """
    found = []
    if blind:
        found.append(finding("evidence", judge=summary.primary))
    done = {"finished": summary.finished, "planned": summary.planned}
    if summary.status == "running":
        found.append(finding("running", **done))
    elif summary.status != "finished" or summary.finished + summary.spared < summary.planned:
        found.append(finding("unfinished", **done))
    # All judges together, or the one that decides: its failures must not hide among the others.
    judges, lost = summary.judges, summary.simulator.failed
    deciding = [judges[summary.primary]] if summary.primary in judges else []
    counts: list[tuple[Problem, int, int]] = [
        ("judge", sum(j.failed for j in some), sum(j.n + j.failed for j in some))
        for some in (judges.values(), deciding)
    ]
    counts.append(("simulator", lost, summary.turns + lost))
    for problem, failed, of in counts:
        if failed > of * max_failed + SAME and problem not in {each.problem for each in found}:
            shares = {"share": f"{100 * failed / of:.1f}", "allowed": f"{100 * max_failed:g}"}
            found.append(finding(problem, failed=failed, of=of, **shares))
    if summary.score is None:
        found.append(finding("ungraded"))
    return found


def _score_findings(summary: Summary, target: float | None) -> list[Finding]:
    """What there is to say about the score, as people's grades corrected it, and the target.

    A plain target is missed by the score, but by a corrected one only where even its upper end is below.
    """
    if target is None or summary.score is None:
        return []
    scored = summary.corrected or summary
    score, (low, high) = scored.score or 0.0, scored.interval or (None, None)
    missed = (score if high is None or not summary.corrected else high) < target - SAME
    if not missed and (low is None or low >= target - SAME):
        return []
    problem: Problem = "below" if missed else "unsure"
    if summary.corrected:
        problem = "corrected_below" if missed else "corrected_unsure"
    shown = {"score": score, "low": low, "high": high}
    ends = {name: points(value, against=target) for name, value in shown.items()}
    return [finding(problem, target=target_points(target), red=summary.red, turns=summary.turns, **ends)]


def gate_of(results: Results, summary: Summary, settings: Settings) -> Gate:
    """The gate's verdict: a plain target asks for a score, anything more for every condition.

    Of either, the share of questions with a major turn is a condition (`max_major`). With a certainty none
    may have one, unless the target itself says how many such turns there may be. Where several models play
    the customers, it is undecided unless they agree.
    """
    # Where the whole run cannot be judged, its parts by simulator cannot either.
    gate = _gate_of(results, summary, settings)
    if gate.decision is not None and not gate.incomplete and len(summary.simulators) > 1:
        gate = feature("conditions").agreed_gate(
            gate, results, summary, lambda own: _gate_of(own, figures_of(own, settings), settings)
        )
    return gate


def _gate_of(results: Results, summary: Summary, settings: Settings) -> Gate:
    target, certainty, limit = settings.target, settings.certainty, settings.max_major
    named = {condition.name for condition in target_conditions(target)}
    # 20 % of the questions by default. With a certainty none, unless the target counts such turns itself: two
    # limits on the same thing would contradict each other.
    if limit is None:
        limit = 0.0 if certainty is not None and "severity_major" not in named else MAX_MAJOR
    blind = depends_on(summary.primary, target) and _lacks_evidence(results)
    if not isinstance(target, str) and (target is None or certainty is None):
        return decide(
            summary, target, settings.max_failed, limit, blind=blind, min_graded=settings.min_graded
        )
    made: Gate = feature("conditions").conditions_gate(results, summary, settings, limit, blind=blind)
    return made


def _lacks_evidence(results: Results) -> bool:
    """Whether judges had answers, but no evidence to check any of them against.

    One question with a reference, or one answer with passages, is enough: the rest is skipped and counted.
    """
    answered = False
    for conversation in results.conversations:
        if has_evidence(conversation.case) or any(turn.answer.passages for turn in conversation.turns):
            return False
        answered = answered or not all(turn.unrecorded for turn in conversation.turns)
    return answered


def depends_on(primary: str, target: float | str | None) -> bool:
    """Whether a target asks for something that this judge decides, with whatever evidence it gets."""
    return primary in _READERS and any(each.name not in _UNJUDGED for each in target_conditions(target))


def has_evidence(case: Case) -> bool:
    """Whether a case says itself what a right answer to it is, or what has to be known for one."""
    answer_known = any(case.references) or case.label is not None or case.facts != Facts()
    return answer_known or case.answerable is False or case.handover != "optional"


def as_json(summary: Summary, gate: Gate, store: str = "") -> dict[str, Any]:
    """The object that `--json` prints, figures rounded to 4 decimals; `store` is the run file's path."""
    played, customers = summary.simulator, summary.simulator.customers
    shown = ("mean", "stderr", "raw_mean", "n", "planned", "failed", "skipped")
    return {
        "run": summary.run,
        "store": store,
        "score": rounded(summary.score),
        "interval": rounded(summary.interval),
        "simulators": {
            model: rounded(each.model_dump(include={"score", "n"}))
            for model, each in summary.simulators.items()
        },
        "simulator_spread": rounded(summary.simulator_spread),
        "corrected": summary.corrected and summary.corrected.as_json(),
        "target": gate.asked if isinstance(gate.asked, str) else rounded(gate.asked),
        "passed": gate.passed,
        "decision": gate.decision,
        "confidence": gate.confidence,
        "conditions": [checked.as_json() for checked in gate.conditions],
        "reasons": list(gate.reasons),
        "judges": {
            name: {key: rounded(getattr(judge, key)) for key in shown}
            | ({"undecided": judge.undecided} if judge.undecided else {})
            | ({} if judge.same_grade is None else {"same_grade": judge.same_grade})
            | ({"excluded": judge.excluded} if judge.excluded else {})
            | ({"conflicts_ignored": n} if (n := judge.conflicts_ignored) else {})
            | ({"retest": judge.retest.model_dump(include={"n", "flips"})} if judge.retest else {})
            for name, judge in summary.judges.items()
        },
        "total": rounded(summary.total.model_dump()),
        "conversations": summary.model_dump(
            include={"planned", "finished", "spared", "ended", "satisfied_graded", "satisfied_unresolved"}
        ),
        # By kind, and the conversations that have any; null where no conversation was graded as a whole.
        "lapses": {**summary.lapses, "conversations": summary.lapsed} if summary.lapses else None,
        "turns": summary.turns,
        "red": summary.red,
        "simulator": {
            **played.model_dump(include={"guarded", "failed", "overruled"}),
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
        "tokens": {role: _tokens_json(spent) for role, spent in summary.spending.items()},
        "cost_usd": rounded(summary.cost_usd),
        "cost_at_least_usd": rounded(summary.spent.least_usd),
        # What each model used in each role; calls answered from the cache stand apart and cost nothing.
        "usage": {
            role: {
                model: {"calls": spent.calls, "cached": spent.cached, "uncounted": spent.uncounted}
                | _tokens_json(spent)
                | {"cost_usd": None if spent.cost_usd is None else round(spent.cost_usd, 6)}
                for model, spent in by_model.items()
            }
            for role, by_model in summary.usage.items()
        },
        "seconds": rounded(summary.seconds),
        "offline": summary.offline,
    }


def _tokens_json(spent: Spending) -> dict[str, int]:
    return {"in": spent.tokens_in, "in_cached": spent.tokens_cached, "out": spent.tokens_out}
