"""Dify: messages of the API, one a turn."""

from collections.abc import Iterator
from typing import Any

from simulator.core.messages import _
from simulator.data.logs.talks import (
    Skipped,
    Talk,
    Turn,
    decoded,
    get,
    grouped,
    in_time,
    objects,
    passages_in,
    seconds,
)

NAME = "Dify"


def matches(record: Any) -> bool:
    """A message with query and answer, or what somebody thought of one."""
    return {"query", "answer", "conversation_id"} <= record.keys() or _rates(record)


def _rates(record: dict[str, Any]) -> bool:
    return {"message_id", "rating"} <= record.keys()


def read(records: Iterator[Any], skipped: Skipped) -> Iterator[Talk]:
    """The messages by conversation, in time order."""
    for id_, its in grouped(records, lambda each: each.get("conversation_id") or each.get("id")):
        ratings = {each.get("message_id"): each.get("rating") for each in its if _rates(each)}
        turns = []
        for each in in_time(its, lambda each: seconds(each.get("created_at"))):
            if _rates(each):
                continue
            if not str(each.get("query") or "").strip():
                skipped.note(_("messages without a question"))
                continue
            given = [get(each, "feedback.rating"), ratings.pop(each.get("id"), None)]
            given += [one.get("rating") for one in objects(each.get("feedbacks"))]
            rating = next(filter(None, given), None)
            metadata = decoded(each.get("metadata"))
            found = passages_in(each.get("retriever_resources") or get(metadata, "retriever_resources"))
            failed = each.get("error") or ("error" if each.get("status") == "error" else "")
            turns.append(
                Turn(
                    str(each["query"]), str(each.get("answer") or ""), found,
                    {"feedback": rating} if rating else {}, error=str(failed),
                )
            )  # fmt: skip
        if ratings:
            skipped.note(
                _("ratings without their messages (the export of messages has the texts)"), len(ratings)
            )
        if turns or not ratings:
            yield Talk(id_, turns)
