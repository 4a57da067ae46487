"""The gate in one line: the word, what came of the run, and what was allowed.

    Passed: score 92 (90 required)
    Failed: score 70 (90 required); 22 % of the questions have a serious error (20 % allowed)
    Undecided: 2 of 40 grades of Overall (90 % required)
    Trial: score 95 (90 required)

Every view of a run shows this line, and its word alone where there is no room. A trial is a run without a
model: whatever its figures, nothing is passed or failed by it.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from simulator.core.document import Text, Tone, points, target_points
from simulator.core.messages import Message, _, ngettext, pgettext
from simulator.report.conditions import WORDS, is_sure, phrases
from simulator.results.findings import Finding, Gate, Problem

TRIAL = pgettext("a verdict", "Trial")
# What keeps a gate from a decision, in a phrase; numbers are those of the finding's own sentence.
_OPEN: Mapping[Problem, Message] = {
    "evidence": _("nothing to hold the answers against"),
    "ungraded": _("nothing was graded"),
    "thin": _("{n} of {due} grades of {judge}, on {cases} of {cases_due} questions ({share} % required)"),
    "few": _("questions with a grade: {cases} ({least} required)"),
    "judge": _("{share} % of the grades failed ({allowed} % allowed)"),
    "unreached": _("{share} % of the grades are missing ({allowed} % allowed)"),
    "simulator": _("{share} % of the customer's messages failed ({allowed} % allowed)"),
    "unfinished": _("{finished} of {planned} conversations held (all required)"),
    "running": _("{finished} of {planned} conversations held (all required)"),
    "simulators": _("it depends on the model that plays the customers"),
    "corrected_unsure": _("corrected score {score}, 95 % interval {low} to {high} ({target} required)"),
}
# So many conditions are named in the line, others are counted.
_MOST = 3


def decision_of(gate: Gate) -> str | None:
    """`passed`, `missed`, `undecided`, or None without a target; a run that is incomplete is undecided."""
    return "undecided" if gate.decision is not None and gate.incomplete else gate.decision


def verdict_word(gate: Gate, *, trial: bool = False) -> Message:
    """The verdict in a word: Passed, Failed, Undecided, Trial; or that no target was set."""
    decision = decision_of(gate)
    return TRIAL if trial and decision else WORDS[decision]


def verdict_tone(gate: Gate, *, trial: bool = False) -> Tone:
    """Colour is for what may be relied on: a trial has none."""
    decision = decision_of(gate)
    if trial or decision is None:
        return ""
    return "good" if decision == "passed" else "alarm"


def verdict(gate: Gate, score: float | None, *, trial: bool = False) -> Message:
    """The gate in one line, with the figure that decided and what was asked of it.

    `score` (0..1) is the run's own, `trial` says that no model took part. What else the gate found stands in
    the notes; of several reasons for a miss, the score comes first, then too many grave questions.
    """
    word = verdict_word(gate, trial=trial)
    parts = list(_phrases(gate, score))
    if not parts:
        return word
    shown, more = parts[:_MOST], len(parts) - _MOST
    what = _("{parts:clauses}", parts=tuple(shown))
    if more > 0:
        what = ngettext(
            "{what}; and {n} more condition", "{what}; and {n} more conditions", n=more, what=what
        )
    asks_sure = gate.confidence is not None and decision_of(gate) != "undecided"
    if gate.conditions and asks_sure and is_sure(gate):
        word = _("{word} ({sure} % sure)", word=word, sure=f"{100 * (gate.confidence or 0):.4g}")
    return _("{word}: {what}", word=word, what=what)


def _phrases(gate: Gate, score: float | None) -> Iterator[Text]:
    """What decided, most important first; nothing without a target."""
    if gate.decision is None:
        return
    if decision_of(gate) == "undecided":
        # What was not graded, or not held, comes before what is too close to call.
        for finding in gate.findings:
            if finding.problem in _OPEN:
                yield _OPEN[finding.problem].format(**_values(finding))
    if gate.conditions:
        if not (gate.incomplete or any(finding.problem == "simulators" for finding in gate.findings)):
            yield from phrases(gate)
        return
    if decision_of(gate) == "undecided" or gate.target is None:
        return
    problems = {finding.problem: finding for finding in gate.findings}
    major = problems.get("major")
    if gate.passed or not major or problems.keys() & {"below", "corrected_below"}:
        yield _score(gate, score)
    if major:
        shares = (f"{float(_values(major)[name]):g}" for name in ("share", "allowed"))
        yield major_phrase(*(_("{n} %", n=share) for share in shares))


def _score(gate: Gate, score: float | None) -> Message:
    """The score that decided, as people corrected it if they did, and the target."""
    required = target_points(gate.target or 0.0)
    if gate.corrected is None:
        return _(
            "score {score} ({target} required)", score=points(score, against=gate.target), target=required
        )
    ends = (gate.corrected.score, *gate.corrected.interval)
    corrected, low, high = (points(value, against=gate.target) for value in ends)
    figures = {"score": corrected, "low": low, "high": high, "target": required}
    return _OPEN["corrected_unsure"].format(**figures)


def major_phrase(share: Text, allowed: Text) -> Message:
    """How many questions have a serious error, and how many may."""
    return _(
        "{share} of the questions have a serious error ({allowed} allowed)", share=share, allowed=allowed
    )


def _values(finding: Finding) -> dict[str, Any]:
    return dict(finding.message.values)
