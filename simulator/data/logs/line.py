"""LINE: bodies of the Messaging API's webhook, which hold the customer's side only."""

from collections.abc import Iterator
from typing import Any

from simulator.core.messages import _
from simulator.data.logs.talks import Skipped, Talk, Turn, get, objects, seconds

NAME = "LINE"
# Seconds of silence after which the same customer begins another conversation.
_GAP = 1800.0


def matches(record: Any) -> bool:
    """A body of the webhook, or one of its events."""
    return (isinstance(record.get("events"), list) and "destination" in record) or "webhookEventId" in record


def read(records: Iterator[Any], skipped: Skipped) -> Iterator[Talk]:
    """The texts of each customer; each delivery is a turn, since no answer is in the file."""
    said: dict[str, list[tuple[float, str]]] = {}
    for event in _delivered(records, skipped):
        source = event["source"] if isinstance(event.get("source"), dict) else {}
        text = str(get(event, "message.text") or "").strip()
        if event.get("type") == "message" and get(event, "message.type") == "text" and text:
            who = str(source.get("userId") or source.get("groupId") or source.get("roomId") or "")
            said.setdefault(who, []).append((seconds(event.get("timestamp")) or 0.0, text))
        elif event.get("type") == "message":
            skipped.note(_("images, stickers, sounds and other messages without a text"))
        else:
            skipped.note(_("events that are no message"))
    if said:
        skipped.note(_("answers of the bot, which a webhook does not hold"))
    for who, lines in said.items():
        parts: list[list[tuple[float, str]]] = []
        for time, text in sorted(lines, key=lambda each: each[0]):
            if not parts or time - parts[-1][-1][0] > _GAP:
                parts.append([])
            parts[-1].append((time, text))
        for at, part in enumerate(parts, 1):
            yield Talk(who if at == 1 else f"{who}-{at}", [Turn(text) for _time, text in part])


def _delivered(records: Iterator[Any], skipped: Skipped) -> Iterator[dict[str, Any]]:
    """The events, without those that were delivered once more."""
    seen: set[str] = set()
    for record in records:
        for event in objects(record["events"]) if "events" in record else [record]:
            id_ = str(event.get("webhookEventId") or "")
            if get(event, "deliveryContext.isRedelivery") is True and id_ in seen:
                skipped.note(_("deliveries that came twice"))
            else:
                seen.add(id_)
                yield event
