"""What the response cache holds, and how to empty it."""

import contextlib
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from simulator.cache import ResponseCache, cache_folder
from simulator.core.errors import RehearsalError


class Kept(NamedTuple):
    """The answers of one endpoint and model; times in UTC, empty for answers of earlier versions."""

    endpoint: str
    entries: int
    size: int
    oldest: str
    newest: str


def cache_file() -> Path:
    """Where the answers of models are kept."""
    return cache_folder() / "responses.sqlite"


def size_of(path: Path) -> int:
    """Bytes on disk, with what is not yet written into the file itself."""
    files = (path, path.with_name(f"{path.name}-wal"))
    return sum(file.stat().st_size for file in files if file.exists())


def kept(path: Path) -> list[Kept]:
    """What there is of each endpoint and model, the largest first."""
    if not path.exists():
        return []
    with _opened(path) as file:
        rows = file.execute(
            """SELECT endpoint, count(*), sum(length(CAST(body AS BLOB))), min(kept), max(kept)
              FROM responses GROUP BY endpoint ORDER BY 3 DESC"""
        )
        return [Kept(*row) for row in rows]


def clear(path: Path, older_than: float | None = None) -> int:
    """Drops the answers older than so many days, or all, and gives their number; the file shrinks.

    Answers of which nobody knows how old they are count as older.
    """
    if not path.exists() or (older_than is None and _is_broken(path)):
        return 0
    until = datetime.now(tz=UTC) - timedelta(days=older_than or 0)
    with _opened(path) as file:
        if older_than is None:
            gone = file.execute("DELETE FROM responses").rowcount
        else:
            at = until.isoformat(timespec="seconds")
            gone = file.execute("DELETE FROM responses WHERE kept < ?", (at,)).rowcount
        with contextlib.suppress(sqlite3.Error):  # a run is reading: the space is used again
            file.execute("VACUUM")
            file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return gone


def _is_broken(path: Path) -> bool:
    """Whether the file was no database, and is gone now."""
    try:
        with contextlib.closing(sqlite3.connect(path)) as file:
            file.execute("PRAGMA schema_version")
    except sqlite3.OperationalError:
        return False  # locked: said by whoever opens it
    except sqlite3.DatabaseError:
        path.unlink()
        return True
    return False


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    ResponseCache("on", path).made_today()
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=5, isolation_level=None)) as file:
            file.execute("PRAGMA secure_delete=ON")
            yield file
    except sqlite3.Error as error:
        msg = f"{path}: cannot be read or emptied ({error}). Is a run using it?"
        raise RehearsalError(msg) from None
