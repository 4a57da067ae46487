"""Writes files whole or not at all.

A file is written under another name beside its place and renamed at the end (`replaced`); what a killed
process left behind goes with the next writing.
"""

import contextlib
import glob
import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from simulator.core.errors import RunFileError
from simulator.core.messages import Message, _, sentences, system_error

# What to do when a report of a run could not be written.
REPORT_AGAIN = _("The run is safe: write the report again with `report`.")


def shown_path(path: str | Path) -> str:
    """A path as it is said: relative where it is below the working directory, else whole."""
    whole, here = Path(path).resolve(), Path.cwd()
    return str(whole.relative_to(here) if whole.is_relative_to(here) else whole)


def temporary_path(path: Path) -> Path:
    """Where this process writes a file before it replaces `path`; leftovers of dead processes are deleted.

    `.report.html.4711` beside report.html, for process 4711. In the same folder, because a rename is atomic
    only within one file system.
    """
    for leftover in path.parent.glob(f".{glob.escape(path.name)}.*"):
        writer = leftover.name.removeprefix(f".{path.name}.").partition("-")[0]
        if writer.isdecimal() and not _is_alive(int(writer)):
            with contextlib.suppress(OSError):
                remove = shutil.rmtree if leftover.is_dir() and not leftover.is_symlink() else os.unlink
                remove(leftover)
    return path.with_name(f".{path.name}.{os.getpid()}")


@contextmanager
def replaced(path: Path, advice: Message | None = None) -> Iterator[Path]:
    """A new file beside `path`, which takes its place at the end: whole, or not at all, for its owner only.

    Raises RunFileError with this advice where it cannot be written.
    """
    new = temporary_path(path)
    try:
        os.close(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
        yield new
        new.replace(path)
    except OSError as error:
        msg = _("{path}: cannot be written ({strerror}).", path=path, strerror=system_error(error))
        raise RunFileError(sentences(msg, advice)) from error
    finally:
        with contextlib.suppress(OSError):
            new.unlink(missing_ok=True)


def write_atomically(path: Path, content: str | bytes | Iterable[str]) -> None:
    """Writes the whole file or leaves the old one, piece by piece; only its owner can read it.

    A process that is killed meanwhile leaves a file of another name, which the next one takes away. Raises
    RunFileError, whose line ends with how to write the report again.
    """
    pieces = [content] if isinstance(content, str | bytes) else content
    with replaced(path, REPORT_AGAIN) as new, new.open("wb") as file:
        for piece in pieces:
            file.write(piece.encode("utf-8") if isinstance(piece, str) else piece)


def _is_alive(process: int) -> bool:
    if sys.platform == "win32":  # where os.kill would end it
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True
