"""LINE: bodies of the Messaging API's webhook, which hold the customer's side only."""

from collections.abc import Iterator
from typing import Any

from simulator.core.messages import _
from simulator.data.logs.talks import Skipped, Talk, Turn, get, grouped, in_time, inner, objects, seconds

NAME = "LINE"
# Seconds of silence after which the same customer begins another conversation.
_GAP = 1800.0


def matches(record: Any) -> bool:
    """A body of the webhook, or one of its events."""
    is_body = isinstance(record.get("events"), list) and "destination" in record
    return is_body or "webhookEventId" in record or {"source", "replyToken", "type"} <= record.keys()


def read(records: Iterator[Any], skipped: Skipped) -> Iterator[Talk]:
    """The texts of each customer; each delivery is a turn, since no answer is in the file."""
    is_heard = False
    for who, its in grouped(_delivered(records, skipped), _sender):
        is_heard = True
        turns: list[Turn] = []
        before, at = None, 0
        for event in in_time(its, lambda event: seconds(event.get("timestamp"))):
            now = seconds(event.get("timestamp")) or 0.0
            if before is not None and now - before > _GAP:
                at += 1
                yield Talk(f"{who}-{at}" if at > 1 else who, turns)
                turns = []
            before = now
            turns.append(Turn(str(event["message"]["text"]).strip()))
        yield Talk(f"{who}-{at + 1}" if at else who, turns)
    if is_heard:
        skipped.note(_("answers of the bot, which a webhook does not hold"))


def _sender(event: dict[str, Any]) -> Any:
    return next(filter(None, map(inner(event, "source").get, ("userId", "groupId", "roomId"))), "")


def _delivered(records: Iterator[Any], skipped: Skipped) -> Iterator[dict[str, Any]]:
    """The texts, without those that were delivered once more."""
    seen: set[str] = set()
    for record in records:
        for event in objects(record["events"]) if "events" in record else [record]:
            id_ = str(event.get("webhookEventId") or "")
            if get(event, "deliveryContext.isRedelivery") is True and id_ in seen:
                skipped.note(_("deliveries that came twice"))
                continue
            seen.add(id_)
            is_text = get(event, "message.type") == "text" and str(get(event, "message.text") or "").strip()
            if event.get("type") == "message" and is_text:
                yield event
            elif event.get("type") == "message":
                skipped.note(_("images, stickers, sounds and other messages without a text"))
            else:
                skipped.note(_("events that are no message"))
