"""Two runs on one page, the later one beside the earlier."""

import sys
from functools import partial
from pathlib import Path

from simulator.cli.destinations import write_atomically
from simulator.cli.publish import improvements_for, judge_trusts_of, page_html, report_language
from simulator.cli.terminal import DONE
from simulator.core.settings import stored_settings
from simulator.core.types import RedRules
from simulator.report.comparison import comparison_sections
from simulator.report.context import ReportContext
from simulator.stats.comparison import RunComparison, RunFigures
from simulator.stats.gate import gate_of
from simulator.stats.summary import figures_of
from simulator.storage.results import without_superseded
from simulator.storage.run_file import read_run


def publish_pair(before: Path, after: Path) -> int:
    """Writes the page of two runs beside the later one, and prints where it is."""
    earlier, later = pair_of_runs(before, after)
    sys.stdout.write(f"{write_pair(earlier, later, after)}\n")
    return DONE


def write_pair(
    earlier: RunFigures, later: RunFigures, path: Path, changes: RunComparison | None = None
) -> Path:
    """Writes the page of two runs beside the run file of the later one; returns its path."""
    language = report_language(later.results)
    settings = stored_settings(later.results.run.settings)
    context = ReportContext(
        *later,
        gate_of(*later, settings),
        language,
        improvements_for(*later, settings),
        judge_trusts_of(*later, language),
    )
    page = path.with_name("side-by-side.html")
    beside = partial(comparison_sections, earlier, later, language, changes)
    write_atomically(page, page_html(context, beside=beside))
    return page


def pair_of_runs(before: Path, after: Path) -> tuple[RunFigures, RunFigures]:
    """Two runs with their figures, both red by the rules of the later one."""
    later = run_parts(after)
    return run_parts(before, later.summary.rules), later


def run_parts(path: Path, rules: RedRules | None = None) -> RunFigures:
    """A finished run with its figures, by its own settings or by other rules for red."""
    results = without_superseded(read_run(path))
    settings = stored_settings(results.run.settings, **({"red": rules} if rules else {}))
    return RunFigures(results, figures_of(results, settings))
