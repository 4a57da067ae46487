"""Freshdesk: tickets, with their conversations where the file has them."""

from collections.abc import Iterator
from typing import Any

from simulator.core.messages import _
from simulator.data.logs.talks import (
    Line,
    Skipped,
    Talk,
    in_time,
    objects,
    plain,
    role_of,
    seconds,
    talk_of,
    words,
)

NAME = "Freshdesk"


def matches(record: Any) -> bool:
    """A ticket, or one of its conversations."""
    return (
        "description_text" in record
        or "helpdesk_ticket" in record
        or {"incoming", "private"} <= record.keys()
    )


def read(records: Iterator[Any], skipped: Skipped) -> Iterator[Talk]:
    """Tickets, each a conversation; parts that stand alone by their ticket."""
    loose: dict[str, list[Line]] = {}
    for record in records:
        if {"incoming", "private"} <= record.keys():
            loose.setdefault(str(record.get("ticket_id") or ""), []).extend(_line(record, skipped))
            continue
        ticket = record["helpdesk_ticket"] if isinstance(record.get("helpdesk_ticket"), dict) else record
        notes = [each.get("note", each) for each in objects(ticket.get("notes"))]
        parts = [*objects(ticket.get("conversations")), *(note for note in notes if isinstance(note, dict))]
        first = plain(str(ticket.get("description_text") or ticket.get("description") or ""))
        lines = [
            Line("user", first, seconds(ticket.get("created_at"))),
            *(line for part in parts for line in _line(part, skipped)),
        ]
        for _attachment in objects(ticket.get("attachments")):
            skipped.note(_("attachments"))
        tags = words(ticket.get("tags"))
        yield talk_of(str(ticket.get("id") or ticket.get("display_id") or ""), in_time(lines), tags=tags)
    for ticket_id, lines in loose.items():
        talk = talk_of(ticket_id, in_time(lines))
        if talk.turns:
            yield talk
        else:
            skipped.note(_("conversations without the customer's line (it is in the ticket)"))


def _line(part: dict[str, Any], skipped: Skipped) -> Iterator[Line]:
    if part.get("private"):
        skipped.note(_("internal notes"))
    elif text := plain(str(part.get("body_text") or part.get("body") or "")):
        yield Line(
            "user" if part.get("incoming") else role_of(part.get("role")) or "agent",
            text,
            seconds(part.get("created_at")),
        )
