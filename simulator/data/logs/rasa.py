"""Rasa: trackers with their events."""

from collections.abc import Iterator
from typing import Any

from simulator.core.messages import _
from simulator.data.logs.talks import Line, Skipped, Talk, objects, seconds, talk_of

NAME = "Rasa"


def matches(record: Any) -> bool:
    """A tracker, or an event as an event broker has it."""
    return "sender_id" in record and (
        isinstance(record.get("events"), list) or isinstance(record.get("event"), str)
    )


def read(records: Iterator[Any], skipped: Skipped) -> Iterator[Talk]:
    """The lines of each session; each of the customer's is a turn."""
    trackers: dict[str, list[dict[str, Any]]] = {}
    for number, record in enumerate(records, 1):
        sender = str(record.get("sender_id") or number)
        trackers.setdefault(sender, []).extend(objects(record["events"]) if "events" in record else [record])
    for sender, events in trackers.items():
        events.sort(key=lambda event: seconds(event.get("timestamp")) or 0.0)
        sessions: list[list[Line]] = [[]]
        silent = any(
            event.get("event") == "action" and str(event.get("name")).startswith("utter_") for event in events
        )
        for event in events:
            kind, text = event.get("event"), str(event.get("text") or "").strip()
            if kind in ("session_started", "restart"):
                sessions.append([])
            elif kind == "user" and text and text != "/restart":
                sessions[-1].append(Line("user", text))
            elif kind == "bot" and text:
                sessions[-1].append(Line("assistant", text))
                silent = False
        if silent:
            skipped.note(_("answers, of which only names (utter_...) are in the file"))
        held = [lines for lines in sessions if any(line.role == "user" for line in lines)]
        for at, lines in enumerate(held, 1):
            answered = any(line.role == "assistant" for line in lines)
            talk = talk_of(sender if at == 1 else f"{sender}-{at}", lines if answered else lines[:1])
            if not answered:  # nothing shows where a turn ends
                talk.turns += [turn for line in lines[1:] for turn in talk_of("", [line]).turns]
            yield talk
