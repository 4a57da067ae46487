"""Whether a run reached its target, and what is missing. The gate advises; people decide.

A target is a list of conditions (results/conditions.py); a number is one on the score. What is wrong with it
is said before the run begins (results/target.py), and what came of it in words by report/gate.py.

    --target 80                     the score itself
    --target 80 --confidence 0.95   the one-sided bound of the score

Three answers are told apart, and each has its exit code: passed (0), missed (1), and nothing that can be
said. Of the latter a run that was cut short, or whose grading failed, is `incomplete` (3); one that is too
close to call, or rests on too few of the grades and questions it was to have, is undecided (1), because
nobody may take it for a pass.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from pydantic import Field

from simulator.core.settings import Settings
from simulator.core.target import (
    CERTIFIED,
    COVERAGE,
    MAX_FAILED,
    MIN_GRADED,
    SECONDS,
    check_names,
    target_conditions,
)
from simulator.core.types import CONVERSATION, EXPECTATIONS, RISK, Results, Value
from simulator.results.conditions import (
    SAME,
    CheckedCondition,
    Decision,
    asked_conditions,
    checked_condition,
)
from simulator.results.figures import Summary, rounded
from simulator.results.offered import further_figures
from simulator.results.standing import with_standings
from simulator.results.summary import figures_of
from simulator.results.target import depends_on

# What the gate can find beside its conditions, the gravest first. The first five leave a run incomplete.
Problem = Literal[
    "evidence", "unfinished", "missing", "simulator", "ungraded", "thin", "personas", "simulators",
]  # fmt: skip
_INCOMPLETE: frozenset[Problem] = frozenset({"evidence", "unfinished", "missing", "simulator", "ungraded"})
# Judges whose low grades make a turn red, whichever decides about the score.
_REDDENERS = ("groundedness", "claims", "facts", RISK, CONVERSATION, EXPECTATIONS)


class Finding(Value):
    """One thing that keeps the gate from deciding, with the figures that its sentence names."""

    problem: Problem
    figures: dict[str, Any] = Field(default={})


class Gate(Value):
    """The verdict on a run: what the user asked for, what the conditions came to, and what else was found.

    `asked` is a number, or the text of conditions; `confidence` is how sure the gate had to be. `decision` is
    None without a target. `score` is the condition on the score, where there is one.
    """

    asked: float | str | None = None
    confidence: float | None = None
    decision: Decision | None = None
    conditions: tuple[CheckedCondition, ...] = ()
    findings: tuple[Finding, ...] = ()
    score: CheckedCondition | None = None

    @property
    def passed(self) -> bool | None:
        """Whether the target was reached: False also where that is undecided, None without a target."""
        return None if self.decision is None else self.decision == "passed"

    @property
    def incomplete(self) -> bool:
        """Whether judge, simulator or an interruption left too much ungraded to decide."""
        return any(finding.problem in _INCOMPLETE for finding in self.findings)

    @property
    def target(self) -> float | None:
        """What was asked of the score (0..1), as reports draw it."""
        return self.score.condition.threshold if self.score else None

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The one-sided bounds of the score (0..1) that decided with a confidence; None where none did."""
        if self.score is None or self.score.low is None or self.score.high is None:
            return None
        return self.score.low, self.score.high

    def as_json(self) -> dict[str, Any]:
        """What `--json` prints of it beside its words."""
        return {
            "target": self.asked if isinstance(self.asked, str) else rounded(self.asked),
            "passed": self.passed,
            "decision": self.decision,
            "confidence": self.confidence,
            "conditions": [checked.as_json() for checked in self.conditions],
        }


def gate_of(results: Results, summary: Summary, settings: Settings) -> Gate:
    """The gate's verdict: every condition of the target has to hold, and nothing may be missing.

    Where several models play the customers, nobody knows which is most like real ones: the gate is undecided
    unless it is the same for each of them (intersection-union test: Berger, 1982).
    """
    if summary.standing is None and any(c.name == CERTIFIED for c in target_conditions(settings.target)):
        summary = with_standings(summary, settings, settings.runs)
    gate = _gate_of(results, summary, settings)
    # Where the whole run cannot be judged, its parts by simulator cannot either.
    if gate.decision is None or gate.incomplete or len(summary.scores.simulators) < 2:
        return gate
    decisions = {
        model: _gate_of(part, figures, settings).decision
        for model in summary.scores.simulators
        for part in [_played_by(model, results)]
        for figures in [figures_of(part, settings).model_copy(update={"standings": summary.standings})]
    }
    if len(set(decisions.values())) == 1:
        return gate
    scores = {model: summary.scores.simulators[model].score for model in decisions}
    finding = Finding(problem="simulators", figures={"scores": scores, "decisions": decisions})
    return gate.model_copy(update={"decision": "undecided", "findings": (*gate.findings, finding)})


