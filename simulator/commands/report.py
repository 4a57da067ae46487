"""`report RUN`: paint a run again."""

from pathlib import Path
from typing import Annotated, Any

import typer

from simulator.settings import from_run, load

Run = Annotated[str, typer.Argument(help="A run: its id, the start of it, 'latest', or a path.")]


def command(
    run: Run = "latest",
    to: Annotated[list[str] | None, typer.Option(help="Reports beside report.html: json.")] = None,
    target: Annotated[float | None, typer.Option(help="Judge it against this target.", metavar="X")] = None,
    json_output: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
    runs: Annotated[str, typer.Option(help="Folder of the runs.")] = "runs",
) -> int:
    """Paint a run again: report.html, the summary, and what else is asked for."""
    from simulator.commands.publish import check_sinks, publish
    from simulator.store import find_run, read_run

    shown = load({"to": tuple(to or ()), "json_output": json_output, "target": target, "runs": runs})
    check_sinks(shown.to)
    path = find_run(run, Path(shown.runs))
    changes: dict[str, Any] = {"to": shown.to, "json_output": shown.json_output, "runs": shown.runs}
    if target is not None:
        changes["target"] = shown.target
    return publish(path, from_run(read_run(path).run.settings, **changes))
