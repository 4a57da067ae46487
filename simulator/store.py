"""The run file: runs/<id>/run.sqlite, the only truth of a run. One writer, any number of readers.

Every customer line, answer and score is committed as it happens, so that after kill -9 nothing that
was paid for is asked for again.
"""

import contextlib
import json
import os
import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from simulator import schema
from simulator.errors import RunFileError
from simulator.types import (
    Answer,
    Case,
    Conversation,
    Ended,
    HumanVerdict,
    Persona,
    Results,
    Role,
    Run,
    Score,
    Spending,
    Status,
    Turn,
    Usage,
    Utterance,
)

NAME = "run.sqlite"
_PLANNED = 'INSERT INTO conversations (id, position, persona, repeat, "case") VALUES (?, ?, ?, ?, ?)'
_LATEST_OF = """SELECT body FROM verdicts
  WHERE conversation = ? AND turn = ? AND source = ? AND reviewer = ? ORDER BY id DESC LIMIT 1"""


class RunFile:
    """The writing end. Open it with `create` or `reopen`; it is held until `close`."""

    def __init__(self, path: Path, lock: IO[str]) -> None:
        """Not to be called directly."""
        self.path = path
        self._lock = lock
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
            opened = cls(path, _hold(folder))
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
            file.executemany(_PLANNED, [_planned(talk, i) for i, talk in enumerate(plan)])

    @classmethod
    def reopen(cls, path: Path) -> "RunFile":
        """An existing run, to go on with; says who holds it when another process does."""
        schema.check(path)
        opened = cls(path, _hold(path.parent))
        try:
            schema.migrate(opened._file)
        except sqlite3.Error as error:
            opened.close()
            msg = f"{path}: cannot be brought up to this version ({error}). Is the disk full?"
            raise RunFileError(msg) from None
        return opened

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
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

    def also_planned(self, more: Iterable[Conversation]) -> None:
        """Conversations that are held after those of the plan."""
        with self._transaction() as file:
            (known,) = file.execute("SELECT count(*) FROM conversations").fetchone()
            file.executemany(_PLANNED, [_planned(talk, known + i) for i, talk in enumerate(more)])

    def said(self, conversation: str, turn: int, utterance: Utterance) -> None:
        """The customer's line of a turn; the answer comes later."""
        with self._transaction() as file:
            file.execute(
                "INSERT OR REPLACE INTO turns VALUES (?, ?, ?, NULL)",
                (conversation, turn, utterance.model_dump_json()),
            )

    def answered(self, conversation: str, turn: int, answer: Answer) -> None:
        """The bot's answer of a turn."""
        with self._transaction() as file:
            file.execute(
                "UPDATE turns SET answer = ? WHERE conversation = ? AND turn = ?",
                (answer.model_dump_json(), conversation, turn),
            )

    def ended(self, conversation: str, ended: Ended, reason: str, closing: str) -> None:
        """Why a conversation stopped."""
        with self._transaction() as file:
            file.execute(
                "UPDATE conversations SET ended = ?, reason = ?, closing = ? WHERE id = ?",
                (ended, reason, closing, conversation),
            )

    def graded(self, scores: Iterable[Score]) -> None:
        """Scores of a turn; a later one of the same judge replaces an earlier."""
        with self._transaction() as file:
            file.executemany(
                "INSERT OR REPLACE INTO scores VALUES (?, ?, ?, ?)",
                [(s.conversation, s.turn, s.judge, s.model_dump_json()) for s in scores],
            )

    def called(self, role: Role, usage: Usage, cached: bool, cost_usd: float | None) -> None:
        """One answered model call."""
        with self._transaction() as file:
            file.execute(
                "INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?)",
                (role, usage.model, usage.tokens_in, usage.tokens_out, cached, cost_usd),
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
            run = _run(file)
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
            _put(file, "run", _run(file).model_copy(update={"status": "running"}).model_dump_json())
            file.execute(
                "UPDATE conversations SET ended = NULL, reason = '', closing = '' WHERE ended IN (?, ?)",
                (Ended.INTERRUPTED, Ended.BUDGET),
            )

    def results(self) -> Results:
        """Everything in the file."""
        return _results(self._file)

    def unanswered(self) -> dict[str, tuple[int, Utterance]]:
        """Customer lines that the bot had not answered yet, by conversation."""
        rows = self._file.execute("SELECT conversation, turn, utterance FROM turns WHERE answer IS NULL")
        return {c: (turn, Utterance.model_validate_json(body)) for c, turn, body in rows}

    def close(self) -> None:
        """Folds the write-ahead log back in and lets the run go."""
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
        with contextlib.closing(sqlite3.connect(path, isolation_level=None, timeout=10)) as file:
            file.execute("BEGIN")  # one moment of a run that may be going on
            return _results(file)
    except (sqlite3.Error, ValueError) as error:
        why = str(error).splitlines()[0]
        msg = f"{path}: the run file is damaged ({why}). Take a copy of it, or rehearse anew."
        raise RunFileError(msg) from None


def find_run(name: str, runs: Path) -> Path:
    """The run file meant by an id, the start of one, `latest`, a folder or a file."""
    given = Path(name)
    if given.is_file():
        return given
    if (given / NAME).is_file():
        return given / NAME
    ids = run_ids(runs)
    meant = ids[-1:] if name == "latest" else [i for i in ids if name and i.startswith(name)]
    if name in ids or len(meant) == 1:
        return runs / (name if name in ids else meant[0]) / NAME
    found = f"{len(meant)} runs start with '{name}'" if meant else f"no run '{name}' in {runs}/"
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


def _hold(folder: Path) -> IO[str]:
    """A lock that the system drops with the process, however it ends."""
    try:
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


def _planned(talk: Conversation, position: int) -> tuple[Any, ...]:
    return talk.id, position, talk.persona, talk.repeat, talk.case.model_dump_json()


def _put(file: sqlite3.Connection, key: str, body: str) -> None:
    file.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (key, body))


