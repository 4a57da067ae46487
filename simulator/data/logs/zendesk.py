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


def matches(record: Any) -> bool:
    """Comments with a public flag, audits, or chats with a history."""
    comments, chat = objects(record.get("comments")), next(iter(objects(record.get("chats"))), record)
    ticket = record["ticket"] if isinstance(record.get("ticket"), dict) else record
    return (
        any("author_id" in each for each in [*comments, *objects(record.get("audits"))])
        or ("requester_id" in ticket and "description" in ticket and "description_text" not in ticket)
        or any("requester_id" in each for each in objects(record.get("tickets")))
        or ("visitor" in chat and bool({"history", "message"} & chat.keys()))
    )  # fmt: skip


def read(records: Iterator[Any], skipped: Skipped) -> Iterator[Talk]:
    """Tickets and chats, each a conversation; internal notes are left out."""
    for number, record in enumerate(records, 1):
        if record.get("has_more") or get(record, "meta.has_more") or record.get("next_page"):
            skipped.note(_("more pages, which are not in the file"))
        audited = []
        for audit in objects(record.get("audits")):
            told = {key: audit.get(key) for key in ("created_at", "author_id", "via")}
            audited += [
                told | event for event in objects(audit.get("events")) if event.get("type") == "Comment"
            ]
        chats = objects(record.get("chats")) or ([record] if "visitor" in record else [])
        for chat in chats:
            yield _chat(chat)
        if chats:
            continue
        for ticket in objects(record.get("tickets")) or [inner(record, "ticket") or record]:
            comments = [*(objects(ticket.get("comments")) or objects(record.get("comments"))), *audited]
            users = objects(record.get("users")) or objects(ticket.get("users"))
            yield _ticket(ticket, comments, users, skipped, str(ticket.get("id") or number))


def _ticket(
    ticket: dict[str, Any],
    comments: list[dict[str, Any]],
    users: list[dict[str, Any]],
    skipped: Skipped,
    id_: str,
) -> Talk:
    comments = sorted(comments, key=lambda each: seconds(each.get("created_at")) or 0.0)
    customer = ticket.get("requester_id")
    if customer is None and comments:
        customer = comments[0].get("author_id")
        skipped.note(
            _("tickets that do not say who asked; the author of the first comment is taken for the customer"),
            1,
        )
    roles = {str(user.get("id")): role_of(user.get("role")) for user in users}
    requester = next((user for user in users if user.get("id") == customer), {})
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
        elif author == customer or (roles.get(str(author)) == "user" and author != -1):
            lines.append(Line("user", text, time))
        else:
            is_automatic = author == -1 or get(comment, "via.channel") in ("rule", "bot")
            lines.append(Line("assistant" if is_automatic else "agent", text, time))
    first = plain(str(ticket.get("description") or ""))
    if first and not comments:
        lines.insert(0, Line("user", first, seconds(ticket.get("created_at"))))
    rating = get(ticket, "satisfaction_rating.score")
    talk = talk_of(
        id_,
        lines,
        language=requester.get("locale") or get(ticket, "requester.locale") or ticket.get("locale"),
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
