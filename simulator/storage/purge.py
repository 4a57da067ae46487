"""A run taken off the disk: its folder, replies that the cache keeps, and where else its text may be."""

import contextlib
import json
import re
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from simulator.core.errors import InputError
from simulator.core.types import Results
from simulator.models.cache import cache_folder
from simulator.storage.run_file import NAME, RunFile, find_run

# What the program itself leaves in a run folder.
_OURS = re.compile(
    r"run\.sqlite(?:-wal|-shm|-journal)?|run\.lock|report(?:-\d+)?\.(?:html|xlsx|json|csv|md)|junit\.xml"
    r"|error\.txt|side-by-side\.html|pairwise\.jsonl|\.(?:report|junit|side-by-side).*\.\d+(?:-.*)?"
)
# Shorter texts are said everywhere: "yes" in a cached reply tells nothing.
_TELLING = 8
_SHEETS = "https://docs.google.com/spreadsheets/d/"


class Purge(NamedTuple):
    """A run that is to go: its folder, the run, and where else its text may be."""

    folder: Path
    results: Results
    elsewhere: tuple[str, ...]

    @property
    def files(self) -> tuple[Path, ...]:
        """What is in the folder."""
        return tuple(sorted(self.folder.iterdir()))


@contextlib.contextmanager
def held_for_purging(name: str, runs: Path) -> Iterator[Purge]:
    """The run of that name, held so that nobody writes to it; InputError for what is no run folder."""
    path = find_run(name, runs)
    folder = path.parent
    _check(path, folder)
    with contextlib.closing(RunFile.reopen(path)) as file:
        results = file.results()
        _check_contents(folder, results.run.id)
        yield Purge(folder, results, tuple(_elsewhere(folder, results)))


def _check(path: Path, folder: Path) -> None:
    if path.name != NAME:
        msg = f"{path}: no run folder. Name the run by its id, or its folder."
        raise InputError(msg)
    if path.is_symlink() or folder.is_symlink():
        msg = f"{folder}: is a link, or its run file is. Purge the run where it really lies."
        raise InputError(msg)
    if Path.cwd().resolve().is_relative_to(folder.resolve()):
        msg = f"{folder}: you stand in it. Change to another folder first."
        raise InputError(msg)


def _check_contents(folder: Path, run: str) -> None:
    """Folders are never the program's; other files may be a team's report, where the folder is the run's."""
    named = folder.resolve().name == run
    strange = [
        entry.name
        for entry in folder.iterdir()
        if (entry.is_dir() and not entry.is_symlink()) or not (named or _OURS.fullmatch(entry.name))
    ]
    if strange:
        msg = f"{folder}: holds what no run does ({', '.join(strange[:3])}). Move that away first."
        raise InputError(msg)


def delete(purge: Purge) -> None:
    """Removes the folder; links in it are removed, what they lead to stays."""
    try:
        shutil.rmtree(purge.folder)
    except OSError as error:
        msg = f"{error.filename}: cannot be deleted ({error.strerror}). What is left of the run is there."
        raise InputError(msg) from None


def _elsewhere(folder: Path, results: Results) -> Iterator[str]:
    """Sheets it was pushed to, and files of other runs that name it."""
    sheet = results.notes.get("sheet")
    if isinstance(sheet, dict) and sheet.get("key"):
        beside = f" (worksheets ending in {sheet['worksheet']})" if sheet.get("worksheet") else ""
        yield f"{_SHEETS}{sheet['key']}{beside}"
    mark = results.run.id.encode()
    for other in sorted(folder.resolve().parent.iterdir()):
        if other.name != folder.name and (other / NAME).is_file():
            yield from (
                str(file) for file in sorted(other.iterdir()) if file.is_file() and _names(file, mark)
            )


def _names(file: Path, mark: bytes) -> bool:
    """Whether a file holds these bytes, read piece by piece."""
    kept = b""
    with contextlib.suppress(OSError), file.open("rb") as opened:
        while piece := opened.read(1 << 20):
            if mark in kept + piece:
                return True
            kept = piece[-len(mark) :]
    return False


def replies_of(results: Results, cache: Path | None = None) -> list[str]:
    """The keys of cached replies that hold what customers, bot or judges of the run said."""
    path = cache or cache_folder() / "responses.sqlite"
    if not path.is_file():
        return []
    said = {text for text in _told(results.model_dump(mode="json")) if len(text) >= _TELLING}
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=5)) as file:
            rows = file.execute("SELECT key, body FROM responses")
            return [key for key, body in rows if not said.isdisjoint(_told(_read(body)))]
    except sqlite3.Error as error:
        msg = f"{path}: cannot be read ({error})."
        raise InputError(msg) from None


def forget(keys: list[str], cache: Path | None = None) -> None:
    """Removes replies from the cache for good: freed pages are overwritten."""
    path = cache or cache_folder() / "responses.sqlite"
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=5, isolation_level=None)) as file:
            file.execute("PRAGMA secure_delete = ON")
            file.executemany("DELETE FROM responses WHERE key = ?", [(key,) for key in keys])
            file.execute("VACUUM")
            file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.Error as error:
        msg = f"{path}: cannot be written ({error}). Empty it with: python run.py cache clear"
        raise InputError(msg) from None


def _read(body: Any) -> Any:
    """A stored reply; what cannot be read tells nothing."""
    try:
        text = body.decode("utf-8", "surrogatepass") if isinstance(body, bytes) else str(body)
        return json.loads(text)
    except ValueError:
        return None


def _told(value: Any) -> Iterator[str]:
    """Every text within a value, those within JSON that is kept as text included."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _told(item)
    elif isinstance(value, str):
        yield value.strip()
        if value.lstrip().startswith("{"):
            yield from _told(_read(value))
