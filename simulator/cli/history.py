"""`history`: the runs so far, whether the bot gets better or worse, and where it fell."""

from typing import Any

from simulator.cli.options import option, takes
from simulator.cli.show import show_report, write_for_user
from simulator.cli.terminal import ExitCode
from simulator.core.settings import Settings, load_settings
from simulator.core.types import Language
from simulator.report.comparison import history_report
from simulator.report.painters.html import page
from simulator.runner.plan import read_plan
from simulator.stats.history import PastRun, history, history_json, past_runs


@takes("cases", "adapter", "language", "runs", "json_output")
def command(
    flags: dict[str, Any],
    *,
    last: int = option("--last N", "Show the trend of the newest N comparable runs.", 20, min=2),
    html: str | None = option("--html FILE", "Write the history as a page with a chart."),
) -> int:
    """Show how the runs developed: score, red turns, trend; a slow decline is pointed out.

    The trend is over the runs with the same questions, bot and rubric as the newest run. --adapter shows
    only the runs of one bot, --cases only those with questions of this file. The exit code is always 0:
    use `diff` as a gate.
    """
    settings = load_settings(flags)
    runs, unread = past_runs(settings.runs)
    past = history(_selected(runs, flags, settings), unread, last)
    language: Language = past.runs[-1].language if past.runs else "ja"
    report = history_report(past, settings.case_language or language, html or "")
    if html:
        write_for_user(html, page(report))
    show_report(report, {**history_json(past), "page": html}, as_json=settings.json_output)
    return ExitCode.DONE


def _selected(runs: tuple[PastRun, ...], flags: dict[str, Any], settings: Settings) -> list[PastRun]:
    """The runs of one bot or of one case file, where either was named."""
    selected = list(runs)
    if flags["adapter"]:
        selected = [run for run in selected if run.adapter == settings.adapter]
    if flags["cases"]:
        # Here --language is that of the report: all questions of the file count.
        plan, *_ = read_plan(settings.model_copy(update={"language": None, "limit": None}))
        cases = {conversation.case.id for conversation in plan}
        selected = [run for run in selected if run.cases and run.cases <= cases]
    return selected
