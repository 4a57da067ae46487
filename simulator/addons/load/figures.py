"""How quickly a bot answered many customers at once, how often it failed, and how well it answered then.

Two times are told of every answer. The answer time runs from when the line was sent. The time from
schedule runs from when it was due: a bot that is slow keeps later customers waiting before they can
send anything, and who measures from the sending leaves that out ("coordinated omission", Gil Tene,
How NOT to Measure Latency, 2013).
"""

import contextlib
import heapq
import json
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, pairwise
from math import fsum
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

from simulator.core.errors import RunFileError
from simulator.core.settings import Settings
from simulator.core.types import Answer, Results, Score, Turn, Utterance, Value
from simulator.stats.figures import Summary
from simulator.stats.intervals import ends_of, interval_of_mean
from simulator.stats.summary import turn_failure
from simulator.storage.results import counted
from simulator.storage.run_file import RunFile

NOTE = "load"
# Seconds between two writings of the note, at least, and so many times what one writing took.
EVERY, RESTING = 1.0, 20.0


class LineTiming(NamedTuple):
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
    asked: tuple[LineTiming, ...] = ()


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
        self._asked: list[LineTiming] = []
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
            self._asked.append(LineTiming(conversation, turn, min(due, sent), sent, round(now, 4)))
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


# Parts of the run that the curve shows.
SPANS = 48

# The interval of the mean of some grades, by their questions.
Interval = Callable[[Sequence[float], Sequence[str]], tuple[float, float] | None]


class Times(Value):
    """Percentiles (nearest rank) of times in seconds; `n` lines stand behind them."""

    n: int
    p50: float
    p95: float
    p99: float
    longest: float


class Level(Value):
    """The turns between two levels: how quick they were, and their mean score (0..1) with its 95 % interval.

    `least` to `most` are lines in flight, or seconds where turns are divided by answer time.
    """

    least: float
    most: float
    turns: int
    failed: int = 0
    times: Times | None = None
    score: float | None = None
    graded: int = 0
    interval: tuple[float, float] | None = None


class Span(Value):
    """A part of the run: from `at` seconds on, how many lines were in flight, and how long answers took."""

    at: float
    in_flight: int
    answered: int = 0
    failed: int = 0
    p50: float | None = None
    p95: float | None = None


class Load(Value):
    """What a load rehearsal came to. Times are in seconds; `failures` are the bot's, by kind.

    Timeouts stand in `answers` and `scheduled` with the time that was waited; other failures do not.
    `queued` is how long customers waited for another one to leave before they could begin, `late` how much
    later than planned the rehearsal sent the other lines, `waiting` how long lines waited for a place at
    the bot, where it has places. `quiet` and `busy` are the turns with fewest and most lines in flight,
    `quick` and `slow` those with the shortest and the longest answer times: a third each.
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
    mean_in_flight: float
    failures: dict[str, int]
    answers: Times | None = None
    scheduled: Times | None = None
    queued: Times | None = None
    late: Times | None = None
    waiting: Times | None = None
    quiet: Level | None = None
    busy: Level | None = None
    quick: Level | None = None
    slow: Level | None = None
    curve: tuple[Span, ...] = ()


class _TimedLine(Value):
    """One line with all that is known of it."""

    asked: LineTiming
    case: str
    places: bool
    seconds: float
    waited: float
    failure: str | None
    in_flight: int
    value: float | None

    @property
    def timed(self) -> bool:
        """Whether its time says anything about answering: a refused connection is not quick."""
        return self.failure in (None, "timeout")


def load_of(results: Results, summary: Summary) -> Load | None:
    """The figures of a load rehearsal; None for any other run."""
    sittings = sittings_of(results.notes)
    every = [_lines(sat, results, summary) for sat in sittings]
    lines = list(chain.from_iterable(every))
    if not lines:
        return None
    seconds = fsum(max(line.asked.answered for line in part) for part in every if part)
    timed = [line for line in lines if line.timed]
    ends = ends_of(_given(results, summary))
    interval = partial(interval_of_mean, seed=len(summary.run), ends=ends)
    quiet, busy = _thirds(timed, [line.in_flight for line in timed], interval, lines)
    quick, slow = _thirds(timed, [line.seconds for line in timed], interval, timed)
    longest = max(every, key=len)
    return Load(
        customers=max(sat.customers for sat in sittings),
        arrival=sittings[0].arrival,
        think=sittings[0].think,
        timeout=sittings[0].timeout,
        sittings=len(sittings),
        asked=len(lines),
        seconds=seconds,
        throughput=len(lines) / seconds if seconds else 0.0,
        most_in_flight=max(line.in_flight for line in lines),
        mean_in_flight=fsum(line.asked.answered - line.asked.sent for line in lines) / seconds
        if seconds
        else 0.0,
        failures=dict(Counter(line.failure for line in lines if line.failure).most_common()),
        answers=times([line.seconds for line in timed]),
        scheduled=times([line.asked.answered - line.asked.due for line in timed]),
        queued=times([line.asked.sent - line.asked.due for line in lines if line.asked.turn == 1]),
        late=times([line.asked.sent - line.asked.due for line in lines if line.asked.turn > 1]),
        waiting=times([line.waited for line in lines if line.places]),
        quiet=quiet,
        busy=busy,
        quick=quick,
        slow=slow,
        curve=_curve(longest),
    )


def times(found: Sequence[float]) -> Times | None:
    """The percentiles of some times; None where there are none."""
    if not found:
        return None
    ranked = sorted(found)
    p50, p95, p99 = (ranked[max(0, math.ceil(share * len(ranked)) - 1)] for share in (0.5, 0.95, 0.99))
    return Times(n=len(ranked), p50=p50, p95=p95, p99=p99, longest=ranked[-1])


def _lines(sat: Sat, results: Results, summary: Summary) -> list[_TimedLine]:
    """The lines of a sitting that are in the run, in the order in which they were sent."""
    conversations = {conversation.id: conversation for conversation in counted(results).conversations}
    turns = {
        (conversation.id, turn.index): turn
        for conversation in conversations.values()
        for turn in conversation.turns
    }
    values = {(score.conversation, score.turn): score.value for score in _given(results, summary)}
    found = sorted((each for each in sat.asked if (each.conversation, each.turn) in turns), key=_sent)
    lines = []
    for asked, in_flight in zip(found, _in_flight(found), strict=True):
        turn = turns[asked.conversation, asked.turn]
        whole = asked.answered - asked.sent
        seconds = _own(turn, whole) if sat.places else whole
        lines.append(
            _TimedLine(
                asked=asked,
                case=conversations[asked.conversation].case.id,
                places=sat.places,
                seconds=seconds,
                waited=max(0.0, whole - seconds),
                failure=turn_failure(turn),
                in_flight=in_flight,
                value=values.get((asked.conversation, asked.turn)),
            )
        )
    return lines


def _given(results: Results, summary: Summary) -> Iterator[Score]:
    """The grades of the judge that decides."""
    return (s for s in results.scores if s.judge == summary.primary and s.state == "scored")


def _sent(asked: LineTiming) -> float:
    return asked.sent


def _own(turn: Turn, whole: float) -> float:
    """The bot's own time, where waiting for a place comes before it."""
    return whole if turn.answer.seconds is None else min(whole, turn.answer.seconds)


