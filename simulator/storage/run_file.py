"""The run file: runs/<id>/run.sqlite, the only truth of a run. One writer, any number of readers.

Every customer line, answer and score is committed as it happens, so that after kill -9 nothing that
was paid for is asked for again. While an event loop runs, what happens in one turn of it is committed
together, at the end of that turn; a customer's line at once, before the bot hears it.
"""

import asyncio
import contextlib
import functools
import json
import os
import shutil
import sqlite3
import weakref
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from simulator.core.errors import RunFileError
from simulator.core.types import (
    Answer,
    Conversation,
    Ended,
    HumanVerdict,
    Persona,
    Results,
    Role,
    Run,
    Score,
    Status,
    Usage,
    Utterance,
)
from simulator.models.pricing import JUDGE
from simulator.storage import results as reading
from simulator.storage import schema

NAME = "run.sqlite"
_PLANNED = 'INSERT INTO conversations (id, position, persona, repeat, "case") VALUES (?, ?, ?, ?, ?)'
_SPOKEN = "INSERT OR REPLACE INTO turns VALUES (?, ?, ?, ?)"
_LATEST_OF = """SELECT body FROM verdicts
  WHERE conversation = ? AND turn = ? AND source = ? AND reviewer = ? ORDER BY id DESC LIMIT 1"""


