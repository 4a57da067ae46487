"""From the parts of a log to its conversations.

A format says what a log holds, in any order: lines of conversations, steps of traces, notes with what
somebody thought of either, whole conversations, and, as a message, what it leaves out. Here they are put
together, by their ids and in time. A trace is one turn: its outermost step holds the question and the answer.

    LogLine("assistant", "Hi"), LogLine("user", "How?"), LogLine("user", "Please"),
    LogLine("assistant", "So."), LogLine("agent", "More.")
        -> history Hi; one turn: question "How?" and "Please", answer "So." and "More.", handed over

    Step(trace="t1", kind="CHAIN", asked=..., answered=...), Step(trace="t1", kind="RETRIEVER", passages=...),
    LogNote("t1", "thumbs", "up")
        -> one turn with the passages and the rating thumbs=up

Parts wait until all of them are known (`Groups`), for the steps of a trace may stand far apart. What a
session repeats (a trace whose question holds the dialogue so far) is history of its first turn only.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple, TypeVar

from simulator.cases.dialogues import LogLine, LogTalk, LogTurn, show_tools, talk_of
from simulator.cases.logs.values import answered_in, asked_in
from simulator.core.messages import Message, _

# The kind of what is no step but the whole trace.
TRACE = "TRACE"
# Kinds of steps that are calls of a model.
MODELS = frozenset({"LLM", "CHAT", "CHAT_MODEL", "GENERATION"})

T = TypeVar("T")


@dataclass
class Step:
    """A step of a trace, or all of it; what went in and came out is as the log has it.

    `kind` is in capitals: LLM, RETRIEVER, TRACE. `asked` and `answered` may be any JSON: `asked_in` and
    `answered_in` find the texts. `time` is in seconds since 1970, None where the log does not say.
    """

    trace: str
    id: str = ""
    parent: str = ""
    time: float | None = None
    kind: str = ""
    session: str = ""
    asked: Any = None
    answered: Any = None
    passages: tuple[tuple[str, str], ...] = ()
    ratings: dict[str, Any] = field(default_factory=dict)
    reference: str = ""
    error: str = ""
    language: str = ""
    tags: list[str] = field(default_factory=list)
    tools: list[dict[str, Any]] = field(default_factory=list)


class LogNote(NamedTuple):
    """A rating of the step, trace or conversation with the id `of`; without a name a right answer.

    LogNote("t1", "user-feedback", 1); LogNote("t1", "", "It is 5 yen.") is a correction.
    """

    of: str
    name: str
    value: Any


Part = LogTalk | LogLine | Step | LogNote | Message


class Skipped(Counter[Message]):
    """What of a file was not read, by the reason, and how often."""

    def note(self, reason: Message, n: int = 1) -> None:
        """Counts something that was not read."""
        self[reason] += n


class Groups:
    """Records by a name, in the order of the first one of each; they wait as text, which takes the least.

    Records are JSON, so tuples come back as lists and data classes as their fields.
    """

    def __init__(self) -> None:
        self._held: dict[str, list[bytes]] = {}

    def add(self, name: Any, record: Any) -> None:
        """Puts a record, which is JSON, to those of its name."""
        text = json.dumps(record, ensure_ascii=False)
        self._held.setdefault(str(name or ""), []).append(text.encode("utf-8", "surrogatepass"))

    def __iter__(self) -> Iterator[tuple[str, list[Any]]]:
        """Each name with its records, which are held no longer then."""
        for name in list(self._held):
            records = self._held.pop(name)
            yield name, [json.loads(record.decode("utf-8", "surrogatepass")) for record in records]


def grouped(
    records: Iterable[dict[str, Any]], key: Callable[[dict[str, Any]], Any]
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The records by what `key` says of them."""
    groups = Groups()
    for record in records:
        groups.add(key(record), record)
    yield from groups


def in_time(items: Iterable[T], time: Callable[[T], float | None]) -> list[T]:
    """By time; what has the same, or none, stays in its order, or in the other where the newest is first.

    An item without a time has that of the one before it: half of a log may lack them.
    """
    timed = [(time(item), item) for item in items]
    times = [at for at, _item in timed if at is not None]
    # Interfaces list the newest first. Sorting is stable, so what has one time keeps the order of the list;
    # turned round first, that is the order in which it was said.
    if times and times[0] > times[-1]:
        timed.reverse()
    placed, now = [], 0.0
    for at, item in timed:
        now = now if at is None else at
        placed.append((now, item))
    return [item for _at, item in sorted(placed, key=lambda pair: pair[0])]


def talks_in(parts: Iterable[Part], skipped: Skipped, gap: float, one_sided: bool) -> Iterator[LogTalk]:
    """The conversations of these parts; more than `gap` seconds of silence begin another one.

    Of a log that may be `one_sided` each line of a customer whom nobody answers is a turn. Notes that belong
    to nothing in the file are counted in `skipped`.
    """
    lines, traces = Groups(), Groups()
    notes: dict[str, list[LogNote]] = {}
    for part in parts:
        match part:
            case LogTalk():
                yield part
            case LogLine():
                lines.add(part.talk, part)
            case Step():
                traces.add(part.trace, vars(part))
            case LogNote():
                notes.setdefault(part.of, []).append(part)
            case _:
                skipped.note(part)
    # Lines first, then traces: a file of both (a chat and its tracing) is told in this order each time.
    of_lines = (_talks(name, [LogLine(*line) for line in its], gap, one_sided) for name, its in lines)
    for talk in chain(chain.from_iterable(of_lines), _sessions(traces, notes, skipped)):
        if talk.turns:
            # A note on a conversation is about its end: stars are given when it is over.
            talk.turns[-1].ratings |= {note.name: note.value for note in notes.pop(talk.id, ())}
        if one_sided and not any(turn.answer for turn in talk.turns):
            skipped.note(_("answers, which the file does not hold"))
        yield talk
    if notes:
        about = _("ratings without what they are about (another export has the texts)")
        skipped.note(about, sum(map(len, notes.values())))


