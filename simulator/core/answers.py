"""Whatever a bot or a retriever returns (texts, mappings, LangChain documents) as an Answer or passages.

    "550 yen."                                        text; nobody knows what was retrieved
    ("550 yen.", ["Shipping is 550 yen."])            a passage with the id "1"
    ("550 yen.", [])                                  nothing was retrieved, which is another thing
    {"result": "550 yen.", "source_documents": [...]} any of ANSWER_KEYS and PASSAGE_KEYS
    (state, history, documents)                       the last thing that the assistant said in `history`
    AIMessage(...)                                    its content; parts of a list are joined
    {"answer": "Done.", "tools": [{"name": "refund", "arguments": {...}, "result": "ok"}]}      and TOOL_KEYS

Of a document with several candidates for a field the likeliest key counts, in the order of the tables below;
its own fields go before those of its `metadata`. So LangChain's Document(page_content="t",
metadata={"source": "faq.md"}) is a passage with id and source "faq.md".

Nothing is guessed: what fits none of these shapes is a BotFailure that says what was expected, since a bot
whose answer was misread would be graded for a text that no customer sees.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from simulator.core.errors import BotFailure
from simulator.core.messages import Message, _
from simulator.core.patterns import LazyPattern
from simulator.core.tool_calls import tool_calls_in, tool_calls_of
from simulator.core.types import Answer, Passage, ToolCall

# Passages of an answer: judges look at each. More are a mistake in the adapter, such as a whole index.
MOST_PASSAGES = 1000
ANSWER_KEYS = ("answer", "result", "output", "text", "response", "generation", "final_answer")
PASSAGE_KEYS = ("passages", "contexts", "documents", "context", "source_documents", "sources")
TOOL_KEYS = ("tools", "tool_calls", "intermediate_steps")
# Who speaks in an entry of a history: roles of OpenAI's, LangChain's and Google's messages.
_ASSISTANT = ("assistant", "ai", "bot", "model")
_SPEAKERS = (*_ASSISTANT, "user", "human", "system")

# Where a document may have its text, id, source and retrieval score, the likeliest key first.
_TEXT = ("text", "page_content", "content", "passage", "chunk", "document")
_ID = ("id", "doc_id", "document_id", "source", "url", "filepath", "title", "chunk_id")
_SOURCE = ("source", "url", "filepath", "title", "document_name")
_SCORE = ("score", "relevance_score", "similarity")


# What a reasoning model thinks aloud before it answers, closed or cut off; and up to a closing tag whose
# opening stood in the prompt. As DeepSeek and Qwen (<think>), Seed (<seed:think>), Mistral ([THINK]), Kimi
# (◁think▷) and gpt-oss (in a channel of its own) write it.
_TAG = r"(?:seed:)?(?:think(?:ing)?|thought|reasoning)"
_REASONING = LazyPattern(
    rf"\s*+(?:[<\[◁]{_TAG}[>\]▷].*?(?:[<\[◁]/{_TAG}[>\]▷]\s*+|\Z))+", re.DOTALL | re.IGNORECASE
)
_CHANNEL = LazyPattern(
    r"\s*+(?:<\|start\|>assistant)?<\|channel\|>(?:analysis|commentary).*?<\|channel\|>final<\|message\|>",
    re.DOTALL,
)
_CLOSED = LazyPattern(rf"\A.*[<\[◁]/{_TAG}[>\]▷][ \t]*+(?:\r?\n\s*+|\Z)", re.DOTALL | re.IGNORECASE)


def without_reasoning(answer: Answer) -> Answer:
    """The answer without what its model thought aloud before it; how many characters that was is kept.

        <think>5,000? No, 4,180.</think>4,180 yen.   -> 4,180 yen.

    A tag further on, within the answer, is part of what the customer reads.
    """
    thought = _REASONING.match(answer.text) or _CHANNEL.match(answer.text) or _CLOSED.match(answer.text)
    if not thought:
        return answer
    return answer.model_copy(update={"text": answer.text[thought.end() :], "reasoning": thought.end()})


def answer_of(result: Any) -> Answer:
    """A text, a mapping, (answer, passages), (anything, history, documents) or an Answer, as an Answer.

    Of a history, the last thing that the assistant said in it is the answer. Raises BotFailure for
    any other shape.
    """
    if isinstance(result, Answer):
        return result
    if isinstance(result, str):
        return Answer(text=result, shows_passages=False)
    if isinstance(result, Mapping):
        return _from_mapping(result)
    # What a Gradio app with a chat window returns: its state, the dialogue, the documents.
    if isinstance(result, tuple) and len(result) == 3:
        return Answer(text=last_said(result[1]), passages=passages_of(result[2]))
    if isinstance(result, tuple) and len(result) == 2:
        text, calls = _said(result[0])
        return Answer(text=text, passages=passages_of(result[1]), tools=calls)
    text, calls = _said(result)
    return Answer(text=text, shows_passages=False, tools=calls)


def _said(value: Any) -> tuple[str, tuple[ToolCall, ...] | None]:
    """The text of an answer, and the tools that a message object calls; one that only does has no text."""
    calls = tool_calls_in([value]) if hasattr(value, "content") else None
    return "" if calls and value.content is None else text_of(value), calls


def last_said(history: Any) -> str:
    """The assistant's last entry: {role, content}, a (user, assistant) pair, or a LangChain message."""
    # A text is a sequence, too, of letters that nobody said.
    entries = history if isinstance(history, Sequence) and not isinstance(history, str) else ()
    for entry in reversed(entries):
        content = _assistant_content(entry)
        if content is not None:
            return text_of(content)
    raise BotFailure("empty", _("the returned history has no entry of the assistant"))