class RunFile:
    """The writing end. Open it with `create` or `reopen`; it is held until `close`."""

    def __init__(self, path: Path, lock: IO[str]) -> None:
        """Not to be called directly."""
        self.path = path
        self._lock = lock
        self._lines: dict[str, str] = {}
        self._waiting: list[tuple[str, Sequence[tuple[Any, ...]]]] = []
        self._settling_on: asyncio.AbstractEventLoop | None = None
        self._failed = self._told = False
        try:
            self._file = _connect(path)
        except RunFileError:
            lock.close()
            raise

    @classmethod
    def create(
        cls, folder: Path, run: Run, plan: Iterable[Conversation], personas: Iterable[Persona]
    ) -> "RunFile":
        """A new run folder with its plan; the folder is readable by its owner only."""
        try:
            folder.mkdir(parents=True, mode=0o700)
            path = folder / NAME
            path.touch(mode=0o600)
        except OSError as error:
            msg = f"{folder}: cannot be written ({error.strerror}). Choose another folder with --runs."
            raise RunFileError(msg) from None
        with contextlib.ExitStack() as undone:  # a run without its plan is none
            undone.callback(shutil.rmtree, folder, ignore_errors=True)
            opened = cls(path, hold(folder))
            undone.callback(opened.close)
            opened._write_plan(run, plan, personas)
            undone.pop_all()
        return opened

    def _write_plan(self, run: Run, plan: Iterable[Conversation], personas: Iterable[Persona]) -> None:
        with self._transaction() as file:
            schema.create(file)
            _put(file, "run", run.model_dump_json())
            people = [p.model_dump(mode="json") for p in personas]
            _put(file, "personas", json.dumps(people, ensure_ascii=False))
            file.executemany(_PLANNED, (_planned(conversation, i) for i, conversation in enumerate(plan)))

    @classmethod
    def reopen(cls, path: Path) -> "RunFile":
        """An existing run, to go on with; says who holds it when another process does."""
        schema.check(path)
        opened = cls(path, hold(path.parent))
        try:
            schema.migrate(opened._file)
        except sqlite3.Error as error:
            opened.close()
            msg = f"{path}: cannot be brought up to this version ({error}). Is the disk full?"
            raise RunFileError(msg) from None
        return opened

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing; what is still waiting to be committed comes first."""
        self.settle()
        with self._committing() as file:
            yield file

    @contextlib.contextmanager
    def _committing(self) -> Iterator[sqlite3.Connection]:
        try:
            self._file.execute("BEGIN")
            yield self._file
            self._file.execute("COMMIT")
        except sqlite3.Error as error:
            safe = "what was committed before is safe"
            msg = f"{self.path}: cannot be written ({error}); {safe}. Is the disk full?"
            raise RunFileError(msg) from None
        finally:
            if self._file.in_transaction:
                with contextlib.suppress(sqlite3.Error):
                    self._file.execute("ROLLBACK")

    def settle(self) -> None:
        """Commits what waits. What cannot be written goes on waiting, and is tried again with the next."""
        if not self._waiting:
            return
        self._told = True  # of a failure: whoever calls
        with self._committing() as file:
            for statement, rows in self._waiting:
                file.executemany(statement, rows)
        self._waiting.clear()
        self._told = False

    def _write(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Rows that are committed at the end of the event loop's turn, or at once where none runs.

        Raises RunFileError when rows before them could not be written.
        """
        self._waiting.append((statement, rows))
        loop = _running_loop()
        if loop is None or self._failed:
            self._failed = False
            self.settle()
        elif self._settling_on is not loop:
            self._settling_on = loop
            loop.call_soon(self._settle_later)

    def _settle_later(self) -> None:
        """At the end of a turn nobody is there to be told of a failure: the next who writes is."""
        self._settling_on = None
        try:
            self.settle()
        except (RunFileError, sqlite3.ProgrammingError):  # the latter: it was closed meanwhile
            self._failed, self._told = True, False

    def also_planned(self, more: Iterable[Conversation]) -> None:
        """Conversations that are held after those of the plan."""
        with self._transaction() as file:
            (known,) = file.execute("SELECT count(*) FROM conversations").fetchone()
            file.executemany(
                _PLANNED, [_planned(conversation, known + i) for i, conversation in enumerate(more)]
            )

    def said(self, conversation: str, turn: int, utterance: Utterance) -> None:
        """The customer's line of a turn; the answer comes later."""
        line = utterance.model_dump_json(exclude_defaults=True)
        if self._asks_once:  # it is what the row says, whenever it is asked: stored with the answer
            self._lines[conversation] = line
            return
        self._write(_SPOKEN, [(conversation, turn, line, None)])
        self.settle()  # the bot hears it next, and must hear the same line after an interruption

    def answered(self, conversation: str, turn: int, answer: Answer) -> None:
        """The bot's answer of a turn."""
        body = answer.model_dump_json(exclude_defaults=True)
        if (line := self._lines.pop(conversation, None)) is not None:
            self._write(_SPOKEN, [(conversation, turn, line, body)])
            return
        self._write(
            "UPDATE turns SET answer = ? WHERE conversation = ? AND turn = ?", [(body, conversation, turn)]
        )

    def ended(self, conversation: str, ended: Ended, reason: str, closing: str) -> None:
        """Why a conversation stopped."""
        self._write(
            "UPDATE conversations SET ended = ?, reason = ?, closing = ? WHERE id = ?",
            [(ended, reason, closing, conversation)],
        )

    def graded(self, scores: Iterable[Score]) -> None:
        """Scores of a turn; a later one of the same judge replaces an earlier."""
        self._write(
            "INSERT OR REPLACE INTO scores VALUES (?, ?, ?, ?)",
            [(s.conversation, s.turn, s.judge, s.model_dump_json(exclude_defaults=True)) for s in scores],
        )

    def called(self, role: Role, usage: Usage, cached: bool, cost_usd: float | None) -> None:
        """One answered model call; it is committed no later than what came of it."""
        self._write(
            "INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?, ?)",
            [(role, usage.model, usage.tokens_in, usage.tokens_out, cached, cost_usd, JUDGE.get())],
        )

    def reviewed(self, verdicts: Iterable[HumanVerdict]) -> int:
        """What people said of turns; what is known already adds nothing. Gives how many were new."""
        added = 0
        with self._transaction() as file:
            for verdict in verdicts:
                key = (verdict.conversation, verdict.turn, verdict.source, verdict.reviewer)
                known = file.execute(_LATEST_OF, key).fetchone()
                said = verdict.model_dump_json()
                if known is None or not verdict.says_the_same(HumanVerdict.model_validate_json(known[0])):
                    file.execute("INSERT INTO verdicts VALUES (NULL, ?, ?, ?, ?, ?)", (*key, said))
                    added += 1
        return added

    def noted(self, key: str, body: str) -> None:
        """A note about the whole run (a drift check, where it was pushed to), as JSON."""
        with self._transaction() as file:
            _put(file, f"note:{key}", body)

    def finish(self, status: Status, seconds: float) -> None:
        """How this sitting ended, and the time all sittings took."""
        with self._transaction() as file:
            run = reading.run_of(file)
            ended = run.model_copy(update={"status": status, "seconds": run.seconds + seconds})
            _put(file, "run", ended.model_dump_json())
            file.execute(
                """UPDATE conversations SET ended = ? WHERE ended IS NULL
                  AND EXISTS (SELECT 1 FROM turns WHERE conversation = id)""",
                (Ended.INTERRUPTED,),
            )

    def reopened(self) -> None:
        """Marks a run as running again, and forgets endings that were only interruptions."""
        with self._transaction() as file:
            _put(file, "run", reading.run_of(file).model_copy(update={"status": "running"}).model_dump_json())
            file.execute(
                "UPDATE conversations SET ended = NULL, reason = '', closing = '' WHERE ended IN (?, ?)",
                (Ended.INTERRUPTED, Ended.BUDGET),
            )

    def results(self) -> Results:
        """Everything in the file."""
        self.settle()
        return reading.results_of(self._file)

    @functools.cached_property
    def _asks_once(self) -> bool:
        """Whether the rows of a data set are asked."""
        return self.run.asks_once

    @property
    def run(self) -> Run:
        """What the run was started with, and how it stands."""
        return reading.run_of(self._file)

    def conversations(self) -> Sequence[Conversation]:
        """All conversations in the plan's order, each read when it is asked for, as far as it has come."""
        self.settle()
        return reading.StoredConversations(self._file)

    def scores(self, conversation: str) -> list[Score]:
        """The scores that one conversation has so far."""
        self.settle()
        return list(reading.scores_of(self._file, conversation))

    def unanswered(self) -> dict[str, tuple[int, Utterance]]:
        """Customer lines that the bot had not answered yet, by conversation."""
        self.settle()
        rows = self._file.execute("SELECT conversation, turn, utterance FROM turns WHERE answer IS NULL")
        return {c: (turn, Utterance.model_validate_json(body)) for c, turn, body in rows}

    def close(self) -> None:
        """Folds the write-ahead log back in and lets the run go.

        Raises RunFileError when rows are lost of which nobody was told.
        """
        told = self._told
        try:
            self.settle()
        except RunFileError:
            if not told:
                raise
        finally:
            with contextlib.suppress(sqlite3.Error):
                self._file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._file.close()
            self._lock.close()


