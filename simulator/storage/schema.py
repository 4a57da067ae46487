"""The tables of a run file.

    about            run, personas and notes, each as JSON under a key: "run", "personas", "note:sheet"
    conversations    the plan in its order (`position`), each with its case, the customer's `reaction` to the
                     last answer, the `user_model` where several play, and how it ended
    turns            the customer's line and the answer, both as JSON; an answer that is NULL has not come yet
    scores           one row for each judge of each turn, as JSON; the whole conversation's with its last turn
    calls            one row for each call of a model: what it was for, its tokens (of them `tokens_cached`
                     that the endpoint had in its cache of prompts) and its cost
    articles         the bot's articles when the run was started, each text compressed
    verdicts         what people say of turns: a row each time that they say it; the newest counts

What is looked up or summed has a column; all else is JSON. A file carries its version (PRAGMA user_version);
one of another version is refused.
"""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from simulator.core.errors import RunFileError
from simulator.core.messages import _

VERSION = 3
_TABLES = """
CREATE TABLE about (key TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE conversations (
  id TEXT PRIMARY KEY, position INTEGER NOT NULL, persona TEXT NOT NULL, repeat INTEGER NOT NULL,
  "case" TEXT NOT NULL, ended TEXT, reason TEXT NOT NULL DEFAULT '', closing TEXT NOT NULL DEFAULT '',
  reaction TEXT NOT NULL DEFAULT '', user_model TEXT NOT NULL DEFAULT ''
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
  cached INTEGER NOT NULL, cost_usd REAL, tokens_cached INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE articles (
  id TEXT PRIMARY KEY, title TEXT NOT NULL, digest TEXT NOT NULL, packed BLOB NOT NULL
);
CREATE TABLE verdicts (
  id INTEGER PRIMARY KEY, conversation TEXT NOT NULL, turn INTEGER NOT NULL, source TEXT NOT NULL,
  reviewer TEXT NOT NULL, body TEXT NOT NULL
);
CREATE INDEX verdicts_of_a_turn ON verdicts (conversation, turn, source, reviewer);
"""


def create(file: sqlite3.Connection) -> None:
    """Creates all tables, within a transaction of the caller."""
    for statement in _TABLES.split(";"):  # `executescript` would commit the transaction
        file.execute(statement)
    file.execute(f"PRAGMA user_version = {VERSION}")


def put(file: sqlite3.Connection, key: str, body: str) -> None:
    """Saves an entry about the whole run, as JSON, in the place of an earlier one."""
    file.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (key, body))


def get(file: sqlite3.Connection, key: str) -> str | None:
    """An entry about the whole run, as JSON; None where there is none."""
    body: tuple[str] | None = file.execute("SELECT body FROM about WHERE key = ?", (key,)).fetchone()
    return str(*body) if body else None


def check(path: Path) -> None:
    """Raises RunFileError for a path that is not a run file, or one of another version."""
    if not path.is_file():
        raise RunFileError(_("{path}: this run file does not exist.", path=path))
    try:
        with contextlib.closing(sqlite3.connect(path)) as file:
            (version,) = file.execute("PRAGMA user_version").fetchone()
            # Any SQLite file has a version, of its own program; that of others is 0 or means something else.
            table = file.execute("SELECT 1 FROM sqlite_master WHERE name = 'conversations'").fetchone()
    except sqlite3.OperationalError as error:  # reading takes room for a journal, too
        msg = _(
            "{path}: cannot be read ({error}). Is the disk full, or the folder read-only?",
            path=path,
            error=error,
        )
        raise RunFileError(msg) from None
    except sqlite3.Error as error:
        raise RunFileError(
            _(
                "{path}: not a run file ({error}); name the run by its id or its folder.",
                path=path,
                error=error,
            )
        ) from None
    if not (table and version):
        msg = _(
            "{path}: not a run file, or one whose start was interrupted before its plan was"
            " written; start a new run.",
            path=path,
        )
        raise RunFileError(msg)
    if version != VERSION:
        msg = _(
            "{path}: a run of another version of the program (schema {version:d}, not {ours:d});"
            " start a new run.",
            path=path,
            version=version,
            ours=VERSION,
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
