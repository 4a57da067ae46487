"""Deletes a run: its folder; and says where else its text is.

What a run holds is what customers said, perhaps with personal data, so that nothing may be left by mistake,
and nothing else may go:

- The folder is deleted as a whole, while its lock is held, and only if the program can have made all that is
  in it: no link, not the current folder, no folder in it, and no foreign file in a folder that is not named
  like the run.
- The sheet that it was written to, the cache of the models' replies, which does not know for which run a
  reply was kept, and the runs to which comments of the team went on with the same answer are named, not
  touched.
"""

import contextlib
import re
import shutil
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from simulator.core.errors import InputError, RunFileError
from simulator.core.messages import Message, _, listed, system_error
from simulator.core.types import Results
from simulator.models.cache import cache_file
from simulator.storage.run_file import RUN_FILE, RunFile, find_run, run_ids
from simulator.storage.words import all_words

# The files that the program itself writes into a run folder.
_RUN_FILES = re.compile(
    r"run\.sqlite(?:-wal|-shm|-journal)?|run\.lock|report(?:-\d+)?\.(?:html|xlsx|json|csv|md)|junit\.xml"
    r"|error\.txt|side-by-side\.html|pairwise\.jsonl|\.(?:report|junit|side-by-side).*\.\d+(?:-.*)?"
)
_SHEETS_URL = "https://docs.google.com/spreadsheets/d/"


class Purge(NamedTuple):
    """A run to delete: its folder with the files in it, its results, and where else its text may be."""

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
        yield Purge(folder, tuple(folder.iterdir()), results, tuple(_elsewhere(path, results)))


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


def _elsewhere(path: Path, results: Results) -> Iterator[Message | str]:
    """The Google Sheet with the end of its worksheets, runs with the same comments, and the cache."""
    sheet = results.notes.get("sheet")
    if isinstance(sheet, dict) and sheet.get("key"):
        url, ending = f"{_SHEETS_URL}{sheet['key']}", sheet.get("worksheet")
        yield _("{url} (worksheets ending in {ending})", url=url, ending=ending) if ending else url
    runs, comments = path.parent.resolve().parent, _comments(path)
    names = [name for name in run_ids(runs) if name != results.run.id] if comments else []
    if carried := [name for name in names if comments & _comments(runs / name / RUN_FILE)]:
        yield _("comments of your team in {runs}", runs=listed(carried, 5))
    if cache_file().is_file():
        yield _("the models' replies, which python run.py cache clear deletes")


def _comments(path: Path) -> set[str]:
    """What people wrote of a run's answers in words of their own; nothing of a file that cannot be read."""
    with contextlib.suppress(RunFileError):
        rows = chain.from_iterable(all_words(path).values())
        return {text for row in rows for text in (row.comment, row.correct_answer, row.expect) if text}
    return set()