def note(path: Path, key: str, body: str) -> None:
    """A note about a finished run, as JSON; it is held only for that moment."""
    with contextlib.closing(RunFile.reopen(path)) as file:
        file.noted(key, body)


def read_run(path: Path) -> Results:
    """A run, finished or not, without holding it."""
    schema.check(path)
    try:
        file = sqlite3.connect(path, isolation_level=None, timeout=10)
        with contextlib.ExitStack() as opened:
            opened.callback(file.close)
            file.execute("BEGIN")  # one moment of a run that may be going on
            results = reading.results_of(file)
            if isinstance(
                results.conversations, reading.StoredConversations
            ):  # which are read as they are asked for
                opened.pop_all()
                weakref.finalize(results.conversations, file.close)
            return results
    except (sqlite3.Error, ValueError) as error:
        why = str(error).splitlines()[0]
        msg = f"{path}: the run file is damaged ({why}). Take a copy of it, or rehearse anew."
        raise RunFileError(msg) from None


def find_run(name: str, runs: Path) -> Path:
    """The run file meant by an id, the start of one, `latest`, a folder or a file."""
    given = Path(name)
    with contextlib.suppress(OSError):  # a name longer than any file's
        if given.is_file():
            return given
        if (given / NAME).is_file():
            return given / NAME
    ids = run_ids(runs)
    meant = ids[-1:] if name == "latest" else [i for i in ids if name and i.startswith(name)]
    if name in ids or len(meant) == 1:
        return runs / (name if name in ids else meant[0]) / NAME
    found = f"{len(meant)} runs start with '{name}'" if meant else f"no run '{name[:80]}' in {runs}/"
    msg = f"{found}. Newest: {', '.join(reversed((meant or ids)[-5:])) or 'none yet'}."
    raise RunFileError(msg)


def run_ids(runs: Path) -> list[str]:
    """The ids of the runs in a folder, oldest first."""
    if not runs.is_dir():
        return []
    return sorted(entry.name for entry in runs.iterdir() if (entry / NAME).is_file())


def new_run_id(now: datetime, personas: Iterable[str]) -> str:
    """An id that sorts by time and can be read aloud: 20260401-093000512-angry-3f2a."""
    names = list(personas)
    who = names[0] if len(names) == 1 else "mixed"
    label = "".join(c for c in who if c.isascii() and (c.isalnum() or c in "-_"))[:20] or "persona"
    return f"{now:%Y%m%d-%H%M%S}{now.microsecond // 1000:03}-{label}-{os.urandom(2).hex()}"


def _connect(path: Path) -> sqlite3.Connection:
    try:
        file = sqlite3.connect(path, isolation_level=None, timeout=10)
        file.execute("PRAGMA journal_mode=WAL")
        file.execute("PRAGMA synchronous=NORMAL")
    except sqlite3.Error as error:
        msg = f"{path}: cannot be written ({error})."
        raise RunFileError(msg) from None
    return file


def hold(folder: Path) -> IO[str]:
    """A lock that the system drops with the process, however it ends."""
    try:
        (folder / "run.lock").touch(mode=0o600)
        lock = (folder / "run.lock").open("a+", encoding="utf-8")
    except OSError as error:
        msg = f"{folder}: cannot be written ({error.strerror})."
        raise RunFileError(msg) from None
    try:
        import fcntl  # not on Windows, where SQLite's own lock has to do

        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:
        return lock
    except OSError:
        lock.seek(0)
        holder = lock.read().strip() or "another process"
        lock.close()
        msg = f"{folder.name} is being written by process {holder}; wait for it, or end it."
        raise RunFileError(msg) from None
    with contextlib.suppress(OSError):  # who holds it is a courtesy; a full disk is met soon enough
        os.truncate(lock.fileno(), 0)
        os.write(lock.fileno(), str(os.getpid()).encode())
    return lock


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _planned(conversation: Conversation, position: int) -> tuple[Any, ...]:
    case = conversation.case.model_dump_json(exclude_defaults=True)
    return conversation.id, position, conversation.persona, conversation.repeat, case


def _put(file: sqlite3.Connection, key: str, body: str) -> None:
    file.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (key, body))
