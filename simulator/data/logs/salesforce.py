"""Salesforce: transcripts of live chats, and cases with their comments."""

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
    plain,
    role_of,
    seconds,
    talk_of,
)

NAME = "Salesforce"
_HEAD = re.compile(r"<p\b[^>]*align=\"?center\"?[^>]*>.*?</p>", re.IGNORECASE | re.DOTALL)
_SAID = re.compile(r"^\(\s*(?:\d+\s*(?:[hms]|時間|分|秒)\s*)+\)\s*([^:：\n]{1,80})[:：]\s?(.*)$")


def matches(record: Any) -> bool:
    """The columns of LiveChatTranscript, of CaseComment, or of Case, which some tools write in capitals."""
    names = {str(name).lower() for name in record}
    is_chat = "body" in names and not {"chatkey", "starttime", "livechatvisitorid"}.isdisjoint(names)
    return is_chat or "commentbody" in names or {"casenumber", "description"} <= names


def read(records: Iterator[Any], skipped: Skipped) -> Iterator[Talk]:
    """A transcript is a conversation; comments are put together by their case, behind what it says."""
    lower = ({str(name).lower(): value for name, value in record.items()} for record in records)
    for id_, its in grouped(lower, _place):
        for each in its if "body" in its[0] else ():
            yield talk_of(id_ or str(each.get("chatkey") or ""), _lines(str(each["body"] or "")))
        if "body" not in its[0]:
            yield _case(id_, its, skipped)


def _place(record: dict[str, Any]) -> Any:
    """What a record belongs to: its case, by id where it has one, or the transcript itself."""
    names = ("parentid", "casenumber") if "commentbody" in record else ("name", "id", "casenumber")
    return next(filter(None, map(record.get, names)), None)


def _case(id_: str, records: list[dict[str, Any]], skipped: Skipped) -> Talk:
    lines: list[Line] = []
    customer, number = None, None
    for each in in_time(records, lambda each: seconds(each.get("createddate"))):
        parent = (each.get("casenumber"), each.get("parent.casenumber"), get(each, "parent.CaseNumber"))
        number = number or next(filter(None, parent), None)
        if str(each.get("ispublished")).lower() in ("false", "0"):
            skipped.note(_("internal notes"))
            continue
        names = ("createdbyid", "createdby.name", "createdby", "creatorname")
        author = str(next(filter(None, map(each.get, names)), len(lines)))
        customer = customer or author  # who writes first
        role = role_of(each.get("createdbytype") or each.get("role"))
        text = plain(str(each.get("commentbody") or each.get("description") or ""))
        is_customer = "description" in each or author == customer
        lines.append(Line(role or ("user" if is_customer else "agent"), text))
    return talk_of(str(number or id_), lines)


def _lines(body: str) -> list[Line]:
    """The lines of a transcript, which holds them as HTML; before a transfer it is the bot who answers."""
    found: list[Line] = []
    is_bot = "bot" in (head[0].lower() if (head := re.findall(r"Agent ([^<]*)", body)) else "")
    for piece in re.split(f"({_HEAD.pattern})", body, flags=_HEAD.flags):
        if _HEAD.fullmatch(piece):
            is_bot = is_bot and "transferred" not in piece.lower()
            continue
        for line in plain(piece).split("\n"):
            if said := _SAID.match(line):
                name = said[1].strip()
                role = (
                    role_of(name)
                    or role_of(name.split()[0])
                    or ("assistant" if is_bot or "bot" in name.lower() or "ボット" in name else "agent")
                )
                found.append(Line(role, said[2].strip()))
            elif found and line.strip():
                found[-1] = found[-1]._replace(text=f"{found[-1].text}\n{line.strip()}")
    return found
