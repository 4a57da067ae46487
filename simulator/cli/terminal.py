"""What the commands share: exit codes, lines on stderr, JSON on stdout, and early endings.

stdout belongs to the summary, or with --json to one object on one line, whatever else happens in the process:
bots, judges and lm_eval print as they like, and what they print goes to stderr (api/progress.py).
"""

import contextlib
import json
import os
import shlex
import sys
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from enum import IntEnum
from pathlib import Path
from typing import Any, TextIO, TypeVar, cast
from unicodedata import east_asian_width

from simulator.api.progress import stdout_to_stderr
from simulator.core.errors import InputError, RehearsalError
from simulator.core.messages import Message, _, message_of, sentences
from simulator.core.messages import say as say
from simulator.core.target import MAX_FAILED

# For commands that save as they go, in a run file.
SAVED = _("What is done so far is saved: run the same command again to continue.")

Result = TypeVar("Result")


class ExitCode(IntEnum):
    """What a command says to the shell: whether all is well, and whose turn it is where it is not.

    The numbers are promised in the docs. A script goes on with 0, stops a release with 1, asks a person with
    2, tries again with 3, and reports a bug with 4.
    """

    DONE = 0
    MISSED = 1
    TO_FIX = 2
    INCOMPLETE = 3
    OUR_ERROR = 4


class EndCommand(Exception):
    """Ends a command with an exit code, past whatever it would do next; all has been said."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def print_json(values: Mapping[str, Any]) -> None:
    """Writes one JSON object to stdout, on one line."""
    sys.stdout.write(json.dumps(values, ensure_ascii=False, default=_english) + "\n")


def _english(value: object) -> str:
    if isinstance(value, Message):
        return str(value)
    raise TypeError(type(value).__name__)


def padded(text: str, width: int) -> str:
    """The text with blanks up to that many columns; a full-width character takes two."""
    columns = sum(2 if east_asian_width(letter) in "WFA" else 1 for letter in text)
    return text + " " * (width - columns)


def run_words(folder: Path) -> str:
    """What a run in this folder is called on a command line: its id, or its path where runs are elsewhere."""
    is_usual = folder == Path("runs", folder.name)  # the default of --runs
    return shlex.quote(folder.name if is_usual else str(folder))


def say_stopped(path: Path, reason: Message | str, resume: str = "--resume {run}") -> None:
    """Says on stderr why a run ended early, and how to finish it."""
    onward = _("Finish it with: python run.py {words}", words=resume.format(run=run_words(path.parent)))
    say(_("error: {message}", message=sentences(_("{reason:sentence}", reason=reason), onward)))


def reason_of(error: BaseException) -> Message | str:
    """Why a command ended early."""
    return message_of(error) or _("interrupted")


def run_async(work: Coroutine[Any, Any, Result], saved: Message | str = SAVED) -> Result | None:
    """What `work` returns; None where it ended early: stderr says why, and with `saved` how to continue.

    Raises InputError, for there is nothing to continue then.
    """
    import asyncio

    try:
        with stdout_to_stderr():
            return asyncio.run(work)
    except InputError:
        raise
    except (RehearsalError, KeyboardInterrupt) as error:
        say(_("error: {message}", message=sentences(_("{reason:sentence}", reason=reason_of(error)), saved)))
        return None


def saved_in_cache(cache: str) -> Message:
    """How to continue a command whose results are kept nowhere but in the response cache.

    `cache` is the setting: with `off` answers are not stored, and the same command pays again.
    """
    if cache == "on":
        return _(
            "What is done so far is in the response cache:"
            " run the same command again to continue, and only the rest is paid for."
        )
    return _("With --cache off nothing was saved: the same command starts again.")


def exit_code_of_failures(failed: int, tried: int, reason: Message | str = "") -> int:
    """DONE where at most MAX_FAILED of them failed; otherwise INCOMPLETE, and stderr gets why."""
    if failed <= MAX_FAILED * tried:
        return ExitCode.DONE
    counts = {"failed": failed, "tried": tried}
    how_many = _("{failed} of {tried} failed ({reason:clause}).", reason=reason, **counts)
    if not reason:
        how_many = _("{failed} of {tried} failed.", **counts)
    say(_("error: {message}", message=sentences(how_many, _("The same command tries them again."))))
    return ExitCode.INCOMPLETE


# --- Output that nobody reads to its end ---


class UnreadOutput:
    """A standard stream that may be left unread: what is printed then goes nowhere, and the command goes on.

    So files that are written after what is printed are not lost with it (`run.py --to xlsx | head`). `error`
    says that the reader went, until `taken` is asked.
    """

    def __init__(self, stream: TextIO) -> None:
        """Everything but writing is that of the stream itself."""
        self._stream = stream
        self._error: BrokenPipeError | None = None

    def __getattr__(self, name: str) -> Any:
        """What the stream has of this name."""
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Writes, or lets it go."""
        try:
            return self._stream.write(text)
        except BrokenPipeError as error:
            self._lost(error)
            return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Writes all of them, or lets them go."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Hands over what was written, or lets it go."""
        try:
            self._stream.flush()
        except BrokenPipeError as error:
            self._lost(error)

    def taken(self) -> BrokenPipeError | None:
        """The error of a reader who went, once: who asks says what follows from it."""
        error, self._error = self._error, None
        return error

    def _lost(self, error: BrokenPipeError) -> None:
        discard_output(self._stream)
        self._error = error


@contextlib.contextmanager
def unread_streams() -> Iterator[Callable[[], BrokenPipeError | None]]:
    """While a command runs; gives what says whether standard output was not read to its end."""
    out, err = sys.stdout, sys.stderr
    output = UnreadOutput(out)
    sys.stdout, sys.stderr = cast("TextIO", output), cast("TextIO", UnreadOutput(err))
    try:
        yield output.taken
    finally:
        sys.stdout, sys.stderr = out, err


@contextlib.contextmanager
def unread_output_allowed(message: Message | str = "") -> Iterator[None]:
    """Of what is printed here nobody has to read the end; stderr gets the message then."""
    yield
    sys.stdout.flush()
    if isinstance(sys.stdout, UnreadOutput) and sys.stdout.taken() and message:
        say(message)


def discard_output(stream: TextIO | None = None) -> None:
    """Lets all that is still printed there go nowhere, also what is flushed when the program ends.

    Python flushes stdout at the end, after all our handlers; onto a closed pipe that would be a traceback and
    exit code 120. So the file descriptor itself is pointed elsewhere.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), (stream or sys.stdout).fileno())
