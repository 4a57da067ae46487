"""A function of your own, question in, answer out: --set target=bot.py:answer.

What it is called with goes by the names of its parameters, decided once at the start; what it returns may
have any of the shapes that `simulator.returned` reads.

    def answer(question)                        -> the customer's line
    def answer(text, history, *, session_id)    -> line, dialogue as {"role", "content"}, a name
    def answer(query: Query)                    -> everything
    def rag(query, history: list[tuple[str, str]], prompt)   -> pairs, and the setting `prompt`

A function that is not `async` runs on a thread, many at a time; a generator is read to its end and timed to
its first words. Whatever it raises, SystemExit included, is that answer's failure, with the line that raised
it. With `python` the same is done by a process of another interpreter (_process.py).
"""

import asyncio
import contextlib
import importlib
import inspect
import time
import weakref
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from queue import Empty, SimpleQueue
from typing import Any

from simulator import (
    Answer,
    Bot,
    BotFailure,
    InputError,
    Query,
    Sentence,
    Traits,
    _,
    describe_error,
    other_python,
    returned,
    sentences,
    user_object,
)

from ._json import setting

# What a parameter is given, by its name; docs/adapters.md has the same table.
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


def connect(*, target: str, prompt: str = "", python: str = "") -> Any:  # the Bot, or what has to be awaited
    """The function `file.py:name` or `package.module:name`, looked up from the current folder.

    Its arguments depend on the names of its parameters; docs/adapters.md lists them. `prompt`
    (text, or `@file.txt`) is for functions that take one. With `python`, another interpreter runs it.
    """
    if python:
        elsewhere = importlib.import_module("._process", __package__)
        return elsewhere.process_bot(target, python, setting("prompt", prompt))
    function = function_of(load(target), target)
    try:
        declared = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # written in C, without a signature
        declared = None
    try:
        arguments = arguments_of(declared, setting("prompt", prompt))
    except InputError as error:
        msg = f"{target}: {error}"
        raise InputError(msg) from None
    called = getattr(function, "__call__", None)  # noqa: B004 - an object's own __call__ may be async
    asynchronous = any(
        is_async(each)
        for each in (function, called)
        for is_async in (inspect.iscoroutinefunction, inspect.isasyncgenfunction)
    )
    bot = (_asynchronous if asynchronous else _synchronous)(function, arguments, target)
    # The runner asks a bot's traits before it sends a system text or a history.
    vars(bot).update(traits=Traits(takes=traits_taken(declared or [])))
    return bot


def function_of(value: Any, target: str) -> Callable[..., Any]:
    """What was value, if it is a function; raises InputError with what to do otherwise."""
    if callable(value) and not inspect.isclass(value):
        return value  # type: ignore[no-any-return]
    what = "a class" if inspect.isclass(value) else type(value).__name__
    msg = _(
        "{target} is {what}, not a function. Wrap it: def answer(question): return ...(question)",
        target=target,
        what=what,
    )
    raise InputError(msg)


class EventLoops:
    """Loops for functions that use one without running it: `get_event_loop().run_until_complete(...)`.

    In a script there is one; on a thread there is none unless somebody sets it. Each is used by one call at a
    time and by the next one again, so that what a bot keeps between its answers (a session of an HTTP client)
    finds the loop that it was made in.
    """

    def __init__(self) -> None:
        self._idle: SimpleQueue[asyncio.AbstractEventLoop] = SimpleQueue()
        self.close = weakref.finalize(self, _close_all, self._idle)

    @contextlib.contextmanager
    def one(self) -> Iterator[asyncio.AbstractEventLoop]:
        """A loop that is the thread's own meanwhile."""
        try:
            loop = self._idle.get_nowait()
        except Empty:
            loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        try:
            yield loop
        finally:
            asyncio.set_event_loop(None)
            if not loop.is_closed():  # by the function itself
                self._idle.put(loop)


def _close_all(loops: SimpleQueue[asyncio.AbstractEventLoop]) -> None:
    with contextlib.suppress(Empty):
        while True:
            loops.get_nowait().close()