def _talks(name: str, lines: list[LogLine], gap: float, one_sided: bool) -> Iterator[LogTalk]:
    """The conversations that somebody has one after the other; those without a customer do not count."""
    several: list[list[LogLine]] = [[]]
    before: float | None = None
    for line in in_time(lines, lambda line: line.time):
        if before is not None and line.time is not None and line.time - before > gap:
            several.append([])
        several[-1].append(line)
        before = line.time
    # Before the customer speaks nothing has happened; of pieces without any, the first one tells that there
    # was none.
    heard = [lines_of_talk for lines_of_talk in several if any(line.role == "user" for line in lines_of_talk)]
    for number, heard_lines in enumerate(heard or several[:1], 1):
        talk = talk_of(f"{name}-{number}" if number > 1 else name, heard_lines, one_sided=one_sided)
        if talk.turns or talk.history:
            yield talk


def _trace(name: str, steps: list[Step], notes: dict[str, list[LogNote]]) -> Step:
    """The whole of a trace, whose steps may come in any order, in pieces, and without their parents.

    The question is that of the trace itself, else of an outermost step, else of a model's; the answer
    likewise, from the last one back. Passages, ratings and errors are gathered from all steps.
    """
    by_id: dict[str, Step] = {}
    for number, step in enumerate(in_time(steps, lambda step: step.time)):
        # SDKs send a step twice, when it begins and when it ends, each with half of it.
        kept = by_id.setdefault(step.id or f"{step.kind} {number}", step)
        if kept is not step:
            _add(kept, step)
    its = list(by_id.values())
    # The trace itself knows best; a step without a parent that is there is an outermost one, for exports cut
    # off parents; of nothing else, a model's.
    whole = [step for step in its if step.kind == TRACE]
    outer = [step for step in its if step.kind != TRACE and step.parent not in by_id] or its[:1]
    models = [step for step in its if step.kind in MODELS]
    asked = (step.asked for step in (*whole, *outer, *models) if asked_in(step.asked)[1])
    last = (*whole, *reversed(outer), *reversed(models))
    answered = (step.answered for step in last if answered_in(step.answered))
    sessions = (step.session for step in (*whole, *outer, *its) if step.session)
    first = (whole or its)[0]
    trace = Step(name, time=first.time, session=next(sessions, ""), language=first.language, tags=first.tags)
    trace.asked, trace.answered = next(asked, None), next(answered, None)
    for step in its:
        trace.passages = (*trace.passages, *step.passages)
        trace.tools += step.tools
        trace.ratings |= step.ratings
        trace.reference = trace.reference or step.reference
    # A failed step within a trace that answered after all is the bot's own affair.
    trace.error = outer[0].error if not trace.answered else ""
    for note in [note for id_ in (name, *by_id) for note in notes.pop(id_, ())]:
        if note.name:
            trace.ratings[note.name] = note.value
        else:
            trace.reference = str(note.value)
    return trace


def _add(step: Step, more: Step) -> None:
    """What another piece of the same step adds: messages to messages, and what was missing."""
    for name, value in vars(more).items():
        before = getattr(step, name)
        # Messages of one span may come as one event each.
        if name in ("asked", "answered") and isinstance(before, list) and isinstance(value, list):
            setattr(step, name, before if before == value else before + value)
        elif name == "ratings":
            step.ratings |= value
        elif name == "tools":  # the later piece has what the tool gave back
            step.tools = value or step.tools
        else:
            setattr(step, name, before or value)


def _sessions(traces: Groups, notes: dict[str, list[LogNote]], skipped: Skipped) -> Iterator[LogTalk]:
    """Conversations whose turns are traces, in time order; what a trace repeats is not doubled.

    Traces of one session are one conversation; a trace without a session is one by itself, and so is its
    name.
    """
    sessions = Groups()
    for name, steps in traces:
        trace = _trace(name, [Step(**step) for step in steps], notes)
        sessions.add(trace.session or name, vars(trace))
    for name, its in sessions:
        talk = LogTalk(name)
        for trace in in_time((Step(**step) for step in its), lambda trace: trace.time):
            earlier, question = asked_in(trace.asked)
            if not question:
                skipped.note(_("traces without a question"))
                continue
            # The dialogue before the first trace is history; later traces repeat it.
            if not talk.turns:
                talk.history = [
                    ("user" if line.role == "user" else "assistant", line.text) for line in earlier
                ]
            talk.language = talk.language or trace.language
            talk.tags += trace.tags
            turn = LogTurn(question, answered_in(trace.answered), ratings=trace.ratings, error=trace.error)
            turn.passages = tuple((id_, text) for id_, text in trace.passages)
            turn.references = (trace.reference,) if trace.reference else ()
            turn.tools = trace.tools or None
            talk.turns.append(turn)
        show_tools(talk)
        if talk.turns:
            yield talk
