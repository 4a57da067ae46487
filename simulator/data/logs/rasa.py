"""Rasa: trackers with their events."""

from collections.abc import Iterator
from typing import Any

from simulator.core.messages import _
from simulator.data.logs.talks import (
    Line,
    Skipped,
    Talk,
    decoded,
    grouped,
    in_time,
    objects,
    seconds,
    talk_of,
    text_of,
)

NAME = "Rasa"


def matches(record: Any) -> bool:
    """A tracker, or an event as an event broker or a table of events has it."""
    return "sender_id" in record and not {"events", "event", "type_name"}.isdisjoint(record)


def read(records: Iterator[Any], skipped: Skipped) -> Iterator[Talk]:
    """The lines of each session; each of the customer's is a turn."""
    events = (
        {"sender_id": record.get("sender_id") or number} | event
        for number, record in enumerate(records, 1)
        for event in objects(decoded(record.get("events"))) or [_event(record)]
    )
    for sender, its in grouped(events, lambda event: event["sender_id"]):
        sessions: list[list[Line]] = [[]]
        for event in in_time(its, lambda event: seconds(event.get("timestamp"))):
            kind, text = event.get("event"), text_of(event.get("text"))
            if kind in ("session_started", "restart"):
                sessions.append([])
            elif kind in ("user", "bot") and text and text != "/restart":
                sessions[-1].append(Line("user" if kind == "user" else "assistant", text))
        lines = [line for part in sessions for line in part]
        names = (str(event.get("name")) for event in its if event.get("event") == "action")
        if any(name.startswith("utter_") for name in names) and all(line.role == "user" for line in lines):
            skipped.note(_("answers, of which only names (utter_...) are in the file"))
        held = [lines for lines in sessions if any(line.role == "user" for line in lines)]
        for at, lines in enumerate(held, 1):
            answered = any(line.role == "assistant" for line in lines)
            talk = talk_of(sender if at == 1 else f"{sender}-{at}", lines if answered else lines[:1])
            if not answered:  # nothing shows where a turn ends
                talk.turns += [turn for line in lines[1:] for turn in talk_of("", [line]).turns]
            yield talk


def _event(record: dict[str, Any]) -> dict[str, Any]:
    inside = decoded(record.get("data"))
    return record | inside if "type_name" in record and isinstance(inside, dict) else record
