"""Salesforce: transcripts of live chats, and comments of cases."""

import re
from collections.abc import Iterator
from typing import Any

from simulator.core.messages import _
from simulator.data.logs.talks import Line, Skipped, Talk, in_time, plain, role_of, seconds, talk_of

NAME = "Salesforce"
_HEAD = re.compile(r"<p\b[^>]*align=\"?center\"?[^>]*>.*?</p>", re.IGNORECASE | re.DOTALL)
_SAID = re.compile(r"^\(\s*(?:\d+\s*(?:[hms]|時間|分|秒)\s*)+\)\s*([^:：\n]{1,80})[:：]\s?(.*)$")


def matches(record: Any) -> bool:
    """The columns of LiveChatTranscript, or of CaseComment."""
    return (
        "Body" in record and bool({"ChatKey", "StartTime", "LiveChatVisitorId"} & record.keys())
    ) or "CommentBody" in record


def read(records: Iterator[Any], skipped: Skipped) -> Iterator[Talk]:
    """A transcript is a conversation; comments are put together by their case."""
    cases: dict[str, list[Line]] = {}
    for number, record in enumerate(records, 1):
        if "CommentBody" in record:
            if str(record.get("IsPublished")).lower() in ("false", "0"):
                skipped.note(_("internal notes"))
                continue
            case = str(record.get("CaseNumber") or record.get("ParentId") or number)
            role = role_of(record.get("CreatedByType") or record.get("Role")) or (
                "agent" if cases.get(case) else "user"
            )
            cases.setdefault(case, []).append(
                Line(role, plain(str(record["CommentBody"])), seconds(record.get("CreatedDate")))
            )
        else:
            yield talk_of(
                str(record.get("Name") or record.get("Id") or number), _lines(str(record.get("Body") or ""))
            )
    for case, lines in cases.items():
        yield talk_of(case, in_time(lines))


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
