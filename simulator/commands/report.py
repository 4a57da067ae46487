"""`report RUN`: paint a run again."""

from pathlib import Path
from typing import Annotated, Any

import typer

from simulator.commands.options import takes
from simulator.settings import from_run, load

Run = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="A run: id, start of an id, latest, or path. [default: latest]",
        show_default=False,
    ),
]


@takes("to", "target", "runs", "json_output")
def command(flags: dict[str, Any], run: Run = "latest") -> int:
    """Paint a run again: report.html, the summary, and what else is asked for."""
    from simulator.commands.publish import check_sinks, publish
    from simulator.store import find_run, read_run

    shown = load(flags)
    check_sinks(shown.to)
    path = find_run(run, Path(shown.runs))
    changes: dict[str, Any] = {"to": shown.to, "json_output": shown.json_output, "runs": shown.runs}
    if flags["target"] is not None:
        changes["target"] = shown.target
    return publish(path, from_run(read_run(path).run.settings, **changes))
