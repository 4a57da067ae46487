"""While code of others runs: what it prints goes to stderr, as does how far the work has come."""

import contextlib
import io
import logging
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from simulator.core.loading import describe_error
from simulator.core.messages import Message, _, localised, say

# Seconds between two lines that say how far it is, where there is no terminal to draw a bar on.
EVERY = 30.0
# From so many seconds on they are told in minutes.
_MINUTES = 300


@contextlib.contextmanager
def stdout_to_stderr() -> Iterator[None]:
    """While code of others runs (a bot, a judge, lm_eval): stdout is for the summary, or one JSON object.

    What programs that it starts and libraries in C write goes to stderr, too: descriptor 1 is that of stderr
    meanwhile. Afterwards streams, descriptors and the working directory are what they were, whatever that
    code did to them. What fails there beside an answer (a thread, a task nobody waits for, a log) is one line
    instead of a traceback.
    """
    out, err, of_tasks = sys.stdout, sys.stderr, logging.getLogger("asyncio")
    before = threading.excepthook, sys.unraisablehook, logging.raiseExceptions
    close = err.close
    setattr(err, "close", err.flush)  # noqa: B010 - who closes what it takes for stdout closes this one
    threading.excepthook = sys.unraisablehook = _failed_aside
    logging.raiseExceptions = False
    of_tasks.addFilter(_without_traceback)
    try:
        with contextlib.redirect_stdout(err), _descriptor_1_to_2(out), contextlib.chdir(Path.cwd()):
            yield
    finally:
        sys.stdout, sys.stderr = out, err
        setattr(err, "close", close)  # noqa: B010
        threading.excepthook, sys.unraisablehook, logging.raiseExceptions = before
        of_tasks.removeFilter(_without_traceback)


@contextlib.contextmanager
def _descriptor_1_to_2(out: TextIO) -> Iterator[None]:
    """Meanwhile descriptor 1 is another name of 2; nothing happens where one of them is closed."""
    out.flush()
    try:
        kept = os.dup(1)
    except OSError:
        yield
        return
    try:
        with contextlib.suppress(OSError):
            os.dup2(2, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def _failed_aside(failed: Any) -> None:
    if failed.exc_value is not None:
        say(_("outside its answers: {error}", error=describe_error(failed.exc_value)))


def _without_traceback(record: logging.LogRecord) -> bool:
    record.exc_info = None
    return True


@contextlib.contextmanager
def silent() -> Iterator[None]:
    """While a Python call works: nothing goes to stderr."""
    with contextlib.redirect_stderr(io.StringIO()):
        yield


class ProgressBar:
    """A bar on stderr; without `bar` nothing is shown, and `said` is how far it is."""

    def __init__(self, bar: Any = None, task: Any = None, total: int = 0, label: Message | str = "") -> None:
        """`bar` is the one of rich, and `task` its only line."""
        self._bar, self._task = bar, task
        self._done, self._total, self._label = 0, total, label
        self._told: Message | str = ""

    def advance(self, *_: object) -> None:
        """One more is done, whatever it is."""
        self._done += 1
        if self._bar:
            self._bar.advance(self._task)

    def update(self, done: int, total: int, label: Message | str = "") -> None:
        """So many of so many are done; `label` says what, counts included."""
        self._done, self._total, self._told = done, total, label
        if self._bar:
            said = {"description": localised(label)} if label else {}
            self._bar.update(self._task, completed=done, total=max(1, total), **said)

    def said(self, seconds: float) -> Message:
        """How far it is after so many seconds, in a line."""
        after = _("{n:.0f} s", n=seconds) if seconds < _MINUTES else _("{n:.0f} min", n=seconds / 60)
        if self._told:
            return _("After {after}: {message}", after=after, message=self._told)
        counts = {"done": self._done, "total": self._total}
        return _("After {after}: {done} of {total} {label}", after=after, label=self._label, **counts)


@contextlib.contextmanager
def progress_bar(total: int, label: Message | str, *, counts: bool = False) -> Iterator[ProgressBar]:
    """A bar when stderr is a terminal; otherwise a line now and then, so that a log shows that it goes on.

    `counts`: the label says itself how far it is.
    """
    if not sys.stderr.isatty():
        bar, over, began = ProgressBar(total=total, label=label), threading.Event(), time.monotonic()
        if counts:
            bar.update(0, total, label)

        def tell() -> None:
            while not over.wait(EVERY):
                say(bar.said(time.monotonic() - began))

        teller = threading.Thread(target=tell, daemon=True)
        teller.start()
        try:
            yield bar
        finally:
            over.set()
            teller.join()
        return
    from rich.console import Console  # only for eyes
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    text = TextColumn("{task.description}")
    columns = (BarColumn(bar_width=24), MofNCompleteColumn(), text, TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as drawn:
        yield ProgressBar(drawn, drawn.add_task(localised(label), total=max(1, total)))
