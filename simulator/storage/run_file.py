"""The run file runs/<id>/run.sqlite, the only truth about a run: one writer, any number of readers.

Every customer line, answer and score is committed as it happens, so that after kill -9 nothing that was
paid for is requested again. While an event loop runs, the rows of one iteration are committed together at
its end; a customer's line that a model wrote is committed at once, before it is sent to the bot.

What a kill can leave in the file, and what `--resume` makes of it:

- a line without an answer: the bot is asked the very same line, which the customer model is not paid for
  again;
- an answer without scores, or with those of some judges: the others grade it;
- a conversation without an ending: it goes on after its last turn;
- a run that still says `running`: nobody holds its lock any more, so it can be reopened.

A folder without a complete plan is no run; whoever starts one creates the folder and the plan in one go.

Why the rows of one iteration together: every commit is a call to the system, and with 64 calls in flight
several answers arrive at once. What a kill loses then has been in memory for a moment. Why a customer's line
alone and before everything else: the bot may act on it (book, cancel, send a mail), and after a kill it has
to be told the same line again, not another one.

Beside the file lies run.lock, held by the writing process as long as it lives. Readers need no lock: SQLite's
write-ahead log shows each of them the last commit, while the run goes on.

An error while writing (a full disk) keeps the rows pending: the next write raises it where somebody can stop
the run, and `close` tries once more, so that what is paid for is saved if there is room again.
"""

import asyncio
import contextlib
import functools
import json
import os
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from simulator.core.errors import RunFileError
from simulator.core.messages import _, sentences, system_error
from simulator.core.types import (
    OPEN,
    Answer,
    Conversation,
    Ended,
    Persona,
    Reaction,
    Results,
    Role,
    Run,
    Score,
    Status,
    StoredArticle,
    Usage,
    Utterance,
    Value,
)
from simulator.storage import schema
from simulator.storage.results import (
    RunReader,
    StoredConversations,
    StoredScores,
    read_about,
    results_of,
    run_of,
)

RUN_FILE = "run.sqlite"
# Notes of a run, stored under "note:KEY": the request of lm_eval that it answers, the rows of its data that
# were left out, and by language the error that it stopped for.
HARNESS_NOTE, SKIPPED_NOTE, EARLY_NOTE = "harness", "rows_skipped", "stopped_for"
# Bytes of the bot's articles, compressed, that a run keeps: some 10,000 pages.
MOST_PACKED = 10_000_000
_INSERT_CONVERSATION = (
    'INSERT INTO conversations (id, position, persona, repeat, "case", user_model) VALUES (?, ?, ?, ?, ?, ?)'
)
_INSERT_TURN = "INSERT OR REPLACE INTO turns VALUES (?, ?, ?, ?)"


