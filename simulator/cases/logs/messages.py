"""OpenAI: fine-tuning messages, threads of assistants, responses and conversations; ShareGPT.

    {"messages": [{"role": "user", "content": "..."}, {"role": "assistant", "content": "..."}]}
    {"conversations": [{"from": "human", "value": "..."}, {"from": "gpt", "value": "..."}]}
    {"object": "thread.message", "thread_id": "...", "role": "user", "content": [...]}
    {"object": "response", "input": "...", "output": [...], "previous_response_id": "..."}

The first two are a conversation a record, beside which columns of a question file may stand (a reference, a
goal). Messages of a thread are put together by its id; responses by their
conversation, or along the chain of the ones before.
"""

from collections.abc import Iterator
from typing import Any

from simulator.cases.fields import READERS, FileCell, role_of, text_of
from simulator.cases.headings import columns_by_field
from simulator.cases.logs.table import columns_of
from simulator.cases.logs.talks import Groups, LogTalk, Part, grouped, in_time, show_tools, talk_of
from simulator.cases.logs.values import LogLine, answered_in, decoded, lines_of, objects, passages_in, seconds
from simulator.core.messages import Message, _, quote
from simulator.core.tool_calls import tool_calls_in

# What a record may say of its conversation, as a question file does.
_BESIDES = frozenset({"references", "answerable", "handover", "goal", "facts", "passages", "tags"})


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
    # Files of fine-tuning, ShareGPT, exports of ChatGPT, and logs of requests.
    for key in ("messages", "conversations", "conversation", "request"):
        held = decoded(record.get(key))
        messages = objects(held.get("messages") if isinstance(held, dict) else held)
        if any(
            {"content", "value", "kwargs", "parts"} & message.keys() or lines_of([message])
            for message in messages[:3]
        ):
            return messages
    return []


def parts(records: Iterator[Any]) -> Iterator[Part]:
    """One record is one conversation, but for messages of threads and chained responses."""
    responses = Groups()
    before: dict[str, str] = {}
    for number, record in enumerate(records, 1):
        if isinstance(record.get("output"), list):
            id_ = str(record.get("id") or number)
            before[id_] = str(record.get("previous_response_id") or "")
            responses.add(id_, record)
        elif messages := _messages(record):
            names = map(record.get, ("id", "conversation_id", "thread_id", "session_id"))
            lines = lines_of(messages)
            if answer := answered_in(record.get("response")):
                lines.append(LogLine("assistant", answer))
            talk = talk_of(str(next(filter(None, names), number)), lines)
            # What the model was offered, as files of fine-tuning have it.
            show_tools(talk, offered=bool(objects(record.get("tools"))))
            yield from _add_besides(talk, record)
            columns = columns_of(record)
            talk.language = str(record.get(columns.get("language", "")) or "")
            rating = record.get(columns.get("rating", ""))
            if talk.turns and isinstance(rating, (str, int, float)):
                talk.turns[-1].ratings[columns["rating"]] = rating
            yield talk
        else:
            role, text = role_of(record.get("role")), text_of(record.get("content"))
            thread = record.get("thread_id") or record.get("conversation_id") or record.get("first_id")
            time = seconds(record.get("created_at"))
            if time is not None and record.get("object") == "thread.message":
                time -= number / 1e6  # of the same second the newest comes first
            if role and text:
                yield LogLine(role, text, time, str(thread or "thread"))
    yield from _chains(responses, before)


def _add_besides(talk: LogTalk, record: dict[str, Any]) -> Iterator[Message]:
    """Adds what a record says of its conversation as a question file would; says what is not understood."""
    columns = columns_by_field({key: value for key, value in record.items() if isinstance(key, str)})
    for name in _BESIDES & columns.keys():
        column = columns[name]
        try:
            value = READERS[name](FileCell(column, record[column]))
        except ValueError:
            yield _("columns that are not understood ({column})", column=quote(column))
            continue
        if name == "tags":
            talk.tags += value
        else:
            talk.besides[name] = record[column]


def _chains(responses: Groups, before: dict[str, str]) -> Iterator[Part]:
    """The responses by conversation, or by the one that begins their chain; `before` has ids by id."""

    def root(response: dict[str, Any]) -> str:
        of = response.get("conversation")
        id_, seen = str(response.get("id") or ""), set[str]()
        # A chain may be broken, and a hostile one closed: each id is followed once.
        while before.get(id_) and id_ not in seen:
            seen.add(id_)
            id_ = before[id_]
        return str((of.get("id") if isinstance(of, dict) else of) or id_)

    for id_, several in grouped((response for _id, some in responses for response in some), root):
        for response in in_time(several, lambda response: seconds(response.get("created_at"))):
            given = response.get("input")
            asked = [line.text for line in lines_of(given) if line.role == "user"]
            # What was sent is a text, or messages of which the last one is new.
            if isinstance(given, str) and given.strip():
                asked = [given.strip()]
            # An answer whose question is kept elsewhere is a conversation of its own.
            talk = id_ if asked else str(response.get("id"))
            if not asked:
                yield _("questions, which /v1/responses/ID/input_items has")
            yield LogLine("user", asked[-1] if asked else "", None, talk)
            passages: tuple[tuple[str, str], ...] = ()
            tools = [call.model_dump() for call in tool_calls_in(objects(response["output"])) or ()] or None
            for item in objects(response["output"]):
                if item.get("type") == "file_search_call":
                    passages += passages_in(item.get("results"))
                elif item.get("type") == "message" and (text := text_of(item.get("content"))):
                    yield LogLine("assistant", text, None, talk, {}, passages, tools=tools)
                    passages, tools = (), None
