"""Zendesk: tickets with their comments, comments alone, and chats."""

import re
from collections.abc import Iterator
from typing import Any

from simulator.core.messages import _
from simulator.data.logs.talks import (
    Line,
    Skipped,
    Talk,
    get,
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

NAME = "Zendesk"
# `(10:00:01) Visitor 1: text`, one line of a chat that stands in one comment.
_CHAT = re.compile(r"^\(\d{1,2}:\d\d(?::\d\d)?(?: ?[AP]M)?\) ([^:\n]{1,60}): ?(.*)$", re.MULTILINE)

# What a ticket is put together of, in one file or in several.
_PARTS = ("comments", "audits", "satisfaction_ratings")


def matches(record: Any) -> bool:
    """Tickets, comments with a public flag, audits, ratings, or chats with a history."""
    parts = [each for key in _PARTS for each in objects(record.get(key))]
    ticket = next(iter(objects(record.get("tickets"))), inner(record, "ticket") or record)
    return (
        any(not {"author_id", "ticket_id"}.isdisjoint(each) for each in parts)
        or ("requester_id" in ticket and "description" in ticket and "description_text" not in ticket)
        or ("visitor" in record and not {"history", "message"}.isdisjoint(record))
        or {"author_id", "public"} <= record.keys()
    )  # fmt: skip


def read(records: Iterator[Any], skipped: Skipped) -> Iterator[Talk]:
    """Tickets and chats, each a conversation; internal notes are left out."""
    users: dict[str, dict[str, Any]] = {}
    tickets: dict[str, None] = {}
    alone: list[dict[str, Any]] = []
    parts = (
        part
        for number, record in enumerate(records, 1)
        for part in _parts(record, str(number), users, tickets)
    )
    for id_, its in grouped(parts, lambda part: part["place"]):
        if "chat" in its[0]:
            yield _chat(its[0]["chat"])
        elif len(tickets) == 1:  # comments do not say whose they are
            alone += its
        else:
            yield _ticket(id_, its, users, skipped)
    if alone:
        yield _ticket(next(iter(tickets)), alone, users, skipped)


def _parts(
    record: dict[str, Any], number: str, users: dict[str, dict[str, Any]], tickets: dict[str, None]
) -> Iterator[dict[str, Any]]:
    """A chat, or tickets and what is about them, each with its `place`; `users` and `tickets` grow."""
    if "visitor" in record:
        yield {"place": f"chat {number}", "chat": record}
        return
    several = objects(record.get("tickets")) or [inner(record, "ticket") or record]
    for holder in several if record in several else [record, *several]:
        users |= {str(each.get("id")): each for each in objects(holder.get("users"))}
        id_ = str((several[0] if holder is record else holder).get("id") or number)
        if "requester_id" in holder or "description" in holder:
            tickets[id_] = None
            yield {"place": id_, "ticket": holder}
        for key in _PARTS:
            yield from (_part(each, key, id_) for each in objects(holder.get(key)))
    if "author_id" in record:
        yield _part(record, "comments", number)


def _part(each: dict[str, Any], key: str, place: str) -> dict[str, Any]:
    return {"place": str(each.get("ticket_id") or place), key: each}


def _ticket(
    id_: str, parts: list[dict[str, Any]], users: dict[str, dict[str, Any]], skipped: Skipped
) -> Talk:
    ticket: dict[str, Any] = next((each["ticket"] for each in parts if "ticket" in each), {})
    comments = [each["comments"] for each in parts if "comments" in each]
    for audit in (each["audits"] for each in parts if "audits" in each):
        told = {key: audit.get(key) for key in ("created_at", "author_id", "via")}
        comments += [told | each for each in objects(audit.get("events")) if each.get("type") == "Comment"]
    comments = in_time(comments, lambda each: seconds(each.get("created_at")))
    customer = ticket.get("requester_id")
    if customer is None and comments:
        customer = comments[0].get("author_id")
        skipped.note(
            _("tickets that do not say who asked; the author of the first comment is taken for the customer"),
        )
    requester = users.get(str(customer), {}) or inner(ticket, "requester")
    lines: list[Line] = []
    for comment in comments:
        text = plain(str(comment.get("plain_body") or comment.get("body") or comment.get("html_body") or ""))
        time, author = seconds(comment.get("created_at")), comment.get("author_id")
        chat = _CHAT.findall(text)
        if chat and str(get(comment, "via.channel")).startswith("chat"):
            customers = {name for name, _said in chat if role_of(name.split()[0]) == "user"} or {chat[0][0]}
            lines += [
                Line("user" if name in customers else "assistant", said.strip(), time) for name, said in chat
            ]
        elif comment.get("public") is False:
            skipped.note(_("internal notes"))
        elif author == customer or (
            role_of(get(users.get(str(author)) or comment.get("author"), "role")) == "user" and author != -1
        ):
            lines.append(Line("user", text, time))
        else:
            is_automatic = author == -1 or get(comment, "via.channel") in ("rule", "bot")
            lines.append(Line("assistant" if is_automatic else "agent", text, time))
    first = plain(str(ticket.get("description") or ""))
    if first and not comments:
        lines.insert(0, Line("user", first, seconds(ticket.get("created_at"))))
    scores = [get(each, "satisfaction_ratings.score") for each in parts]
    rating = next(filter(None, scores), get(ticket, "satisfaction_rating.score"))
    talk = talk_of(
        id_,
        lines,
        language=requester.get("locale") or ticket.get("locale"),
    )
    talk.tags = words(ticket.get("tags"))
    if talk.turns and rating in ("good", "bad"):
        talk.turns[-1].ratings["satisfaction_rating"] = rating
    return talk


def _chat(chat: dict[str, Any]) -> Talk:
    visitor = get(chat, "visitor.name")
    lines = []
    for each in objects(chat.get("history")):
        if each.get("type") == "chat.msg" and (text := plain(str(each.get("msg") or ""))):
            nick = str(each.get("nick") or "")
            role = (
                "user"
                if nick.startswith("visitor") or (not nick and each.get("name") == visitor)
                else "assistant"
                if "trigger" in nick or "bot" in nick
                else "agent"
            )
            lines.append(Line(role, text, seconds(each.get("timestamp"))))
    if not lines and chat.get("message"):
        lines = [Line("user", plain(str(chat["message"])))]
    talk = talk_of(str(chat.get("id") or ""), in_time(lines))
    if talk.turns and chat.get("rating") in ("good", "bad"):
        talk.turns[-1].ratings["rating"] = chat["rating"]
    return talk