def _synchronous(function: Callable[..., Any], arguments: Callable[[Query], Call], target: str) -> Bot:
    loops = EventLoops()

    def bot(query: Query) -> Answer:
        positional, named = arguments(query)
        began = time.perf_counter()
        try:
            with loops.one() as loop:
                result = function(*positional, **named)
                # An awaitable from a sync function runs here: a coroutine by itself, others on this loop.
                if inspect.iscoroutine(result):
                    result = asyncio.run(result)
                elif inspect.isawaitable(result):
                    result = loop.run_until_complete(_awaited(result))
                if inspect.isgenerator(result):
                    return Pieces(began).joined(result)
        except (Exception, SystemExit) as error:
            raise failure_of(error, target) from error
        return returned.answer_of(result)

    vars(bot).update(aclose=loops.close)
    return bot


def _asynchronous(function: Callable[..., Any], arguments: Callable[[Query], Call], target: str) -> Bot:
    async def bot(query: Query) -> Answer:
        positional, named = arguments(query)
        pieces = Pieces(time.perf_counter())
        try:
            result = function(*positional, **named)
            if not inspect.isasyncgen(result):
                return returned.answer_of(await result)
            async for piece in result:
                pieces.add(piece)
        except (Exception, SystemExit) as error:
            raise failure_of(error, target) from error
        return pieces.answer()

    return bot


async def _awaited(result: Awaitable[Any]) -> Any:
    return await result


# --- The user's object, and its errors as the bot's failures ---


def load(target: str) -> Any:
    """What `target` names, looked up from the current folder. Raises InputError when it does not exist."""
    where, _unused, name = target.rpartition(":")
    if not where or not name:
        msg = _("target={target}: write file.py:function or package.module:function.", target=target)
        raise InputError(msg)
    return user_object(target, is_bot=True)


def failure_of(error: BaseException, target: str) -> BotFailure:
    """The failure for an exception of the user's code, with the line that raised it."""
    if isinstance(error, BotFailure):
        return error
    return BotFailure("timeout" if isinstance(error, TimeoutError) else "error", described(error, target))


def described(error: BaseException, target: str) -> Sentence:
    """What was raised and where; of a package that is missing, also how another interpreter has it."""
    if not isinstance(error, ImportError):
        return describe_error(error)
    return sentences(describe_error(error), other_python(target.rpartition(":")[0]))


# --- What it gives ---


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
        if isinstance(rest, Mapping) and not any(key in rest for key in returned.ANSWER_KEYS):
            rest = {**rest, "answer": text}
        answer = Answer(text=text, shows_passages=False) if rest is None else returned.answer_of(rest)
        return answer.model_copy(update={"first_token_seconds": self._first})


# --- Its arguments: each parameter gets its value by its name ---


def arguments_of(declared: list[inspect.Parameter] | None, prompt: str) -> Callable[[Query], Call]:
    """A function from a query to the arguments; None declares none. Raises InputError for an unknown one."""
    if declared == []:
        raise InputError(_("the function takes no parameter; it needs one for the question."))
    parameters = [each for each in declared or () if each.kind not in _VARIADIC]
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
        known = ", ".join(name for names in _NAMES.values() for name in names)
        msg = _(
            "nothing is known to give to the parameter '{parameter}'. It may be one of: {known}.",
            parameter=parameter.name,
            known=known,
        )
        raise InputError(msg)
    if meaning == "prompt":
        # A prompt of a row wins over the setting, and that over the function's own default.
        own = prompt or (parameter.default if optional else "")
        return lambda query: query.system or own
    if meaning == "history" and "tuple" in annotation.lower():
        return _pairs
    return _VALUES[meaning]


def traits_taken(declared: list[inspect.Parameter]) -> frozenset[str]:
    """The parts of a query beside its text that the function gets: "system", "history".

    `evaluate --prompt` needs a bot that takes a system text, and says so before the start where it does not.
    """
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
