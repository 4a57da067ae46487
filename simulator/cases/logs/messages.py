"""OpenAI: messages as fine-tuning has them; ShareGPT.

    {"messages": [{"role": "user", "content": "..."}, {"role": "assistant", "content": "..."}]}
    {"conversations": [{"from": "human", "value": "..."}, {"from": "gpt", "value": "..."}]}

A conversation a record, beside which columns of a question file may stand (a reference, a goal). Threads and
responses, which come in pieces, are read in the lab (lab/logs/openai.py).
"""

from collections.abc import Iterator
from typing import Any

from simulator.cases.dialogues import LogLine, LogTalk, lines_of, objects, show_tools, talk_of
from simulator.cases.fields import READERS, FileCell, decoded
from simulator.cases.headings import MESSAGE_HEADINGS, columns_by_field
from simulator.cases.logs.talks import Part
from simulator.cases.logs.values import answered_in
from simulator.core.messages import Message, _, quote

# What a record may say of its conversation, as a question file does.
_BESIDES = frozenset({"references", "answerable", "handover", "goal", "facts", "passages", "tags"})

# Files of fine-tuning, ShareGPT, exports of Claude, files of Gemini, logs of requests, exports of ChatGPT.
_MESSAGES = (
    "messages", "conversations", "conversation", "chat_messages", "contents", "request", "mapping",
)  # fmt: skip
# So many messages at the beginning are looked at; the first ones may be of the system.
_HEAD = 6


def matches(record: Any) -> bool:
    """Messages, or a conversation of ShareGPT."""
    return bool(_messages(record))


def _messages(record: Any) -> list[dict[str, Any]]:
    """The messages of a record, by any of their names, where somebody speaks in them."""
    for key in _MESSAGES:
        held = decoded(record.get(key))
        if key == "mapping" and isinstance(held, dict):  # by their ids, in their order
            held = [*held.values()]
        messages = objects(held.get("messages") if isinstance(held, dict) else held)
        if any(
            {"content", "value", "kwargs", "parts"} & message.keys() or lines_of([message])
            for message in messages[:_HEAD]
        ):
            return messages
    return []


def parts(record: dict[str, Any], number: int) -> Iterator[Part]:
    """The conversation of a record."""
    names = map(record.get, ("id", "conversation_id", "thread_id", "session_id"))
    lines = lines_of(_messages(record))
    if answer := answered_in(record.get("response") or objects(record.get("choices"))):
        lines.append(LogLine("assistant", answer))
    talk = talk_of(str(next(filter(None, names), number)), lines)
    # What the model was offered, as files of fine-tuning have it.
    show_tools(talk, offered=bool(objects(record.get("tools"))))
    yield from _add_besides(talk, record)
    columns = MESSAGE_HEADINGS.columns_of(record)
    talk.language = str(record.get(columns.get("language", "")) or "")
    rating = record.get(columns.get("rating", ""))
    if talk.turns and isinstance(rating, (str, int, float)):
        talk.turns[-1].ratings[columns["rating"]] = rating
    yield talk


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
