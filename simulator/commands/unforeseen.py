"""What becomes of a mistake of the program's own: a line for the user, a file for whoever mends it."""

import contextlib
import platform
import shlex
import tempfile
import traceback
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from simulator import __version__
from simulator.core.errors import Unforeseen
from simulator.core.secrets import HIDDEN, addressed, concealed, is_secret, known_secrets
from simulator.core.settings import Settings, load
from simulator.models.cache import cache_folder, private_file, private_folder

NAME = "error.txt"


def told(error: BaseException, arguments: Sequence[str]) -> str:
    """The line: what it is, which file says more, and how a run goes on that it ended."""
    run = error.run if isinstance(error, Unforeseen) else None
    cause = (error.__cause__ or error) if run else error
    first = cause
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    said = " ".join(f"{type(first).__name__}: {first}".split())[:200].rstrip(": ")
    what = f"a mistake of this program, not of yours ({said})."
    if place := _written(cause, arguments, (run.parent,) if run else ()):
        what = f"{what} Details: {place}"
    if run is None:
        return what
    folder = run.parent
    name = folder.name if folder == Path(Settings().runs, folder.name) else str(folder)
    return f"{what} The run goes on with: python run.py --resume {shlex.quote(name)}"


def _written(error: BaseException, arguments: Sequence[str], folders: Iterable[Path]) -> Path | None:
    """The file with the traceback, without secrets: with the run, else where anything can be written."""
    text = _without_secrets("".join(traceback.format_exception(error)), arguments)
    about = f"rehearsal {__version__}, Python {platform.python_version()}, {platform.system()}"
    when = f"{datetime.now(tz=UTC):%Y-%m-%d %H:%M:%S} UTC"
    command = _without_secrets(shlex.join(_concealed(arguments)), arguments)
    whole = f"{when}, {about}\npython run.py {command}\n\n{text}\n".encode("utf-8", "replace")
    for folder in (*folders, *_elsewhere()):
        with contextlib.suppress(OSError):
            private_folder(folder)
            private_file(folder / NAME)
            with (folder / NAME).open("ab") as file:
                file.write(whole)
            return folder / NAME
    return None


def _elsewhere() -> Iterator[Path]:
    with contextlib.suppress(RuntimeError):  # there is no home folder
        yield cache_folder()
    with contextlib.suppress(OSError):
        yield Path(tempfile.mkdtemp(prefix="rehearsal-"))


def _without_secrets(text: str, arguments: Sequence[str]) -> str:
    given = dict(each.partition("=")[::2] for each in arguments if "=" in each)
    with contextlib.suppress(Exception):  # what is wrong with the settings may be the very mistake
        given |= load({}).set
    return addressed(concealed(text, known_secrets(given)))


def _concealed(arguments: Sequence[str]) -> Iterator[str]:
    """The command line, whose secrets may be too short to be found anywhere."""
    for each in arguments:
        name, equals, _ = each.partition("=")
        yield f"{name}={HIDDEN}" if equals and is_secret(name) else each
