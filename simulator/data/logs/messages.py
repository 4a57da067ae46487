"""OpenAI: fine-tuning messages, threads of assistants, responses and conversations; ShareGPT."""

from collections.abc import Iterator
from typing import Any

from simulator.core.messages import _
from simulator.data.logs.table import columns_of
from simulator.data.logs.talks import (
    Groups,
    Line,
    Skipped,
    Talk,
    Turn,
    answered_in,
    decoded,
    grouped,
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
    return (
        bool(_messages(record))
        or (isinstance(record.get("output"), list) and "role" not in record)
        or record.get("object") == "thread.message"
        or (record.get("type") == "message" and isinstance(record.get("content"), list))
    )


def _messages(record: Any) -> list[dict[str, Any]]:
    """The messages of a record, by any of their names, where somebody speaks in them."""
    for key in ("messages", "conversations", "conversation", "request"):
        held = decoded(record.get(key))
        messages = objects(held.get("messages") if isinstance(held, dict) else held)
        if any(
            {"content", "value", "kwargs", "parts"} & each.keys() or lines_of([each]) for each in messages[:3]
        ):
            return messages
    return []


def read(records: Iterator[Any], skipped: Skipped) -> Iterator[Talk]:
    """One record is one conversation, but for messages of threads and chained responses."""
    threads, responses = Groups(), Groups()
    before: dict[str, str] = {}
    for number, record in enumerate(records, 1):
        if isinstance(record.get("output"), list):
            id_ = str(record.get("id") or number)
            before[id_] = str(record.get("previous_response_id") or "")
            responses.add(id_, record)
        elif messages := _messages(record):
            talk = _whole(record, messages, number)
            if talk.turns:
                yield talk
            else:
                skipped.note(_("line {number:d}: no line of a customer", number=number))
        else:
            threads.add(
                record.get("thread_id") or record.get("conversation_id") or record.get("first_id"), record
            )
    for thread, items in threads:
        yield talk_of(thread or "thread", _thread(items))
    yield from _chains(responses, before, skipped)


def _chains(responses: Groups, before: dict[str, str], skipped: Skipped) -> Iterator[Talk]:
    """The responses by conversation, or by the one that begins their chain; `before` has ids by id."""

    def root(response: dict[str, Any]) -> str:
        of = response.get("conversation")
        id_, seen = str(response.get("id") or ""), set[str]()
        while before.get(id_) and id_ not in seen:
            seen.add(id_)
            id_ = before[id_]
        return str((of.get("id") if isinstance(of, dict) else of) or id_)

    for id_, several in grouped((each for _id, some in responses for each in some), root):
        its = in_time(several, lambda each: seconds(each.get("created_at")))
        talk = talk_of(id_, [line for each in its for line in _response(each, skipped)])
        if talk.turns:
            yield talk
            continue
        for each in its:  # the questions are kept elsewhere
            if text := "\n".join(line.text for line in _answers(each)):
                yield Talk(str(each.get("id")), [Turn("", text)])


def _whole(record: dict[str, Any], messages: list[dict[str, Any]], number: int) -> Talk:
    id_ = next(filter(None, map(record.get, ("id", "conversation_id", "thread_id", "session_id"))), number)
    answer = answered_in(record.get("response"))
    lines = [*lines_of(messages), *([Line("assistant", answer)] if answer else [])]
    columns = columns_of(record)
    talk = talk_of(str(id_), lines, language=record.get(columns.get("language", "")))
    rating = record.get(columns.get("rating", ""))
    if talk.turns and isinstance(rating, (str, int, float)):
        talk.turns[-1].ratings[columns["rating"]] = rating
    return talk


def _thread(items: list[dict[str, Any]]) -> list[Line]:
    """The messages in time order; a list begins with the newest where nothing else is said."""
    times = {str(item.get("created_at")) for item in items}
    if len(times) == 1 and items[0].get("object") == "thread.message":
        items.reverse()
    said = ((item, role_of(item.get("role")), text_of(item.get("content"))) for item in items)
    return in_time(
        Line(role, text, seconds(item.get("created_at"))) for item, role, text in said if role and text
    )


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
