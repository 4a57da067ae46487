"""`fixes RUN`: what to fix first, ranked by how much it would improve the score.

Causes come from the run file: what ids and marks prove, and what the judge's model said when the run was
graded (`results/`). Nobody is asked here. --focus writes the failed questions, and says how to ask only
these:

    Failed questions written to failed.csv: 2. Once fixed, ask only these again:
      python run.py --cases failed.csv --persona angry --adapter demo --offline
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from simulator.cli.options import RUN, option, takes
from simulator.cli.show import show_report, write_for_user
from simulator.cli.terminal import ExitCode, say, unread_output_allowed
from simulator.core.document import Report
from simulator.core.messages import Message, _, as_called, shown
from simulator.core.settings import load_settings, settings_of_run
from simulator.core.types import Results
from simulator.core.writing import write_atomically
from simulator.report.fixes import fixes_report
from simulator.report.painters.markdown import markdown as as_markdown
from simulator.report.tables import anchors_of
from simulator.results.disputes import read_results
from simulator.results.focus import case_file, failed_cases, replay_options, rerun_options
from simulator.results.recommendations import Fix, improvements_of_run
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
        "Write the failed questions to FILE (.csv or .jsonl), for a short run of only these.",
    ),
    top: int | None = option("--top N", "Show only the N best fixes. [default: 10]", min=1),
    markdown: Path | None = option("--markdown FILE", "Write all fixes as Markdown, to pass on."),
) -> int:
    """Show what to fix first: answers to review grouped by their fix, and what each fix would bring.

    python run.py fixes latest --focus failed.csv
    """
    today = load_settings(flags)
    if focus:  # a file of a kind that cannot be written is refused before anything is asked
        case_file((), focus)
    path = find_run(run, today.runs)
    results = read_results(path)
    settings = settings_of_run(results.run.settings, flags, today)
    summary = figures_of(results, settings)
    improvements = improvements_of_run(results, summary, settings)
    chosen, language = improvements.fixes[:top], report_language(results)

    # On a terminal the best ten, in Markdown as many as were asked for.
    def report_of(most: int | None) -> Report:
        return fixes_report(improvements, results.run.id, summary, language, most)

    shown_report = report_of(top or TOP)
    fixes = fixes_json(improvements, chosen, anchors_of(results), shown_report.text)
    where = {"run": results.run.id, "store": str(path), "page": str(path.with_name("report.html"))}
    with unread_output_allowed():
        show_report(shown_report, where | fixes, as_json=today.json_output)
    if focus:
        for line in _write_focus(focus, results, chosen, today.runs):
            say(shown(line, language, "rows" if summary.rows else ""))
    if markdown:
        write_for_user(markdown, as_markdown(report_of(top)))
    return ExitCode.DONE


def _write_focus(file: Path, results: Results, fixes: Sequence[Fix], runs: Path) -> Iterator[Message | str]:
    """Writes the failed questions of a file, and says how to ask only these again.

    The options are those of the run that matter for its answers: bot, knowledge, customers, language. The
    short run is no comparison with the whole one; for that there is --replay, which it names as well.
    """
    cases = failed_cases(results, fixes)
    if not fixes:
        yield _("No question failed: {path} was not written.", path=file)
        return
    if n := len(cases):
        write_atomically(file, case_file(cases, file))
        yield _("Failed questions written to {path}: {n}. Once fixed, ask only these again:", path=file, n=n)
        yield as_called(f"  python run.py {rerun_options(results, fixes, file)}")
    else:
        yield _("Attacks belong to their customer, not to a file: {path} was not written.", path=file)
    yield _("To repeat exactly the same messages (all conversations):")
    yield as_called(f"  python run.py {replay_options(results, runs)}")
