"""Quick partial reads of run files, for lists and comparisons that need no whole `Results`."""

import contextlib
import sqlite3
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from simulator.core.errors import RunFileError
from simulator.core.types import Run
from simulator.storage import schema
from simulator.storage.run_file import RUN_FILE, run_ids

# Notes of a run: the request of lm_eval that it answers, and the rows of its data that were left out.
HARNESS_NOTE, SKIPPED_NOTE = "harness", "rows_skipped"


class RunRows:
    """The tables of one run file, each read when it is needed."""

    def __init__(self, file: sqlite3.Connection) -> None:
        self._file = file

    @cached_property
    def run(self) -> Run:
        """How the run was started, and its current status."""
        return Run.model_validate_json(self._about("run") or "")

    def _about(self, key: str) -> str | None:
        row = self._file.execute("SELECT body FROM about WHERE key = ?", (key,)).fetchone()
        return str(row[0]) if row else None


def read_newest(folder: Path) -> Iterator[Run]:
    """The runs of a folder, newest first; unreadable ones are left out."""
    for name in reversed(run_ids(folder)):
        with contextlib.suppress(RunFileError), open_rows(folder / name / RUN_FILE) as rows:
            yield rows.run


@contextlib.contextmanager
def open_rows(path: Path) -> Iterator[RunRows]:
    """The tables of a run file, as one consistent snapshot. Raises RunFileError when they cannot be read."""
    with schema.snapshot(path) as file, contextlib.closing(file):
        yield RunRows(file)


def replay_of(run: Run) -> str | None:
    """The id of the run whose customers' lines were replayed; None for a run that replays none."""
    replay = run.settings.get("replay")
    if not isinstance(replay, str) or not replay:
        return None
    path = Path(replay.replace("\\", "/"))
    return path.parent.name if path.name == RUN_FILE and path.parent.name else path.name
