"""The summary on a terminal."""

import io
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from simulator.core.document import View
from simulator.core.types import Language, RedRules, Results, Spending
from simulator.models.pricing import money
from simulator.report.tables import rules_text
from simulator.stats.gate import decide
from tests.golden_files import compare
from tests.report.views import paint
from tests.sample_runs import rehearsed, summed
from tests.texts import said


def painted(
    results: Results, language: Language, target: float | None = 0.9, view: View = "brief", **console: Any
) -> str:
    """The summary as it is printed to a file of a given width."""
    summary = summed(results)
    out = io.StringIO()
    known: dict[str, Any] = {"width": 100, "force_terminal": False, "file": out}
    gate = decide(summary, target, 0.1)
    paint(summary, gate, results, language, Console(**known | console), "runs/x/report.html", view=view)
    return out.getvalue()


@pytest.mark.parametrize("language", ["ja", "en"])
def test_it_looks_as_it_is_meant_to(language: Language) -> None:
    """Verdict, reddest questions, first fixes and the next step in forty lines of a hundred columns."""
    brief = painted(rehearsed(language), language)

    compare(f"report_console_{language}.txt", brief)
    assert len(brief.splitlines()) <= 40
    assert max(map(cell_len, brief.splitlines())) <= 100


def test_there_is_more_and_there_is_less() -> None:
    """--verbose prints every warning, table and total besides, --quiet the score and the verdict."""
    whole, brief, verdict = (
        painted(rehearsed("en"), "en", view=view, width=120) for view in ("terminal", "brief", "verdict")
    )

    first = [line for line in brief.splitlines() if line.startswith(("Score", "Target"))]
    assert verdict.splitlines() == first
    assert brief.count("\n!") == 4
    assert whole.count("\n!") == 3 + int(brief.partition("Further warnings: ")[2][0])
    assert all(line in whole for line in verdict.splitlines())
    for only in ("Angry customer  ", "Total of 5 RAG metrics", "Statistics", "Usage"):
        assert only in whole
        assert only not in brief
    assert "tokenizer" not in whole  # settings are on the page alone


def test_a_terminal_that_cannot_write_japanese_is_not_a_crash() -> None:
    """What its encoding does not have becomes a question mark."""
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii", errors="strict")
    results = rehearsed("ja")
    summary = summed(results)
    paint(summary, decide(summary, 0.9, 0.1), results, "ja", Console(width=100, file=out))
    out.flush()

    assert b"70 / 100" in raw.getvalue()


def test_money_and_rules_read_well() -> None:
    """Small amounts keep their digits, unknown ones say so, rules name their limits."""
    amounts = [said(money(Spending(cost_usd=amount))) for amount in (0.0, 0.0123, 12.3, None)]

    assert amounts == ["0.00 USD", "0.0123 USD", "12.30 USD", "cost unknown"]
    assert said(money(Spending(cost_usd=None, known_usd=0.0123))) == "at least 0.0123 USD"
    assert said(rules_text(RedRules(groundedness=None))) == (
        "Low grade < 70, Not in the passages off, Incorrect <= 2,"
        " Unsupported claim < 100, Facts do not match < 100, Rule broken < 100, Not resolved < 50"
    )
