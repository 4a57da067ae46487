"""Output that nobody has to read to its end: `python run.py diff A B | head`."""

import contextlib
import os
import sys
from collections.abc import Iterator


def is_unread(error: BaseException) -> bool:
    """Whether it says that the reader of the output is gone; the painter leaves the program for that."""
    gone = isinstance(error, SystemExit) and isinstance(error.__context__, BrokenPipeError)
    return gone or isinstance(error, BrokenPipeError)


def no_more_output() -> None:
    """Lets everything that is still printed go nowhere, also what is flushed when the program ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextlib.contextmanager
def may_stop_reading(said: str = "") -> Iterator[None]:
    """Goes on with the command when what it prints here is not read to its end; `said` is told on stderr."""
    try:
        yield
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit) as error:
        if not is_unread(error):
            raise
        no_more_output()
        sys.stderr.write(said)
