"""Quick partial reads of run files, for lists and comparisons that need no whole `Results`."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from simulator.core.errors import RunFileError
from simulator.core.types import Run
from simulator.storage import schema
from simulator.storage.results import run_of
from simulator.storage.run_file import RUN_FILE, run_ids

# Notes of a run: the request of lm_eval that it answers, and the rows of its data that were left out.
HARNESS_NOTE, SKIPPED_NOTE = "harness", "rows_skipped"


def read_newest(folder: Path) -> Iterator[Run]:
    """The runs of a folder, newest first; unreadable ones are left out."""
    for name in reversed(run_ids(folder)):
        with (
            contextlib.suppress(RunFileError),
            schema.snapshot(folder / name / RUN_FILE) as file,
            contextlib.closing(file),
        ):
            yield run_of(file)


def replay_of(run: Run) -> str | None:
    """The id of the run whose customers' lines were replayed; None for a run that replays none."""
    replay = run.settings.get("replay")
    if not isinstance(replay, str) or not replay:
        return None
    path = Path(replay.replace("\\", "/"))
    return path.parent.name if path.name == RUN_FILE and path.parent.name else path.name
