"""Amazon Connect: analyses of Contact Lens, of chats and of calls."""

from collections.abc import Iterator
from typing import Any

from simulator.core.messages import _
from simulator.data.logs.talks import (
    Line,
    Skipped,
    Talk,
    get,
    in_time,
    objects,
    plain,
    role_of,
    seconds,
    talk_of,
)

NAME = "Amazon Connect"


def matches(record: Any) -> bool:
    """A transcript with participants."""
    return isinstance(record.get("Transcript"), list) and ("Participants" in record or "Channel" in record)


def read(records: Iterator[Any], skipped: Skipped) -> Iterator[Talk]:
    """Each analysis is a conversation; the system's lines and events are left out."""
    for number, record in enumerate(records, 1):
        roles = {
            str(each.get("ParticipantId")): each.get("ParticipantRole")
            for each in objects(record.get("Participants"))
        }
        lines = []
        for each in objects(record["Transcript"]):
            role = role_of(
                each.get("ParticipantRole")
                or roles.get(str(each.get("ParticipantId")))
                or each.get("ParticipantId")
            )
            text = plain(str(each.get("Content") or "")) if each.get("Type", "MESSAGE") == "MESSAGE" else ""
            if role and text:
                time = each.get("AbsoluteTime")
                lines.append(
                    Line(
                        role,
                        text,
                        seconds(time)
                        if time
                        else None
                        if "BeginOffsetMillis" not in each
                        else seconds(each["BeginOffsetMillis"]),
                    )
                )
            else:
                skipped.note(_("events, attachments and lines of the system"))
        id_ = get(record, "CustomerMetadata.ContactId") or record.get("ContactId") or number
        yield talk_of(str(id_), in_time(lines), language=record.get("LanguageCode"))