def _about(file: sqlite3.Connection, key: str) -> str:
    row = file.execute("SELECT body FROM about WHERE key = ?", (key,)).fetchone()
    if row is None:
        msg = f"'{key}' is missing"
        raise ValueError(msg)
    return str(row[0])


def _run(file: sqlite3.Connection) -> Run:
    return Run.model_validate_json(_about(file, "run"))


def _results(file: sqlite3.Connection) -> Results:
    turns: dict[str, list[Turn]] = {}
    query = """SELECT conversation, turn, utterance, answer FROM turns
      WHERE answer IS NOT NULL ORDER BY conversation, turn"""
    for conversation, index, utterance, answer in file.execute(query):
        said = Utterance.model_validate_json(utterance)
        heard = Answer.model_validate_json(answer)
        turn = Turn(
            index=index, user=said.text, answer=heard, broken_rules=said.broken_rules, clean=said.clean
        )
        turns.setdefault(conversation, []).append(turn)
    rows = file.execute(
        'SELECT id, persona, repeat, "case", ended, reason, closing FROM conversations ORDER BY position'
    )
    conversations = tuple(_conversation(row, turns) for row in rows)
    scores = file.execute("SELECT body FROM scores ORDER BY conversation, turn, judge")
    personas = json.loads(_about(file, "personas"))
    return Results(
        run=_run(file),
        planned=len(conversations),
        personas=tuple(Persona.model_validate(p) for p in personas),
        conversations=conversations,
        scores=tuple(Score.model_validate_json(row[0]) for row in scores),
        spending=_spending(file),
        verdicts=_verdicts(file),
        notes=_notes(file),
    )


def _verdicts(file: sqlite3.Connection) -> tuple[HumanVerdict, ...]:
    """The newest of each reviewer about each turn; files of version 1 have none."""
    if schema.version_of(file) < 2:
        return ()
    rows = file.execute(
        """SELECT body FROM verdicts WHERE id IN
          (SELECT max(id) FROM verdicts GROUP BY conversation, turn, source, reviewer) ORDER BY id"""
    )
    return tuple(HumanVerdict.model_validate_json(row[0]) for row in rows)


def _notes(file: sqlite3.Connection) -> dict[str, Any]:
    rows = file.execute("SELECT key, body FROM about WHERE key LIKE 'note:%'")
    return {key.removeprefix("note:"): json.loads(body) for key, body in rows}


def _conversation(row: tuple[Any, ...], turns: dict[str, list[Turn]]) -> Conversation:
    key, persona, repeat, case, ended, reason, closing = row
    return Conversation(
        id=key,
        case=Case.model_validate_json(case),
        persona=persona,
        repeat=repeat,
        turns=tuple(turns.get(key, ())),
        ended=Ended(ended) if ended else None,
        reason=reason,
        closing=closing,
    )


def _spending(file: sqlite3.Connection) -> dict[str, Spending]:
    query = """SELECT role, sum(NOT cached), sum(cached), sum(tokens_in * NOT cached),
      sum(tokens_out * NOT cached), CASE WHEN count(*) = count(cost_usd) THEN sum(cost_usd) END
      FROM calls GROUP BY role"""
    return {
        role: Spending(calls=calls, cached=cached, tokens_in=i, tokens_out=o, cost_usd=cost)
        for role, calls, cached, i, o, cost in file.execute(query)
    }
