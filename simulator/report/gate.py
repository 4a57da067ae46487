"""The gate in words: its verdict, each of its conditions, and what a reader must know of them."""

import math
from collections.abc import Iterator
from typing import Any

from simulator.core.document import Cell, Table, Text, points, target_points
from simulator.core.messages import Message, _, ngettext, pgettext, sentences
from simulator.core.settings import FIGURES, MAJOR
from simulator.core.titles import Titles, title
from simulator.stats.figures import Summary
from simulator.stats.gate import MIN_QUESTIONS, CheckedCondition, Gate, major_texts

# Shares that are shown in percent; a score and the grades of judges are points out of 100.
_PERCENT = frozenset(name for name, measure in FIGURES.items() if measure == "share") - {"score"}
_SIGNS = {">=": "≥", "<=": "≤", "==": "=", ">": ">", "<": "<"}
_FIGURES: dict[str, Message] = {
    "score": _("Score"),
    "answered_correctly": _("Answered what it should"),
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
_DECISIONS: dict[str, Message] = {
    "passed": pgettext("of a target", "Passed"),
    "missed": pgettext("of a target", "Missed"),
    "undecided": _("Undecided"),
}
# The figures are those of `major_texts`.
MAJOR_TURNS = _(
    "{major} of {cases} questions have a major turn ({share} %); the target allows {allowed} % (--max-major)."
)
# By whether asking the same questions once more may settle a condition.
_REPEATS = {
    None: None,
    True: _("Asking the same questions more often may be enough."),
    False: _("Asking the same questions more often would not: it takes new ones."),
}


def verdict_text(gate: Gate) -> Message:
    """The verdict in one phrase: '判定保留（あと約 120 会話で決まります）'."""
    if gate.decision in {"passed", "missed"}:
        text = _("Passed ({what})") if gate.decision == "passed" else _("Missed ({what})")
        return text.format(what=_verdict_subject(gate))
    if gate.incomplete or gate.more is None:
        return _DECISIONS["undecided"]
    return _("Undecided (about {n} more conversations would settle it)", n=gate.more)


def _verdict_subject(gate: Gate) -> Message:
    """What passed or was missed, and with which confidence."""
    missed, n = [each for each in gate.conditions if each.decision == "missed"], len(gate.conditions)
    if gate.target is not None and not isinstance(gate.asked, str) and len(missed) == (not gate.passed):
        what = _("target {target}", target=target_points(gate.target))
        if missed and not missed[0].condition.rises:
            what = condition_text(missed[0])
    elif gate.passed:
        what = _("all {n} conditions", n=n)
    else:
        what = _("{missed} of {n} conditions", missed=len(missed), n=n)
    if gate.confidence is None:
        return what
    return _("{what}, {sure} % sure", what=what, sure=f"{100 * gate.confidence:.4g}")


def condition_text(checked: CheckedCondition) -> Message:
    """A condition as people read it: 'スコア ≥ 90'."""
    condition = checked.condition
    name = _FIGURES.get(condition.name) or title("judge", condition.name)
    amount = _amount(checked, condition.threshold)
    return _("{name} {sign} {amount}", name=name, sign=_SIGNS[condition.comparison], amount=amount)


def _decision_text(checked: CheckedCondition, confidence: float | None) -> Message:
    """The verdict on a condition; under a `confidence`, whether it rests on a count alone."""
    if confidence is not None and _is_counted(checked):
        return _("Passed (count)")
    return _DECISIONS[checked.decision]


def _is_counted(checked: CheckedCondition) -> bool:
    """Whether a condition that allows some failures passed by its count, which carries no certainty."""
    condition = checked.condition
    if condition.name == MAJOR:
        return checked.decision == "passed" and condition.threshold > 0
    return checked.decision == "passed" and condition.measure == "count" and condition.holds(1)


def _value_text(checked: CheckedCondition) -> Text:
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
    return _("{n} %", n=points) if checked.condition.name in _PERCENT else points


def _range_text(checked: CheckedCondition) -> Text:
    """The range of a figure, or the upper bound of a count of turns; empty where neither is known."""
    measure, threshold = checked.condition.measure, checked.condition.threshold
    if checked.low is None or checked.high is None:
        return ""
    if measure == "count":
        return _("up to {high} % of turns", high=_percent_up(checked.high))
    against = threshold if checked.condition.rises else None
    low, high = points(checked.low, against=against), points(checked.high, against=against)
    if measure == "seconds":
        return _("within {seconds} s: {low}–{high} %", seconds=f"{threshold:g}", low=low, high=high)
    return _percent(checked, _("{low}–{high}", low=low, high=high))


def _percent_up(share: float) -> str:
    """A share in percent, rounded up."""
    return f"{math.ceil(1000 * share - 1e-6) / 10:.3g}"


def conditions_table(gate: Gate) -> Table | None:
    """A row for each condition: verdict, figure, range and what it rests on; None for a single one."""
    if len(gate.conditions) < 2:
        return None
    columns = (_("Condition"), _("Verdict"), _("Result"), _("May lie between"), _("Rests on"))
    rows = [
        (
            Cell(text=condition_text(checked), note=_("added by default") if checked.by_default else ""),
            Cell(
                text=_decision_text(checked, gate.confidence),
                red=checked.decision == "missed",
                tone="good" if checked.decision == "passed" else "alarm",
            ),
            Cell(text=_value_text(checked), number=checked.value),
            _range_text(checked),
            _basis_text(checked),
        )
        for checked in gate.conditions
    ]
    return Table.of("conditions", columns, rows, _("What it takes to pass"))


def _basis_text(checked: CheckedCondition) -> Text:
    """'480（120 質問）': the number of values behind a figure, and of their questions."""
    text = ngettext("{values} ({n} question)", "{values} ({n} questions)", n=checked.cases, values=checked.n)
    return text if checked.cases else ""


def gate_alarms(gate: Gate, titles: Titles) -> Iterator[Message]:
    """The conditions that did not pass, and customers who are missing."""
    yield from (_condition_note(checked) for checked in gate.conditions if checked.decision != "passed")
    for finding in gate.findings:
        if finding.problem == "personas":
            names = [titles("persona", name) for name in finding.figures["personas"].split(", ")]
            yield _("Customers who took part without a graded conversation: {personas}.", personas=names)


def gate_remarks(summary: Summary, gate: Gate) -> Iterator[Message]:
    """What a reader must know of the gate besides: that it stopped the run, what its counts rest on."""
    if summary.spared:
        yield _(
            "Stopped after {held} of {planned} conversations because the answer was certain; that saved"
            " {spared} conversations (about {share} % of calls, tokens and cost).",
            held=summary.planned - summary.spared,
            planned=summary.planned,
            spared=summary.spared,
            share=f"{100 * summary.spared / summary.planned:.0f}",
        )
    for checked in gate.conditions:
        yield from _count_notes(checked, gate)
    if summary.spared and gate.confidence is not None:
        yield _(
            "The gate was looked at on the way, so the ranges are a little wider (a wrong pass happens in at"
            " most {error} % of runs).",
            error=f"{100 * (1 - gate.confidence):.3g}",
        )


def _condition_note(checked: CheckedCondition) -> Message:
    """Why a condition has not passed."""
    values: dict[str, Any] = {
        "condition": condition_text(checked),
        "value": _value_text(checked),
        "range": _range_text(checked),
    }
    if checked.decision == "missed" and checked.condition.name == MAJOR:
        return MAJOR_TURNS.format(**major_texts(checked))
    if checked.decision == "missed":
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
        return sentences(text.format(**values), _REPEATS[checked.more.repeats])
    return text.format(**values)


def _count_notes(checked: CheckedCondition, gate: Gate) -> Iterator[Message]:
    """That a condition was added by default, and how far a count that passed can be relied on."""
    condition, is_major = condition_text(checked), checked.condition.name == MAJOR
    if checked.by_default:
        yield _("{condition} goes with every target; --max-major changes it.", condition=condition)
    counts_turns = checked.condition.measure == "count" or is_major
    if checked.decision != "passed" or not counts_turns or checked.high is None:
        return
    high = _percent_up(checked.high)
    seen = {"condition": condition, "turns": checked.n, "cases": checked.cases, "high": high}
    if not _is_counted(checked):
        text = _(
            "{condition} is what was seen in {turns} turns ({cases} questions); among other questions it may"
            " still be up to {high} % of turns."
        )
        if is_major:
            text = _(
                "{condition} is what was seen in {cases} questions; among others it may still be up to"
                " {high} %."
            )
        yield text.format(**seen)
    elif gate.confidence is not None:
        judged = _(
            "{condition} is judged by what was seen in this run ({value}); being {sure} % sure does not"
            " extend to it.",
            condition=condition,
            value=_value_text(checked),
            sure=f"{100 * gate.confidence:.4g}",
        )
        share = _(
            "Among other questions it may be up to {high} % of turns (from {turns} turns, {cases} questions)."
        )
        if is_major:
            share = _("Among other questions it may be up to {high} % (from {cases} questions).")
        yield sentences(judged, share.format(**seen))
