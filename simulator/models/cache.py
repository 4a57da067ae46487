"""The cache of model replies in the user's cache folder, and files that only their owner can read.

One SQLite file, `rehearsal/responses.sqlite`, for all runs of a user: key and reply. The key is the SHA-256
of the endpoint's address and the request's body as canonical JSON; keys and headers are no part of it, so
that a new API key finds what the old one paid for.

    --cache on    a reply that is there is not asked for again; others are kept
    --cache off   neither

What is cached: chat completions with a text, embeddings, and likelihoods for lm_eval. Not refusals, errors,
malformed replies (`forget`), nor what the bot under test says, unless it is the demo bot. A prompt that
differs in one byte is another request, so that no run is graded by another rubric than its own.

Several runs may use the file at the same time (WAL). Whatever goes wrong with it switches it off for this
run: a cache may cost a call, never a run.
"""

import asyncio
import contextlib
import hashlib
import json
import os
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from simulator.core.errors import RehearsalError
from simulator.core.messages import _

Mode = Literal["on", "off"]
# What every file of SQLite begins with.
_DATABASE = b"SQLite format 3\0"
_TABLE = "CREATE TABLE IF NOT EXISTS responses (key TEXT PRIMARY KEY, body TEXT NOT NULL)"


def cache_folder() -> Path:
    """The folder `rehearsal` in XDG_CACHE_HOME, LOCALAPPDATA (Windows) or ~/.cache."""
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or Path.home() / ".cache"
    return Path(base) / "rehearsal"


def private_folder(folder: Path) -> None:
    """Creates a folder and its missing parents for their owner only, whatever the umask.

    `mkdir(mode=...)` alone is subject to the umask, and says nothing of parents. Existing folders of this
    program are closed to others; other existing folders stay as they are.
    """
    own_root = cache_folder()
    for path in reversed((folder, *folder.parents)):
        if not path.exists():
            path.mkdir(mode=0o700, exist_ok=True)
            path.chmod(0o700)
        # XDG_CACHE_HOME may be shared with others, and is none of our business.
        elif path == own_root or own_root in path.parents:
            close_to_others(path)


def private_file(path: Path) -> None:
    """Creates an empty file for its owner only, or closes an existing one to others."""
    try:
        # With the right mode from the first moment: a chmod afterwards leaves a gap.
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        path.chmod(0o600)
    except FileExistsError:
        close_to_others(path)


def close_to_others(path: Path) -> None:
    """Removes all permissions of others from a file or folder; a missing or foreign one is ignored."""
    with contextlib.suppress(OSError):
        path.chmod(stat.S_IMODE(path.stat().st_mode) & 0o700)


