"""Deletes a run: its folder and its replies in the cache; and names the sheet that has its text, too.

What a run holds is what customers said, perhaps with personal data, so that nothing may be left by mistake,
and nothing else may go:

- The folder is deleted as a whole, while its lock is held, and only if the program can have made all that is
  in it: no link, not the current folder, no folder in it, and no foreign file in a folder that is not named
  like the run.
- Cached replies are found by content: those with a text of at least eight characters that the run has, too.
  The cache does not know for which run a reply was kept, and other runs may have used it: for them it is
  asked again.
- The sheet that it was written to is named, not touched.
"""

import contextlib
import itertools
import json
import re
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from simulator.core.errors import InputError
from simulator.core.messages import Message, _, system_error
from simulator.core.types import Results
from simulator.models.cache import cache_file
from simulator.storage.run_file import RUN_FILE, RunFile, find_run

# The files that the program itself writes into a run folder.
_RUN_FILES = re.compile(
    r"run\.sqlite(?:-wal|-shm|-journal)?|run\.lock|report(?:-\d+)?\.(?:html|xlsx|json|csv|md)|junit\.xml"
    r"|error\.txt|side-by-side\.html|pairwise\.jsonl|\.(?:report|junit|side-by-side).*\.\d+(?:-.*)?"
)
# Shorter texts ("yes") occur everywhere, so they do not show that a cached reply belongs to the run.
_MIN_LENGTH = 8
_SHEETS_URL = "https://docs.google.com/spreadsheets/d/"


class Purge(NamedTuple):
    """A run to delete: its folder with the files in it, its results, and the sheets that have its text."""

    folder: Path
    files: tuple[Path, ...]
    results: Results
    elsewhere: tuple[Message | str, ...]


@contextlib.contextmanager
def open_purge(name: str, runs: Path) -> Iterator[Purge]:
    """Opens and locks a run to delete. Raises InputError when its folder is not safe to delete."""
    path = find_run(name, runs)
    folder = path.parent
    if path.name != RUN_FILE:
        raise InputError(_("{path}: not a run file. Name the run by its id or its folder.", path=path))
    if path.is_symlink() or folder.is_symlink():
        msg = _(
            "{folder}: the folder or its run file is a link. Purge the run at its real location.",
            folder=folder,
        )
        raise InputError(msg)
    # A shell that stands in a deleted folder cannot do anything any more.
    if Path.cwd().resolve().is_relative_to(folder.resolve()):
        msg = _("{folder}: this is the current folder. Change to another folder first.", folder=folder)
        raise InputError(msg)
    # Locked while it is deleted: a run that is going on would write into nothing.
    with contextlib.closing(RunFile.reopen(path)) as file:
        results = file.results()
        # The program never creates folders in it. Other files may be a team's reports, where the folder has
        # the run's name.
        is_named = folder.resolve().name == results.run.id
        foreign = [
            entry.name
            for entry in folder.iterdir()
            if (entry.is_dir() and not entry.is_symlink())
            or not (is_named or _RUN_FILES.fullmatch(entry.name))
        ]
        if foreign:
            msg = _("{folder}: contains files that do not belong to a run ({names}). Move them away first.")
            msg = msg.format(folder=folder, names=", ".join(foreign[:3]))
            raise InputError(msg)
        yield Purge(folder, tuple(folder.iterdir()), results, _sheets(results))


def delete_run(purge: Purge) -> None:
    """Deletes the folder. Links in it are deleted, their targets are not."""
    try:
        shutil.rmtree(purge.folder)
    except OSError as error:
        msg = _(
            "{filename}: cannot be deleted ({strerror}). The rest of the run is still there.",
            filename=error.filename,
            strerror=system_error(error),
        )
        raise InputError(msg) from None


def _sheets(results: Results) -> tuple[Message | str, ...]:
    """The address of the Google Sheet that the run was pushed to, if any, with the end of its worksheets."""
    sheet = results.notes.get("sheet")
    if not isinstance(sheet, dict) or not sheet.get("key"):
        return ()
    url, ending = f"{_SHEETS_URL}{sheet['key']}", sheet.get("worksheet")
    return (_("{url} (worksheets ending in {ending})", url=url, ending=ending) if ending else url,)


def cached_replies(results: Results) -> list[str]:
    """The keys of cached replies that contain a text of the run's customers, bot or judges."""
    path = cache_file()
    if not path.is_file():
        return []
    # Everything else that may hold texts: notes, verdicts, personas. The bot's articles are no reply.
    run = results.model_copy(update={"conversations": (), "scores": (), "articles": ()})
    parts = itertools.chain((run,), results.conversations, results.scores)  # rows are read one by one
    values = (value for part in parts for value in _texts(part.model_dump(mode="json")))
    texts = {text for text in values if len(text) >= _MIN_LENGTH}
    try:
        with contextlib.closing(sqlite3.connect(path)) as file:
            rows = file.execute("SELECT key, body FROM responses")
            return [key for key, body in rows if not texts.isdisjoint(_texts(_read(body)))]
    except sqlite3.Error as error:
        raise InputError(_("{path}: cannot be read ({error}).", path=path, error=error)) from None


def _read(body: Any) -> Any:
    """A stored reply as JSON; None when it cannot be read."""
    try:
        text = body.decode("utf-8", "surrogatepass") if isinstance(body, bytes) else str(body)
        return json.loads(text)
    except ValueError:
        return None


def _texts(value: Any) -> Iterator[str]:
    """Every text within a value, also within JSON that is stored as text."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, str):
        yield value.strip()
        if value.lstrip().startswith("{"):
            yield from _texts(_read(value))
