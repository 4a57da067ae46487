"""Formats of chats and helpdesks whose lines need more than a table says.

Zendesk and Salesforce do not say who speaks: the requester of a ticket, or the author of the first comment,
is the customer. What only the desk sees (private comments, internal notes) is left out and counted.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

from simulator.cases.dialogues import LogLine, inner, objects, seconds
from simulator.cases.fields import role_of
from simulator.cases.logs.table import speaker
from simulator.cases.logs.talks import LogNote, Part, Step, grouped, in_time
from simulator.cases.logs.values import at, get, passages_in, plain, words
from simulator.core.messages import _

Record = dict[str, Any]
INTERNAL = _("internal notes")
NO_LINE = _("events, attachments, system messages and messages without a text")


def intercom(record: Record, number: int) -> Iterator[Part]:
    """Intercom: a conversation with its parts, and its rating."""
    talk = str(record.get("id") or number)
    rating = get(record, "conversation_rating.rating")
    ratings = {} if rating is None else {"conversation_rating": rating}
    spoken = at(record, "custom_attributes.Language|custom_attributes.language|language_override")
    # What a record says of the whole conversation stands in a line without a speaker.
    yield LogLine("", "", talk=talk, ratings=ratings, language=str(spoken or ""))
    parts = record.get("conversation_parts")
    first = inner(record, "source") | {"created_at": record.get("created_at")}
    for line in (first, *objects(parts.get("conversation_parts") if isinstance(parts, dict) else parts)):
        role, text = role_of(get(line, "author.type")), plain(str(line.get("body") or ""))
        # The AI agent may speak in an admin's name.
        role = "assistant" if get(line, "author.from_ai_agent") is True else role
        if str(line.get("part_type")).startswith("note"):
            yield INTERNAL
        elif role and text:
            yield LogLine(role, text, seconds(line.get("created_at")), talk)
        else:
            yield NO_LINE


def dify(record: Record, number: int) -> Iterator[Part]:
    """Dify: messages of the API, one a turn, and what somebody thought of them."""
    if "query" not in record:
        yield LogNote(str(record.get("message_id")), "feedback", record.get("rating"))
    elif not str(record["query"] or "").strip():
        yield _("messages without a question")
    else:
        feedback = [inner(record, "feedback"), *objects(record.get("feedbacks"))]
        rating = next(filter(None, (opinion.get("rating") for opinion in feedback)), None)
        yield Step(
            str(record.get("id") or number), time=seconds(record.get("created_at")),
            session=str(at(record, "conversation_id|id") or ""),
            asked=str(record["query"]), answered=str(record.get("answer") or ""),
            passages=passages_in(at(record, "retriever_resources|metadata.retriever_resources")),
            ratings={"feedback": rating} if rating else {},
            error=str(record.get("error") or ("error" if record.get("status") == "error" else "")),
        )  # fmt: skip


def line(records: Iterator[Record]) -> Iterator[Part]:
    """LINE: bodies of the Messaging API's webhook, which hold the customer's side only, sometimes twice."""
    seen: set[str] = set()
    several = (objects(record["events"]) if "events" in record else [record] for record in records)
    for event in chain.from_iterable(several):
        id_ = str(event.get("webhookEventId") or "")
        text = str(get(event, "message.text") or "").strip() if get(event, "message.type") == "text" else ""
        # LINE sends an event again where the webhook did not answer in time, under the same id.
        if get(event, "deliveryContext.isRedelivery") is True and id_ in seen:
            yield _("deliveries that came twice")
        elif event.get("type") == "message" and text:
            who = str(at(event, "source.userId|source.groupId|source.roomId") or "")
            yield LogLine("user", text, seconds(event.get("timestamp")), who)
        else:
            yield NO_LINE
        seen.add(id_)


# Labels of a report on cases and their comments, by the names that the interface has for the fields.
_LABELS = {
    "casecomments": "commentbody", "casecomment": "commentbody", "casecommentbody": "commentbody",
    "casecomments.commentbody": "commentbody", "コメント本文": "commentbody", "ケースコメント": "commentbody",
    "ケースのコメント": "commentbody", "コメントの本文": "commentbody", "casecommentcreatedby": "createdby",
    "作成者": "createdby", "コメント作成者": "createdby", "ケースコメントの作成者": "createdby",
    "casecommentcreateddate": "createddate", "作成日": "createddate", "作成日時": "createddate",
    "コメント作成日": "createddate", "ケースコメントの作成日": "createddate",
    "publiccasecomment": "ispublished", "published": "ispublished", "公開": "ispublished",
    "公開済み": "ispublished", "ケース番号": "casenumber",
    "親id": "parentid", "ケースid": "parentid",
}  # fmt: skip


@lru_cache(1000)
def _salesforce_name(name: str) -> str:
    plain = re.sub(r"[\s_]", "", name).lower().removesuffix(":").replace(":", ".")
    return _LABELS.get(plain, plain)


def is_salesforce(record: Record) -> bool:
    """The columns of CaseComment, or of Case, as an interface or a report has them."""
    names = {_salesforce_name(str(name)) for name in record}
    # What a label says, another table may say as well: not so three of them.
    is_named = any(str(name).lower() == "commentbody" for name in record)
    is_comment = {"commentbody", "casenumber"} <= names and any(
        name.startswith("createdby") for name in names
    )
    return is_named or is_comment or {"casenumber", "description"} <= names


def salesforce(records: Iterator[Record]) -> Iterator[Part]:
    """Comments are put together by their case, behind what it says."""

    def place(record: Record) -> Any:
        return at(record, "parentid|casenumber" if "commentbody" in record else "id|casenumber")

    plain_names = (
        {_salesforce_name(str(name)): value for name, value in reversed(record.items())} for record in records
    )
    for id_, its in grouped(plain_names, place):
        of_case = in_time(its, lambda comment: seconds(comment.get("createddate")))
        numbers = (at(comment, "casenumber|parent.casenumber|parent.CaseNumber") for comment in of_case)
        number = str(next(filter(None, numbers), id_))
        comments = [
            comment for comment in of_case if str(comment.get("ispublished")).lower() not in _UNPUBLISHED
        ]
        yield from (INTERNAL for _each in range(len(of_case) - len(comments)))
        authors = [
            str(at(comment, "createdbyid|createdby.name|createdby.Name|createdby|creatorname") or position)
            for position, comment in enumerate(comments)
        ]
        roles = ["user" if "description" in comment else _salesforce_role(comment) for comment in comments]
        # Who writes first and is not known to be of the desk; the description is what the customer wrote.
        asked = (who for who, role in zip(authors, roles, strict=True) if role not in ("agent", "assistant"))
        customer = next(asked, None)
        if customer is not None and "user" not in roles:
            yield _(
                "cases that do not say who asked; the author of the first comment is taken for the customer"
            )
        for row, author, role in zip(comments, authors, roles, strict=True):
            text = plain(str(at(row, "commentbody|description") or ""))
            yield LogLine(role or ("user" if author == customer else "agent"), text, None, number)


_UNPUBLISHED = ("false", "0", "no", "いいえ", "非公開")


def _salesforce_role(comment: Record) -> str:
    """Who wrote a comment, where its author is named by a word for a role; "" where none is known."""
    named = re.compile("createdby|role|author|作成者|発言者|ユーザ")
    values = (value for name, value in comment.items() if isinstance(value, str) and named.match(name))
    return next(filter(None, map(speaker, values)), "")


# `(10:00:01) Visitor 1: text`, one line of a chat that stands in one comment.
_CHAT = re.compile(r"^\(\d{1,2}:\d\d(?::\d\d)?(?: ?[AP]M)?\) ([^:\n]{1,60}): ?(.*)$", re.MULTILINE)


def is_zendesk(record: Record) -> bool:
    """Tickets, comments with a public flag, audits, ratings, or chats with a history."""
    parts = [
        part for key in ("comments", "audits", "satisfaction_ratings") for part in objects(record.get(key))
    ]
    ticket = next(iter(objects(record.get("tickets"))), inner(record, "ticket") or record)
    return (
        any(not {"author_id", "ticket_id"}.isdisjoint(part) for part in parts)
        or ("requester_id" in ticket and "description" in ticket and "description_text" not in ticket)
        or ("visitor" in record and not {"history", "message"}.isdisjoint(record))
        or {"author_id", "public"} <= record.keys()
    )


def zendesk(records: Iterator[Record]) -> Iterator[Part]:
    """Tickets and chats, each a conversation."""
    about = _Zendesk({}, {}, set())
    for place, its in grouped(about.pieces(records), lambda piece: piece["place"]):
        yield from _visitor(its[0]["chat"], place) if "chat" in its[0] else about.ticket(place, its)


class _Zendesk(NamedTuple):
    """What comments need to be understood: by id users and tickets, and the ids of tickets with comments.

    An export may hold tickets, users and comments in any order and in files of their own, so all records are
    looked through before the first ticket is told.
    """

    users: dict[str, Record]
    tickets: dict[str, Record]
    commented: set[str]

    def pieces(self, records: Iterator[Record]) -> Iterator[Record]:
        """Chats, comments and ratings, each with the place where it belongs."""
        for number, record in enumerate(records, 1):
            if "visitor" in record:
                yield {"place": f"chat {number}", "chat": record}
                continue
            # Comments may come before their ticket, so what belongs together is known only at the end.
            for place, piece in self._found(record, str(number)):
                if "author_id" in piece:
                    self.commented.add(place)
                yield {"place": place} | piece

    def _found(self, record: Record, number: str) -> Iterator[tuple[str, Record]]:
        several = objects(record.get("tickets")) or [inner(record, "ticket") or record]
        for holder in several if record in several else [record, *several]:
            self.users.update({str(user.get("id")): user for user in objects(holder.get("users"))})
            id_ = str((several[0] if holder is record else holder).get("id") or number)
            if "requester_id" in holder or "description" in holder:
                self.tickets[id_] = holder
                yield id_, {}
            pieces = [*objects(holder.get("comments")), *objects(holder.get("satisfaction_ratings"))]
            for audit in objects(holder.get("audits")):
                common = {key: audit.get(key) for key in ("created_at", "author_id", "via", "ticket_id")}
                events = objects(audit.get("events"))
                pieces += [common | event for event in events if event.get("type") == "Comment"]
            yield from ((str(piece.get("ticket_id") or id_), piece) for piece in pieces)
        if "author_id" in record:
            yield str(record.get("ticket_id") or number), record

    def ticket(self, place: str, its: list[Record]) -> Iterator[Part]:
        """A ticket of its pieces; comments that are read alone do not say whose they are."""
        # A file of comments alone, beside one ticket, is that ticket's.
        only = next(iter(self.tickets)) if len(self.tickets) == 1 else ""
        talk = only or place
        ticket = self.tickets.get(talk, {})
        comments = (piece for piece in its if "author_id" in piece)
        said = in_time(comments, lambda comment: seconds(comment.get("created_at")))
        customer = ticket.get("requester_id")
        if customer is None and said:
            customer = said[0].get("author_id")
            yield _(
                "tickets that do not say who asked; the author of the first comment is taken for the customer"
            )
        requester = self.users.get(str(customer), {}) or inner(ticket, "requester")
        language = str(requester.get("locale") or ticket.get("locale") or "")
        yield LogLine("", "", None, talk, language=language, tags=tuple(words(ticket.get("tags"))))
        for rating in (get(ticket, "satisfaction_rating.score"), *(piece.get("score") for piece in its)):
            if rating in ("good", "bad"):
                yield LogNote(talk, "satisfaction_rating", rating)
        first = plain(str(ticket.get("description") or ""))
        if first and not (self.commented if only else place in self.commented):
            yield LogLine("user", first, seconds(ticket.get("created_at")), talk)
        for comment in said:
            author = self.users.get(str(comment.get("author_id"))) or comment.get("author")
            is_customer = comment.get("author_id") == customer or role_of(get(author, "role")) == "user"
            yield from _comment(comment, talk, is_customer)


def _comment(comment: Record, talk: str, is_customer: bool) -> Iterator[Part]:
    text = plain(str(at(comment, "plain_body|body|html_body") or ""))
    time, channel = seconds(comment.get("created_at")), str(get(comment, "via.channel"))
    # Zendesk's own: triggers and bots write as -1.
    is_automatic = comment.get("author_id") == -1 or channel in ("rule", "bot")
    # A chat may stand in one comment, line by line, with the names of those who spoke.
    if channel.startswith("chat") and (chat := _CHAT.findall(text)):
        customers = {name for name, _said in chat if role_of(name.split()[0]) == "user"} or {chat[0][0]}
        for name, said in chat:
            yield LogLine("user" if name in customers else "assistant", said.strip(), time, talk)
    elif comment.get("public") is False:
        yield INTERNAL
    elif text:
        role = "assistant" if is_automatic else "user" if is_customer else "agent"
        yield LogLine(role, text, time, talk)


def _visitor(chat: Record, place: str) -> Iterator[Part]:
    """A chat; one that nobody took is a message."""
    talk = str(chat.get("id") or place)
    if not chat.get("history"):
        yield LogLine("user", plain(str(chat.get("message") or "")), None, talk)
    for event in objects(chat.get("history")):
        if event.get("type") == "chat.msg" and (text := plain(str(event.get("msg") or ""))):
            nick = str(event.get("nick") or "")
            is_bot = "trigger" in nick or "bot" in nick
            # Without a nick, whoever has the visitor's name is the visitor.
            is_user = nick.startswith("visitor") or (
                not nick and event.get("name") == get(chat, "visitor.name")
            )
            role = "user" if is_user else "assistant" if is_bot else "agent"
            yield LogLine(role, text, seconds(event.get("timestamp")), talk)
    if chat.get("rating") in ("good", "bad"):
        yield LogNote(talk, "rating", chat["rating"])
