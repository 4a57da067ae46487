"""`history`: the runs so far, whether the bot gets better or worse, and where it fell.

Each run is summed up as its own reports do it, without the costly question how its customers were played. One
that cannot be read is named, and the others are shown.
"""

from typing import Any

from simulator.cli.options import option, takes
from simulator.cli.show import show_report, write_for_user
from simulator.cli.terminal import ExitCode
from simulator.core.settings import load_settings
from simulator.report.history import history_report
from simulator.report.painters.html import page
from simulator.results.history import history, history_json, past_runs


@takes("adapter", "runs", "json_output", texts={"adapter": "Only the runs of this bot."})
def command(
    flags: dict[str, Any],
    *,
    html: str | None = option("--html FILE", "Write the history as a page with a chart."),
) -> int:
    """Show how the runs developed: score, questions to review, verdicts; a decline is pointed out.

    The line is over the runs with the same questions, customers, bot and rubric: a single try with others,
    or with a limit, is listed and left out of it. --adapter shows only the runs of one bot. The exit code is
    always 0: use `diff` as a gate.
    """
    settings = load_settings(flags)
    runs, unread = past_runs(settings.runs)
    if flags["adapter"]:
        runs = tuple(run for run in runs if run.kind.adapter == settings.adapter)
    past = history(runs, unread)
    report = history_report(past, past.runs[-1].language if past.runs else "ja", html or "")
    if html:
        write_for_user(html, page(report))
    show_report(report, {**history_json(past), "page": html}, as_json=settings.json_output)
    return ExitCode.DONE