class RunFile:
    """A run file open for writing. `create` or `reopen` it; it stays locked until `close`."""

    def __init__(self, path: Path, lock: IO[str]) -> None:
        """Use `create` or `reopen` instead."""
        self.path = path
        # An open file holds the lock: the system releases it however this process ends.
        self._lock = lock
        # The customers' lines of a single-turn data set, which are stored together with the answer.
        self._utterances: dict[str, str] = {}
        # Statements with their rows that are not committed yet.
        self._pending: list[tuple[str, Sequence[tuple[Any, ...]]]] = []
        self._commit_scheduled_on: asyncio.AbstractEventLoop | None = None
        # Whether the last commit failed, and whether a caller has seen the error.
        self._failed = self._reported = False
        try:
            # No implicit transactions: each BEGIN and COMMIT is written here.
            self._file = sqlite3.connect(path, isolation_level=None, timeout=10)
            # Readers see the last commit. A power cut may lose the last moments, but damages nothing.
            self._file.execute("PRAGMA journal_mode=WAL")
            self._file.execute("PRAGMA synchronous=NORMAL")
        except sqlite3.Error as error:
            lock.close()
            raise RunFileError(_("{path}: cannot be written ({error}).", path=path, error=error)) from None

    @classmethod
    def create(
        cls, folder: Path, run: Run, plan: Iterable[Conversation], personas: Iterable[Persona]
    ) -> "RunFile":
        """Creates a run folder with its plan; only its owner can read it."""
        try:
            folder.mkdir(parents=True, mode=0o700)
            path = folder / RUN_FILE
            path.touch(mode=0o600)
        except OSError as error:
            msg = _(
                "{folder}: cannot be written ({strerror}). Choose another folder with --runs.",
                folder=folder,
                strerror=system_error(error),
            )
            raise RunFileError(msg) from None
        # Undone in reverse order where anything fails: first closed, then removed.
        with contextlib.ExitStack() as rollback:  # a folder without a complete plan is not left behind
            rollback.callback(shutil.rmtree, folder, ignore_errors=True)
            run_file = cls(path, lock_folder(folder))
            rollback.callback(run_file.close)
            with run_file._transaction() as file:
                schema.create(file)
                schema.put(file, "run", run.model_dump_json())
                bodies = [persona.model_dump(mode="json") for persona in personas]
                schema.put(file, "personas", json.dumps(bodies, ensure_ascii=False))
                file.executemany(_INSERT_CONVERSATION, _conversation_rows(plan, 0))
            rollback.pop_all()
        return run_file

    @classmethod
    def reopen(cls, path: Path) -> "RunFile":
        """Opens an existing run for writing. Raises RunFileError when another process is writing it."""
        schema.check(path)
        return cls(path, lock_folder(path.parent))

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """A transaction of its own, after everything that is still pending."""
        self.commit()
        with self._committing() as file:
            yield file

    @contextlib.contextmanager
    def _committing(self) -> Iterator[sqlite3.Connection]:
        try:
            self._file.execute("BEGIN IMMEDIATE")  # words of people may be written meanwhile
            yield self._file
            self._file.execute("COMMIT")
        except sqlite3.Error as error:
            what = {"path": self.path, "error": error, "rest": _("what was committed before is safe")}
            msg = _("{path}: cannot be written ({error}); {rest}. Is the disk full?", **what)
            raise RunFileError(msg) from None
        finally:
            # A failed COMMIT leaves it open, and every later BEGIN would fail.
            if self._file.in_transaction:
                with contextlib.suppress(sqlite3.Error):
                    self._file.execute("ROLLBACK")

    def commit(self) -> None:
        """Commits pending rows. Rows that cannot be written stay pending for the next commit."""
        if not self._pending:
            return
        self._reported = True  # an error reaches the caller
        with self._committing() as file:
            for statement, rows in self._pending:
                file.executemany(statement, rows)
        self._pending.clear()  # only now: what was rolled back is written by the next commit
        self._reported = False

    def _write(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Writes rows at the end of the event loop's iteration, or at once when no loop runs.

        Raises RunFileError when earlier rows could not be written.
        """
        self._pending.append((statement, rows))
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            loop = None
        # After a failure at once, so that whoever writes next is told by an exception.
        if loop is None or self._failed:
            self._failed = False
            self.commit()
        elif self._commit_scheduled_on is not loop:  # the first rows of this iteration
            self._commit_scheduled_on = loop
            loop.call_soon(self._scheduled_commit)

    def _scheduled_commit(self) -> None:
        # The loop calls this, so no caller sees an error here: the next one that writes does.
        self._commit_scheduled_on = None
        try:
            self.commit()
        except (RunFileError, sqlite3.ProgrammingError):  # the latter when the file was closed meanwhile
            self._failed, self._reported = True, False

    def add_conversations(self, conversations: Iterable[Conversation]) -> None:
        """Adds conversations behind those of the plan."""
        with self._transaction() as file:
            (count,) = file.execute("SELECT count(*) FROM conversations").fetchone()
            file.executemany(_INSERT_CONVERSATION, _conversation_rows(conversations, count))

    def save_utterance(self, conversation: str, turn: int, utterance: Utterance) -> None:
        """Saves the customer's line of a turn, before it is sent to the bot."""
        body = _body(utterance)
        # The line of a row is its question, also after an interruption: no need to hurry, and of 100,000 rows
        # half of the writes are saved.
        if self._as_started.asks_once:
            self._utterances[conversation] = body
            return
        self._write(_INSERT_TURN, [(conversation, turn, body, None)])
        # After an interruption the bot has to get the very same line. Stand-ins say it again, for the same
        # seed.
        if not self._as_started.offline:
            self.commit()

    def save_answer(self, conversation: str, turn: int, answer: Answer) -> None:
        """Saves the bot's answer of a turn."""
        body = _body(answer)
        if (utterance := self._utterances.pop(conversation, None)) is not None:
            self._write(_INSERT_TURN, [(conversation, turn, utterance, body)])
            return
        self._write(
            "UPDATE turns SET answer = ? WHERE conversation = ? AND turn = ?", [(body, conversation, turn)]
        )

    def save_ending(
        self, conversation: str, ended: Ended, reason: str, closing: str, reaction: Reaction | None = None
    ) -> None:
        """Saves how and why a conversation ended, and the customer's last words and reaction."""
        last = _body(reaction) if reaction else ""
        self._write(
            "UPDATE conversations SET ended = ?, reason = ?, closing = ?, reaction = ? WHERE id = ?",
            [(ended, reason, closing, last, conversation)],
        )

    def save_scores(self, scores: Iterable[Score]) -> None:
        """Saves the scores of a turn; a score replaces an earlier one of the same judge."""
        self._write(
            "INSERT OR REPLACE INTO scores VALUES (?, ?, ?, ?)",
            [(s.conversation, s.turn, s.judge, _body(s)) for s in scores],
        )

    def save_call(self, role: Role, usage: Usage, cached: bool, cost_usd: float | None) -> None:
        """Saves an answered model call, which is committed no later than what it led to."""
        tokens = usage.tokens_in, usage.tokens_out
        row = (role, usage.model, *tokens, cached, cost_usd, usage.tokens_cached)
        self._write("INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?, ?)", [row])

    def save_articles(self, articles: Iterable[StoredArticle]) -> None:
        """Saves the bot's articles; their texts only up to `MOST_PACKED` bytes together."""
        rows = [(article.id, article.title, article.digest, article.packed) for article in articles]
        if sum(len(packed) for *_rest, packed in rows) > MOST_PACKED:
            rows = [(*row[:3], b"") for row in rows]
        with self._transaction() as file:
            file.executemany("INSERT OR REPLACE INTO articles VALUES (?, ?, ?, ?)", rows)

    def save_note(self, key: str, body: str) -> None:
        """Saves a note about the whole run (a drift check, the sheet it was pushed to), as JSON."""
        with self._transaction() as file:
            schema.put(file, f"note:{key}", body)

    def finish(self, status: Status, seconds: float) -> None:
        """Saves how this session ended, and adds its `seconds` to those of earlier sessions.

        Conversations that have begun and not ended are `interrupted`; those without a turn stay open.
        """
        with self._transaction() as file:
            run = run_of(file)
            finished = run.model_copy(update={"status": status, "seconds": run.seconds + seconds})
            schema.put(file, "run", finished.model_dump_json())
            file.execute(
                """UPDATE conversations SET ended = ? WHERE ended IS NULL
                  AND EXISTS (SELECT 1 FROM turns WHERE conversation = id)""",
                (Ended.INTERRUPTED,),
            )

    def mark_running(self) -> None:
        """Marks the run as running again, and reopens conversations that were only interrupted."""
        with self._transaction() as file:
            schema.put(file, "run", run_of(file).model_copy(update={"status": "running"}).model_dump_json())
            file.executemany(
                "UPDATE conversations SET ended = NULL, reason = '', closing = '', reaction = ''"
                " WHERE ended = ?",
                [(ended,) for ended in OPEN],
            )

    def results(self) -> Results:
        """Everything in the file. Raises RunFileError where it is damaged."""
        self.commit()
        with schema.undamaged(self.path):
            return results_of(self._file)

    @functools.cached_property
    def _as_started(self) -> Run:
        """The run, for what of it stays the same."""
        return self.run

    @property
    def run(self) -> Run:
        """How the run was started, and its current status."""
        return run_of(self._file)

    def conversations(self) -> StoredConversations:
        """All conversations in the order of the plan, each read when it is accessed."""
        self.commit()
        return StoredConversations(RunReader(self._file))

    def scores(self, conversation: str) -> list[Score]:
        """The scores that one conversation has so far."""
        self.commit()
        by_turn = StoredScores(RunReader(self._file)).of_conversations([conversation]).get(conversation, {})
        return [score for by_judge in by_turn.values() for score in by_judge.values()]

    def unanswered(self) -> dict[str, tuple[int, Utterance]]:
        """The turn and the customer's line that wait for the bot's answer, by conversation."""
        self.commit()
        rows = self._file.execute("SELECT conversation, turn, utterance FROM turns WHERE answer IS NULL")
        return {c: (turn, Utterance.model_validate_json(body)) for c, turn, body in rows}

    def close(self) -> None:
        """Commits pending rows, merges the write-ahead log and unlocks the run.

        Raises RunFileError when rows are lost and no earlier error has said so.
        """
        # Said once is enough: a full disk is no reason to end with a second traceback.
        reported = self._reported
        try:
            self.commit()
        except RunFileError:
            if not reported:
                raise
        finally:
            with contextlib.suppress(sqlite3.Error):
                self._file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._file.close()
            self._lock.close()


def add_note(path: Path, key: str, body: str) -> None:
    """Saves a note about a finished run, as JSON; the run is locked only meanwhile."""
    with contextlib.closing(RunFile.reopen(path)) as file:
        file.save_note(key, body)


def read_run(path: Path) -> Results:
    """Reads a run, finished or not, without locking it."""
    with schema.snapshot(path) as file:
        return results_of(file, closes_file=True)


def find_run(name: str, runs: Path) -> Path:
    """The run file for an id, the beginning of one, `latest`, a folder or a file.

    Raises RunFileError, with the newest ids, for none and for a beginning that several share.
    """
    path = Path(name)
    with contextlib.suppress(OSError):  # a name longer than any file's
        if path.is_file():
            return path
        if (path / RUN_FILE).is_file():
            return path / RUN_FILE
        if name and path.name == name and (runs / name / RUN_FILE).is_file():
            return runs / name / RUN_FILE
    ids = run_ids(runs)
    # Ids begin with their time, so the beginning of one is easily typed; which is the newest, the files say.
    matches = ids[-1:] if name == "latest" else [i for i in ids if name and i.startswith(name)]
    if len(matches) == 1:
        return runs / matches[0] / RUN_FILE
    problem = _("no run '{name}' in {folder}/.", name=name[:80], folder=runs)
    if matches:
        problem = _("{n} runs start with '{name}'.", n=len(matches), name=name)
    newest = tuple(reversed((matches or ids)[-5:]))
    listed = _("Newest: {runs}.", runs=newest) if newest else _("Newest: none yet.")
    if not runs.is_dir():
        listed = _("There is no {folder}/ here: type this in the folder where the run was made.", folder=runs)
    raise RunFileError(sentences(problem, listed))


def run_ids(runs: Path) -> list[str]:
    """The ids of the runs in a folder, oldest first: by the time in each run file, not by the folder's name.

    A name has the local time of the machine that made it, and zones differ and change. A file that cannot be
    read counts as of the time when it was last written, so that nobody takes an older run for the newest one.
    """
    if not runs.is_dir():
        return []
    paths = [entry / RUN_FILE for entry in runs.iterdir() if (entry / RUN_FILE).is_file()]
    return [path.parent.name for path in sorted(paths, key=lambda path: (created_at(path), path.parent.name))]


def created_at(path: Path) -> datetime:
    """When the run in a file was started, in UTC; for one that cannot be read, when it was last written."""
    # Of every run in a folder: no more is read than that.
    with (
        contextlib.suppress(sqlite3.Error, ValueError, LookupError, TypeError, OverflowError, RecursionError),
        contextlib.closing(sqlite3.connect(path, timeout=10)) as file,
    ):
        return datetime.fromisoformat(json.loads(read_about(file, "run"))["created"]).astimezone(UTC)
    return written_at(path)


def written_at(path: Path) -> datetime:
    """When a file was last written, in UTC; the beginning of time where nobody can say."""
    try:
        return datetime.fromtimestamp(path.stat().st_mtime, tz=UTC)
    except (OSError, ValueError, OverflowError):  # gone meanwhile, or of no time at all
        return datetime.min.replace(tzinfo=UTC)


def labelled_runs(runs: Path, rubric: str) -> Iterator[Results]:
    """The runs of a folder that people labelled and that a rubric (by its hash) graded, by their ids.

    Unreadable ones are left out.
    """
    for path in sorted(runs.glob(f"*/{RUN_FILE}")):
        with contextlib.suppress(RunFileError):
            with schema.snapshot(path) as file, contextlib.closing(file):
                both = file.execute(
                    """SELECT 1 WHERE EXISTS (SELECT 1 FROM verdicts)
                      AND EXISTS (SELECT 1 FROM scores WHERE json_extract(body, '$.rubric') = ?)""",
                    (rubric,),
                ).fetchone()
            if both:
                yield read_run(path)


def with_verdicts(runs: Path) -> Iterator[Results]:
    """The runs of a folder of which people said something, oldest first; unreadable ones are left out."""
    for name in run_ids(runs):
        with contextlib.suppress(RunFileError):
            if (results := read_run(runs / name / RUN_FILE)).verdicts:
                yield results


def replay_of(run: Run) -> str | None:
    """The id of the run whose customers' lines were replayed; None for a run that replays none."""
    replay = run.settings.get("replay")
    if not isinstance(replay, str) or not replay:
        return None
    # A run that was started on Windows may be read elsewhere.
    path = Path(replay.replace("\\", "/"))
    return path.parent.name if path.name == RUN_FILE and path.parent.name else path.name


def new_run_id(now: datetime, personas: Iterable[str]) -> str:
    """An id that begins with the time `now` and can be read aloud: 20260401-093000512-angry-3f2a."""
    names = list(personas)
    persona = names[0] if len(names) == 1 else "mixed"
    # It is the name of a folder, in every file system and shell.
    label = "".join(c for c in persona if c.isascii() and (c.isalnum() or c in "-_"))[:20] or "persona"
    return f"{now:%Y%m%d-%H%M%S}{now.microsecond // 1000:03}-{label}-{os.urandom(2).hex()}"


def lock_folder(folder: Path) -> IO[str]:
    """Locks a run folder until the returned file is closed, or the process ends in whatever way.

    An advisory lock of the system (flock), not a file that says "locked": that would outlive kill -9. Raises
    RunFileError when another process holds the lock.
    """
    try:
        # The folder may come from elsewhere: its lock must not be a link to a file of ours.
        # Opened without truncating: the number in it is still the other process's.
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
        lock = os.fdopen(os.open(folder / "run.lock", flags, 0o600), "a+", encoding="utf-8")
    except OSError as error:
        msg = _("{folder}: cannot be written ({strerror}).", folder=folder, strerror=system_error(error))
        raise RunFileError(msg) from None
    try:
        import fcntl  # missing on Windows, where SQLite's own lock has to do

        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:
        return lock
    except OSError:
        lock.seek(0)
        holder = lock.read().strip() or "?"
        lock.close()
        msg = _(
            "{folder} is being written by process {process}; wait for it, or end it.",
            folder=folder.name,
            process=holder,
        )
        raise RunFileError(msg) from None
    with contextlib.suppress(OSError):  # the number is only for the message above
        os.truncate(lock.fileno(), 0)
        os.write(lock.fileno(), str(os.getpid()).encode())
    return lock


def is_held(folder: Path) -> bool:
    """Whether a process holds the lock of a run folder; True where that cannot be found out."""
    try:
        import fcntl  # missing on Windows

        with (folder / "run.lock").open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except (ImportError, OSError):
        return True
    return False


def _conversation_rows(conversations: Iterable[Conversation], first: int) -> Iterator[tuple[Any, ...]]:
    """Rows for `_INSERT_CONVERSATION`, at the positions from `first` on."""
    for position, conversation in enumerate(conversations, first):
        case = _body(conversation.case)
        model = conversation.user_model
        yield conversation.id, position, conversation.persona, conversation.repeat, case, model


def _body(value: Value) -> str:
    """A value as JSON, without what is as usual: most of a large run is.

    So a default of core/types.py may not change its meaning; see there.
    """
    return value.model_dump_json(exclude_defaults=True)
