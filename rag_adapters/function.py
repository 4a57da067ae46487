"""A function of your own, question in, answer out: --set target=bot.py:answer."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from rag_adapters._arguments import Call, arguments_of, traits_taken
from rag_adapters._json import setting
from rag_adapters._limits import limited
from rag_adapters._load import failure_of, load
from simulator import Answer, Bot, InputError, Query, Traits, _, returned


@limited
def connect(*, target: str, prompt: str = "") -> Bot:
    """The function `file.py:name` or `package.module:name`, looked up from the current folder.

    Its arguments depend on the names of its parameters; docs/adapters.md lists them. `prompt`
    (text, or `@file.txt`) is for functions that take one.
    """
    function = function_of(load(target), target)
    try:
        arguments = arguments_of(function, setting("prompt", prompt))
    except InputError as error:
        msg = f"{target}: {error}"
        raise InputError(msg) from None
    called = getattr(function, "__call__", None)  # noqa: B004 - an object's own __call__ may be async
    asynchronous = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called)
    bot = (_asynchronous if asynchronous else _synchronous)(function, arguments)
    vars(bot).update(traits=Traits(takes=traits_taken(function)))
    return bot


def function_of(value: Any, target: str) -> Callable[..., Any]:
    """What was value, if it is a function; raises InputError with what to do otherwise."""
    if callable(value) and not inspect.isclass(value):
        return value  # type: ignore[no-any-return]
    if hasattr(value, "ainvoke") and not inspect.isclass(value):
        msg = _(
            "{target} is {type}, not a function: --adapter runnable --set target={target}",
            target=target,
            type=type(value).__name__,
        )
        raise InputError(msg)
    what = "a class" if inspect.isclass(value) else type(value).__name__
    msg = _(
        "{target} is {what}, not a function. Wrap it: def answer(question): return ...(question)",
        target=target,
        what=what,
    )
    raise InputError(msg)


def _synchronous(function: Callable[..., Any], arguments: Callable[[Query], Call]) -> Bot:
    def bot(query: Query) -> Answer:
        positional, named = arguments(query)
        try:
            result = function(*positional, **named)
            # An awaitable from a sync function runs here, because this thread has no event loop.
            result = asyncio.run(_awaited(result)) if inspect.isawaitable(result) else result
        except (Exception, SystemExit) as error:
            raise failure_of(error) from error
        return returned.answer_of(result)

    return bot


def _asynchronous(function: Callable[..., Any], arguments: Callable[[Query], Call]) -> Bot:
    async def bot(query: Query) -> Answer:
        positional, named = arguments(query)
        try:
            result = await function(*positional, **named)
        except (Exception, SystemExit) as error:
            raise failure_of(error) from error
        return returned.answer_of(result)

    return bot


async def _awaited(result: Awaitable[Any]) -> Any:
    return await result
