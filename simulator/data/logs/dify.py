"""Dify: messages of the API, one a turn."""

from collections.abc import Iterator
from typing import Any

from simulator.core.messages import _
from simulator.data.logs.talks import Skipped, Talk, Turn, get, objects, passages_in, seconds

NAME = "Dify"


def matches(record: Any) -> bool:
    """A message with query and answer, or a page of them."""
    first = next(iter(objects(record.get("data"))), record)
    return {"query", "answer", "conversation_id"} <= first.keys()


def read(records: Iterator[Any], skipped: Skipped) -> Iterator[Talk]:
    """The messages by conversation, in time order."""
    talks: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        if record.get("has_more"):
            skipped.note(_("more pages, which are not in the file"))
        for each in objects(record.get("data")) or [record]:
            talks.setdefault(str(each.get("conversation_id") or each.get("id") or ""), []).append(each)
    for id_, its in talks.items():
        its.sort(key=lambda each: seconds(each.get("created_at")) or 0.0)
        turns = []
        for each in its:
            if not str(each.get("query") or "").strip():
                skipped.note(_("messages without a question"))
                continue
            rating = get(each, "feedback.rating")
            found = passages_in(each.get("retriever_resources") or get(each, "metadata.retriever_resources"))
            failed = (
                str(each.get("error") or "error")
                if each.get("status") == "error" or each.get("error")
                else ""
            )
            turns.append(
                Turn(
                    str(each["query"]),
                    str(each.get("answer") or ""),
                    found,
                    {"feedback": rating} if rating else {},
                    error=failed,
                )
            )
        yield Talk(id_, turns)
