"""The tables of a run file, and the migration of files that earlier versions wrote.

    about            run, personas and notes, each as JSON under a key: "run", "personas", "note:sheet"
    conversations    the plan in its order (`position`), each with its case, and how it ended
    turns            the customer's line and the answer, both as JSON; an answer that is NULL has not come yet
    scores           one row for each judge of each turn, as JSON; the whole conversation's with its last turn
    calls            one row for each call of a model: what it was for, its tokens and its cost
    verdicts         what people say of turns, one row for each time that they say it

What is looked up or summed has a column; all else is JSON, which a new field of a type needs no migration
for.

A file carries its version (PRAGMA user_version). One of an earlier version is migrated when it is opened for
writing, in one transaction; to be read it is taken as it is, since the folder may be read-only:
storage/results.py knows which columns are missing. A change is a new entry in `_MIGRATIONS`, a column at the
end, and a default.
"""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from simulator.core.errors import RunFileError
from simulator.core.messages import _

VERSION = 6
_TABLES = """
CREATE TABLE about (key TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE conversations (
  id TEXT PRIMARY KEY, position INTEGER NOT NULL, persona TEXT NOT NULL, repeat INTEGER NOT NULL,
  "case" TEXT NOT NULL, ended TEXT, reason TEXT NOT NULL DEFAULT '', closing TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE TABLE turns (
  conversation TEXT NOT NULL, turn INTEGER NOT NULL, utterance TEXT NOT NULL, answer TEXT,
  PRIMARY KEY (conversation, turn)
) WITHOUT ROWID;
CREATE TABLE scores (
  conversation TEXT NOT NULL, turn INTEGER NOT NULL, judge TEXT NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY (conversation, turn, judge)
) WITHOUT ROWID;
CREATE TABLE calls (
  role TEXT NOT NULL, model TEXT NOT NULL, tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL,
  cached INTEGER NOT NULL, cost_usd REAL
);
"""
# What people say about turns. A changed verdict is a further row, and the newest counts.
_VERDICTS = """
CREATE TABLE verdicts (
  id INTEGER PRIMARY KEY, conversation TEXT NOT NULL, turn INTEGER NOT NULL, source TEXT NOT NULL,
  reviewer TEXT NOT NULL, body TEXT NOT NULL
);
CREATE INDEX verdicts_of_a_turn ON verdicts (conversation, turn, source, reviewer);
"""
# The judge that a call was made for; empty for other calls, and for those of earlier versions.
_JUDGE = "ALTER TABLE calls ADD COLUMN judge TEXT NOT NULL DEFAULT ''"
# Of the tokens that went in, those that the endpoint had in its cache of prompts.
_PROMPT_CACHE = "ALTER TABLE calls ADD COLUMN tokens_cached INTEGER NOT NULL DEFAULT 0"
# What the customer made of the last answer, as JSON.
_REACTION = "ALTER TABLE conversations ADD COLUMN reaction TEXT NOT NULL DEFAULT ''"
# Which of several models plays the customer; empty where the run has one.
_USER_MODEL = "ALTER TABLE conversations ADD COLUMN user_model TEXT NOT NULL DEFAULT ''"
# The statements that lead from the version before to this one. Never changed once they are out: files of that
# version have been made by them.
_MIGRATIONS = {2: _VERDICTS, 3: _JUDGE, 4: _PROMPT_CACHE, 5: _REACTION, 6: _USER_MODEL}


def create(file: sqlite3.Connection) -> None:
    """Creates all tables, within a transaction of the caller."""
    # The same statements as for older files, in the same order: both come to the same columns.
    _execute(file, f"{_TABLES}{_VERDICTS}{_JUDGE};{_PROMPT_CACHE};{_REACTION};{_USER_MODEL}")
    file.execute(f"PRAGMA user_version = {VERSION}")


def migrate(file: sqlite3.Connection) -> None:
    """Migrates a file of an earlier version in one transaction; nothing in it is lost."""
    version = version_of(file)
    if version >= VERSION:
        return
    # The write lock at once, so that nothing comes between two steps.
    file.execute("BEGIN IMMEDIATE")
    try:
        for step in range(version + 1, VERSION + 1):
            _execute(file, _MIGRATIONS[step])
            file.execute(f"PRAGMA user_version = {step}")
        file.execute("COMMIT")
    except sqlite3.Error:
        file.execute("ROLLBACK")
        raise


def version_of(file: sqlite3.Connection) -> int:
    """The schema version of a file; 0 when it is not a run file."""
    return int(file.execute("PRAGMA user_version").fetchone()[0])


def _execute(file: sqlite3.Connection, statements: str) -> None:
    # `executescript` would commit the transaction.
    for statement in statements.split(";"):
        file.execute(statement)


def check(path: Path) -> None:
    """Raises RunFileError for a path that is not a run file, or one that a newer version wrote."""
    if not path.is_file():
        raise RunFileError(_("{path}: this run file does not exist.", path=path))
    try:
        with contextlib.closing(sqlite3.connect(path)) as file:
            version = version_of(file)
            # Any SQLite file has a version, of its own program; that of others is 0 or means something else.
            tables = "SELECT count(*) FROM sqlite_master WHERE name = 'conversations'"
            is_run = bool(file.execute(tables).fetchone()[0])
    except sqlite3.OperationalError as error:  # reading takes room for a journal, too
        msg = _(
            "{path}: cannot be read ({error}). Is the disk full, or the folder read-only?",
            path=path,
            error=error,
        )
        raise RunFileError(msg) from None
    except sqlite3.Error as error:
        raise RunFileError(_("{path}: not a run file ({error}).", path=path, error=error)) from None
    if version > VERSION:
        msg = _(
            "{path}: written by a newer version (schema {version:d}); update the program.",
            path=path,
            version=version,
        )
        raise RunFileError(msg)
    if not is_run or version < 1:
        msg = _(
            "{path}: not a run file, or one whose start was interrupted before its plan was"
            " written; start a new run.",
            path=path,
        )
        raise RunFileError(msg)


@contextlib.contextmanager
def snapshot(path: Path) -> Iterator[sqlite3.Connection]:
    """Opens a run file for reading, as it is at this moment: the run may be going on. The caller closes it.

    Raises RunFileError for what is no run file, and for one that turns out to be damaged while it is read.
    """
    check(path)
    # Whoever looks at it last closes it, on whatever thread.
    file = sqlite3.connect(path, isolation_level=None, timeout=10, check_same_thread=False)
    try:
        with undamaged(path):
            file.execute("BEGIN")
            yield file
    except RunFileError:
        file.close()
        raise


@contextlib.contextmanager
def undamaged(path: Path) -> Iterator[None]:
    """Raises RunFileError where a run file turns out to be damaged while it is read."""
    try:
        yield
    except (sqlite3.Error, ValueError, RecursionError) as error:
        msg = _(
            "{path}: the run file is damaged ({why}). Use a backup, or start a new run.",
            path=path,
            why=str(error).splitlines()[0],
        )
        raise RunFileError(msg) from None
