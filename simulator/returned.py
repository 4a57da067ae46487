"""What a bot in Python returned, whatever its shape, as an answer with its passages.

The one reader for every door: a function, a `connect` of the user's own, a runnable.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from simulator.errors import RagFailure
from simulator.passages import passages_of
from simulator.types import Answer

ANSWER_KEYS = ("answer", "result", "output", "text")
PASSAGE_KEYS = ("passages", "contexts", "documents", "context", "source_documents", "sources")
_ASSISTANT = ("assistant", "ai", "bot", "model")
_SPEAKERS = (*_ASSISTANT, "user", "human", "system")


def answer_of(result: Any) -> Answer:
    """A text, a mapping, (answer, passages), (anything, history, documents) or an Answer, as an Answer.

    Of a history, the last thing that the assistant said in it is the answer. Raises RagFailure for
    any other shape.
    """
    if isinstance(result, Answer):
        return result
    if isinstance(result, str):
        return Answer(text=result, shows_passages=False)
    if isinstance(result, Mapping):
        return _from_mapping(result)
    if isinstance(result, tuple) and len(result) == 3:
        return Answer(text=last_said(result[1]), passages=passages_of(result[2]))
    if isinstance(result, tuple) and len(result) == 2:
        return Answer(text=text_of(result[0]), passages=passages_of(result[1]))
    return Answer(text=text_of(result), shows_passages=False)


def last_said(history: Any) -> str:
    """The assistant's last entry: {role, content}, a (user, assistant) pair, or a LangChain message."""
    entries = history if isinstance(history, Sequence) and not isinstance(history, str) else ()
    for entry in reversed(entries):
        said = _said(entry)
        if said is not None:
            return text_of(said)
    raise RagFailure("empty", "the returned history has no entry of the assistant")


def _said(entry: Any) -> Any:
    """What the assistant says in this entry, "" when that is nothing; None when the entry is another's."""
    if isinstance(entry, Mapping):
        role, said = entry.get("role", entry.get("type")), entry.get("content")
    elif isinstance(entry, (tuple, list)) and len(entry) == 2:
        # ("assistant", text) names who speaks; (question, answer) is a whole exchange.
        role, said = entry if entry[0] in _SPEAKERS else ("assistant", entry[1])
    else:
        role, said = getattr(entry, "role", getattr(entry, "type", None)), getattr(entry, "content", None)
    return ("" if said is None else joined(said)) if role in _ASSISTANT else None


def _from_mapping(result: Mapping[Any, Any]) -> Answer:
    key = next((key for key in ANSWER_KEYS if key in result), None)
    if key is None:
        keys = ", ".join(str(key)[:40] for key in list(result)[:20])
        there = f"has the keys {keys}" if result else "is empty"
        raise RagFailure("malformed", f"the bot's mapping needs the key 'answer', but it {there}")
    passages = next((result[name] for name in PASSAGE_KEYS if result.get(name) is not None), None)
    shows = any(name in result for name in PASSAGE_KEYS)
    return Answer(text=text_of(result[key]), passages=passages_of(passages), shows_passages=shows)


def text_of(value: Any) -> str:
    """A text, or a message object's own."""
    content = joined(value.content) if hasattr(value, "content") else value
    if content is None:
        raise RagFailure("empty", "the bot returned None in place of an answer")
    if not isinstance(content, str):
        told = "return a text, (text, passages) or {'answer': ..., 'passages': ...}"
        raise RagFailure("malformed", f"the bot answered with {type(value).__name__}; {told}")
    return content


def joined(content: Any) -> Any:
    """The texts of a message in parts together; anything else as it is."""
    if not isinstance(content, list):
        return content
    parts = [part.get("text") if isinstance(part, Mapping) else part for part in content]
    return "".join(part for part in parts if isinstance(part, str))
