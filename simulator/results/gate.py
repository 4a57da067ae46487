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

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from simulator.core.document import points
from simulator.core.messages import Message, _, pgettext
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
from simulator.core.titles import title
from simulator.core.types import CONVERSATION, EXPECTATIONS, RISK, Results
from simulator.results.conditions import (
    SAME,
    CheckedCondition,
    Decision,
    asked_conditions,
    check_condition,
    measure_condition,
)
from simulator.results.figures import JudgeSummary, Summary, rounded
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
DECISIONS: dict[Decision, Message] = {
    "passed": pgettext("a verdict", "Passed"),
    "missed": pgettext("a verdict", "Failed"),
    "undecided": pgettext("a verdict", "Undecided"),
}


class Finding(NamedTuple):
    """One thing that keeps the gate from deciding, and the phrase that says it."""

    problem: Problem
    text: Message


class Gate(NamedTuple):
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
        return self.found(*_INCOMPLETE)

    def found(self, *problems: Problem) -> bool:
        """Whether one of these is among what it found."""
        return any(finding.problem in problems for finding in self.findings)

    @property
    def target(self) -> float | None:
        """What was asked of the score (0..1), as reports draw it."""
        return self.score.condition.threshold if self.score else None

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The one-sided bounds of the score (0..1) that decided with a confidence; None where none did."""
        return self.score.bounds if self.score else None

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
    gate, simulators = _gate_of(results, summary, settings), summary.scores.simulators
    # Where the whole run cannot be judged, its parts by simulator cannot either.
    if gate.incomplete or len(simulators) < 2:
        return gate
    decisions = dict[str, Decision | None]()
    for model in simulators:
        part = _played_by(model, results)
        figures = figures_of(part, settings).model_copy(update={"standings": summary.standings})
        decisions[model] = _gate_of(part, figures, settings).decision
    if len({*decisions.values()}) == 1:
        return gate
    parts = tuple(
        _(
            "{model} {score} ({decision})",
            model=model,
            score=points(simulators[model].score),
            decision=DECISIONS[decision],
        )
        for model, decision in decisions.items()
        if decision
    )
    text = _("it depends on the model that plays the customers: {parts}", parts=parts)
    return gate._replace(decision="undecided", findings=(*gate.findings, Finding("simulators", text)))


def _played_by(model: str, results: Results) -> Results:
    """The run as if this model alone had played the customers."""
    others = {conversation.id for conversation in results.conversations if conversation.user_model != model}
    conversations, scores = results.conversations.without(others), results.scores.without(others)
    alone = {"planned": len(conversations), "conversations": conversations, "scores": scores}
    return results.model_copy(update=alone)


def _gate_of(results: Results, summary: Summary, settings: Settings) -> Gate:
    """The gate over all conversations of a run, whoever played their customers."""
    missing = tuple(_missing(summary, settings))
    if settings.target is None:
        if 0 < summary.turns == summary.unrecorded:
            # Of a log that is only to be read nothing was to be graded.
            missing = tuple(finding for finding in missing if finding.problem != "ungraded")
        return Gate(findings=missing)
    check_names(settings.target, [*summary.scores.judges, *further_figures()])
    checked, thin = list[CheckedCondition](), dict[str, JudgeSummary]()
    for condition in asked_conditions(settings):
        lacking = _thin(condition.name, summary)
        thin |= lacking
        figure = measure_condition(condition, results, summary)
        checked.append(check_condition(condition, figure, settings.confidence, thin=bool(lacking)))
    findings = (*missing, *(_thin_finding(*judge) for judge in thin.items()))
    if unheard := ungraded_personas(results, summary):
        names = tuple(title("persona", name) for name in unheard)
        text = _("customers without a graded conversation: {personas}", personas=names)
        findings = (*findings, Finding("personas", text))
    of_score = ("score", summary.scores.primary)
    gate = Gate(
        asked=settings.target,
        confidence=settings.confidence,
        decision="undecided",
        conditions=tuple(checked),
        findings=findings,
        score=next((c for c in checked if c.condition.name in of_score), None),
    )
    decisions = {checked_condition.decision for checked_condition in checked}
    if decisions == {"passed"} and not findings:
        return gate._replace(decision="passed")
    return gate._replace(decision="missed") if "missed" in decisions and not gate.incomplete else gate


def _missing(summary: Summary, settings: Settings) -> Iterator[Finding]:
    """What keeps the run from being judged at all.

    A deciding judge without evidence, conversations that are still to be held, failures of judges and of the
    simulated customer beyond the limit, and a run without a single grade. The bot's own failures are not
    among them: these are graded.
    """
    run, judges, allowed = summary.record, summary.scores.judges, f"{100 * MAX_FAILED:g}"
    if depends_on(summary.scores.primary, settings.target) and run.answers and not run.evidence:
        text = _(
            "nothing to hold the answers against: give the questions a reference, or have the bot return its"
            " passages"
        )
        yield Finding("evidence", text)
    if summary.status != "finished" or summary.finished < summary.planned:
        text = _("{finished} of {planned} conversations held (all required)")
        if summary.finished == summary.planned:
            text = _("all conversations were held, but the run was cut short before it was over")
        yield Finding("unfinished", text.format(finished=summary.finished, planned=summary.planned))
    # All judges together, or the one that decides: its failures must not hide among the others.
    deciding = [judges[summary.scores.primary]] if summary.scores.primary in judges else []
    share = max(
        _share(sum(judge.missing for judge in some), sum(judge.n for judge in some))
        for some in (judges.values(), deciding)
    )
    if share > MAX_FAILED + SAME:
        text = _("{share} % of the grades are missing ({allowed} % allowed)")
        yield Finding("missing", text.format(share=f"{100 * share:.1f}", allowed=allowed))
    if (share := _share(summary.customers.failed, summary.turns)) > MAX_FAILED + SAME:
        text = _("{share} % of the customer's messages failed ({allowed} % allowed)")
        yield Finding("simulator", text.format(share=f"{100 * share:.1f}", allowed=allowed))
    if summary.scores.score is None:
        yield Finding("ungraded", _("nothing was graded"))


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


def _thin(name: str, summary: Summary) -> dict[str, JudgeSummary]:
    """The judges of a figure that lack grades: below 90 % of them, or of the questions."""
    judges = ((judge, summary.scores.judges.get(judge)) for judge in _judges_of(name, summary))
    return {
        judge: counts
        for judge, counts in judges
        if counts
        and (counts.n < counts.due * MIN_GRADED - SAME or counts.cases < counts.cases_due * MIN_GRADED - SAME)
    }


def _thin_finding(name: str, judge: JudgeSummary) -> Finding:
    """That a judge lacks grades, and why."""
    why = (
        (_("undecided because reference and passages contradict each other {n}"), judge.undecided),
        (_("not answered in the log {n}"), judge.unanswered),
        (_("failed {n}"), judge.failed),
        (_("not reached {n}"), judge.unreached),
    )
    text = _(
        "{n} of {due} grades of {judge} ({why}), on {cases} of {cases_due} questions ({required} % required)",
        n=judge.n,
        due=judge.due,
        judge=title("judge", name),
        why=tuple(text.format(n=n) for text, n in why if n),
        cases=judge.cases,
        cases_due=judge.cases_due,
        required=f"{100 * MIN_GRADED:g}",
    )
    return Finding("thin", text)


def ungraded_personas(results: Results, summary: Summary) -> tuple[str, ...]:
    """The personas who took part and have no graded conversation.

    A target that was reached without the angry customer, whose conversations all failed, is not reached.
    """
    rows = summary.record.conversations
    played = {row.persona for row in rows}
    graded = {row.persona for row in rows if row.id in summary.scores.by_conversation}
    return tuple(who.id for who in results.personas if who.id in played - graded)
