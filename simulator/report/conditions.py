"""The conditions of a target in words: what passed, a table, and how far counts can be relied on.

The table is shown where several were asked for (`--target "turn >= .9 and severity_major == 0"`), or a
`--confidence`. They are decided in `results/conditions.py`. A row:

    Condition    Verdict     Result   May lie between   Rests on
    Score ≥ 70   Undecided   74       62 and 83         63 (21 questions)

A condition on a count that allows some failures (`severity_major <= 3`) passes by what was seen: nobody can
be 95 % sure that the next run has no more. It therefore reads "Passed (count)", and a note says how far it
goes.
"""

from collections.abc import Iterator, Mapping

from simulator.core.document import Cell, Table, Text
from simulator.core.messages import Message, _, ngettext, pgettext
from simulator.core.settings import CERTIFIED, MAJOR
from simulator.results.conditions import (
    condition_name,
    condition_text,
    percent_up,
    range_text,
    threshold_text,
    value_text,
)
from simulator.results.findings import MIN_QUESTIONS, CheckedCondition, Gate

# The word of a decision, of the gate's as well.
WORDS: Mapping[str | None, Message] = {
    "passed": pgettext("a verdict", "Passed"),
    "missed": pgettext("a verdict", "Failed"),
    "undecided": pgettext("a verdict", "Undecided"),
    None: _("No target was set"),
}
_LIMITS: dict[str, Message] = {
    ">=": _("{amount} required"),
    ">": _("more than {amount} required"),
    "<=": _("{amount} allowed"),
    "<": _("less than {amount} allowed"),
    "==": _("{amount} allowed"),
}
# What these came to, in words of their own.
_PHRASES: Mapping[str, Message] = {
    MAJOR: _("{value} of the questions have a serious error ({limit})"),
    CERTIFIED: _("the judge is {value}"),
}


def phrases(gate: Gate) -> Iterator[Message]:
    """What the conditions that decided came to, and what was asked: 'score 74 (90 required)'.

    The limit that goes with every target is named where it was missed.
    """
    for checked in gate.conditions:
        is_asked = not (checked.by_default and (gate.decision == "passed" or checked.lack == "few"))
        if checked.decision == gate.decision and checked.lack != "thin" and is_asked:
            yield _phrase(checked)


def is_sure(gate: Gate) -> bool:
    """Whether what decided carries the confidence that was asked for: what was only counted does not."""
    return any(
        checked.decision == gate.decision and not checked.condition.is_fact for checked in gate.conditions
    )


def _phrase(checked: CheckedCondition) -> Message:
    """One condition with its result."""
    condition, limit, lack = checked.condition, _limit(checked), checked.lack
    name = _("score") if condition.name == "score" else condition_name(condition)
    if checked.value is None or lack == "nothing":
        return _("{name} not known ({limit})", name=name, limit=limit)
    if lack == "few":
        return _(
            "{name}: questions {cases} ({least} required)",
            name=name,
            cases=checked.cases,
            least=MIN_QUESTIONS,
        )
    if lack in ("ungraded", "repeats"):
        of = checked.n + checked.failed
        return _("{name}: values missing {failed} of {of}", name=name, failed=checked.failed, of=of)
    value, between = value_text(checked), range_text(checked)
    if own_words := _PHRASES.get(condition.name):
        return own_words.format(value=value, limit=limit)
    if checked.decision == "undecided" and between:
        return _(
            "{name} {value}, perhaps between {range} ({limit})",
            name=name,
            value=value,
            range=between,
            limit=limit,
        )
    return _("{name} {value} ({limit})", name=name, value=value, limit=limit)


def _limit(checked: CheckedCondition) -> Message:
    """What is asked of a figure: 90 required, at most 5 % allowed."""
    return _LIMITS[checked.condition.comparison].format(amount=threshold_text(checked))


def _is_counted(checked: CheckedCondition) -> bool:
    """Whether a condition that allows some failures passed by its count, which carries no certainty."""
    condition = checked.condition
    if condition.name == MAJOR:
        return checked.decision == "passed" and condition.threshold > 0
    return checked.decision == "passed" and condition.measure == "count" and condition.holds(1)


# The same where no model judged: what holds passes nothing.
_TRIED: Mapping[str, Message] = {
    "passed": pgettext("a verdict", "Trial: holds"),
    "missed": pgettext("a verdict", "Trial: does not hold"),
    "undecided": pgettext("a verdict", "Trial: undecided"),
}


def is_tabled(gate: Gate) -> bool:
    """Whether the conditions have a table: a single one is the target itself, and stands in the verdict."""
    return gate.confidence is not None or sum(not checked.by_default for checked in gate.conditions) > 1


def conditions_table(gate: Gate, *, trial: bool = False) -> Table:
    """A row for each condition: verdict, figure, range and what it rests on; without colour of a trial."""

    def verdict_cell(checked: CheckedCondition) -> Cell:
        if trial:
            return Cell(text=_TRIED[checked.decision])
        decision, by_count = checked.decision, gate.confidence is not None and _is_counted(checked)
        return Cell(
            text=_("Passed (count)") if by_count else WORDS[decision],
            red=decision == "missed",
            tone="good" if decision == "passed" else "alarm",
        )

    def basis(checked: CheckedCondition) -> Text:
        """'480（120 質問）': the number of values behind a figure, and of their questions."""
        n, values = checked.cases, checked.n
        return (
            ngettext("{values} ({n} question)", "{values} ({n} questions)", n=n, values=values) if n else ""
        )

    return Table.listing(
        "conditions",
        gate.conditions,
        {
            _("Condition"): lambda checked: Cell(
                text=condition_text(checked), note=_("added by default") if checked.by_default else ""
            ),
            _("Verdict"): verdict_cell,
            _("Result"): value_text,
            _("May lie between"): range_text,
            _("Rests on"): basis,
        },
        _("What it takes to pass"),
    )


def count_notes(gate: Gate) -> Iterator[Message]:
    """Which condition passed by its count, which carries no certainty."""
    for checked in gate.conditions:
        if gate.confidence is not None and _is_counted(checked):
            yield _(
                "{condition} is judged by what was seen in this run ({value}); being {sure} % sure does not"
                " extend to it: among other questions it may be up to {high} %.",
                condition=condition_text(checked),
                value=value_text(checked),
                sure=f"{100 * gate.confidence:.4g}",
                high="–" if checked.high is None else percent_up(checked.high),
            )
