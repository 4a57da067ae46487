"""The calls of tools in whatever a bot, a model or a log writes them, as `ToolCall`s.

    {"name": "refund", "arguments": {"order": "A-1"}, "result": "done"}     this program's own
    {"id": "c1", "type": "function", "function": {"name": "refund", "arguments": "{...}"}}      OpenAI
    {"name": "refund", "args": {"order": "A-1"}, "id": "c1"}                LangChain
    {"type": "tool_use", "id": "c1", "name": "refund", "input": {...}}      Anthropic
    {"tool": "refund", "tool_input": {...}, "observation": "done"}          LangChain's agents, Dify
    "refund"                                                                a name alone

Of messages the calls stand in those of the assistant, and their results in messages of their own that name
the call. What is no call is passed over: other things are called tools as well, such as their definitions.
All of it was said by others: names, arguments and results are cut to what a prompt and a page can hold.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from simulator.core.types import ToolCall

# Calls of one answer that are kept, characters of a name, of arguments or a result, and of all of them.
MOST_CALLS = 1000
LONGEST_NAME, LONGEST_TEXT, MOST_TEXT = 200, 4_000, 100_000
CUT_MARK = " […]"

_NAMES = ("name", "tool", "tool_name", "toolName", "function_name")
_ARGUMENTS = ("arguments", "args", "input", "tool_input", "tool_args", "parameters", "kwargs", "tool_kwargs")
_RESULTS = ("result", "output", "observation", "response")
# What says that a function is offered, not called.
_OFFERS = frozenset({"description", "input_schema", "inputSchema", "strict"})
# A call within an object of its own: OpenAI, Gemini, Bedrock.
_WRAPPED = ("function", "functionCall", "function_call", "toolUse", "tool_call", "custom")
_IDS = ("id", "tool_call_id", "tool_use_id", "toolUseId", "toolCallId", "call_id")
# Parts of messages that are a call, and those that are a result.
_CALLS = frozenset({"tool_use", "tool_call", "tool-call", "function_call", "toolUse", "functionCall"})
_OUTCOMES = frozenset({"tool_result", "tool-result", "function_call_output", "tool_call_output"})
# A result within an object of its own: Gemini, Bedrock.
_WRAPPED_OUTCOMES = ("functionResponse", "toolResult")
# Before the name of a tool, as the type of a part: Vercel.
_TYPED = "tool-"


def tool_calls_of(value: Any) -> tuple[ToolCall, ...]:
    """The calls in a list, or the one that a value is; what is none is left out.

    A call that comes again under the same id goes on: streams send it once more with its result.
    """
    calls = _OpenCalls()
    for entry in value if isinstance(value, (list, tuple)) else [value]:
        # What agents of LangChain call a step: what was done, and what came of it.
        if isinstance(entry, (list, tuple)) and len(entry) == 2:
            calls.add(entry[0], result=entry[1])
        else:
            calls.part(entry)
    return calls.told()


def tool_calls_in(messages: Any, *, all_turns: bool = False) -> tuple[ToolCall, ...] | None:
    """The calls since the customer last spoke, with their results; None where no message has any at all.

    An empty tuple says that tools are called in this dialogue, and none was this time. With `all_turns`
    those before count as well.
    """
    calls, is_used = _OpenCalls(), False
    for message in messages if isinstance(messages, Sequence) and not isinstance(messages, str) else ():
        if speaks_for_customer(message) and not all_turns:
            is_used = is_used or bool(calls)
            calls = _OpenCalls()
        else:
            calls.message(message)
    return calls.told() if calls or is_used else None


def speaks_for_customer(message: Any) -> bool:
    """Whether this message is the customer's own; results of tools come in their name, too."""
    if not {_word(message, "role"), _word(message, "type")} & _CUSTOMER:
        return False
    content = field(message, "content") or field(message, "parts")
    parts = content if isinstance(content, list) else []
    return not parts or not all(_is_outcome(part) for part in parts)


def _is_outcome(part: Any) -> bool:
    return _word(part, "type") in _OUTCOMES or _wrapped_outcome(part) is not None


def _wrapped_outcome(part: Any) -> Mapping[str, Any] | None:
    """The object of a part that is the result of a call."""
    objects = (field(part, key) for key in _WRAPPED_OUTCOMES)
    return next((inside for inside in objects if isinstance(inside, Mapping)), None)


_CUSTOMER = frozenset({"user", "human", "customer"})


def bounded(calls: Iterable[ToolCall]) -> tuple[ToolCall, ...]:
    """The calls within the limits of this module; what was cut is marked."""
    room, kept = MOST_TEXT, list[ToolCall]()
    for call in islice(calls, MOST_CALLS):
        arguments = _cut(call.arguments, min(LONGEST_TEXT, room))
        room = max(0, room - len(arguments))
        result = None if call.result is None else _cut(call.result, min(LONGEST_TEXT, room))
        room = max(0, room - len(result or ""))
        name = _cut(call.name, LONGEST_NAME)
        kept.append(ToolCall(name=name, arguments=arguments, result=result))
    return tuple(kept)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most] + CUT_MARK


