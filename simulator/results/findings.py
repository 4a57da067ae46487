"""What the gate can find in a run, in words, and the verdict that is made of it.

`gate_of` (results/gate.py) puts a `Gate` together of them; reports draw it, `--json` prints it.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from simulator.core.messages import Message, _
from simulator.core.settings import COVERAGE, MAX_FAILED, MIN_GRADED, Condition
from simulator.core.titles import title
from simulator.core.types import CONVERSATION, EXPECTATIONS, RISK, Value
from simulator.results.figures import Summary, rounded
from simulator.results.red import worst_severity

Decision = Literal["passed", "missed", "undecided"]
# Why a condition could not be decided: too close, or too little to go by. Without repeats pass^k is missed.
Lack = Literal["close", "few", "nothing", "ungraded", "thin", "repeats", "unasked", "standing", ""]
# Judges whose low grades make a turn red, whichever decides about the score.
_REDDENERS = ("groundedness", "claims", "facts", RISK, CONVERSATION, EXPECTATIONS)
# On fewer questions nothing is decided, whatever they say: five of five are at least 0.55 at 95 %, four 0.47.
MIN_QUESTIONS = 5
# Figures that do not depend on a judge: a target on these alone needs no evidence.
UNJUDGED = frozenset({"failed", COVERAGE, "p95_seconds", "first_token_p95_seconds", "cost_usd"})
# Scores are means of fifths: what differs by less is the same number in floating point.
SAME = 1e-9
# What the gate can find.
Problem = Literal[
    "below", "unsure", "ungraded", "judge", "unreached", "simulator", "unfinished", "running", "evidence",
    "condition", "personas", "simulators", "thin",
]  # fmt: skip
# What the gate can find, in words; a score, its interval and the target are points of 100.
_FINDINGS: Mapping[Problem, Message] = {
    "ungraded": _("Nothing was graded, so there is no score."),
    "thin": _(
        "{judge} has {n} of {due} grades ({why}), for {cases} of {cases_due} questions; a verdict takes"
        " {share} % of both."
    ),
    "unsure": _(
        "{score} reaches the target {target}, but the 95 % interval begins at {low}: more questions"
        " would settle it."
    ),
    "evidence": _(
        "The judge {judge} had nothing to hold the answers against: no reference, no passages, no"
        " facts. Give the questions a reference, or have the bot return its passages."
    ),
    "judge": _("Failed grades: {failed} of {of} ({share} %); {allowed} % are tolerated."),
    "unreached": _(
        "Grades that are missing: {failed} of {of} ({share} %), {unreached} of them not reached; {allowed} %"
        " are tolerated."
    ),
    "simulator": _(
        "Failed messages of the simulated customer: {failed} of {of} ({share} %); {allowed} % are tolerated."
    ),
    "unfinished": _("The run stopped after {finished} of {planned} conversations."),
    "running": _("The run is not finished: {finished} of {planned} conversations."),
    "personas": _("Customers who took part without a graded conversation: {personas}."),
    "simulators": _("It depends on the model that plays the customers: {parts}."),
}


class CheckedCondition(Value):
    """A condition with its figure (`n` values of `cases` questions), its one-sided bounds, and its verdict.

    The bounds are those of the figure, but of seconds those of the share that is quick enough, and of a
    count those of the share of turns. `value` is None where nothing was measured; `failed` are values that
    should be there and are not; `lack` says why nothing was decided.
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
    of_score: bool = False

    def as_json(self) -> dict[str, Any]:
        """The object that `--json` prints of it, figures rounded to 4 decimals."""
        # No answer is slower than any, which JSON has no number for.
        figures = (self.value, self.low, self.high)
        value, low, high = (None if figure is None or math.isinf(figure) else figure for figure in figures)
        shown = {
            "condition": self.condition.text,
            "decision": self.decision,
            "value": value,
            "bounds": [low, high],
            "n": self.n,
            "cases": self.cases,
            "by_default": self.by_default,
        }
        return rounded(shown)  # type: ignore[no-any-return]


class Finding(Value):
    """One thing the gate found, in a sentence."""

    problem: Problem
    message: Message


