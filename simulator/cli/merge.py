"""`merge A B ...`: the parts of a run, held apart, become the run that one machine would have held."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simulator.cli.options import takes
from simulator.cli.report import SHOWING
from simulator.core.settings import from_run, load

if TYPE_CHECKING:
    from simulator.runner.merge import Merge

Runs = Annotated[
    list[str],
    typer.Argument(metavar="RUN...", help="Runs: ids, folders, files, or a folder with runs in it."),
]
Force = Annotated[bool, typer.Option("--force", help="Also runs that differ in more than their part.")]


@takes(*SHOWING, "target", "max_major", "confidence", "customer_faults")
def command(flags: dict[str, Any], parts: Runs, force: Force = False) -> int:
    """Put runs of --shard 1/5, 2/5 ... together: one run, one report, one gate.

    python run.py merge shard-1 shard-2 shard-3 --target 80
    """
    from simulator.cli.publish import publish
    from simulator.cli.sinks import check_sinks
    from simulator.runner.merge import find_parts, merge, read_part
    from simulator.storage.run_file import read_run

    shown = load(flags)
    check_sinks(shown)
    runs = Path(shown.runs)
    done = merge([read_part(path) for path in find_parts(parts, runs)], runs, force=force)
    _say(done)
    changes: dict[str, Any] = {name: getattr(shown, name) for name in SHOWING}
    for name in ("target", "max_major", "confidence", "customer_faults"):
        if flags[name] is not None:
            changes[name] = getattr(shown, name)
    settings = from_run(read_run(done.path).run.settings, **changes)
    return publish(done.path, settings, done.stopped, done.go_on)


def _say(done: "Merge") -> None:
    for each in done.forced:
        sys.stderr.write(f"Merged although {each}.\n")
