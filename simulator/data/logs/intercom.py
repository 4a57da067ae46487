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
    """A conversation."""
    return "conversation_parts" in record or (record.get("type") == "conversation" and "source" in record)


def read(records: Iterator[Any], skipped: Skipped) -> Iterator[Talk]:
    """The source, which is the first line, then the parts that have a text; notes are internal."""
    for each in records:
        yield _talk(each, skipped)


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
        if str(part.get("part_type")).startswith("note"):
            skipped.note(_("internal notes"))
        elif isinstance(part.get("body"), str) and (role := role_of(get(part, "author.type"))):
            lines.append(Line(role, plain(part["body"]), seconds(part.get("created_at"))))
    languages = ("custom_attributes.Language", "custom_attributes.language", "language_override")
    talk = talk_of(
        str(conversation.get("id") or ""),
        [line for line in in_time(lines) if line.role and line.text],
        language=next(filter(None, (get(conversation, path) for path in languages)), None),
    )
    rating = get(conversation, "conversation_rating.rating")
    if talk.turns and rating is not None:
        talk.turns[-1].ratings["conversation_rating"] = rating
    return talk
