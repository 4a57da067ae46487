"""Botpress: messages by conversation."""

from collections.abc import Iterator
from typing import Any

from simulator.core.messages import _
from simulator.data.logs.talks import (
    Line,
    Skipped,
    Talk,
    in_time,
    objects,
    role_of,
    seconds,
    talk_of,
    text_of,
)

NAME = "Botpress"


def matches(record: Any) -> bool:
    """A page of messages, or one, with a direction and a payload."""
    first = next(iter(objects(record.get("messages"))), record)
    return "direction" in first and "payload" in first


def read(records: Iterator[Any], skipped: Skipped) -> Iterator[Talk]:
    """The messages by conversation, in time order; what has no text is counted."""
    talks: dict[str, list[Line]] = {}
    for record in records:
        meta = record.get("meta")
        if isinstance(meta, dict) and meta.get("nextToken"):
            skipped.note(_("more pages, which are not in the file"))
        for each in reversed(objects(record.get("messages")) or [record]):
            text = _text(each.get("payload"))
            if text:
                line = Line(role_of(each.get("direction")), text, seconds(each.get("createdAt")))
                talks.setdefault(str(each.get("conversationId") or ""), []).append(line)
            else:
                skipped.note(_("messages without a text"))
    for id_, lines in talks.items():
        yield talk_of(id_, in_time(lines))


def _text(payload: Any) -> str:
    if not isinstance(payload, dict):
        return ""
    options = [text_of(each.get("label") or each.get("value")) for each in objects(payload.get("options"))]
    return " / ".join(filter(None, (text_of(payload), *options)))