class _OpenCalls:
    """Calls in their order; a result finds its call by id, else by name, else takes the first open."""

    def __init__(self) -> None:
        self._calls: list[tuple[str, str, str, str | None]] = []

    def __bool__(self) -> bool:
        return bool(self._calls)

    def told(self) -> tuple[ToolCall, ...]:
        """All of them, within the limits."""
        return bounded(ToolCall(name=n, arguments=a, result=r) for _id, n, a, r in self._calls)

    def message(self, message: Any) -> None:
        """The calls that a message holds, or the result that it is."""
        kind = _word(message, "type")
        role = _word(message, "role") or kind
        content = field(message, "content")
        if role in ("tool", "function"):
            id_, name = _first(message, _IDS[1:]), _text(field(message, "name") or "")
            self.result(id_, content, name)
            return
        if kind in _CALLS or kind in _OUTCOMES:
            self.part(message)
            return
        called = field(message, "tool_calls") or _of(field(message, "additional_kwargs"), "tool_calls")
        listed = called if isinstance(called, (list, tuple)) else []
        for call in (*listed, *filter(None, [field(message, "function_call")])):
            self.add(call)
        # The same calls stand among the parts of a message, too, where it is one of LangChain.
        parts = (content if not listed else (), field(message, "parts"))
        for part in (part for held in parts if isinstance(held, list) for part in held):
            kind = _word(part, "type")
            if kind in _CALLS or kind.startswith(_TYPED) or _inside(part) is not part or _is_outcome(part):
                self.part(part)

    def part(self, part: Any) -> None:
        """A call, or the result of one."""
        if not _is_outcome(part):
            self.add(part)
            return
        outcome = _wrapped_outcome(part) or part
        content = next((v for key in ("content", *_RESULTS) if (v := field(outcome, key)) is not None), None)
        self.result(_first(outcome, _IDS[1:]), content, _first(outcome, _NAMES))

    def add(self, value: Any, result: Any = None) -> None:
        """A call in any form; anything else is none."""
        if len(self._calls) >= MOST_CALLS:
            return
        if isinstance(value, ToolCall):
            self._calls.append(("", value.name, value.arguments, value.result))
            return
        if isinstance(value, str):
            if value.strip():
                self._calls.append(("", value.strip(), "", None if result is None else _text(result)))
            return
        inside = _inside(value)
        id_ = next(filter(None, (_first(holder, ("call_id", *_IDS)) for holder in (value, inside))), "")
        kind = _word(value, "type")
        typed = kind.removeprefix(_TYPED) if kind.startswith(_TYPED) and kind not in _CALLS else ""
        named = (field(inside, key) for key in _NAMES)
        name = next((v for v in named if isinstance(v, str) and v.strip()), typed)
        arguments = next((v for key in _ARGUMENTS if (v := field(inside, key)) is not None), None)
        is_schema = isinstance(arguments, Mapping) and isinstance(arguments.get("properties"), Mapping)
        if not name or is_schema or any(field(inside, key) is not None for key in _OFFERS):
            return
        if result is None:
            holders = (inside, value)
            result = next(
                (v for holder in holders for key in _RESULTS if (v := field(holder, key)) not in (None, "")),
                None,
            )
        texts = "" if arguments is None else _text(arguments), None if result is None else _text(result)
        again = next((at for at, call in enumerate(self._calls) if id_ and call[0] == id_), None)
        if again is None:
            self._calls.append((id_, name.strip(), *texts))
        else:
            _id, _name, before, came = self._calls[again]
            self._calls[again] = (
                id_,
                name.strip(),
                texts[0] or before,
                came if texts[1] is None else texts[1],
            )

    def result(self, id_: str, content: Any, name: str = "") -> None:
        """What a tool gave back; a result without a call is a call of which no more is known."""
        text = "" if content is None else _text(content)
        by_id = (at for at, call in enumerate(self._calls) if id_ and call[0] == id_)
        is_open = [at for at, call in enumerate(self._calls) if call[3] is None]
        by_name = (at for at in is_open if name and self._calls[at][1] == name)
        # An id that names none of them is another call's, and its result is not put to one by chance.
        any_open = (at for at in is_open if not id_ and not name)
        at = next((at for places in (by_id, by_name, any_open) for at in places), None)
        if at is not None:
            self._calls[at] = (*self._calls[at][:3], text)
        elif name and len(self._calls) < MOST_CALLS:
            self._calls.append((id_, name, "", text))


def field(value: Any, name: str) -> Any:
    """A field of a mapping or of an object of another library."""
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _word(value: Any, name: str) -> str:
    """A field that is a word, such as a role; "" where it is anything else."""
    word = field(value, name)
    return word if isinstance(word, str) else ""


def _inside(value: Any) -> Any:
    """The object within a call that has its name; the call itself where there is none."""
    parts = (field(value, key) for key in _WRAPPED)
    return next((part for part in parts if _word(part, "name")), value)


def _of(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else None


def _first(value: Any, names: Iterable[str]) -> str:
    return next((str(v) for name in names if (v := field(value, name)) not in (None, "")), "")


def _text(value: Any) -> str:
    """A text as it is, that of parts together, anything else as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value:
        texts = [field(part, "text") if isinstance(part, Mapping) else part for part in value]
        if all(isinstance(text, str) for text in texts):
            return "".join(texts)
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        return str(value)[:LONGEST_TEXT]