def _assistant_content(entry: Any) -> Any:
    """What the assistant says in this entry, "" when that is nothing; None when the entry is another's."""
    if isinstance(entry, Mapping):
        role, content = entry.get("role", entry.get("type")), entry.get("content")
    elif isinstance(entry, (tuple, list)) and len(entry) == 2:
        # ("assistant", text) names who speaks; (question, answer) is a whole exchange.
        role, content = entry if entry[0] in _SPEAKERS else ("assistant", entry[1])
    else:
        role, content = getattr(entry, "role", getattr(entry, "type", None)), getattr(entry, "content", None)
    return ("" if content is None else joined(content)) if role in _ASSISTANT else None


def _from_mapping(result: Mapping[Any, Any]) -> Answer:
    key = next((key for key in ANSWER_KEYS if key in result), None)
    tools = shown_tools(result)
    if key is None and tools:
        return Answer(text="", shows_passages=False, tools=tools)
    if key is None:
        there = kind(result)
        raise BotFailure(
            "malformed", _("the bot's mapping needs the key 'answer', but it {there}", there=there)
        )
    # An empty list and None count as shown: nothing was retrieved. Of several keys the first that has
    # something counts.
    passages = next((result[name] for name in PASSAGE_KEYS if result.get(name) is not None), None)
    shows = any(name in result for name in PASSAGE_KEYS)
    # A bot that only called tools may have no text at all.
    text, calls = ("", None) if tools and result[key] is None else _said(result[key])
    shown = calls if tools is None else tools
    return Answer(text=text, passages=passages_of(passages), shows_passages=shows, tools=shown)


def shown_tools(fields: Mapping[Any, Any]) -> tuple[ToolCall, ...] | None:
    """The calls of tools among the fields of a bot's answer; None where no field shows any.

    An empty list says that none was called. What holds something, but no call, is another thing of that name.
    """
    for key in TOOL_KEYS:
        value = fields.get(key)
        calls = tool_calls_of(value) if value is not None else ()
        if calls or value in ([], ()):
            return calls
    return None


