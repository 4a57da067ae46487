"""The summary on a terminal."""

import io
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from simulator.core.document import Line, Report, Section, Table
from simulator.core.messages import _
from simulator.core.types import Language, Spending
from simulator.models.pricing import money
from simulator.report.painters.console import paint
from simulator.report.run import run_report
from tests.commands import Command
from tests.golden_files import compare
from tests.report.views import context_of
from tests.sample_runs import decide, rehearsed, summed
from tests.texts import said, terminal


def report_of(language: Language) -> Report:
    """The rehearsed run, with a target that it misses."""
    results = rehearsed(language)
    summary = summed(results)
    context = context_of(results, summary, decide(summary, 0.9), language, page="runs/x/report.html")
    return run_report(context)


@pytest.mark.parametrize("language", ["ja", "en"])
def test_it_looks_as_it_is_meant_to(language: Language) -> None:
    """Verdict, reddest questions, first fixes and the next step in forty lines of a hundred columns."""
    brief = terminal(report_of(language), view="brief")

    compare(f"report_console_{language}.txt", brief)
    assert len(brief.splitlines()) <= 40
    assert max(map(cell_len, brief.splitlines())) <= 100


def test_there_is_more_and_there_is_less() -> None:
    """--verbose prints every warning, table and total besides."""
    report = report_of("en")
    whole, brief = terminal(report, 120), terminal(report, 120, "brief")

    assert brief.count("\n!") == 4
    assert "! Further warnings: 1 (--verbose)" in brief
    assert whole.count("\n!") == 4
    for only in ("Angry customer  ", "Total of 5 RAG metrics", "Usage"):
        assert only in whole
        assert only not in brief


def test_a_terminal_that_cannot_write_japanese_is_not_a_crash() -> None:
    """What its encoding does not have becomes a question mark."""
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii", errors="strict")
    paint(report_of("ja"), Console(width=100, file=out))
    out.flush()

    assert b"70 / 100" in raw.getvalue()


@pytest.mark.parametrize("run", ["20261128-172438896-calm-9f58", f"runs/{'long-' * 20}name/report.html"])
def test_ids_and_paths_are_never_broken(run: str) -> None:
    """A note beside one is, where both do not fit; what is wider than the terminal is one line."""
    rows = [("2026/11/28 17:34", "他の設定、代役、途中終了", run)]
    table = Table.of("runs", ("日時", "備考", "実行"), rows, words=frozenset({1, 2}))
    line = Line(_("Page: {path}", path=run))
    shown = terminal(Report("", "ja", sections=(Section("runs", "", (line, table)),)), 64)

    assert shown.count(run) == 2
    assert all(cell_len(line) <= 64 for line in shown.splitlines() if run not in line)


def test_money_reads_well() -> None:
    """Small amounts keep their digits, unknown ones say so."""
    amounts = [said(money(Spending(cost_usd=amount))) for amount in (0.0, 0.0123, 12.3, None)]

    assert amounts == ["0.00 USD", "0.0123 USD", "12.30 USD", "cost unknown"]
    assert said(money(Spending(cost_usd=None, known_usd=0.0123))) == "at least 0.0123 USD"


@pytest.mark.parametrize(("language", "readme"), [("ja", "README.ja.md"), ("en", "README.md")])
def test_the_demo_prints_the_answer_and_the_fix_that_readme_shows(
    command: Command, root: Path, language: Language, readme: str
) -> None:
    """And the reason of every red answer to its end: what decides stands last in it."""
    shown = command("--persona", "angry", "--offline", "--limit", "6", "--language", language)
    printed = "".join(shown.out.split())
    block = (root / readme).read_text(encoding="utf-8").split("```text\n")[1].partition("```")[0]
    red = [score.reason for score in shown.run.scores if score.judge == "turn" and (score.raw or 5) < 3]

    lines = ["".join(line.split()).removesuffix("…") for line in block.replace("⋮", "").splitlines()]
    assert [line for line in lines if line not in printed] == []
    assert sum("".join(reason.split()) in printed for reason in red) >= 3
