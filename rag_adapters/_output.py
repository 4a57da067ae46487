"""What a runnable gave, whatever its shape, as an answer with its passages.

    "It costs 5."                                  text, with what retrievers were seen to find on the way
    {"answer": "It costs 5.", "context": [...]}    the fields of a mapping, a data class, a pydantic object
    {"messages": [..., tool, ai]}                  the last message, with the artifacts of this turn's tools

Passages are looked for in this order: where a setting says, beside the answer, in a field that usually holds
them, in tools' artifacts, in what retrievers were seen to find, in the words of tools. LangChain is not
imported: the runnable may be one of another interpreter (_process.py).
"""

import contextlib
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from simulator.extending import (
    Answer,
    BotFailure,
    Passage,
    ToolCall,
    Usage,
    _,
    passages_of,
    returned,
    tool_calls_in,
)

from ._json import JsonPath

_INTERRUPT = "__interrupt__"


def answer_in(
    output: Any, seen: Mapping[str, Any], answer: JsonPath | None = None, passages: JsonPath | None = None
) -> Answer:
    """The answer in an output; raises BotFailure when there is none.

    `seen` is what `Seen.seen` of _host.py gave, empty where nobody watched. The answer is found by the path
    of the setting; else of a mapping, data class or pydantic object by its fields; else as whatever a
    function may return. Passages that a setting names are shown even when there are none; all others only
    where something says that there was a search.
    """
    fields = _fields_of(output)
    # It waits for a person to approve something, and the customer has no answer.
    if _INTERRUPT in fields:
        asked = [str(_of(interrupt, "value") or interrupt) for interrupt in fields[_INTERRUPT]]
        raise BotFailure("error", _("the graph stopped for a person: {asked}", asked="; ".join(asked)[:200]))
    if answer:
        said = Answer(text=returned.text_of(answer.of(fields)), shows_passages=False)
    elif fields:
        said = Answer(text=_text(fields), shows_passages=False)
    else:
        said = returned.answer_of(output)
    if passages:
        retrieved, shows = passages_of(passages.within(fields)), True
    else:
        retrieved = said.passages or _passages(fields, seen.get("documents"), said.text)
        shows = bool(retrieved) or bool(seen.get("retrieved")) or said.shows_passages or _shows_none(fields)
    usage = said.usage or _usage(seen.get("usage"))
    tools = _tools(fields) if said.tools is None else said.tools
    return said.model_copy(
        update={"passages": retrieved, "shows_passages": shows, "usage": usage, "tools": tools}
    )


def _fields_of(output: Any) -> Mapping[str, Any]:
    """The fields of a mapping, a dataclass or a pydantic object; an answer or a message is read as it is."""
    if isinstance(output, Mapping):
        return output
    if isinstance(output, Answer) or hasattr(output, "content"):
        return {}
    if dataclasses.is_dataclass(output) and not isinstance(output, type):
        return {field.name: getattr(output, field.name) for field in dataclasses.fields(output)}
    return dict(output) if hasattr(output, "model_fields_set") else {}


def _text(fields: Mapping[str, Any]) -> str:
    messages = fields.get("messages")
    last = messages[-1] if isinstance(messages, Sequence) and messages else None
    # A tool may give the answer itself, with no word of the model after it.
    if _of(last, "type") == "tool":
        return _tool_text(last)
    # A field that is called answer goes before the messages, unless the model's own words are the last of
    # them.
    text = next((fields[key] for key in returned.ANSWER_KEYS if fields.get(key)), None)
    if last is not None and (text is None or _of(last, "type") == "ai"):
        return returned.last_said(messages)
    return returned.answer_of(dict(fields)).text if text is None else returned.text_of(text)


def _tools(fields: Mapping[str, Any]) -> tuple[ToolCall, ...] | None:
    """The calls of this turn, by a field of their own or in the messages; None where none is ever called."""
    shown = returned.shown_tools(fields)
    return tool_calls_in(fields.get("messages")) if shown is None else shown


def _usage(counts: Any) -> Usage | None:
    """The tokens of all models together, where they tell: [model, in, out] of each."""
    if not counts:
        return None
    return Usage(
        model=", ".join(str(model) for model, _in, _out in counts),
        tokens_in=sum(tokens for _model, tokens, _out in counts),
        tokens_out=sum(tokens for _model, _in, tokens in counts),
    )


def _shows_none(fields: Mapping[str, Any]) -> bool:
    """Whether a field for passages holds none of them; what is no passage says nothing of passages."""
    for name in returned.PASSAGE_KEYS:
        with contextlib.suppress(BotFailure):
            if name in fields and not passages_of(fields[name]):
                return True
    return False


def _passages(fields: Mapping[str, Any], documents: Any, answer: str) -> tuple[Passage, ...]:
    """Documents among the fields, else in tools' artifacts, else seen on the way, else what tools said.

    Only tools of this turn count, and none whose words are the answer itself.
    """
    tools = _tools_of_this_turn(fields.get("messages"))
    sources = [fields.get(name) for name in returned.PASSAGE_KEYS]
    sources.append([passage for tool in tools for passage in _lenient(_of(tool, "artifact"))])
    sources.append(documents)
    retrieved = next(filter(None, map(_lenient, sources)), ())
    return retrieved or tuple(
        passage for passage in map(_words, tools, range(1, len(tools) + 1)) if passage.text != answer
    )


def _lenient(documents: Any) -> tuple[Passage, ...]:
    """Passages, where the value is such; other fields may have these names too."""
    try:
        return passages_of(documents)
    except BotFailure:
        return ()


def _tools_of_this_turn(messages: Any) -> list[Any]:
    """What tools said since the customer did."""
    tools: list[Any] = []
    for message in reversed(messages if isinstance(messages, Sequence) else ()):
        kind = _of(message, "type")
        if kind == "human":
            break
        if kind == "tool" and _of(message, "status") != "error":
            # Walked from the end to the customer's line; in the order of the calls again.
            tools.insert(0, message)
    return tools


def _words(tool: Any, number: int) -> Passage:
    name = _of(tool, "name") or "tool"
    return Passage(id=f"{name}-{number}", text=_tool_text(tool), source=name)


def _tool_text(tool: Any) -> str:
    return returned.text_of(returned.joined(_of(tool, "content")))


def _of(message: Any, name: str) -> Any:
    """A field of a message; graphs elsewhere send them as mappings."""
    return message.get(name) if isinstance(message, Mapping) else getattr(message, name, None)
