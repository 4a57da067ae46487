"""What a LangChain or LangGraph runnable is given: by what it declares, by a setting, or by trying."""

import typing
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from rag_adapters._json import filled, parsed, variables_in
from simulator import InputError, Message, Query, _

# A query, and the dialogue before it that the runnable does not remember itself, as its input.
Form = Callable[[Query, Sequence[Message]], Any]

AUTO = "auto"
_QUESTION = (
    "question", "input", "user_input", "user_message", "message", "query", "user_query", "utterance", "text",
)  # fmt: skip
_HISTORY = ("chat_history", "history", "conversation_history")
_TOLD: Mapping[str, Callable[[Query], str]] = {
    "language": lambda query: query.language,
    "lang": lambda query: query.language,
    "session_id": lambda query: query.session,
    "session": lambda query: query.session,
    "thread_id": lambda query: query.session,
    "conversation_id": lambda query: query.session,
}
_VARIABLES = ("question", "session", "language", "history", "messages")


def as_messages(history: Sequence[Message]) -> list[BaseMessage]:
    """A dialogue as LangChain's messages."""
    return [
        HumanMessage(each.content) if each.role == "user" else AIMessage(each.content) for each in history
    ]


def as_text(query: Query, _earlier: Sequence[Message]) -> str:
    """The question alone."""
    return query.text


def as_list(query: Query, earlier: Sequence[Message]) -> list[BaseMessage]:
    """The dialogue with the question at its end."""
    return [*as_messages(earlier), HumanMessage(query.text)]


@dataclass(frozen=True)
class Fields:
    """A mapping: which keys hold the question, the dialogue before it, and both; and which of `_TOLD`."""

    question: str = ""
    history: str = ""
    messages: str = ""
    told: tuple[str, ...] = ()

    def __call__(self, query: Query, earlier: Sequence[Message]) -> dict[str, Any]:
        """The input for this query."""
        given: dict[str, Any] = {name: _TOLD[name](query) for name in self.told}
        if self.question:
            given[self.question] = query.text
        if self.history:
            given[self.history] = as_messages(earlier)
        if self.messages:
            given[self.messages] = as_list(query, earlier)
        return given


# Tried in this order on what does not say what it takes.
CANDIDATES: Mapping[str, Form] = {
    "text": as_text,
    "question": Fields("question"),
    "input": Fields("input"),
    "messages": Fields(messages="messages"),
}


def form_of(told: str, history: str, runnable: Any) -> Form | None:
    """How `runnable` is asked by the settings `input` and `history`; None when that has to be tried.

    Raises InputError when the settings do not fit, or when what it declares leaves open what to give.
    """
    if told == AUTO:
        return _declared(runnable, history)
    if told in ("text", "list", "messages") and history:
        msg = _("history={history} goes with the name of a field: --set input=question.", history=history)
        raise InputError(msg)
    if told in ("text", "list"):
        return as_text if told == "text" else as_list
    if told == "messages":
        return Fields(messages="messages")
    if told.startswith(("{", "[", "@")):
        return _template(parsed("input", told))
    return Fields(told, history)


def _template(template: Any) -> Form:
    used = variables_in("input", template)
    for name in sorted(used - set(_VARIABLES)):
        msg = _(
            "input: ${name} is not known; there are {variables}.",
            name=name,
            variables=", ".join(f"${each}" for each in _VARIABLES),
        )
        raise InputError(msg)
    if not used & {"question", "messages"}:
        msg = _("input has neither $question nor $messages. In a shell, use single quotes around it.")
        raise InputError(msg)

    def form(query: Query, earlier: Sequence[Message]) -> Any:
        texts = {"question": query.text, "session": query.session, "language": query.language}
        told = "\n".join(f"{each.role}: {each.content}" for each in earlier)
        lists = {"history": as_messages(earlier), "messages": as_list(query, earlier)}
        return filled(template, {**texts, "history": told, "messages": told}, lists)

    return form


def _declared(runnable: Any, history: str) -> Form | None:
    state = _state_of(runnable)
    if state:
        return _fields(state, (), history)
    schema = _schema_of(runnable)
    options = [each.get("type") for each in (schema, *schema.get("anyOf", ()))]
    if "array" in options:
        return as_list
    if "string" in options:
        return as_text
    properties = tuple(schema.get("properties", ()))
    return _fields(properties, tuple(schema.get("required", ())), history) if properties else None


def _state_of(runnable: Any) -> tuple[str, ...]:
    """The keys of a graph's input; its JSON schema cannot always be made."""
    declared = getattr(getattr(runnable, "builder", None), "input_schema", None)
    if declared is None:
        return ()
    return tuple(getattr(declared, "model_fields", None) or typing.get_type_hints(declared))


def _schema_of(runnable: Any) -> dict[str, Any]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            schema = runnable.get_input_jsonschema()
    except Exception:  # it is asked for a hint, and the runnable is not our code
        return {}
    named = str(schema.get("$ref", "")).rpartition("/")[2]
    return schema.get("$defs", {}).get(named, schema) if named else schema  # type: ignore[no-any-return]


def _fields(there: Sequence[str], required: Sequence[str], history: str) -> Form:
    """Which of the fields are given what; of a graph's state, none is required: others it fills itself."""
    messages = "messages" if "messages" in there else ""
    before = history or next((name for name in _HISTORY if name in there), "")
    open_ = [name for name in required or there if name not in (messages, before, *_TOLD)]
    question = next((name for name in _QUESTION if name in there), "")
    if not question and not messages and len(open_) == 1:
        question = open_[0]
    fields = Fields(question, before, messages, tuple(name for name in required if name in _TOLD))
    if not question and not messages:
        msg = _(
            "it takes {there}: say which of them is the question: --set input=NAME.", there=", ".join(there)
        )
        raise InputError(msg)
    if missing := [name for name in open_ if required and name != question]:
        msg = _(
            'it takes {missing} too: --set \'input={{"{question}": "$question", ...}}\'.',
            missing=", ".join(missing),
            question=question,
        )
        raise InputError(msg)
    return fields
