"""Answers of models to identical requests, kept in the user's cache folder (never under runs/)."""

import contextlib
import hashlib
import json
import os
import sqlite3
import stat
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, NamedTuple

from simulator.core.errors import RehearsalError

Mode = Literal["on", "off", "read", "refresh"]
# Files of earlier versions have no columns of _LATER yet; `kept` is a time in UTC.
_TABLE = """CREATE TABLE IF NOT EXISTS responses (key TEXT PRIMARY KEY, body TEXT NOT NULL,
  endpoint TEXT NOT NULL DEFAULT '', kept TEXT NOT NULL DEFAULT '')"""
_LATER = {"endpoint", "kept"}
_PUT = "INSERT OR REPLACE INTO responses (key, body, endpoint, kept) VALUES (?, ?, ?, ?)"


def cache_folder() -> Path:
    """Where this user keeps caches: XDG_CACHE_HOME, LOCALAPPDATA, or ~/.cache."""
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or Path.home() / ".cache"
    return Path(base) / "rehearsal"


def private_folder(folder: Path) -> None:
    """Makes a folder, and those above it that are missing, for their owner only, whatever the umask.

    Of folders that are there already, those of this program are closed to others.
    """
    ours = cache_folder()
    for place in reversed((folder, *folder.parents)):
        if not place.exists():
            place.mkdir(mode=0o700, exist_ok=True)
            place.chmod(0o700)
        elif place == ours or ours in place.parents:
            close_to_others(place)


def private_file(path: Path) -> None:
    """Makes an empty file for its owner only, or closes to others what is there."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        path.chmod(0o600)
    except FileExistsError:
        close_to_others(path)


def close_to_others(path: Path) -> None:
    """Takes from all others what they may do with a file or folder, if it is there and one's own."""
    with contextlib.suppress(OSError):
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & 0o077:
            path.chmod(mode & 0o700)


def request_key(url: str, body: dict[str, Any]) -> str:
    """A name for a request: same endpoint and same body, same name. Keys and headers stay out of it."""
    text = json.dumps([url, body], ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class ResponseCache:
    """`on` reads and writes, `read` only reads, `refresh` only writes, `off` does neither.

    A cache that cannot be opened or written is switched off: it must never cost a run.
    """

    def __init__(self, mode: Mode, path: Path | None = None) -> None:
        """The file is opened, or made, when it is first used."""
        self.mode, self._path = mode, path
        self._file: sqlite3.Connection | None = None
        self._is_open = mode == "off"

    @property
    def is_off(self) -> bool:
        """Whether it neither has nor takes anything, so that requests need no names."""
        return self._is_open and self._file is None

    def _opened(self) -> sqlite3.Connection | None:
        if not self._is_open:
            self._is_open = True
            self._open()
        return self._file

    def _open(self) -> None:
        try:
            path = self._path or cache_folder() / "responses.sqlite"
            private_folder(path.parent)
            private_file(path)
            for suffix in ("-wal", "-shm", "-journal"):  # of new ones SQLite sees to it
                close_to_others(path.with_name(path.name + suffix))
            self._file = sqlite3.connect(path, timeout=5, isolation_level=None)
            self._file.execute("PRAGMA journal_mode=WAL")
            self._file.execute("PRAGMA synchronous=NORMAL")
            self._file.execute(_TABLE)
            for column in _LATER - {row[1] for row in self._file.execute("PRAGMA table_info(responses)")}:
                with contextlib.suppress(sqlite3.OperationalError):  # another process was first
                    self._file.execute(f"ALTER TABLE responses ADD COLUMN {column} NOT NULL DEFAULT ''")
        except (OSError, RuntimeError, sqlite3.Error):  # RuntimeError: there is no home folder
            self.close()

    def made_today(self) -> None:
        """Makes the file, or brings one of an earlier version up to this one."""
        self._opened()
        self.close()

    def get(self, key: str) -> dict[str, Any] | None:
        """The stored answer, or None."""
        file = self._opened()
        if file is None or self.mode == "refresh":
            return None
        try:
            row = file.execute("SELECT body FROM responses WHERE key = ?", (key,)).fetchone()
            body = json.loads(row[0]) if row else None
        except (sqlite3.Error, ValueError, TypeError):
            return None
        return body if isinstance(body, dict) else None

    def put(self, key: str, body: dict[str, Any], endpoint: str = "") -> None:
        """Keeps an answer, and whose it was: an address and a model."""
        if self.mode == "read":
            return
        # As bytes: what a model says can hold lone surrogates, which are no text for SQLite.
        row = json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")
        self._write(_PUT, [(key, row, endpoint, datetime.now(tz=UTC).isoformat(timespec="seconds"))])

    def forget(self, *keys: str) -> None:
        """Drops answers that turned out to be of no use."""
        if self.mode != "read":
            self._write("DELETE FROM responses WHERE key = ?", [(key,) for key in keys])

    def _write(self, statement: str, rows: list[tuple[Any, ...]]) -> None:
        try:
            if file := self._opened():
                file.executemany(statement, rows)
        except sqlite3.Error:  # disk full, or held by a stuck process
            self.close()

    def close(self) -> None:
        """Closes the file; the cache is off from then on."""
        self._is_open = True
        if self._file is not None:
            self._file.close()
            self._file = None


class CacheContents(NamedTuple):
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


def kept(path: Path) -> list[CacheContents]:
    """What there is of each endpoint and model, the largest first."""
    if not path.exists():
        return []
    with _opened(path) as file:
        rows = file.execute(
            """SELECT endpoint, count(*), sum(length(CAST(body AS BLOB))), min(kept), max(kept)
              FROM responses GROUP BY endpoint ORDER BY 3 DESC"""
        )
        return [CacheContents(*row) for row in rows]


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
