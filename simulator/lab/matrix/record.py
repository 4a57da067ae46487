"""The record of a matrix: its cells, the settings of each, and in which run it is evaluated.

`runs/<id>/matrix.json` is written before a cell's run is made and after it has ended, so that the matrix can
be resumed whatever ends the program. The runs themselves are beside it, in folders of their own; how far
each has come stands in its run file and nowhere else.

    runs/20261128-141844245-matrix-58ac/matrix.json     the cells, their settings, the run of each
    runs/20261128-141902117-faq-strict-07d1/run.sqlite  one cell, a run like any other

The points at which a kill can come, and what is then found again:

- before the run's name is in the record: the cell was not begun
- after it, before the run file has anything: `run` is None, and the cell is begun anew under another name
- in the middle of the run: `begun` is its file, and it is resumed
- after its end: `state` is finished, and it is not run again

One process holds the lock of the folder; whoever comes second is told so.
"""

import contextlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Literal

from pydantic import Field, JsonValue, ValidationError

from simulator.core.errors import RunFileError
from simulator.core.messages import Message, _, system_error
from simulator.core.types import Results, Run, Value
from simulator.core.writing import replaced
from simulator.lab.matrix.plan import CellId
from simulator.storage.run_file import RUN_FILE, lock_folder, read_run, written_at

NAME = "matrix.json"
# `failed`: it cannot be run as it is; `open`: not begun, or interrupted. Either is tried again by a resume.
State = Literal["open", "finished", "failed"]


class CellRun(Value):
    """One cell: its settings, its run, and the error that kept it from running.

    `run` is the name of a folder beside that of the matrix; empty until the cell's turn comes.
    """

    cell: CellId
    settings: dict[str, JsonValue] = Field(default={})
    run: str = ""
    error: str = ""


class Record(Value):
    """A matrix as it stands."""

    version: Literal[1] = 1
    id: str
    created: datetime
    cells: tuple[CellRun, ...]


class RecordFile:
    """The record of a matrix, locked by one process until it is closed.

    Cells are named by their place `at` in the record, which never changes.
    """

    def __init__(self, folder: Path, record: Record, lock: IO[str]) -> None:
        """Not to be called directly."""
        self.folder, self.record, self._lock = folder, record, lock

    @classmethod
    def create(cls, folder: Path, record: Record) -> "RecordFile":
        """Writes the record of a new matrix into its folder."""
        # The lock comes first, so that two processes cannot begin one matrix.
        file = cls(folder, record, lock_folder(folder))
        file._write()
        return file

    @classmethod
    def reopen(cls, path: Path) -> "RecordFile":
        """Locks an existing record to continue it; raises RunFileError where another process has it."""
        lock = lock_folder(path.parent)
        # Read under the lock: what another process wrote last is in it.
        try:
            return cls(path.parent, read_record(path), lock)
        except RunFileError:
            lock.close()
            raise

    def change(self, at: int, **changes: str) -> None:
        """Changes fields of one cell, and writes the record."""
        cells = list(self.record.cells)
        cells[at] = cells[at].model_copy(update=changes)
        self.record = self.record.model_copy(update={"cells": tuple(cells)})
        self._write()

    def run_file(self, at: int) -> Path | None:
        """Where the run of a cell is, or is to be; None before its turn came."""
        run = self.record.cells[at].run
        return self.folder.parent / run / RUN_FILE if run else None

    def state(self, at: int) -> State:
        """How far a cell has come, by its run file."""
        return state_of(self.record.cells[at], self.run(at))

    def run(self, at: int) -> Run | None:
        """The run of a cell; None where it is not there, or was cut off before anything stood in it."""
        path = self.run_file(at)
        return run_of(path) if path else None

    def begun(self, at: int) -> Path | None:
        """The run of a cell that broke off, to be gone on with; None where it is begun anew, or is over."""
        run = self.run(at)
        return self.run_file(at) if run and run.status != "finished" else None

    def close(self) -> None:
        """Unlocks the record."""
        self._lock.close()

    def _write(self) -> None:
        # As a whole, or not at all: a reader never sees half a record.
        with replaced(self.folder / NAME, _("Is the disk full?")) as new:
            body = json.dumps(self.record.model_dump(mode="json"), ensure_ascii=False, indent=1)
            new.write_text(body, encoding="utf-8")


def state_of(cell: CellRun, run: Run | None) -> State:
    """How far a cell has come."""
    if cell.error:
        return "failed"
    return "finished" if run is not None and run.status == "finished" else "open"


def read_record(path: Path) -> Record:
    """The record in a file; raises RunFileError for anything else."""
    try:
        return Record.model_validate_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        msg = _("{path}: cannot be read ({strerror}).", path=path, strerror=system_error(error))
        raise RunFileError(msg) from None
    except (ValidationError, UnicodeDecodeError):
        msg = _(
            "{path}: not the record of a matrix, or one of another version. Run the matrix again.", path=path
        )
        raise RunFileError(msg) from None


def find_record(name: str, runs: Path) -> Path | None:
    """The record with this id, start of an id, `latest`, folder or file; None where there is none."""
    given = Path(name)
    # A path goes before an id; an id may be shortened, as long as one record begins like that.
    with contextlib.suppress(OSError):  # a name longer than any file's
        if given.name == NAME and given.is_file():
            return given
        if (given / NAME).is_file():
            return given / NAME
    ids = record_ids(runs)
    matches = ids[-1:] if name == "latest" else [id_ for id_ in ids if name and id_.startswith(name)]
    return runs / matches[0] / NAME if len(matches) == 1 else None


def record_ids(runs: Path) -> list[str]:
    """The ids of the matrices in a folder of runs, oldest first by the time in their records.

    A record that cannot be read counts as of the time when it was last written.
    """
    if not runs.is_dir():
        return []
    paths = [entry / NAME for entry in runs.iterdir() if (entry / NAME).is_file()]
    return [
        path.parent.name for path in sorted(paths, key=lambda path: (_created_at(path), path.parent.name))
    ]


def _created_at(path: Path) -> datetime:
    try:
        return read_record(path).created.astimezone(UTC)
    except RunFileError:
        return written_at(path)


def run_of(path: Path) -> Run | None:
    """A run without its conversations; None for a file that is not a run file, or not yet."""
    with contextlib.suppress(RunFileError):
        return read_run(path).run if path.is_file() else None
    return None


def left_for(file: RecordFile, at: int, budget: float) -> float:
    """Dollars of the budget for the run of a cell, after what the other cells have spent.

    What a model of unknown price has cost counts as nothing: `least_usd` is what is certain.
    """
    for place in range(len(file.record.cells)):
        run = file.run_file(place)
        # Every other cell with a run, whatever its state: what was spent is spent.
        if place != at and run is not None and file.run(place) is not None:
            budget -= sum(spent.least_usd for spent in read_run(run).spending.values())
    return budget


def silence(results: Results) -> Message | str:
    """The first error of a bot that never answered; empty where it answered.

    A wrong model name or a dead endpoint fails every row alike: that cell is no result, and is said to be
    none.
    """
    first: Message | str = ""
    for conversation in results.conversations:
        for answer in (turn.answer for turn in conversation.turns):
            if answer.text.strip() and not answer.error:
                return ""
            first = first or (answer.error.message if answer.error else _("the answer is empty"))
    return _("not one answer: {first}", first=first) if first else ""