def _in_flight(found: Sequence[LineTiming]) -> list[int]:
    """How many lines were waiting for an answer when each was sent, itself among them."""
    open_until: list[float] = []
    levels = []
    for asked in found:
        while open_until and open_until[0] <= asked.sent:
            heapq.heappop(open_until)
        heapq.heappush(open_until, asked.answered)
        levels.append(len(open_until))
    return levels


def _thirds(
    timed: Sequence[_TimedLine], keys: Sequence[float], interval: Interval, lines: Sequence[_TimedLine]
) -> tuple[Level | None, Level | None]:
    """The third of the turns with the lowest keys, that with the highest; none where all are alike."""
    ranked = sorted(keys)
    if len(ranked) < 3:
        return None, None
    low, high = ranked[(len(ranked) - 1) // 3], ranked[len(ranked) - 1 - (len(ranked) - 1) // 3]
    if low >= high:
        return None, None
    known = dict(zip(map(id, timed), keys, strict=True))

    def level(least: float, most: float) -> Level:
        mine = [line for line in lines if least <= known.get(id(line), float(line.in_flight)) <= most]
        return _level(mine, least, most, interval)

    return level(ranked[0], low), level(high, ranked[-1])


def _level(mine: Sequence[_TimedLine], least: float, most: float, interval: Interval) -> Level:
    graded = [(line.value, line.case) for line in mine if line.value is not None]
    values, cases = [value for value, _ in graded], [case for _, case in graded]
    return Level(
        least=least,
        most=most,
        turns=len(mine),
        failed=sum(line.failure is not None for line in mine),
        times=times([line.seconds for line in mine if line.timed]),
        score=fsum(values) / len(values) if values else None,
        graded=len(values),
        interval=interval(values, cases),
    )


def _curve(lines: Sequence[_TimedLine]) -> tuple[Span, ...]:
    """The run in equal parts: most lines in flight in each, and the times of what was sent in it."""
    last = max((line.asked.answered for line in lines), default=0.0)
    if not last:
        return ()
    edges = [last * each / SPANS for each in range(SPANS + 1)]
    return tuple(_span(lines, start, end) for start, end in pairwise(edges))


def _span(lines: Sequence[_TimedLine], start: float, end: float) -> Span:
    mine = [line for line in lines if start <= line.asked.sent < end]
    there = sum(line.asked.sent < start < line.asked.answered for line in lines)
    found = times([line.seconds for line in mine if line.timed])
    return Span(
        at=start,
        in_flight=max([there, *(line.in_flight for line in mine)]),
        answered=len(mine),
        failed=sum(line.failure is not None for line in mine),
        p50=found.p50 if found else None,
        p95=found.p95 if found else None,
    )


def as_json(load: Load) -> dict[str, object]:
    """The object under "load" that `--json` prints, times in seconds with 4 decimals."""
    told = load.model_dump(mode="json")
    names = {"answers": "answer_seconds", "scheduled": "from_schedule_seconds"}
    return {names.get(key, key): _rounded(value) for key, value in told.items()}


def _rounded(value: object) -> object:
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, list) else value
