"""OpenAI: fine-tuning messages, threads of assistants, responses and conversations; ShareGPT."""

from collections.abc import Iterator
from typing import Any

from simulator.core.messages import _
from simulator.data.logs.talks import (
    Line,
    Skipped,
    Talk,
    Turn,
    get,
    in_time,
    lines_of,
    objects,
    passages_in,
    role_of,
    seconds,
    talk_of,
    text_of,
)

NAME = "OpenAI messages / ShareGPT"


def matches(record: Any) -> bool:
    """Messages, a list of them, a response, or a conversation of ShareGPT."""
    first = next(iter(objects(record.get("data"))), record)
    items = record.get("output")
    return (
        isinstance(record.get("conversations"), list)
        or (isinstance(record.get("messages"), list) and "meta" not in record)
        or (isinstance(items, list) and "role" not in record)
        or first.get("object") == "thread.message"
        or (first.get("type") == "message" and isinstance(first.get("content"), list))
    )  # fmt: skip


def read(records: Iterator[Any], skipped: Skipped) -> Iterator[Talk]:
    """One record is one conversation, but for messages of threads and chained responses."""
    threads: dict[str, list[dict[str, Any]]] = {}
    responses: dict[str, list[dict[str, Any]]] = {}
    chained: dict[str, str] = {}
    for number, record in enumerate(records, 1):
        items = objects(record.get("data"))
        if isinstance(record.get("output"), list):
            id_ = str(record.get("id") or number)
            conversation = record.get("conversation")
            conversation = conversation.get("id") if isinstance(conversation, dict) else conversation
            before = str(record.get("previous_response_id") or "")
            chained[id_] = str(conversation or chained.get(before) or before or id_)
            responses.setdefault(chained[id_], []).append(record)
        elif items or record.get("object") == "thread.message" or record.get("type") == "message":
            for item in items or [record]:
                threads.setdefault(
                    str(
                        item.get("thread_id") or get(record, "id") or number
                        if items
                        else item.get("thread_id") or ""
                    ),
                    [],
                ).append(item)
        else:
            talk = talk_of(
                str(record.get("id") or record.get("conversation_id") or number),
                lines_of(record.get("messages") or record.get("conversations")),
            )
            if talk.turns:
                yield talk
            else:
                skipped.note(_("line {number:d}: no line of a customer", number=number))
    for thread, items in threads.items():
        yield talk_of(thread or "thread", _thread(items))
    for id_, its in responses.items():
        its.sort(key=lambda each: seconds(each.get("created_at")) or 0.0)
        lines = [line for each in its for line in _response(each, skipped)]
        talk = talk_of(id_, lines)
        if talk.turns:
            yield talk
        else:  # the questions are kept elsewhere
            answers = (
                "\n".join(text for _role, text in talk_of(id_, _answers(each)).history) for each in its
            )
            yield from (
                Talk(str(each.get("id")), [Turn("", text)])
                for each, text in zip(its, answers, strict=True)
                if text
            )


def _thread(items: list[dict[str, Any]]) -> list[Line]:
    """The messages in time order; a list begins with the newest where nothing else is said."""
    lines = [
        Line(role_of(item.get("role")), text_of(item.get("content")), seconds(item.get("created_at")))
        for item in items
    ]
    known = [line.time for line in lines if line.time is not None]
    if not known or (known[0] >= known[-1] and items[0].get("object") == "thread.message"):
        lines.reverse()
    return [line for line in in_time(lines) if line.role and line.text]


def _response(response: dict[str, Any], skipped: Skipped) -> Iterator[Line]:
    asked = [line for line in lines_of(response.get("input")) if line.role == "user"]
    if isinstance(response.get("input"), str) and response["input"].strip():
        asked = [Line("user", response["input"].strip())]
    if asked:
        yield asked[-1]
        yield from _answers(response)
    else:
        skipped.note(_("questions, which /v1/responses/ID/input_items has"))


def _answers(response: dict[str, Any]) -> Iterator[Line]:
    found: tuple[tuple[str, str], ...] = ()
    for item in objects(response["output"]):
        if item.get("type") == "file_search_call":
            found += passages_in(item.get("results"))
        elif item.get("type") == "message" and (text := text_of(item.get("content"))):
            yield Line("assistant", text, None, found)
