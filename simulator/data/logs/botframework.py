"""Bot Framework: transcripts, lists of activities."""

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

NAME = "Bot Framework"


def matches(record: Any) -> bool:
    """An activity."""
    record = next(iter(objects(record.get("activities"))), record)
    return (
        "type" in record
        and isinstance(record.get("from"), dict)
        and ("recipient" in record or "conversation" in record or "channelId" in record)
    )


def read(records: Iterator[Any], skipped: Skipped) -> Iterator[Talk]:
    """The messages by conversation, in time order; a card speaks with its title and text."""
    talks: dict[str, list[Line]] = {}
    languages: dict[str, str] = {}
    bots: set[str] = set()
    for each in (one for record in records for one in objects(record.get("activities")) or [record]):
        id_ = str(get(each, "conversation.id") or "")
        if get(each, "from.role") == "bot":
            bots.add(str(get(each, "from.id")))
        if get(each, "recipient.role") == "bot":
            bots.add(str(get(each, "recipient.id")))
        if each.get("type") != "message":
            continue
        role = role_of(get(each, "from.role")) or (
            "assistant"
            if str(get(each, "from.id")) in bots or "bot" in str(get(each, "from.name")).lower()
            else "user"
        )
        cards = " ".join(_card(card) for card in objects(each.get("attachments")))
        text = plain(str(each.get("text") or "")) or cards.strip()
        if not text:
            skipped.note(_("messages without a text"))
            continue
        talks.setdefault(id_, []).append(Line(role, text, seconds(each.get("timestamp"))))
        languages.setdefault(id_, str(each.get("locale") or ""))
    for id_, lines in talks.items():
        yield talk_of(id_, in_time(lines), language=languages[id_])


def _card(card: dict[str, Any]) -> str:
    content = card.get("content")
    if not isinstance(content, dict):
        return str(card.get("name") or "")
    said = [
        content.get("title"),
        content.get("subtitle"),
        content.get("text"),
        *(each.get("text") for each in objects(content.get("body"))),
    ]
    return " ".join(str(each) for each in said if each)
