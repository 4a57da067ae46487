"""The views of a run, from its results and figures."""

from typing import Any, NamedTuple

from simulator.core.types import Language, Results
from simulator.report.comparison import comparison_report
from simulator.report.context import ReportContext
from simulator.report.painters import markdown as markdown_painter
from simulator.report.painters.html import page
from simulator.report.run import run_report
from simulator.report.run_page import run_page
from simulator.results.comparison import RunComparison, RunFigures
from simulator.results.figures import Summary
from simulator.results.gate import Gate
from simulator.results.recommendations import Improvements, improvements_of


class PageParts(NamedTuple):
    """All that a page is made from."""

    results: Results
    summary: Summary
    gate: Gate


def context_of(
    results: Results,
    summary: Summary,
    gate: Gate,
    language: Language,
    improvements: Improvements | None = None,
    **settings: Any,
) -> ReportContext:
    """All that reports are made from; what to fix is worked out from the run alone unless it is passed."""
    found = improvements or improvements_of(results, summary)
    return ReportContext(results, summary, gate, language, found, **settings)


def render(
    results: Results,
    summary: Summary,
    gate: Gate,
    language: Language,
    improvements: Improvements | None = None,
) -> str:
    """The page of a run."""
    return run_page(context_of(results, summary, gate, language, improvements)).decode()


def side_by_side(before: PageParts, after: PageParts, language: Language) -> str:
    """The page that compares the run `after` with `before`."""
    compared = RunComparison(RunFigures(*before[:2]), RunFigures(*after[:2]))
    return page(comparison_report(compared, language))


def markdown(context: ReportContext) -> str:
    """A run as Markdown."""
    return markdown_painter.markdown(run_report(context))
