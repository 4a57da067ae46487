"""A run as tables of cells."""

import json

from simulator.core.document import Cell, Table
from simulator.core.titles import title
from simulator.core.types import Language, RedRules, Results
from simulator.report.tables import money, personas_table, rules_text, spending_table, spent_by
from simulator.stats.figures import Summary
from simulator.stats.summary import summarise
from tests.golden_files import compare
from tests.sample_runs import JUDGES, hostile, rehearsed
from tests.texts import said


def figures(results: Results) -> Summary:
    """The summary of a run."""
    return summarise(results, rules=RedRules(), judges=JUDGES, seed=42)


def cell_values(cell: Cell, language: Language) -> dict[str, object]:
    """What a cell holds that is not empty."""
    texts = {"text": said(cell.text, language), "note": said(cell.note, language)}
    return cell.model_copy(update=texts).model_dump(exclude_defaults=True)


def as_text(language: Language, *tables: Table) -> str:
    """Tables as readable JSON, without what is empty."""
    shown = [
        {
            "name": table.name,
            "columns": [said(column, language) for column in table.columns],
            "rows": [[cell_values(cell, language) for cell in row] for row in table.rows],
        }
        for table in tables
    ]
    return json.dumps(shown, ensure_ascii=False, indent=1) + "\n"


def test_tables_look_as_they_are_meant_to() -> None:
    """Conversations, personas and usage, in Japanese and English."""
    for language in ("ja", "en"):
        results = rehearsed(language)
        summary = figures(results)
        tables = (
            personas_table(summary, summary.titles(language)),
            spending_table("usage", "", spent_by(summary)),
        )
        compare(f"report_tables_{language}.json", as_text(language, *tables))


def test_a_run_of_nothing_has_empty_tables() -> None:
    """No rows, the fixed columns, no crash."""
    empty = rehearsed().model_copy(update={"conversations": (), "scores": (), "spending": {}})
    summary = figures(empty)

    assert spending_table("usage", "", spent_by(summary)).rows == ()
    assert personas_table(summary, title).rows[0][1].text == "–"


def test_cells_hold_no_control_codes() -> None:
    """Sinks get clean text, whoever wrote it."""
    results = hostile("a\x1b[31m\x00\x07b")
    summary = summarise(results, rules=RedRules(), judges=("turn",), seed=1)
    tables = (personas_table(summary, title), spending_table("usage", "", spent_by(summary)))

    shown = as_text("en", *tables)

    assert "\\u00" not in shown
    assert '"ab"' in shown


def test_money_and_rules_read_well() -> None:
    """Small amounts keep their digits, unknown ones say so, rules name their limits."""
    amounts = [said(money(amount)) for amount in (0.0, 0.0123, 12.3, None)]

    assert amounts == ["0.00 USD", "0.0123 USD", "12.30 USD", "price unknown"]
    assert said(rules_text(RedRules(groundedness=None))) == (
        "Low grade < 70, Not in the passages off, Incorrect <= 2,"
        " Unsupported claim < 100, Facts do not match < 100"
    )
