"""An error in this program: one line for the user, and a file with the traceback, without secrets.

    error: an error in this program, not in your files or options (KeyError: 'x'). Details:
    runs/20261121-090400-x/error.txt Continue the run with: python run.py --resume 20261121-090400-x

The file has the time, the versions, the command line and the traceback. It is meant to be sent to us, so
every value that is known to be secret is masked, and of `name=value` also those too short to be searched for.
"""

import contextlib
import platform
import shlex
import tempfile
import traceback
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from simulator.cli.terminal import run_words
from simulator.core.errors import Unforeseen
from simulator.core.messages import CHECKOUT, Message, _, as_called, sentences
from simulator.core.secrets import MASK, is_secret, known_secrets, mask_secrets, without_url_secrets
from simulator.core.settings import load_settings
from simulator.core.version import __version__
from simulator.models.cache import cache_folder, private_file, private_folder

ERROR_FILE = "error.txt"


def message(error: BaseException, arguments: Sequence[str]) -> Message:
    """What went wrong, the file with the details, and how to continue the run that it ended."""
    run = error.run if isinstance(error, Unforeseen) else None
    cause = (error.__cause__ or error) if run else error
    first = cause
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    summary = " ".join(f"{type(first).__name__}: {first}".split())[:200].rstrip(": ")
    message = _("an error in this program, not in your files or options ({summary}).", summary=summary)
    file = _write_traceback(cause, arguments, (run.parent,) if run else ())
    details = _("Details: {file}", file=file) if file else None
    if run is None:
        return sentences(message, details)
    again = _("Continue the run with: python run.py --resume {name}", name=run_words(run.parent))
    return sentences(message, details, again)


def _write_traceback(error: BaseException, arguments: Sequence[str], folders: Iterable[Path]) -> Path | None:
    """The file with the traceback, without secrets: with the run, else where anything can be written.

    First the run's folder, then that of the cache, then a new one for temporary files; None if all fail, for
    an error about an error helps nobody. Errors are added to the file, which its owner alone can read.
    """
    trace = without_secrets("".join(traceback.format_exception(error)), arguments)
    versions = f"rehearsal {__version__}, Python {platform.python_version()}, {platform.system()}"
    now = f"{datetime.now(tz=UTC):%Y-%m-%d %H:%M:%S} UTC"
    command = without_secrets(shlex.join(_concealed(arguments)), arguments)
    text = f"{now}, {versions}\n{as_called(CHECKOUT)} {command}\n\n{trace}\n".encode("utf-8", "replace")
    for folder in (*folders, *_other_folders()):
        with contextlib.suppress(OSError):
            private_folder(folder)
            private_file(folder / ERROR_FILE)
            with (folder / ERROR_FILE).open("ab") as file:
                file.write(text)
            return folder / ERROR_FILE
    return None


def _other_folders() -> Iterator[Path]:
    with contextlib.suppress(RuntimeError):  # there is no home folder
        yield cache_folder()
    with contextlib.suppress(OSError):
        yield Path(tempfile.mkdtemp(prefix="rehearsal-"))


def without_secrets(text: str, arguments: Sequence[str]) -> str:
    """The text without keys of the environment, of the settings and of this command line."""
    given = (argument.removeprefix("--set=") for argument in arguments)
    values = dict(argument.partition("=")[::2] for argument in given if "=" in argument)
    secrets = set(known_secrets(values))
    with contextlib.suppress(Exception):  # what is wrong with the settings may be the very error
        secrets.update(known_secrets(load_settings({}).set))
    return without_url_secrets(mask_secrets(text, sorted(secrets, key=len, reverse=True)))


def _concealed(arguments: Sequence[str]) -> Iterator[str]:
    """The command line without secrets, even those too short to be searched for in a text."""
    for argument in arguments:
        name, equals, _unused = argument.partition("=")
        yield f"{name}={MASK}" if equals and is_secret(name) else argument
