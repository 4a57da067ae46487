"""`report RUN`: paint a run again."""

from pathlib import Path
from typing import Annotated, Any

import typer

from simulator.cli.options import Run, takes
from simulator.core.settings import from_run, load

Later = Annotated[
    str | None,
    typer.Argument(metavar="[LATER]", help="A later run, shown beside the first.", show_default=False),
]
# How to show it; whatever else the run was held with stays.
SHOWING = ("to", "sheet", "worksheet", "new_sheet", "folder", "csv_encoding", "check", "json_output", "runs")


@takes(*SHOWING, "target", "max_major", "confidence", "customer_faults", "knowledge")
def command(flags: dict[str, Any], run: Run = "latest", later: Later = None) -> int:
    """Paint a run again: report.html, the summary, and what else is asked for.

    Two runs give one page, side-by-side.html in the folder of the later one. --target and --confidence
    decide anew about a run; --confidence off takes the certainty away that it was asked for.
    """
    from simulator.cli.publish import publish, publish_pair
    from simulator.cli.sinks import check_sinks
    from simulator.stats.outcome import check_certainty
    from simulator.storage.run_file import find_run, read_run

    shown = load(flags)
    check_sinks(shown)
    path = find_run(run, Path(shown.runs))
    changes: dict[str, Any] = {name: getattr(shown, name) for name in SHOWING}
    for name in ("target", "max_major", "confidence", "customer_faults", "knowledge"):
        if flags[name] is not None:
            changes[name] = getattr(shown, name)
    if later is not None:
        return publish_pair(path, find_run(later, Path(shown.runs)))
    settings = from_run(read_run(path).run.settings, **changes)
    if flags["confidence"] is not None:
        check_certainty(settings)
        # With `off` the run is judged by its figures, also where it had to be certain to stop.
        held_to = settings.sequential and settings.confidence is not None
        settings = settings.model_copy(update={"sequential": held_to})
    return publish(path, settings)
