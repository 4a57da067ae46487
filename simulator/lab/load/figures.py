"""How quickly a bot answered many customers at once, and how often it failed.

Every answer has two times. The answer time runs from when the line was sent. The time from schedule runs from
when it was due: a slow bot keeps later customers waiting before they can send anything, and a measurement
from the sending leaves that out ("coordinated omission", Gil Tene, How NOT to Measure Latency, 2013).

    due 10.0, sent 12.5, answered 14.0   -> answer time 1.5 s, from schedule 4.0 s

Times are taken by `LineTimer` while the run is held, in seconds of one clock, and saved as a note of the run
file when it ends, however it ends; figures are made of the note and the run's turns whenever a report is
written. A resumed run has a session for each start. Timeouts count with the time that was waited; other
failures have no answer time, for a refused connection is not a quick answer.
"""

import contextlib
import heapq
import json
import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from math import fsum
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

from simulator.core.errors import RunFileError
from simulator.core.settings import Settings
from simulator.core.types import Answer, Results, Utterance, Value
from simulator.lab.load.settings import LoadSettings
from simulator.results.figures import rounded, turn_failure
from simulator.storage.run_file import RunFile

NOTE = "load"


class LineTiming(NamedTuple):
    """One line that the bot answered, or failed to; times are seconds from the start of the session.

    A line is `due` when its customer would have sent it; it is `sent` later when they came too many, or
    when the rehearsal itself was slow.
    """

    conversation: str
    turn: int
    due: float
    sent: float
    answered: float


class LoadSession(Value):
    """One start of a load rehearsal; `places` says whether the bot limited its concurrent requests.

    Where it did, its own answer time is without the wait for a place. `asked` has the lines in the order in
    which they were answered.
    """

    customers: int
    arrival: str = ""
    think: float | None = None
    timeout: float = 60.0
    places: bool = False
    asked: tuple[LineTiming, ...] = ()


_SESSIONS = TypeAdapter(tuple[LoadSession, ...])


def load_sessions(notes: Mapping[str, Any]) -> tuple[LoadSession, ...]:
    """The sessions of a load rehearsal; none in other runs, or if another version wrote the note."""
    note = notes.get(NOTE)
    try:
        return _SESSIONS.validate_python(note["sittings"]) if isinstance(note, dict) else ()
    except (KeyError, ValidationError):
        return ()


