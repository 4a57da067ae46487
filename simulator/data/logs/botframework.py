"""Bot Framework: transcripts, lists of activities; those of Copilot Studio too."""

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
    objects,
    plain,
    role_of,
    seconds,
    talk_of,
)

NAME = "Bot Framework"
# Copilot Studio writes roles as numbers.
_NUMBERED = {0: "bot", 1: "user"}


def matches(record: Any) -> bool:
    """An activity."""
    places = {"recipient", "conversation", "channelId", "conversation_id", "conversationtranscriptid"}
    return "type" in record and isinstance(record.get("from"), dict) and not places.isdisjoint(record)


def read(records: Iterator[Any], skipped: Skipped) -> Iterator[Talk]:
    """The messages by conversation, in time order; a card speaks with its title and text."""
    for id_, its in grouped(records, _conversation):
        sides = [get(each, side) for each in its for side in ("from", "recipient")]
        bots = {str(get(each, "id")) for each in sides if _role(each) == "assistant"}
        lines, language = [], None
        for each in its:
            if each.get("type") != "message":
                continue
            sender = each.get("from")
            is_bot = str(get(sender, "id")) in bots or "bot" in str(get(sender, "name")).lower()
            cards = " ".join(_card(card) for card in objects(each.get("attachments")))
            if text := plain(str(each.get("text") or "")) or cards.strip():
                role = _role(sender) or ("assistant" if is_bot else "user")
                lines.append(Line(role, text, seconds(each.get("timestamp"))))
                language = language or each.get("locale")
            else:
                skipped.note(_("messages without a text"))
        yield talk_of(id_, in_time(lines), language=language)


def _conversation(activity: dict[str, Any]) -> Any:
    id_ = get(activity, "conversation.id") or activity.get("conversationtranscriptid")
    return id_ or activity.get("conversation_id")


def _role(account: Any) -> str:
    role = get(account, "role")
    return role_of(_NUMBERED.get(role, "") if isinstance(role, int) else role)


def _card(card: dict[str, Any]) -> str:
    content = card.get("content")
    if not isinstance(content, dict):
        return str(card.get("name") or "")
    said = [content.get(key) for key in ("title", "subtitle", "text")]
    said += [each.get("text") for each in objects(content.get("body"))]
    return " ".join(str(each) for each in said if each)
