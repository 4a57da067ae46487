"""The gate in one line: the word, what came of the run, and what was allowed.

    Passed: score 92 (90 required)
    Failed: score 70 (90 required); 22 % of the questions have a serious error (20 % allowed)
    Undecided: 2 of 40 grades of Overall (90 % required)
    Trial: score 95 (90 required)

Every view of a run shows this line, and its word alone where there is no room. A trial is a run without a
model: whatever its figures, nothing is passed or failed by it.
"""

from collections.abc import Iterator, Mapping

from simulator.core.document import Tone
from simulator.core.messages import Message, _, ngettext, pgettext
from simulator.report.conditions import WORDS, is_sure, phrases
from simulator.results.findings import Gate, Problem

TRIAL = pgettext("a verdict", "Trial")
# What keeps a gate from a decision, in a phrase; numbers are those of the finding's own sentence.
_OPEN: Mapping[Problem, Message] = {
    "evidence": _("nothing to hold the answers against"),
    "ungraded": _("nothing was graded"),
    "thin": _("{n} of {due} grades of {judge}, on {cases} of {cases_due} questions ({share} % required)"),
    "judge": _("{share} % of the grades failed ({allowed} % allowed)"),
    "unreached": _("{share} % of the grades are missing ({allowed} % allowed)"),
    "simulator": _("{share} % of the customer's messages failed ({allowed} % allowed)"),
    "unfinished": _("{finished} of {planned} conversations held (all required)"),
    "running": _("{finished} of {planned} conversations held (all required)"),
    "simulators": _("it depends on the model that plays the customers"),
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


def verdict(gate: Gate, *, trial: bool = False) -> Message:
    """The gate in one line, with the figures that decided and what was asked of them.

    `trial` says that no model took part. What else the gate found stands in the notes.
    """
    word = verdict_word(gate, trial=trial)
    parts = tuple(_phrases(gate))
    if not parts:
        return word
    shown, more = parts[:_MOST], len(parts) - _MOST
    what = _("{parts:clauses}", parts=shown)
    if more > 0:
        what = ngettext(
            "{what}; and {n} more condition", "{what}; and {n} more conditions", n=more, what=what
        )
    if gate.confidence is not None and decision_of(gate) != "undecided" and is_sure(gate):
        word = _("{word} ({sure} % sure)", word=word, sure=f"{100 * gate.confidence:.4g}")
    return _("{word}: {what}", word=word, what=what)


def _phrases(gate: Gate) -> Iterator[Message]:
    """What decided, most important first; nothing without a target."""
    if decision_of(gate) == "undecided":
        # What was not graded, or not held, comes before what is too close to call.
        for finding in gate.findings:
            if finding.problem in _OPEN:
                yield _OPEN[finding.problem].format(**dict(finding.message.values))
    if not (gate.incomplete or any(finding.problem == "simulators" for finding in gate.findings)):
        yield from phrases(gate)