class LineTimer:
    """A Log that saves lines and answers in the run file, and the time of each in a note.

    The clock is read before an answer is written and after a line is, so that writing counts neither way.
    `due` is set by whoever makes a customer wait; without it a line is due when it is sent.
    """

    def __init__(self, file: RunFile, settings: Settings, *, places: bool) -> None:
        """The clock begins with `start`."""
        self.file, load = file, LoadSettings.of(settings)
        self._session = LoadSession(
            customers=load.customers or 1,
            arrival=load.arrival or "",
            think=load.think,
            timeout=settings.timeout,
            places=places,
        )
        self._before = load_sessions(file.results().notes)
        self._asked: list[LineTiming] = []
        # By conversation, when its open line was due and sent: a customer has one line at a time.
        self._open: dict[str, tuple[float, float]] = {}
        # By conversation, the second at which its next line is due.
        self.due: dict[str, float] = {}
        self._started = time.perf_counter()

    def start(self) -> None:
        """Makes this moment second 0, and saves that there is a session, whatever ends it."""
        self._started = time.perf_counter()
        self.write()

    @property
    def now(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._started

    def save_utterance(self, conversation: str, turn: int, utterance: Utterance) -> None:
        """Saves the customer's line, which is sent immediately afterwards."""
        self.file.save_utterance(conversation, turn, utterance)
        now = self.now
        self._open[conversation] = self.due.pop(conversation, now), now

    def save_answer(self, conversation: str, turn: int, answer: Answer) -> None:
        """Saves the bot's answer; the time is taken before."""
        now = self.now
        self.file.save_answer(conversation, turn, answer)
        if times := self._open.pop(conversation, None):
            # A tenth of a millisecond; due is never later than sent, whatever the clock's last digits say.
            due, sent = (round(moment, 4) for moment in times)
            self._asked.append(LineTiming(conversation, turn, min(due, sent), sent, round(now, 4)))

    def write(self) -> None:
        """Saves the note; a full disk is reported by whatever is saved next."""
        self._session = self._session.model_copy(update={"asked": tuple(self._asked)})
        sessions = [session.model_dump(mode="json") for session in (*self._before, self._session)]
        with contextlib.suppress(RunFileError):
            self.file.save_note(NOTE, json.dumps({"sittings": sessions}, ensure_ascii=False))


class Times(Value):
    """Percentiles (nearest rank) of `n` times in seconds."""

    n: int
    p50: float
    p95: float
    p99: float
    longest: float


class Load(Value):
    """The figures of a load rehearsal. Times are in seconds; `failures` are the bot's, by kind.

    Timeouts count in `answers` and `scheduled` with the time that was waited; other failures do not. `late`
    is how much later than planned the rehearsal sent lines after the first.

    `asked` counts lines, `seconds` is the length of all sessions together, `throughput` answers a second;
    `most_in_flight` is how many waited for an answer at once. `think` is the median pause that was asked for.
    """

    customers: int
    arrival: str
    think: float | None
    timeout: float
    sittings: int
    asked: int
    seconds: float
    throughput: float
    most_in_flight: int
    failures: dict[str, int]
    answers: Times | None = None
    scheduled: Times | None = None
    late: Times | None = None


class _TimedLine(NamedTuple):
    """A line with its answer time, failure, and how many were in flight when it was sent."""

    asked: LineTiming
    seconds: float
    failure: str | None
    in_flight: int


def load_of(results: Results) -> Load | None:
    """The figures of a load rehearsal; None for any other run."""
    sessions = load_sessions(results.notes)
    every = [_lines(session, results) for session in sessions]
    lines = list(chain.from_iterable(every))
    if not lines:
        return None
    # Sessions follow each other with pauses that nobody measured, so their lengths are added.
    seconds = fsum(max(line.asked.answered for line in part) for part in every if part)
    # A refused connection is not a quick answer.
    timed = [line for line in lines if line.failure in (None, "timeout")]
    return Load(
        customers=max(session.customers for session in sessions),
        arrival=sessions[0].arrival,
        think=sessions[0].think,
        timeout=sessions[0].timeout,
        sittings=len(sessions),
        asked=len(lines),
        seconds=seconds,
        throughput=sum(line.failure is None for line in lines) / seconds if seconds else 0.0,
        most_in_flight=max(line.in_flight for line in lines),
        failures=dict(Counter(line.failure for line in lines if line.failure).most_common()),
        answers=times([line.seconds for line in timed]),
        scheduled=times([line.asked.answered - line.asked.due for line in timed]),
        late=times([line.asked.sent - line.asked.due for line in lines if line.asked.turn > 1]),
    )


def times(seconds: Sequence[float]) -> Times | None:
    """The percentiles of times in seconds; None if there are none.

    By nearest rank, so that each is a time that somebody waited: of 1, 2, 3 and 10 s the median is 2 and p95
    is 10.
    """
    if not seconds:
        return None
    ranked = sorted(seconds)
    p50, p95, p99 = (ranked[max(0, math.ceil(share * len(ranked)) - 1)] for share in (0.5, 0.95, 0.99))
    return Times(n=len(ranked), p50=p50, p95=p95, p99=p99, longest=ranked[-1])


def _lines(session: LoadSession, results: Results) -> list[_TimedLine]:
    """The lines of a session that are in the run, in the order in which they were sent.

    How many were in flight at a sending is counted with a heap of answer times: those before it are taken
    off.
    """
    turns = {
        (conversation.id, turn.index): turn
        for conversation in results.conversations
        for turn in conversation.turns
    }
    lines = []
    open_until: list[float] = []  # a heap: when the lines in flight will have been answered
    for asked in sorted(session.asked, key=lambda line: line.sent):
        # Superseded, or taken back when the run was resumed.
        if (turn := turns.get((asked.conversation, asked.turn))) is None:
            continue
        while open_until and open_until[0] <= asked.sent:
            heapq.heappop(open_until)
        heapq.heappush(open_until, asked.answered)
        seconds = asked.answered - asked.sent
        # Waiting for a place is not the bot's own time.
        if session.places and turn.answer.seconds is not None:
            seconds = min(seconds, turn.answer.seconds)
        lines.append(_TimedLine(asked, seconds, turn_failure(turn), len(open_until)))
    return lines


def as_json(load: Load) -> dict[str, object]:
    """The object under "load" that `--json` prints, times in seconds with 4 decimals."""
    figures = load.model_dump(mode="json")
    names = {"answers": "answer_seconds", "scheduled": "from_schedule_seconds"}
    return {names.get(key, key): rounded(value) for key, value in figures.items()}