def text_of(value: Any) -> str:
    """A text, or a message object's own."""
    # Messages of LangChain and of OpenAI's client; or the parts of one, each with its type.
    is_parts = (
        isinstance(value, list) and value and all(isinstance(p, Mapping) and "type" in p for p in value)
    )
    content = joined(value.content) if hasattr(value, "content") else joined(value) if is_parts else value
    if content is None:
        raise BotFailure("empty", _("the bot returned None in place of an answer"))
    if not isinstance(content, str):
        expected = _("return a text, (text, passages) or {{'answer': ..., 'passages': ...}}")
        raise BotFailure(
            "malformed",
            _("the bot answered with {type}; {expected}", type=type(value).__name__, expected=expected),
        )
    return content


def joined(content: Any) -> Any:
    """The texts of a message in parts together; anything else as it is."""
    if not isinstance(content, list):
        return content
    parts = [part.get("text") if isinstance(part, Mapping) else part for part in content]
    return "".join(part for part in parts if isinstance(part, str))


def kind(value: Any) -> Message:
    """What a value is, for messages: "has the keys id, text", "is a list of 3", "is a text"."""
    if isinstance(value, Mapping):
        return (
            _("has the keys {value}", value=", ".join(str(key)[:40] for key in list(value)[:20]))
            if value
            else _("is empty")
        )
    if isinstance(value, list):
        return _("is a list of {n}", n=len(value))
    if value is None:
        return _("is null")
    return _("is a text") if isinstance(value, str) else _("is a number or a truth value")


def passages_of(documents: Any) -> tuple[Passage, ...]:
    """Converts one document or several, best first, to passages; those without an id are numbered from 1.

    A document is a text, a mapping, an object with `page_content` and `metadata`, a `Passage`, or a pair of
    one of these and its retrieval score. None and blank text give no passages. Raises BotFailure for anything
    else.
    """
    if documents is None or (isinstance(documents, str) and not documents.strip()):
        return ()
    # One document alone: a text would be taken apart into letters.
    is_one = isinstance(documents, (str, Mapping, Passage)) or hasattr(documents, "page_content")
    if is_one or not isinstance(documents, Iterable):
        documents = [documents]
    return tuple(_passage(document, number) for number, document in enumerate(documents, 1))


def _passage(document: Any, number: int) -> Passage:
    if isinstance(document, Passage):
        return document
    if isinstance(document, str):
        return Passage(id=str(number), text=document)
    if isinstance(document, (tuple, list)) and len(document) == 2 and _score(document[1]) is not None:
        return _passage(document[0], number).model_copy(update={"score": _score(document[1])})
    fields = _fields(document)
    text = next((fields[name] for name in _TEXT if name in fields), None)
    if text is None:
        there = ", ".join(str(key)[:40] for key in list(fields)[:20]) or "nothing"
        msg = _(
            "a passage has no text: expected one of {text}; there is {there}",
            text=", ".join(_TEXT),
            there=there,
        )
        raise BotFailure("malformed", msg)
    name, source = _first(fields, _ID), _first(fields, _SOURCE)
    return Passage(
        id=str(number if name is None else name),
        text=str(text),
        source=None if source is None else str(source),
        score=_score(_first(fields, _SCORE)),
    )


def _fields(document: Any) -> Mapping[str, Any]:
    """A document's fields in one mapping; what stands in its metadata gives way to its own."""
    if isinstance(document, Mapping):
        fields = dict(document)
    elif hasattr(document, "page_content"):
        fields = {"page_content": document.page_content, "id": getattr(document, "id", None)}
        fields["metadata"] = getattr(document, "metadata", None)
    else:
        msg = _("passages must be texts, mappings or documents, not {type}", type=type(document).__name__)
        raise BotFailure("malformed", msg)
    # LlamaIndex and LangChain keep id, source and score there.
    metadata = fields.pop("metadata", None)
    layers = (metadata if isinstance(metadata, Mapping) else {}, fields)
    return {key: value for layer in layers for key, value in layer.items() if value is not None}


def _first(fields: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((fields[name] for name in names if fields.get(name, "") != ""), None)


def _score(value: Any) -> float | None:
    """Numbers of any library (numpy's too); what is no finite number is no score."""
    try:
        score = float(value)
    except (TypeError, ValueError):
        return None
    return score if math.isfinite(score) else None