def _played_by(model: str, results: Results) -> Results:
    """The run as if this model alone had played the customers."""
    others = {conversation.id for conversation in results.conversations if conversation.user_model != model}
    conversations, scores = results.conversations.without(others), results.scores.without(others)
    alone = {"planned": len(conversations), "conversations": conversations, "scores": scores}
    return results.model_copy(update=alone)


def _gate_of(results: Results, summary: Summary, settings: Settings) -> Gate:
    """The gate over all conversations of a run, whoever played their customers."""
    if settings.target is None:
        missing = tuple(_missing(summary, settings))
        if 0 < summary.turns == summary.unrecorded:
            # Of a log that is only to be read nothing was to be graded.
            missing = tuple(finding for finding in missing if finding.problem != "ungraded")
        return Gate(findings=missing)
    check_names(settings.target, [*summary.scores.judges, *further_figures()])
    checked, thin = list[CheckedCondition](), dict[str, Finding]()
    for condition in asked_conditions(settings):
        found = _thin(_judges_of(condition.name, summary), summary)
        thin |= found
        level = settings.confidence
        checked.append(checked_condition(condition, results, summary, level, thin=bool(found)))
    findings = [*_missing(summary, settings), *thin.values()]
    if unheard := ungraded_personas(results, summary):
        findings.append(Finding(problem="personas", figures={"personas": unheard}))
    decisions = {checked_condition.decision for checked_condition in checked}
    decision: Decision = "passed" if decisions == {"passed"} and not findings else "undecided"
    if "missed" in decisions and not any(finding.problem in _INCOMPLETE for finding in findings):
        decision = "missed"
    of_score = ("score", summary.scores.primary)
    return Gate(
        asked=settings.target,
        confidence=settings.confidence,
        decision=decision,
        conditions=tuple(checked),
        findings=tuple(findings),
        score=next((c for c in checked if c.condition.name in of_score), None),
    )


def _missing(summary: Summary, settings: Settings) -> Iterator[Finding]:
    """What keeps the run from being judged at all.

    A deciding judge without evidence, conversations that are still to be held, failures of judges and of the
    simulated customer beyond the limit, and a run without a single grade. The bot's own failures are not
    among them: these are graded.
    """
    run, judges = summary.record, summary.scores.judges
    if depends_on(summary.scores.primary, settings.target) and run.answers and not run.evidence:
        yield Finding(problem="evidence")
    if summary.status != "finished" or summary.finished < summary.planned:
        done = {"finished": summary.finished, "planned": summary.planned}
        yield Finding(problem="unfinished", figures=done)
    # All judges together, or the one that decides: its failures must not hide among the others.
    deciding = [judges[summary.scores.primary]] if summary.scores.primary in judges else []
    shares = [
        _share(sum(judge.missing for judge in some), sum(judge.n for judge in some))
        for some in (judges.values(), deciding)
    ]
    if (share := max(shares)) > MAX_FAILED + SAME:
        yield Finding(problem="missing", figures={"share": share})
    if (share := _share(summary.customers.failed, summary.turns)) > MAX_FAILED + SAME:
        yield Finding(problem="simulator", figures={"share": share})
    if summary.scores.score is None:
        yield Finding(problem="ungraded")


def _share(failed: int, done: int) -> float:
    return failed / (failed + done) if failed else 0.0


def _judges_of(name: str, summary: Summary) -> tuple[str, ...]:
    """The judges whose grades a figure of a target is made of; empty where it needs none.

    Red turns are those of the deciding judge and of others that have a rule of their own.
    """
    if name in summary.scores.judges:
        return (name,)
    if name in (COVERAGE, SECONDS, CERTIFIED) or name.endswith("_correctly"):
        return ()
    return (summary.scores.primary,) if name == "score" else (summary.scores.primary, *_REDDENERS)


def _thin(names: Iterable[str], summary: Summary) -> dict[str, Finding]:
    """A finding for each of these judges that lacks grades: below 90 % of them, or of the questions."""
    counts = {"n", "cases", "cases_due", "undecided", "unanswered", "failed", "unreached"}
    judges = {name: judge for name in names if (judge := summary.scores.judges.get(name))}
    return {
        name: Finding(
            problem="thin", figures={"judge": name, "due": judge.due} | judge.model_dump(include=counts)
        )
        for name, judge in judges.items()
        if judge.n < judge.due * MIN_GRADED - SAME or judge.cases < judge.cases_due * MIN_GRADED - SAME
    }


def ungraded_personas(results: Results, summary: Summary) -> tuple[str, ...]:
    """The personas who took part and have no graded conversation.

    A target that was reached without the angry customer, whose conversations all failed, is not reached.
    """
    rows = summary.record.conversations
    played = {row.persona for row in rows}
    graded = {row.persona for row in rows if row.id in summary.scores.by_conversation}
    return tuple(who.id for who in results.personas if who.id in played - graded)
