"""OpenAI: threads of assistants, responses, and items of conversations, each a piece of a conversation.

    {"object": "thread.message", "thread_id": "...", "role": "user", "content": [...]}
    {"object": "response", "input": "...", "output": [...], "previous_response_id": "..."}

Messages of a thread are put together by its id; responses by their conversation, or along the chain of the
ones before. Whole conversations are read in the core (cases/logs/messages.py).
"""

from collections.abc import Iterator
from typing import Any

from simulator.cases.dialogues import LogLine, lines_of, objects, seconds
from simulator.cases.fields import role_of, text_of
from simulator.cases.logs.talks import Groups, Part, grouped, in_time
from simulator.cases.logs.values import passages_in
from simulator.core.messages import _
from simulator.core.tool_calls import tool_calls_in


def is_piece(record: dict[str, Any]) -> bool:
    """A response, or a message of a thread or of a conversation."""
    return (
        (isinstance(record.get("output"), list) and "role" not in record)
        or record.get("object") == "thread.message"
        or (record.get("type") == "message" and isinstance(record.get("content"), list))
    )


def pieces(records: Iterator[dict[str, Any]]) -> Iterator[Part]:
    """The lines of messages as they come, then those of responses."""
    responses = Groups()
    before: dict[str, str] = {}
    for number, record in enumerate(records, 1):
        if isinstance(record.get("output"), list):
            id_ = str(record.get("id") or number)
            before[id_] = str(record.get("previous_response_id") or "")
            responses.add(id_, record)
        else:
            role, text = role_of(record.get("role")), text_of(record.get("content"))
            thread = record.get("thread_id") or record.get("conversation_id") or record.get("first_id")
            time = seconds(record.get("created_at"))
            if time is not None and record.get("object") == "thread.message":
                time -= number / 1e6  # of the same second the newest comes first
            if role and text:
                yield LogLine(role, text, time, str(thread or "thread"))
    yield from _chains(responses, before)


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