class Gate(Value):
    """The verdict: `passed` is None without a target, and False as long as the run is incomplete.

    `incomplete` says that judge, simulator or an interruption left too much ungraded to decide.
    A passed gate may still have a reason: the interval of the score reaches below the target.

    `target` is that of the score (0..1), `asked` what the user wrote: the same, or the text of conditions.
    `confidence` is how sure the gate had to be, `decision` its verdict, `conditions` what it rests on.
    """

    target: float | None
    passed: bool | None
    incomplete: bool = False
    findings: tuple[Finding, ...] = ()
    asked: float | str | None = None
    confidence: float | None = None
    decision: Decision | None = None
    conditions: tuple[CheckedCondition, ...] = ()

    @property
    def reasons(self) -> tuple[str, ...]:
        """What is missing or in doubt, in English sentences."""
        return tuple(str(finding.message) for finding in self.findings)

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The one-sided bounds of the score (0..1) that decided with a confidence; None where none did."""
        for checked in self.conditions if self.confidence is not None else ():
            if checked.of_score and checked.low is not None and checked.high is not None:
                return checked.low, checked.high
        return None


def major_cases(summary: Summary) -> dict[str, bool]:
    """The questions that were asked, each with whether a turn of it has a major mark.

    By question, not by turn: three customers who hear the same grave mistake have found one.
    """
    major = {turn.case for turn in summary.red.answers if worst_severity(turn.marks) == "major"}
    return {case.case: case.case in major for case in summary.scores.cases if case.turns}


def finding(problem: Problem, **figures: object) -> Finding:
    """What was found, in words."""
    return Finding(problem=problem, message=_FINDINGS[problem].format(**figures))


def judges_of(name: str, summary: Summary) -> tuple[str, ...]:
    """The judges whose grades a figure of a target is made of; empty where it needs none.

    Red turns are those of the deciding judge and of others that have a rule of their own.
    """
    if name in summary.scores.judges:
        return (name,)
    if name in UNJUDGED or name.endswith("_correctly"):
        return ()
    others = () if name == "score" else (judge for judge in _REDDENERS if judge in summary.scores.judges)
    return tuple(dict.fromkeys((summary.scores.primary, *others)))


def too_little(summary: Summary, judges: Iterable[str]) -> list[Finding]:
    """A finding for each of these judges that lacks grades: below 90 % of them, or of the questions."""
    findings = []
    for name in judges:
        judge = summary.scores.judges.get(name)
        if judge is None or (
            judge.n >= judge.due * MIN_GRADED - SAME and judge.cases >= judge.cases_due * MIN_GRADED - SAME
        ):
            continue
        counts = {
            _("undecided because reference and passages contradict each other {n}"): judge.undecided,
            _("not answered in the log {n}"): judge.unanswered,
            _("failed {n}"): judge.failed,
            _("not reached {n}"): judge.unreached,
        }
        why = tuple(text.format(n=n) for text, n in counts.items() if n)
        figures = judge.model_dump(include={"n", "cases", "cases_due"}) | {"due": judge.due}
        findings.append(
            finding("thin", judge=title("judge", name), why=why, share=f"{100 * MIN_GRADED:g}", **figures)
        )
    return findings


def missing_findings(summary: Summary, *, blind: bool) -> list[Finding]:
    """What keeps the run from being judged at all.

    A judge without evidence (`blind`), conversations that are still to be held, failures of judges and of the
    simulated customer beyond the limit, and a run without a single grade. The bot's own failures are not
    among them: these are graded.
    """
    findings = []
    if blind:
        findings.append(finding("evidence", judge=summary.scores.primary))
    done = {"finished": summary.finished, "planned": summary.planned}
    if summary.status == "running":
        findings.append(finding("running", **done))
    elif summary.status != "finished" or summary.finished < summary.planned:
        findings.append(finding("unfinished", **done))
    # All judges together, or the one that decides: its failures must not hide among the others.
    judges, lost = summary.scores.judges, summary.customers.failed
    deciding = [judges[summary.scores.primary]] if summary.scores.primary in judges else []
    counts: list[tuple[Problem, int, int, int]] = []
    for some in (judges.values(), deciding):
        failed, unreached = sum(j.failed for j in some), sum(j.unreached for j in some)
        graded = sum(j.n for j in some)
        counts.append(("judge", failed, graded + failed, 0))
        if unreached:
            counts.append(("unreached", failed + unreached, graded + failed + unreached, unreached))
    counts.append(("simulator", lost, summary.turns + lost, 0))
    for problem, failed, of, unreached in counts:
        if failed > of * MAX_FAILED + SAME and problem not in {finding.problem for finding in findings}:
            shares = {"share": f"{100 * failed / of:.1f}", "allowed": f"{100 * MAX_FAILED:g}"}
            findings.append(finding(problem, failed=failed, of=of, unreached=unreached, **shares))
    if summary.scores.score is None:
        findings.append(finding("ungraded"))
    return findings
