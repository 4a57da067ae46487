"""When each line was due, was sent and was answered: a note of the run, written while it goes on."""

import contextlib
import json
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

from simulator.core.errors import RunFileError
from simulator.core.settings import Settings
from simulator.core.types import Answer, Utterance, Value
from simulator.storage.run_file import RunFile

NOTE = "load"
# Seconds between two writings of the note, at least, and so many times what one writing took.
EVERY, RESTING = 1.0, 20.0


class Asked(NamedTuple):
    """One line that the bot answered, or failed to; times are seconds from the start of the sitting.

    A line is `due` when its customer would have sent it; it is `sent` later when they came too many, or
    when the rehearsal itself was slow.
    """

    conversation: str
    turn: int
    due: float
    sent: float
    answered: float


class Sat(Value):
    """One sitting of a load rehearsal; `places` says whether lines waited for a place at the bot."""

    customers: int
    arrival: str = ""
    think: float | None = None
    timeout: float = 60.0
    places: bool = False
    asked: tuple[Asked, ...] = ()


_SITTINGS = TypeAdapter(tuple[Sat, ...])


def sittings_of(notes: Mapping[str, Any]) -> tuple[Sat, ...]:
    """The sittings of a load rehearsal; none where there was none, or another version wrote the note."""
    told = notes.get(NOTE)
    try:
        return _SITTINGS.validate_python(told["sittings"]) if isinstance(told, dict) else ()
    except (KeyError, ValidationError):
        return ()


class Watch:
    """The log of a rush: the run file, and the time of every line and answer that goes into it."""

    def __init__(self, file: RunFile, settings: Settings, *, places: bool) -> None:
        """The clock begins with `start`."""
        self.file = file
        self._sat = Sat(
            customers=settings.customers or 1,
            arrival=settings.arrival or "",
            think=settings.think,
            timeout=settings.timeout,
            places=places,
        )
        self._before = sittings_of(file.results().notes)
        self._asked: list[Asked] = []
        self._open: dict[str, tuple[float, float]] = {}
        self._due: dict[str, float] = {}
        self._started = self._next = time.perf_counter()

    def start(self) -> None:
        """Now is second 0."""
        self._started = time.perf_counter()
        self._next = 0.0  # the first answer is written at once: that there was a sitting is known

    @property
    def now(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._started

    def due(self, conversation: str, at: float) -> None:
        """The next line of a conversation was to be sent at this second."""
        self._due[conversation] = at

    def said(self, conversation: str, turn: int, utterance: Utterance) -> None:
        """A line is sent as soon as it is written down."""
        self.file.said(conversation, turn, utterance)
        now = self.now
        self._open[conversation] = self._due.pop(conversation, now), now

    def answered(self, conversation: str, turn: int, answer: Answer) -> None:
        """Times are taken before anything is written."""
        now = self.now
        self.file.answered(conversation, turn, answer)
        if found := self._open.pop(conversation, None):
            due, sent = (round(each, 4) for each in found)
            self._asked.append(Asked(conversation, turn, min(due, sent), sent, round(now, 4)))
        if now >= self._next:
            self.write()

    def write(self) -> None:
        """The note as far as it has come; a full disk is told by whatever is written next."""
        began = self.now
        self._sat = self._sat.model_copy(update={"asked": tuple(self._asked)})
        told = [sat.model_dump(mode="json") for sat in (*self._before, self._sat)]
        with contextlib.suppress(RunFileError):
            self.file.noted(NOTE, json.dumps({"sittings": told}, ensure_ascii=False))
        self._next = self.now + max(EVERY, RESTING * (self.now - began))