def request_key(url: str, body: dict[str, Any]) -> str:
    """The key of a request: a hash of endpoint and body. Secrets and headers are not part of it."""
    text = json.dumps([url, body], ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class ResponseCache:
    """Reads and writes replies while its `mode` is `on`.

    A cache that cannot be opened or written is switched off: it must never cost a run. Replies are written
    at the end of the event loop's iteration, after the run file's calls of the same iteration: what is paid
    for is counted before it can come back as a reply that costs nothing.
    """

    def __init__(self, mode: Mode, path: Path | None = None) -> None:
        """The file is opened or created when it is first used."""
        self.mode, self._path = mode, path
        self._file: sqlite3.Connection | None = None
        self._is_open = mode == "off"
        # Rows that are not written yet, by key: a reply can be asked for again before it is.
        self._pending: dict[str, tuple[str, bytes]] = {}

    @property
    def is_off(self) -> bool:
        """Whether the cache neither reads nor writes, so that requests need no keys."""
        return self.mode == "off" or (self._is_open and self._file is None)

    def _opened(self) -> sqlite3.Connection | None:
        if self._is_open:
            return self._file
        self._is_open = True
        try:
            path = self._path or cache_file()
            private_folder(path.parent)
            private_file(path)
            for suffix in ("-wal", "-shm", "-journal"):
                close_to_others(path.with_name(path.name + suffix))
            self._file = sqlite3.connect(path, isolation_level=None)
            # Readers and a writer at the same time: several runs share the file.
            self._file.execute("PRAGMA journal_mode=WAL")
            self._file.execute("PRAGMA synchronous=NORMAL")
            self._file.execute(_TABLE)
        except (OSError, RuntimeError, sqlite3.Error):  # RuntimeError: there is no home folder
            self.close()
        return self._file

    def get(self, key: str) -> dict[str, Any] | None:
        """The stored reply, or None."""
        file = self._opened()
        if file is None:
            return None
        try:
            if key in self._pending:
                row: Any = self._pending[key][1:]
            else:
                row = file.execute("SELECT body FROM responses WHERE key = ?", (key,)).fetchone()
            body = json.loads(row[0]) if row else None
        except (sqlite3.Error, ValueError, TypeError):
            return None
        # What cannot be read is asked for again.
        return body if isinstance(body, dict) else None

    def put(self, key: str, body: dict[str, Any]) -> None:
        """Stores a reply."""
        if self.is_off:
            return
        # As bytes: a reply can contain lone surrogates, which SQLite does not accept as text.
        row = json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")
        self._pending[key] = (key, row)
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self._flush()
        else:
            if len(self._pending) == 1:
                loop.call_soon(self._flush)

    def forget(self, *keys: str) -> None:
        """Deletes replies that turned out to be useless."""
        for key in keys:
            self._pending.pop(key, None)
        self._write("DELETE FROM responses WHERE key = ?", [(key,) for key in keys])

    def _flush(self) -> None:
        rows = list(self._pending.values())
        self._pending.clear()
        # Two runs may have asked the same; either reply will do.
        if rows:
            statement = "INSERT OR REPLACE INTO responses (key, body) VALUES (?, ?)"
            self._write(statement, rows)

    def _write(self, statement: str, rows: list[tuple[Any, ...]]) -> None:
        try:
            if file := self._opened():
                with file:
                    file.execute("BEGIN")
                    file.executemany(statement, rows)
        except sqlite3.Error:  # disk full, or locked by a stuck process
            self.close()

    def close(self) -> None:
        """Writes what is left and closes the file; the cache is off from then on."""
        self._flush()
        self._is_open = True
        if self._file is not None:
            self._file.close()
            self._file = None


def cache_file() -> Path:
    """The path of the cache of model replies."""
    return cache_folder() / "responses.sqlite"


def size_on_disk(path: Path) -> int:
    """Bytes on disk, including the write-ahead log."""
    files = (path, path.with_name(f"{path.name}-wal"))
    return sum(file.stat().st_size for file in files if file.exists())


def entries(path: Path) -> int:
    """How many replies are kept there."""
    if not path.exists():
        return 0
    with _opened(path) as file:
        return int(file.execute("SELECT count(*) FROM responses").fetchone()[0])


def clear(path: Path) -> int:
    """Deletes all replies, and returns their number; the file shrinks.

    A file that is no database, a damaged one, is deleted: nothing else could mend it.
    """
    if not path.exists():
        return 0
    with path.open("rb") as opened:
        head = opened.read(len(_DATABASE))
    if head not in (_DATABASE, b""):
        path.unlink()
        return 0
    with _opened(path) as file:
        deleted = file.execute("DELETE FROM responses").rowcount
        with contextlib.suppress(sqlite3.Error):  # a run is reading: the space will be reused
            file.execute("VACUUM")
            file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return deleted


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    # The usual way of opening, which also sets the permissions.
    current = ResponseCache("on", path)
    current.get("")
    current.close()
    try:
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as file:
            file.execute("PRAGMA secure_delete=ON")
            yield file
    except sqlite3.Error as error:
        msg = _("{path}: cannot be read or emptied ({error}). Is a run using it?", path=path, error=error)
        raise RehearsalError(msg) from None
