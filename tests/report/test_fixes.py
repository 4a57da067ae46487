"""What to fix, as people see it: terminal, page, worksheet, Markdown."""

import io

from rich.console import Console

from simulator.core.types import Language, RedRules, Results
from simulator.diagnosis.evidence import RootCause
from simulator.diagnosis.recommendations import Improvements, improvements
from simulator.report.context import ReportContext
from simulator.report.fixes import fixes_report
from simulator.report.painters.console import paint
from simulator.report.painters.markdown import markdown
from simulator.report.worksheets import worksheets
from simulator.stats.gate import decide
from simulator.stats.summary import summarise
from tests.report.views import context_of, render
from tests.sample_runs import JUDGES, rehearsed


def report_context(
    results: Results, language: Language = "ja", improvements: Improvements | None = None
) -> ReportContext:
    """All that reports are made from."""
    summary = summarise(results, rules=RedRules(), judges=JUDGES, seed=42)
    return context_of(results, summary, decide(summary, None, 0.05), language, improvements=improvements)


def spoilt() -> ReportContext:
    """A run in which every other red turn is the simulated customer's fault."""
    results = rehearsed("ja")
    summary = report_context(results).summary
    causes = [
        RootCause(
            conversation=red.conversation, turn=red.turn, evidence="なぜなら。",
            cause="customer" if number % 2 else "ignored", articles=(f"a{number}",),
        )
        for number, red in enumerate(summary.reddest)
    ]  # fmt: skip
    return report_context(results, improvements=improvements(results, summary, causes))


def found(known: ReportContext) -> Improvements:
    """What there is to fix: some turns are red."""
    assert known.improvements
    return known.improvements


def printed(known: ReportContext, width: int = 80, top: int = 10) -> str:
    """The list as a terminal of that width shows it."""
    out = io.StringIO()
    report = fixes_report(found(known), "run-1", known.summary, known.language, top)
    paint(report, Console(file=out, width=width))
    return out.getvalue()


def written(known: ReportContext) -> str:
    """The list as Markdown."""
    return markdown(fixes_report(found(known), "run-1", known.summary, known.language))


def page(known: ReportContext) -> str:
    """The page with what to fix."""
    return render(known.results, known.summary, known.gate, known.language, improvements=known.improvements)


def row(known: ReportContext, at: int = 0) -> dict[str, str]:
    """A row of the worksheet, by column."""
    sheet = next(sheet for sheet in worksheets(known) if sheet.name == "fixes")
    return {key: cell.text for key, cell in sheet.rows[at].cells.items()}


def test_faults_of_the_customer_stand_apart_everywhere() -> None:
    """Below the list, as one line of the page, unranked in the worksheet."""
    known = spoilt()
    last = row(known, -1)

    assert "お客様役の問題（ボットの直すところには数えません）" in printed(known)
    assert "ターンは、ボットではなくお客様役の問題です" in page(known)
    assert (last["found_cause"], last.get("rank", ""), last.get("gain", "")) == ("お客様役", "", "")
