"""Intercom: conversations with their parts."""

from collections.abc import Iterator
from typing import Any

from simulator.core.messages import _
from simulator.data.logs.talks import (
    Line,
    Skipped,
    Talk,
    get,
    in_time,
    inner,
    objects,
    plain,
    role_of,
    seconds,
    talk_of,
)

NAME = "Intercom"


def matches(record: Any) -> bool:
    """A conversation, or a page of them."""
    first = next(iter(objects(record.get("conversations")) or objects(record.get("data"))), record)
    return "conversation_parts" in first or (first.get("type") == "conversation" and "source" in first)


def read(records: Iterator[Any], skipped: Skipped) -> Iterator[Talk]:
    """The source, which is the first line, then the parts that have a text; notes are internal."""
    for record in records:
        for each in objects(record.get("conversations")) or objects(record.get("data")) or [record]:
            talk = _talk(each, skipped)
            if talk.turns or talk.history:
                yield talk


def _talk(conversation: dict[str, Any], skipped: Skipped) -> Talk:
    parts = conversation.get("conversation_parts")
    parts = objects(parts.get("conversation_parts")) if isinstance(parts, dict) else objects(parts)
    source = inner(conversation, "source")
    lines = [
        Line(
            role_of(get(source, "author.type")),
            plain(str(source.get("body") or "")),
            seconds(conversation.get("created_at")),
        )
    ]
    for part in parts:
        if part.get("part_type") == "note":
            skipped.note(_("internal notes"))
        elif isinstance(part.get("body"), str) and (role := role_of(get(part, "author.type"))):
            lines.append(Line(role, plain(part["body"]), seconds(part.get("created_at"))))
    language = (
        get(conversation, "custom_attributes.Language")
        or get(conversation, "custom_attributes.language")
        or get(conversation, "language_override")
    )
    talk = talk_of(
        str(conversation.get("id") or ""),
        [line for line in in_time(lines) if line.role and line.text],
        language=language,
    )
    rating = get(conversation, "conversation_rating.rating")
    if talk.turns and rating is not None:
        talk.turns[-1].ratings["conversation_rating"] = rating
    return talk
