"""The conditions of the gate as a table, where there is more than one."""

from simulator.core.translations import Words
from simulator.reports.gate_words import TEXT, condition_text, decision_text, range_text, rests_on, value_text
from simulator.reports.table import Cell, Table
from simulator.stats.gate import CheckedCondition, Gate


def conditions_table(gate: Gate, words: Words) -> Table | None:
    """A row for each condition: verdict, figure, range and what it rests on; None for a single one."""
    if len(gate.conditions) < 2:
        return None
    columns = ("condition", "result", "value", "range", "rests_on")
    return Table(
        name="conditions",
        title=TEXT(words.language, "title"),
        columns=tuple(TEXT(words.language, column) for column in columns),
        rows=tuple(_row(checked, gate.confidence, words) for checked in gate.conditions),
    )


def _row(checked: CheckedCondition, confidence: float | None, words: Words) -> tuple[Cell, ...]:
    added = TEXT(words.language, "by_default") if checked.by_default else ""
    return (
        Cell(text=condition_text(checked, words), note=added),
        Cell(text=decision_text(checked, words, confidence), red=checked.decision == "missed"),
        Cell(text=value_text(checked, words), number=checked.value),
        Cell(text=range_text(checked, words)),
        Cell(text=rests_on(checked, words)),
    )
