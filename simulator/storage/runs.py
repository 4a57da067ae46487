"""The heads of the run files of a folder, read quickly: how each was started, and what was asked."""

import contextlib
import json
import sqlite3
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from simulator.core.errors import RunFileError
from simulator.core.types import STOPPED_EARLY, SUPERSEDED, Run, Score
from simulator.storage import schema
from simulator.storage.run_file import NAME, run_ids


class Head(NamedTuple):
    """A run as it was started, and what was asked in it: ids and first words."""

    run: Run
    questions: frozenset[tuple[str, str]]


class Rows:
    """The tables of one run file, read as far as they are needed."""

    def __init__(self, file: sqlite3.Connection) -> None:
        self._file = file

    @cached_property
    def run(self) -> Run:
        """The run itself."""
        return Run.model_validate_json(self._about("run") or "")

    @cached_property
    def conversations(self) -> dict[str, tuple[str, bool, bool]]:
        """Of each conversation that counts its case, whether that is English, and whether it ended."""
        noted = json.loads(self._about(f"note:{SUPERSEDED}") or "{}")
        rows = self._file.execute(
            """SELECT id, json_extract("case", '$.id'), json_extract("case", '$.language') = 'en',
              ended IS NOT NULL FROM conversations"""
        )
        return {
            conversation: (str(case), bool(english), bool(ended))
            for conversation, case, english, ended in rows
            if conversation not in noted
        }

    @cached_property
    def questions(self) -> frozenset[tuple[str, str]]:
        """What was asked: the id and the first words of every case that was begun."""
        rows = self._file.execute(
            """SELECT DISTINCT json_extract("case", '$.id'), json_extract("case", '$.question')
              FROM conversations WHERE ended IS NOT NULL OR id IN (SELECT conversation FROM turns)"""
        )
        return frozenset((str(case), str(question)) for case, question in rows)

    @cached_property
    def stopped_early(self) -> bool:
        """Whether the gate was certain before all was held."""
        return self._about(f"note:{STOPPED_EARLY}") is not None

    @cached_property
    def turns(self) -> dict[tuple[str, int], bool]:
        """Whether the bot failed in each turn that was spoken."""
        rows = self._file.execute(
            """SELECT conversation, turn, json_extract(answer, '$.error.kind'),
              json_extract(answer, '$.text') FROM turns WHERE answer IS NOT NULL"""
        )
        return {
            (c, t): kind != "unrecorded" and bool(kind or not text.strip())
            for c, t, kind, text in rows
            if c in self.conversations
        }

    def judges(self) -> tuple[str, ...]:
        """Everyone who graded."""
        return tuple(str(row[0]) for row in self._file.execute("SELECT DISTINCT judge FROM scores"))

    def scores(self, judges: Iterable[str]) -> Iterator[Score]:
        """The grades of these judges."""
        names = tuple(judges)
        query = f"SELECT body FROM scores WHERE judge IN ({', '.join('?' * len(names))})"  # noqa: S608 - places
        return (Score.model_validate_json(row[0]) for row in self._file.execute(query, names))

    def _about(self, key: str) -> str | None:
        row = self._file.execute("SELECT body FROM about WHERE key = ?", (key,)).fetchone()
        return str(row[0]) if row else None


def read_heads(folder: Path) -> Iterator[Run]:
    """The runs of a folder as they were started, newest first; what cannot be read is left out."""
    for name in reversed(run_ids(folder)):
        with contextlib.suppress(RunFileError), opened(folder / name / NAME) as rows:
            yield rows.run


def with_questions(folder: Path) -> Iterator[Head]:
    """The same with what was asked in them."""
    for name in reversed(run_ids(folder)):
        with contextlib.suppress(RunFileError):
            yield read_questions(folder / name / NAME)


def read_questions(path: Path) -> Head:
    """One run as it was started, with what was asked in it."""
    with opened(path) as rows:
        return Head(rows.run, rows.questions)


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Rows]:
    """One moment of a run file; RunFileError where it cannot be read."""
    schema.check(path)
    try:
        with contextlib.closing(sqlite3.connect(path, isolation_level=None, timeout=10)) as file:
            file.execute("BEGIN")  # one moment of a run that may be going on
            yield Rows(file)
    except (sqlite3.Error, ValueError) as error:
        msg = f"{path}: the run file is damaged ({str(error).splitlines()[0]})."
        raise RunFileError(msg) from None


def replay_of(run: Run) -> str | None:
    """The id of the run whose customers' lines were said again; None for a run of its own."""
    given = run.settings.get("replay")
    if not isinstance(given, str) or not given:
        return None
    path = Path(given.replace("\\", "/"))
    return path.parent.name if path.name == NAME and path.parent.name else path.name
