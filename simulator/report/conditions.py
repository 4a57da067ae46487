"""The conditions of a target in words: what passed, a table, and how far counts can be relied on.

Imported where a run was asked for conditions: `--target "turn >= .9 and severity_major == 0"`, or a plain
target with `--confidence`. They are decided in `stats/conditions.py`. A row of the table:

    Condition    Verdict     Result   May lie between   Rests on
    Score ≥ 70   Undecided   74       62 and 83         63 (21 questions)

A condition on a count that allows some failures (`severity_major <= 3`) passes by what was seen: nobody can
be 95 % sure that the next run has no more. It therefore reads "Passed (count)", and a note says how far it
goes.
"""

from collections.abc import Iterator

from simulator.core.document import Cell, Table, Text, target_points
from simulator.core.messages import Message, _, ngettext, pgettext
from simulator.core.settings import MAJOR
from simulator.stats.conditions import condition_text, percent_up, range_text, value_text
from simulator.stats.gate import CheckedCondition, Gate

_DECISIONS: dict[str, Message] = {
    "passed": pgettext("of a target", "Passed"),
    "missed": pgettext("of a target", "Missed"),
    "undecided": _("Undecided"),
}


def verdict_subject(gate: Gate) -> Message:
    """What passed or was missed, and with which confidence: "2 of 3 conditions, 95 % sure".

    A plain target is named as it was set, with the condition that it was missed for where that is another
    one.
    """
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


def _is_counted(checked: CheckedCondition) -> bool:
    """Whether a condition that allows some failures passed by its count, which carries no certainty."""
    condition = checked.condition
    if condition.name == MAJOR:
        return checked.decision == "passed" and condition.threshold > 0
    return checked.decision == "passed" and condition.measure == "count" and condition.holds(1)


def conditions_table(gate: Gate) -> Table:
    """A row for each condition: verdict, figure, range and what it rests on."""

    def verdict_cell(checked: CheckedCondition) -> Cell:
        decision, by_count = checked.decision, gate.confidence is not None and _is_counted(checked)
        return Cell(
            text=_("Passed (count)") if by_count else _DECISIONS[decision],
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
    """Which condition was added by default, and which passed by its count, which carries no certainty."""
    for checked in gate.conditions:
        if checked.by_default:
            added = condition_text(checked)
            yield _("{condition} goes with every target; --max-major changes it.", condition=added)
        if gate.confidence is not None and _is_counted(checked):
            yield _(
                "{condition} is judged by what was seen in this run ({value}); being {sure} % sure does not"
                " extend to it: among other questions it may be up to {high} %.",
                condition=condition_text(checked),
                value=value_text(checked),
                sure=f"{100 * gate.confidence:.4g}",
                high="–" if checked.high is None else percent_up(checked.high),
            )
