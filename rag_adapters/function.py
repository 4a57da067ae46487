"""Your function, question in, answer out: --set target=bot.py:answer.

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
import inspect
import time
import weakref
from collections.abc import Awaitable, Callable, Iterator
from queue import Empty, SimpleQueue
from typing import Any

from simulator.extending import (
    Answer,
    Bot,
    BotFailure,
    InputError,
    Message,
    Query,
    Traits,
    _,
    describe_error,
    other_python,
    returned,
    sentences,
    user_object,
)

from ._arguments import Call, Pieces, arguments_of, not_a_function, traits_taken
from ._json import setting
from ._process import process_bot


def connect(*, target: str, prompt: str = "", python: str = "") -> Any:  # the Bot, or what has to be awaited
    """The function `file.py:name` or `package.module:name`, looked up from the current folder.

    Its arguments depend on the names of its parameters; docs/bots.md lists them. `prompt`
    (text, or `@file.txt`) is for functions that take one. With `python`, another interpreter runs it.
    """
    if python:
        return elsewhere(target, python=python, prompt=prompt)
    return bot_of(load(target), target, prompt=prompt)


def elsewhere(target: str, *, python: str, prompt: str = "") -> Any:
    """The function of that name as a bot, run by another interpreter."""
    return process_bot(target, python, setting("prompt", prompt))


def bot_of(value: Any, target: str, *, prompt: str = "") -> Bot:
    """A function that is there already as a bot; `target` is what errors call it."""
    function = function_of(value, target)
    try:
        declared = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # written in C, without a signature
        declared = None
    try:
        arguments = arguments_of(declared, setting("prompt", prompt))
    except InputError as error:
        raise InputError(_("{target}: {problem}", target=target, problem=error)) from None
    called = getattr(function, "__call__", None)  # noqa: B004 - an object's own __call__ may be async
    asynchronous = any(
        is_async(thing)
        for thing in (function, called)
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
    raise not_a_function(target, _("a class") if inspect.isclass(value) else type(value).__name__)


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


def described(error: BaseException, target: str) -> Message:
    """What was raised and where; of a package that is missing, also how another interpreter has it."""
    if not isinstance(error, ImportError):
        return describe_error(error)
    return sentences(describe_error(error), other_python(target.rpartition(":")[0]))
