"""Botpress: messages by conversation."""

from collections.abc import Iterator
from typing import Any

from simulator.core.messages import _
from simulator.data.logs.talks import (
    Line,
    Skipped,
    Talk,
    camelled,
    decoded,
    grouped,
    in_time,
    objects,
    role_of,
    seconds,
    talk_of,
    text_of,
)

NAME = "Botpress"


def matches(record: Any) -> bool:
    """A message with a direction and a payload."""
    return "direction" in record and "payload" in record


def read(records: Iterator[Any], skipped: Skipped) -> Iterator[Talk]:
    """The messages by conversation, in time order; what has no text is counted."""
    for id_, its in grouped(map(camelled, records), lambda each: each.get("conversationId")):
        lines = []
        for each in its:
            if text := _text(decoded(each.get("payload"))):
                time = each.get("createdAt") or each.get("sentOn")
                lines.append(Line(role_of(each.get("direction")), text, seconds(time)))
            else:
                skipped.note(_("messages without a text"))
        yield talk_of(id_, in_time(lines))


def _text(payload: Any) -> str:
    if not isinstance(payload, dict):
        return text_of(payload)
    options = [text_of(each.get("label") or each.get("value")) for each in objects(payload.get("options"))]
    cards = [
        text_of(each.get(key)) for each in objects(payload.get("items")) for key in ("title", "subtitle")
    ]
    return " / ".join(filter(None, (text_of(payload), *options, *cards)))
