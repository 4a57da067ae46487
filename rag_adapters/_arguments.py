"""What a function of the user is called with, by the names of its parameters, and the pieces it yields."""

import inspect
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from simulator.extending import Answer, BotFailure, InputError, Message, Query, _, returned

# What a parameter is given, by its name; docs/bots.md has the same table.
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
# Characters of all pieces together, as many as bytes of an answer over HTTP: a generator may never end.
_LONGEST = 8 << 20
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
Value = Callable[[Query], Any]
Call = tuple[tuple[Any, ...], dict[str, Any]]


class Pieces:
    """What a generator yields: pieces of text, or of messages, and at the end perhaps what else there is.

    "It ", "costs 5.", ["a passage"]                 -> "It costs 5." with one passage
    "It costs 5.", {"passages": [...]}               -> the same
    {"answer": "It costs 5.", "contexts": [...]}     -> the whole answer at once
    """

    def __init__(self, began: float) -> None:
        """`began` is when the question was asked, by `time.perf_counter`."""
        self._began = began
        self._words: list[str] = []
        self._size = 0
        self._first: float | None = None
        self._rest: Any = None

    def add(self, piece: Any) -> None:
        """One piece, as it comes."""
        if isinstance(piece, str) or hasattr(piece, "content"):
            if words := returned.text_of(piece):
                self._words.append(words)
                self._size += len(words)
                self._first = self._first or time.perf_counter() - self._began
            if self._size > _LONGEST:
                raise BotFailure("malformed", _("the answer is longer than {size} MB", size=_LONGEST >> 20))
        elif piece is not None:
            self._rest = piece

    def joined(self, pieces: Iterable[Any]) -> Answer:
        """The answer of all pieces."""
        for piece in pieces:
            self.add(piece)
        return self.answer()

    def answer(self) -> Answer:
        """The text, with passages where the last piece holds them; or the whole answer that this one is."""
        text, rest = "".join(self._words), self._rest
        if isinstance(rest, list):
            rest = {"passages": rest}
        is_more = isinstance(rest, Mapping) and rest.keys().isdisjoint(returned.ANSWER_KEYS)
        # Without any words, what shows nothing either is something else, which `answer_of` names.
        if is_more and (text or not rest.keys().isdisjoint((*returned.PASSAGE_KEYS, *returned.TOOL_KEYS))):
            rest = {**rest, "answer": text}
        answer = Answer(text=text, shows_passages=False) if rest is None else returned.answer_of(rest)
        return answer.model_copy(update={"first_token_seconds": self._first})


def not_a_function(target: str, what: Message | str) -> InputError:
    """The error for a thing of the user's that is none."""
    return InputError(
        _(
            "{target} is {what}, not a function. Wrap it: def answer(question): return ...(question)",
            target=target,
            what=what,
        )
    )


def arguments_of(declared: list[inspect.Parameter] | None, prompt: str) -> Callable[[Query], Call]:
    """A function from a query to the arguments; None declares none. Raises InputError for an unknown one."""
    if declared == []:
        raise InputError(_("the function takes no parameter; it needs one for the question."))
    parameters = [parameter for parameter in declared or () if parameter.kind not in _VARIADIC]
    positional: list[Value] = [] if parameters else [_VALUES["question"]]
    named: dict[str, Value] = {}
    for place, parameter in enumerate(parameters):
        # By name wherever that is possible: functions are changed, and their parameters change places.
        value = _value(parameter, first=place == 0, alone=len(parameters) == 1, prompt=prompt)
        if value is not None and parameter.kind is parameter.POSITIONAL_ONLY:
            positional.append(value)
        elif value is not None:
            named[parameter.name] = value
    return lambda query: (
        tuple(value(query) for value in positional),
        {name: value(query) for name, value in named.items()},
    )


def _value(parameter: inspect.Parameter, *, first: bool, alone: bool, prompt: str) -> Value | None:
    """Returns the value of a parameter, or None to use its own default.

    The first parameter is the question, whatever it is called. A further one that nobody knows needs a
    default; without one it is refused before the start, with all names that are known.
    """
    annotation = _annotation(parameter)
    if annotation.rpartition(".")[2] == "Query" or (annotation == "" and alone and parameter.name == "query"):
        return lambda query: query
    meaning = _MEANING.get(parameter.name) or ("question" if first else "")
    optional = parameter.default is not parameter.empty
    if optional and not meaning:
        return None
    if not meaning:
        names_of_inputs = ", ".join(name for names in _NAMES.values() for name in names)
        msg = _(
            "nothing is known to give to the parameter '{parameter}'. It may be one of: {known}.",
            parameter=parameter.name,
            known=names_of_inputs,
        )
        raise InputError(msg)
    if meaning == "prompt":
        # A prompt of a row wins over the setting, and that over the function's own default.
        system = prompt or (parameter.default if optional else "")
        return lambda query: query.system or system
    if meaning == "history" and "tuple" in annotation.lower():
        return _pairs
    return _VALUES[meaning]


def traits_taken(declared: list[inspect.Parameter]) -> frozenset[str]:
    """The parts of a query beside its text that the function gets: "system", "history".

    `evaluate --prompt` needs a bot that takes a system text, and says so before the start where it does not.
    """
    meanings = {_MEANING.get(parameter.name) for parameter in declared if parameter.kind not in _VARIADIC}
    whole = any(_annotation(parameter).rpartition(".")[2] == "Query" for parameter in declared)
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


def _history(query: Query) -> list[dict[str, str]]:
    """The dialogue before this question, as a list that the function may append to."""
    return [message.model_dump() for message in query.history]


def _messages(query: Query) -> list[dict[str, str]]:
    """The system prompt, the dialogue and this question, as chat models take them."""
    system = [{"role": "system", "content": query.system}] if query.system else []
    return [*system, *_history(query), {"role": "user", "content": query.text}]


def _pairs(query: Query) -> list[tuple[str, str]]:
    """The dialogue before this question as (user, assistant); a missing side is "".

    user "Hi", user "Hello?", assistant "Yes" -> ("Hi", ""), ("Hello?", "Yes").
    """
    pairs: list[tuple[str, str]] = []
    for message in query.history:
        if message.role == "user" or not pairs or pairs[-1][1]:
            pairs.append((message.content, "") if message.role == "user" else ("", message.content))
        else:
            pairs[-1] = (pairs[-1][0], message.content)
    return pairs


_VALUES: Mapping[str, Value] = {
    "question": lambda query: query.text,
    "history": _history,
    "messages": _messages,
    "session": lambda query: query.session,
    "language": lambda query: query.language,
    "case": lambda query: query.case,
}
