"""Freshdesk: tickets, with their conversations where the file has them."""

from collections.abc import Iterator
from typing import Any

from simulator.core.messages import _
from simulator.data.logs.talks import (
    Line,
    Skipped,
    Talk,
    grouped,
    in_time,
    inner,
    objects,
    plain,
    role_of,
    seconds,
    talk_of,
    words,
)

NAME = "Freshdesk"


def matches(record: Any) -> bool:
    """A ticket, one of its conversations, or what the customer thought of it."""
    parts = ({"incoming", "private"}, {"ticket_id", "ratings"}, {"helpdesk_ticket"}, {"description_text"})
    return any(keys <= record.keys() for keys in parts)


def read(records: Iterator[Any], skipped: Skipped) -> Iterator[Talk]:
    """Tickets, each a conversation, with the parts and ratings that name it."""
    tickets = (inner(each, "helpdesk_ticket") or each for each in records)
    names = ("ticket_id", "id", "display_id")
    for id_, its in grouped(tickets, lambda each: next(filter(None, map(each.get, names)), "")):
        lines: list[Line] = []
        tags: list[str] = []
        rated: dict[str, Any] = {}
        for each in its:
            if "ratings" in each:
                rated |= inner(each, "ratings")
            elif {"incoming", "private"} <= each.keys():
                lines += _line(each, skipped)
            else:
                first = plain(str(each.get("description_text") or each.get("description") or ""))
                lines.insert(0, Line("user", first, seconds(each.get("created_at"))))
                notes = [inner(note, "note") or note for note in objects(each.get("notes"))]
                for part in [*objects(each.get("conversations")), *notes]:
                    lines += _line(part, skipped)
                if attached := objects(each.get("attachments")):
                    skipped.note(_("attachments"), len(attached))
                tags = words(each.get("tags"))
        talk = talk_of(id_, in_time(lines), tags=tags)
        if talk.turns:
            talk.turns[-1].ratings |= rated
            yield talk
        else:
            skipped.note(_("conversations without the customer's line (it is in the ticket)"))


def _line(part: dict[str, Any], skipped: Skipped) -> Iterator[Line]:
    if part.get("private"):
        skipped.note(_("internal notes"))
    elif (text := plain(str(part.get("body_text") or part.get("body") or ""))) and not part.get("deleted"):
        role = "user" if part.get("incoming") else role_of(part.get("role")) or "agent"
        yield Line(role, text, seconds(part.get("created_at")))
