"""`grade RUN`: more judges on a finished run, without another word of dialogue."""

import asyncio
import contextlib
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simulator.cli.options import Run, takes
from simulator.core.settings import Settings, from_run, load
from simulator.core.types import PASSED

if TYPE_CHECKING:
    from simulator.storage.run_file import RunFile

Again = Annotated[
    bool, typer.Option("--again", help="Also where a judge has graded already: its grades are replaced.")
]
# What belongs to today's grading; everything else stays as the run was held.
OPTIONS = (
    "judges", "outputs", "judging", "votes", "panel", "guidelines", "contacts", "ng_words", "tokenizer",
    "target", "max_major", "confidence", "offline", "judge_model", "embed_model", "judge_temperature",
    "cache", "budget", "prices", "jpy_per_usd", "calls", "timeout",
    "to", "sheet", "worksheet", "new_sheet", "folder", "csv_encoding", "runs", "json_output",
)  # fmt: skip


@takes(*OPTIONS)
def command(flags: dict[str, Any], run: Run = "latest", again: Again = False) -> int:
    """Grade a finished run by more judges: no dialogue, only grades.

    python run.py grade latest --judges claims,facts
    """
    from simulator.cli.publish import publish
    from simulator.cli.sinks import check_sinks
    from simulator.storage.run_file import RunFile, find_run

    shown = load(flags)
    check_sinks(shown)
    path = find_run(run, Path(shown.runs))
    with contextlib.closing(RunFile.reopen(path)) as file:
        settings = _settings(file, flags, shown)
        stopped = _grade(file, settings, again=again)
    named = ",".join(name for name in settings.judges if not settings.outputs or name != PASSED)
    of_outputs = f" --outputs {shlex.quote(settings.outputs)}" if settings.outputs else ""
    go_on = f"grade {{run}}{f' --judges {named}' if named else ''}{of_outputs}"
    return publish(path, settings.model_copy(update={"judges": _all_judges(path, settings)}), stopped, go_on)


def _settings(file: "RunFile", flags: dict[str, Any], shown: Settings) -> Settings:
    """The run's own settings, with what was given for this grading."""
    given = {name: getattr(shown, name) for name in OPTIONS if flags[name] not in (None, False, [], ())}
    today = {"to": shown.to, "json_output": shown.json_output, "runs": shown.runs, "offline": shown.offline}
    return from_run({**file.results().run.settings, **given, **today})


def _grade(file: "RunFile", settings: Settings, *, again: bool) -> str | None:
    from simulator.core.roles import check_players, endpoints
    from simulator.grading.panel import Grading
    from simulator.models.client import Connections
    from simulator.models.pricing import Ledger
    from simulator.models.providers import Models
    from simulator.runner.regrade import grade, held_turns

    results = file.results()
    turns, done = held_turns(results.conversations), [0]
    ledger = Ledger.of(settings, results)
    ledger.record = file.called
    connections, found = Connections.of(settings), endpoints(settings)
    grading = Grading(settings, Models(found, connections, ledger))
    if grading.rubrics:
        check_players(settings, found, ["judge"])
    sys.stderr.write(f"Grading {turns} turns by {', '.join(grading.names)}.\n")

    def told(*_: object) -> None:
        done[0] += 1
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{done[0]}/{turns} turns graded" + ("\n" if done[0] == turns else ""))

    async def graded() -> str | None:
        try:
            return await grade(file, grading, told, again=again)
        finally:
            await connections.close()

    try:
        with contextlib.redirect_stdout(sys.stderr):
            return asyncio.run(graded())
    except KeyboardInterrupt:
        return "interrupted"


def _all_judges(path: Path, settings: Settings) -> tuple[str, ...]:
    """The judges the run was held with come first, in their order."""
    from simulator.storage.run_file import read_run

    held = read_run(path).run.settings.get("judges")
    before = tuple(map(str, held)) if isinstance(held, list) else ()
    return tuple(dict.fromkeys((*before, *settings.judges)))
