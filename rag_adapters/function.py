"""A function of your own, question in, answer out: --set target=bot.py:answer."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from rag_adapters._arguments import Call, arguments_of, taken_by
from rag_adapters._json import setting
from rag_adapters._limits import limited
from rag_adapters._load import failure_of, load
from rag_adapters._returned import answer_of
from simulator import Answer, InputError, Query, Rag


@limited
def connect(*, target: str, prompt: str = "") -> Rag:
    """The function `file.py:name` or `package.module:name`, looked up where the user stands.

    What it is called with goes by the names of its parameters; docs/adapters.md lists them. `prompt`
    (text, or `@file.txt`) is for functions that take one.
    """
    function = _function(load(target), target)
    try:
        arguments = arguments_of(function, setting("prompt", prompt))
    except InputError as error:
        msg = f"{target}: {error}"
        raise InputError(msg) from None
    called = getattr(function, "__call__", None)  # noqa: B004 - an object's own __call__ may be async
    asynchronous = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called)
    rag = (_asynchronous if asynchronous else _synchronous)(function, arguments)
    vars(rag).update(takes=taken_by(function))
    return rag


def _function(found: Any, target: str) -> Callable[..., Any]:
    if inspect.isclass(found) or not callable(found):
        what = "a class" if inspect.isclass(found) else type(found).__name__
        runnable = ", or use --adapter runnable" if hasattr(found, "ainvoke") else ""
        wrapped = "def answer(question): return ...(question)"
        msg = f"{target} is {what}, not a function. Wrap it: {wrapped}{runnable}"
        raise InputError(msg)
    return found  # type: ignore[no-any-return]


def _synchronous(function: Callable[..., Any], arguments: Callable[[Query], Call]) -> Rag:
    def rag(query: Query) -> Answer:
        positional, named = arguments(query)
        try:
            result = function(*positional, **named)
            # An async function inside a sync one: it is run here, for this thread has no loop.
            result = asyncio.run(_awaited(result)) if inspect.isawaitable(result) else result
        except (Exception, SystemExit) as error:
            raise failure_of(error) from error
        return answer_of(result)

    return rag


def _asynchronous(function: Callable[..., Any], arguments: Callable[[Query], Call]) -> Rag:
    async def rag(query: Query) -> Answer:
        positional, named = arguments(query)
        try:
            result = await function(*positional, **named)
        except (Exception, SystemExit) as error:
            raise failure_of(error) from error
        return answer_of(result)

    return rag


async def _awaited(result: Awaitable[Any]) -> Any:
    return await result
