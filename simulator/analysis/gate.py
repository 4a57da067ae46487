"""Whether a run reached its target, and in words what is missing. The gate advises; people decide."""

from collections.abc import Sequence
from typing import Literal, get_args

from simulator.analysis.checked import MIN_CASES, Checked, Decision
from simulator.analysis.corrected import Corrected
from simulator.analysis.figures import JudgeSummary, Summary
from simulator.analysis.measured import major_cases
from simulator.core.settings import MAJOR, MAX_MAJOR
from simulator.core.types import Value

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
    corrected: Corrected | None = None
    asked: float | str | None = None
    confidence: float | None = None
    decision: Decision | None = None
    conditions: tuple[Checked, ...] = ()

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
    conditions: Sequence[Checked],
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


def _of_condition(checked: Checked) -> Finding:
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


def major_figures(checked: Checked) -> dict[str, str]:
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


def shown(checked: Checked) -> str:
    """The figure of a condition as text: a share by two decimals or more, a count as it is."""
    if checked.value is None:
        return "-"
    if checked.condition.measure == "share":
        return apart(checked.value, checked.condition.threshold)[0]
    return f"{checked.value:.4g}"


def _bounds(checked: Checked) -> dict[str, str]:
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


def _against_corrected(corrected: Corrected, target: float) -> list[Finding]:
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
