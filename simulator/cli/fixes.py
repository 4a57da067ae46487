"""`fixes RUN`: what to fix first, ranked by how much it would improve the score.

Causes come from the run file: what ids and marks prove, and what the judge's model said when the run was
graded (`results/`). Nobody is asked here.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from simulator.cli.options import RUN, option, takes
from simulator.cli.show import show_report, write_for_user
from simulator.cli.terminal import ExitCode, say, unread_output_allowed
from simulator.core.document import Report
from simulator.core.errors import InputError
from simulator.core.messages import _, shown
from simulator.core.settings import load_settings, settings_of_run
from simulator.core.types import Results
from simulator.core.writing import write_atomically
from simulator.report.fixes import fixes_report
from simulator.report.painters.markdown import markdown as as_markdown
from simulator.report.tables import anchors_of
from simulator.results.disputes import read_results
from simulator.results.knowledge import articles_of
from simulator.results.recommendations import Fix, improvements_of
from simulator.results.recommendations import as_json as fixes_json
from simulator.results.summary import figures_of
from simulator.storage.results import report_language
from simulator.storage.run_file import find_run

# Fixes that a terminal shows without --top; --json and --markdown have all.
TOP = 10


@takes("knowledge", "runs", "json_output")
def command(
    flags: dict[str, Any],
    run: str = RUN,
    focus: Path | None = option(
        "--focus FILE",
        "Write the failed questions to FILE (JSON Lines), for a short run with --cases FILE.",
    ),
    top: int | None = option("--top N", "Show only the N best fixes.", shown="10", lowest=1),
    markdown: Path | None = option("--markdown FILE", "Write all fixes as Markdown, to pass on."),
) -> int:
    """Show what to fix first: answers to review grouped by their fix, and what each fix would bring.

    python run.py fixes latest --focus failed.jsonl
    """
    today = load_settings(flags)
    if focus and focus.suffix.lower() != ".jsonl":
        raise InputError(_("--focus {path}: give a name that ends in .jsonl.", path=focus))
    path = find_run(run, today.runs)
    results = read_results(path)
    settings = settings_of_run(results.run.settings, flags, today)
    summary = figures_of(results, settings)
    improvements = improvements_of(results, summary, articles_of(settings))
    chosen, language = improvements.fixes[:top], report_language(results)

    # On a terminal the best ten, in Markdown as many as were asked for.
    def report_of(most: int | None) -> Report:
        return fixes_report(improvements, results.run.id, summary, language, most)

    shown_report = report_of(top or TOP)
    anchors = anchors_of(results, (key for fix in improvements.fixes for key in fix.turns))
    fixes = fixes_json(improvements, chosen, anchors, shown_report.text)
    where = {"run": results.run.id, "store": str(path), "page": str(path.with_name("report.html"))}
    with unread_output_allowed():
        show_report(shown_report, where | fixes, as_json=today.json_output)
    if focus:
        lines = _failed_cases(results, chosen)
        write_atomically(focus, "".join(lines))
        said = _("Failed questions written to {path}: {n}.", path=focus, n=len(lines))
        say(shown(said, language, "rows" if summary.rows else ""))
    if markdown:
        write_for_user(markdown, as_markdown(report_of(top)))
    return ExitCode.DONE


def _failed_cases(results: Results, fixes: Iterable[Fix]) -> list[str]:
    """The cases behind these fixes as lines that `--cases` reads; none of attacks, which a persona brings."""
    wanted = {key for fix in fixes for key in fix.cases}
    cases = {c.case.id: c.case for c in results.conversations if c.case.id in wanted and not c.case.attack}
    records = (
        case.model_dump(mode="json", exclude_defaults=True, exclude={"details"}) for case in cases.values()
    )
    return [json.dumps(record, ensure_ascii=False) + "\n" for record in records]
