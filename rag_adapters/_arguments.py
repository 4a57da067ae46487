"""The arguments of a user's function: each parameter gets its value by its name."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from simulator import InputError, Query, _

_NAMES: Mapping[str, tuple[str, ...]] = {
    "question": ("question", "query", "text", "message", "user_message", "user_input", "input", "utterance"),
    "history": ("history", "chat_history"),
    "messages": ("messages",),
    "session": ("session", "session_id", "conversation_id", "thread_id", "user_id"),
    "language": ("language", "lang"),
    "case": ("case", "case_id"),
    "prompt": ("prompt", "system_prompt", "system"),
}
_MEANING = {name: meaning for meaning, names in _NAMES.items() for name in names}
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)

Value = Callable[[Query], Any]
Call = tuple[tuple[Any, ...], dict[str, Any]]


def arguments_of(function: Callable[..., Any], prompt: str) -> Callable[[Query], Call]:
    """Returns a function from a query to the arguments. Raises InputError for an unknown parameter."""
    try:
        declared = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # written in C, without a signature
        return lambda query: ((query.text,), {})
    parameters = [each for each in declared if each.kind not in _VARIADIC]
    if not parameters and not declared:
        msg = _("the function takes no parameter; it needs one for the question.")
        raise InputError(msg)
    positional: list[Value] = []
    named: dict[str, Value] = {}
    for place, parameter in enumerate(parameters):
        value = _value(parameter, first=place == 0, alone=len(parameters) == 1, prompt=prompt)
        if value is not None and parameter.kind is parameter.POSITIONAL_ONLY:
            positional.append(value)
        elif value is not None:
            named[parameter.name] = value
    if not parameters:
        positional.append(_text)
    return lambda query: (
        tuple(value(query) for value in positional),
        {name: value(query) for name, value in named.items()},
    )


def _value(parameter: inspect.Parameter, *, first: bool, alone: bool, prompt: str) -> Value | None:
    """Returns the value of a parameter, or None to use its own default."""
    annotation = _annotation(parameter)
    if annotation.rpartition(".")[2] == "Query" or (annotation == "" and alone and parameter.name == "query"):
        return lambda query: query
    meaning = _MEANING.get(parameter.name) or ("question" if first else "")
    optional = parameter.default is not parameter.empty
    if optional and not meaning:
        return None
    if not meaning:
        known = ", ".join(name for names in _NAMES.values() for name in names)
        msg = _(
            "nothing is known to give to the parameter '{parameter}'. It may be one of: {known}.",
            parameter=parameter.name,
            known=known,
        )
        raise InputError(msg)
    if meaning == "prompt":
        own = prompt or (parameter.default if optional else "")
        return lambda query: query.system or own
    if meaning == "history" and "tuple" in annotation.lower():
        return _pairs
    return _VALUES[meaning]


def traits_taken(function: Callable[..., Any]) -> frozenset[str]:
    """The parts of a query beside its text that the function gets: "system", "history"."""
    try:
        declared = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return frozenset()
    meanings = {_MEANING.get(each.name) for each in declared if each.kind not in _VARIADIC}
    whole = any(_annotation(each).rpartition(".")[2] == "Query" for each in declared)
    parts = {"system"} if meanings & {"prompt", "messages"} else set()
    return frozenset(parts | ({"history"} if whole or meanings & {"history", "messages"} else set()))


def _annotation(parameter: inspect.Parameter) -> str:
    """The annotation as written, evaluated or not: "str", "core.types.Query", "list[tuple[str]]"."""
    annotation = parameter.annotation
    if annotation is parameter.empty:
        return ""
    if isinstance(annotation, str):
        return annotation
    return annotation.__name__ if inspect.isclass(annotation) else str(annotation)


def _text(query: Query) -> str:
    return query.text


def _history(query: Query) -> list[dict[str, str]]:
    """The dialogue before this question, as a list that the function may append to."""
    return [message.model_dump() for message in query.history]


def _messages(query: Query) -> list[dict[str, str]]:
    """The system prompt, the dialogue and this question, as chat models take them."""
    system = [{"role": "system", "content": query.system}] if query.system else []
    return [*system, *_history(query), {"role": "user", "content": query.text}]


def _pairs(query: Query) -> list[tuple[str, str]]:
    """The dialogue before this question as (user, assistant); a missing side is ""."""
    pairs: list[tuple[str, str]] = []
    for message in query.history:
        if message.role == "user" or not pairs or pairs[-1][1]:
            pairs.append((message.content, "") if message.role == "user" else ("", message.content))
        else:
            pairs[-1] = (pairs[-1][0], message.content)
    return pairs


_VALUES: Mapping[str, Value] = {
    "question": _text,
    "history": _history,
    "messages": _messages,
    "session": lambda query: query.session,
    "language": lambda query: query.language,
    "case": lambda query: query.case,
}
