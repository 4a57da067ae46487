"""Formats of chats and helpdesks: in a table where each has what, and code for what no path can say.

Most formats are a `Chat`: where the conversation's name, the speaker, the text and the time of a line stand,
each as dotted paths with a bar between alternatives, or as a function of the line.

    BOTPRESS = Chat(
        talk="conversationId|conversation_id", role="direction",
        text=lambda line: _shown(at(line, "payload")), time="createdAt|created_at|sentOn|sent_on",
    )

Zendesk and Salesforce are code, because their lines do not say who speaks: the requester of a ticket, or the
author of the first comment, is the customer. What only the desk sees (private comments, internal notes) is
left out and counted.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

from simulator.cases.fields import role_of, text_of
from simulator.cases.logs.table import speaker
from simulator.cases.logs.talks import BREAK, LogNote, Part, Step, grouped, in_time
from simulator.cases.logs.values import LogLine, at, get, inner, objects, passages_in, plain, seconds, words
from simulator.core.messages import _

Record = dict[str, Any]
# Dotted paths to a value, likeliest first, with a bar between them; or what finds it in a line.
Place = str | Callable[[Record], Any]
INTERNAL = _("internal notes")
NO_LINE = _("events, attachments, system messages and messages without a text")


class Chat(NamedTuple):
    """Where lines stand in the records of a format, and where in a line what stands.

    `lines` makes the lines of a record that holds several; a record is itself a line where there is none. A
    line whose `hidden` has a value is an internal note. `rating` is of the whole conversation, and is called
    by the first part of its path.
    """

    talk: str
    role: Place
    text: Place
    time: str
    lines: Callable[[Record], Iterable[Record]] | None = None
    hidden: Place = ""
    language: str = ""
    tags: str = ""
    rating: str = ""

    def parts(self, record: Record, number: int) -> Iterator[Part]:
        """The lines of a record, and what it says of the whole conversation."""
        talk = str(at(record, self.talk) or (number if self.lines else ""))
        rating = at(record, self.rating)
        ratings = {} if rating is None else {self.rating.partition(".")[0]: rating}
        language, tags = str(at(record, self.language) or ""), tuple(words(at(record, self.tags)))
        # What a record says of the whole conversation stands in a line without a speaker.
        yield LogLine("", "", talk=talk, ratings=ratings, language=language, tags=tags)
        for line in self.lines(record) if self.lines else [record]:
            role = role_of(_in(line, self.role))
            content = _in(line, self.text)
            text = plain(content if isinstance(content, str) else text_of(content))
            if self.hidden and _in(line, self.hidden):
                yield INTERNAL
            elif role and text:
                yield LogLine(role, text, seconds(at(line, self.time)), talk)
            else:
                yield NO_LINE


def _in(line: Record, place: Place) -> Any:
    """What stands in a line at a place, be it a path or a function."""
    return at(line, place) if isinstance(place, str) else place(line)


def _shown(value: Any) -> str:
    """What a message with a menu or with cards shows, from the top."""
    if not isinstance(value, dict):
        return text_of(value)
    inside = [part for key in ("options", "items", "body") for part in objects(value.get(key))]
    texts = [text_of(value.get("title")), text_of(value.get("subtitle")), text_of(value)]
    texts += [text_of(part.get("label")) or _shown(part) for part in inside]
    return " / ".join(filter(None, texts))


def _of_participants(record: Record) -> Iterator[Record]:
    """Amazon Connect: each with the role of who speaks, which may stand beside the transcript.

    The role is in the line itself, or in the list of participants::

        {"Participants": [{"ParticipantId": "p-1", "ParticipantRole": "CUSTOMER"}],
         "Transcript": [{"Type": "MESSAGE", "ParticipantId": "p-1", "Content": "..."}]}

    What is no message keeps its place without a text, so that it is counted among what was left out.
    """
    roles = {
        str(participant.get("ParticipantId")): participant.get("ParticipantRole")
        for participant in objects(record.get("Participants"))
    }
    segments = objects(record.get("Segments"))
    for entry in objects(record.get("Transcript") or [segment.get("Transcript") for segment in segments]):
        speaker = str(entry.get("ParticipantId"))
        bot = "bot" if "bot" in str(entry.get("DisplayName")).lower() else ""
        role = entry.get("ParticipantRole") or roles.get(speaker) or speaker
        is_said = entry.get("Type", "MESSAGE") == "MESSAGE"
        yield entry | {"role": role_of(role) or bot, "Content": entry.get("Content") if is_said else ""}


def _interactive(line: Record) -> Any:
    """Amazon Connect: the title of a message with a menu, else the text of the line."""
    if "interactive" in str(line.get("ContentType")):
        return at(line, "Content.data.content.title|Content")
    return line.get("Content")


def _account(activity: Record) -> str:
    """Bot Framework: the role of the sender, which Copilot Studio writes as a number, or told by the name."""
    sides = [
        role_of({0: "bot", 1: "user"}.get(role, "") if isinstance(role, int) else role)
        for side in ("from", "recipient")
        for role in [get(activity, f"{side}.role")]
    ]
    is_bot = sides[1] == "user" or "bot" in str(get(activity, "from.name")).lower()
    return sides[0] or ("assistant" if is_bot else "user")


def _cards(activity: Record) -> str:
    cards = (_shown(at(card, "content|name")) for card in objects(activity.get("attachments")))
    return str(activity.get("text") or "").strip() or " ".join(cards)


def _of_intercom(record: Record) -> Iterator[Record]:
    yield inner(record, "source") | {"created_at": record.get("created_at")}
    parts = record.get("conversation_parts")
    yield from objects(parts.get("conversation_parts") if isinstance(parts, dict) else parts)


def _of_ticket(record: Record) -> Iterator[Record]:
    """Freshdesk: what the ticket says first, and its parts."""
    ticket = inner(record, "helpdesk_ticket") or record
    if {"incoming", "private"} <= ticket.keys():
        yield ticket
    elif "ratings" not in ticket:
        first = {"incoming": True, "private": False, "body": at(ticket, "description_text|description")}
        yield ticket | first
        for message in [*objects(ticket.get("conversations")), *objects(ticket.get("notes"))]:
            yield inner(message, "note") or message


def freshdesk(record: Record, number: int) -> Iterator[Part]:
    """Tickets with their conversations, or parts and ratings of tickets in a file of their own."""
    for name, value in inner(record, "ratings").items():
        yield LogNote(str(record.get("ticket_id")), str(name), value)
    if "ratings" not in record:
        yield from _FRESHDESK.parts(record, number)


_FRESHDESK = Chat(
    talk="ticket_id|id|display_id|helpdesk_ticket.display_id|helpdesk_ticket.id", lines=_of_ticket,
    role=lambda line: "user" if line.get("incoming") else role_of(line.get("role")) or "agent",
    text=lambda line: "" if line.get("deleted") else at(line, "body_text|body"), time="created_at",
    hidden="private", tags="tags|helpdesk_ticket.tags",
)  # fmt: skip
CONNECT = Chat(
    talk="CustomerMetadata.ContactId|ContactId", lines=_of_participants,
    role="role", text=_interactive, time="AbsoluteTime|BeginOffsetMillis", language="LanguageCode",
)  # fmt: skip
BOTPRESS = Chat(
    talk="conversationId|conversation_id", role="direction",
    text=lambda line: _shown(at(line, "payload")), time="createdAt|created_at|sentOn|sent_on",
)  # fmt: skip
BOTFRAMEWORK = Chat(
    talk="conversation.id|conversationtranscriptid|conversation_id", role=_account,
    text=lambda line: _cards(line) if line.get("type") == "message" else "", time="timestamp",
    language="locale",
)  # fmt: skip
INTERCOM = Chat(
    talk="id", lines=_of_intercom, role="author.type", text="body", time="created_at",
    hidden=lambda line: str(line.get("part_type")).startswith("note"),
    language="custom_attributes.Language|custom_attributes.language|language_override",
    rating="conversation_rating.rating",
)  # fmt: skip


def is_botframework(record: Record) -> bool:
    """An activity of a transcript; those of Copilot Studio too."""
    places = {"recipient", "conversation", "channelId", "conversation_id", "conversationtranscriptid"}
    return "type" in record and isinstance(record.get("from"), dict) and not places.isdisjoint(record)


def lex(record: Record, number: int) -> Iterator[Part]:
    """Amazon Lex: one record a line of the customer."""
    if not str(record.get("inputTranscript") or "").strip():
        yield _("records without a customer's message")
        return
    texts = [
        re.sub(r"<[^<>]*>", "", text_of(message))
        if message.get("contentType") == "SSML"
        else text_of(message)
        for message in objects(record.get("messages"))
    ]
    # What a search in Kendra gave; its interface writes names with a capital, the SDKs without.
    items = [
        {str(key)[:1].lower() + str(key)[1:]: value for key, value in item.items()}
        for item in objects(at(record, "kendraResponse.resultItems|kendraResponse.ResultItems"))
    ]
    excerpts = [
        {"id": item.get("id"), "text": at(item, "documentExcerpt.text|documentExcerpt.Text|documentExcerpt")}
        for item in items
    ]
    yield Step(
        str(number), time=seconds(record.get("timestamp")), asked=str(record["inputTranscript"]),
        session=str(at(record, "sessionId|userId") or ""), language=str(at(record, "bot.localeId") or ""),
        answered="\n".join(filter(None, texts)) or text_of(record.get("botResponse")),
        passages=passages_in(excerpts or record.get("passages")),
        tags=["missedUtterance"] if str(record.get("missedUtterance")).lower() == "true" else [],
    )  # fmt: skip


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


def rasa(record: Record, number: int) -> Iterator[Part]:
    """Rasa: trackers with their events, or events as an event broker or a table has them."""
    talk = str(record.get("sender_id") or number)
    inside = at(record, "data") if "type_name" in record else None
    for event in objects(record.get("events")) or [record | (inside if isinstance(inside, dict) else {})]:
        kind, text, time = event.get("event"), text_of(event.get("text")), seconds(event.get("timestamp"))
        if kind in ("session_started", "restart"):
            yield LogLine(BREAK, "", time, talk)
        elif kind in ("user", "bot") and text and text != "/restart":
            yield LogLine("user" if kind == "user" else "assistant", text, time, talk)


_HEAD = re.compile(r"<p\b[^>]*align=\"?center\"?[^>]*>.*?</p>", re.IGNORECASE | re.DOTALL)
_SAID = re.compile(r"^\(\s*(?:\d+\s*(?:[hms]|時間|分|秒)\s*)+\)\s*([^:：\n]{1,80})[:：]\s?(.*)$")


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
# Types of users, and profiles, of customers; users of the company itself are Standard.
_CUSTOMERS = (
    "customer", "powercustomer", "csplite", "guest", "siteguest", "highvolume", "communityuser", "sitesguest",
)  # fmt: skip


@lru_cache(1000)
def _salesforce_name(name: str) -> str:
    plain = re.sub(r"[\s_]", "", name).lower().removesuffix(":").replace(":", ".")
    return _LABELS.get(plain, plain)


def is_salesforce(record: Record) -> bool:
    """The columns of LiveChatTranscript, of CaseComment, or of Case, as an interface or a report has them."""
    names = {_salesforce_name(str(name)) for name in record}
    is_chat = "body" in names and not {"chatkey", "starttime", "livechatvisitorid"}.isdisjoint(names)
    # What a label says, another table may say as well: not so three of them.
    is_named = any(str(name).lower() == "commentbody" for name in record)
    is_comment = {"commentbody", "casenumber"} <= names and any(
        name.startswith("createdby") for name in names
    )
    return is_chat or is_named or is_comment or {"casenumber", "description"} <= names


def salesforce(records: Iterator[Record]) -> Iterator[Part]:
    """A transcript is a conversation; comments are put together by their case, behind what it says."""

    def place(record: Record) -> Any:
        return at(record, "parentid|casenumber" if "commentbody" in record else "name|id|casenumber|chatkey")

    plain_names = (
        {_salesforce_name(str(name)): value for name, value in reversed(record.items())} for record in records
    )
    for id_, its in grouped(plain_names, place):
        if "body" in its[0]:
            for row in its:
                yield from (line._replace(talk=id_) for line in _transcript(str(row["body"] or "")))
            continue
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
    """Who wrote a comment, by the type, the role or the profile of its author; "" where none is known."""
    for name, value in comment.items():
        # The author's name is no role, unless it is a word for one.
        if not isinstance(value, str) or not re.match(
            "createdby|role|usertype|author|作成者|発言者|ユーザ", name
        ):
            continue
        word = re.sub(r"[\s_-]", "", value).lower()
        if role := speaker(value):
            return role
        if "name" not in name.replace("profile.name", "").replace("role.name", ""):
            if word.startswith(_CUSTOMERS):
                return "user"
            if word in ("standard", "standarduser"):
                return "agent"
    return ""


def _transcript(body: str) -> list[LogLine]:
    """The lines of a transcript, which holds them as HTML; before a transfer it is the bot who answers.

        <p align="center">Agent Support Bot</p>( 12s ) Support Bot: Hello<br>( 40s ) Visitor: How much is it?

    Lines without a speaker go on the one before.
    """
    lines: list[LogLine] = []
    is_bot = "bot" in (head[0].lower() if (head := re.findall(r"Agent ([^<]*)", body)) else "")
    for piece in re.split(f"({_HEAD.pattern})", body, flags=_HEAD.flags):
        if _HEAD.fullmatch(piece):
            is_bot = is_bot and "transferred" not in piece.lower()
            continue
        for text in plain(piece).split("\n"):
            if said := _SAID.match(text):
                name = said[1].strip()
                bot = is_bot or "bot" in name.lower() or "ボット" in name
                role = role_of(name) or role_of(name.split()[0]) or ("assistant" if bot else "agent")
                lines.append(LogLine(role, said[2].strip()))
            elif lines and text.strip():
                lines[-1] = lines[-1]._replace(text=f"{lines[-1].text}\n{text.strip()}")
    return lines


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
