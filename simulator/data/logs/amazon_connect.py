"""Amazon Connect: transcripts of chats, and analyses of Contact Lens, of chats and of calls."""

from collections.abc import Iterator
from typing import Any

from simulator.core.messages import _
from simulator.data.logs.talks import (
    Line,
    Skipped,
    Talk,
    decoded,
    get,
    in_time,
    objects,
    plain,
    role_of,
    seconds,
    talk_of,
    text_of,
)

NAME = "Amazon Connect"


def matches(record: Any) -> bool:
    """A transcript with participants, or segments of one."""
    about = {"Participants", "Channel", "ContactId", "InitialContactId"}
    segments = [each for each in objects(record.get("Segments")) if "Transcript" in each]
    return bool(segments) or (isinstance(record.get("Transcript"), list) and not about.isdisjoint(record))


def read(records: Iterator[Any], skipped: Skipped) -> Iterator[Talk]:
    """Each transcript is a conversation; the system's lines and events are left out."""
    for number, record in enumerate(records, 1):
        roles = {
            str(each.get("ParticipantId")): each.get("ParticipantRole")
            for each in objects(record.get("Participants"))
        }
        lines = []
        parts = record.get("Transcript") or [
            each.get("Transcript") for each in objects(record.get("Segments"))
        ]
        for each in objects(parts):
            known = roles.get(str(each.get("ParticipantId")))
            role = role_of(each.get("ParticipantRole") or known or each.get("ParticipantId"))
            if not role and "bot" in str(each.get("DisplayName")).lower():
                role = "assistant"
            text = _text(each) if each.get("Type", "MESSAGE") == "MESSAGE" else ""
            if role and text:
                time = each.get("AbsoluteTime") or each.get("BeginOffsetMillis")
                lines.append(Line(role, text, seconds(time)))
            else:
                skipped.note(_("events, attachments and lines of the system"))
        id_ = get(record, "CustomerMetadata.ContactId") or record.get("ContactId") or number
        yield talk_of(str(id_), in_time(lines), language=record.get("LanguageCode"))


def _text(each: dict[str, Any]) -> str:
    content = each.get("Content")
    if "interactive" in str(each.get("ContentType")) and isinstance(shown := decoded(content), dict):
        content = get(shown, "data.content.title") or text_of(shown)
    return plain(str(content or ""))
