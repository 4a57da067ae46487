"""A LangChain or LangGraph runnable of your own: --set target=bot.py:chain."""

import asyncio
import inspect
from collections.abc import Sequence
from typing import Any

from rag_adapters._inputs import AUTO, CANDIDATES, Form, form_of
from rag_adapters._json import JsonPath
from rag_adapters._limits import limited
from rag_adapters._load import describe, failure_of, load
from rag_adapters._outputs import OutputPaths, Watch
from simulator import Answer, BotFailure, InputError, Message, Query, Sentence, _

# Exceptions of a runnable that gets an input of the wrong shape.
_MISFIT = (TypeError, ValueError, LookupError, AttributeError)
_MISFIT_NAMES = ("InvalidUpdateError", "EmptyInputError")


@limited
async def connect(
    *,
    target: str,
    input: str = AUTO,  # noqa: A002 - the setting's name is what users know it by
    history: str = "",
    answer: str = "",
    passages: str = "",
) -> "RunnableBot":
    """The runnable `file.py:name` or `package.module:name`, or the one that a function of that name returns.

    `input` is the form of its input: text, list, messages, the name of a field (`history` is then that of the
    dialogue before), or JSON with $question, $history, $messages, $session and $language. `answer` and
    `passages` are paths in its output.
    """
    runnable = await _runnable(load(target), target)
    paths = OutputPaths(
        JsonPath("answer", answer) if answer else None, JsonPath("passages", passages) if passages else None
    )
    try:
        form = form_of(input, history, runnable)
    except InputError as error:
        msg = f"{target}: {error}"
        raise InputError(msg) from None
    return RunnableBot(runnable, form, paths)


async def _runnable(found: Any, target: str) -> Any:
    """The object itself, or what it returns when it is called without arguments."""
    name: Sentence | str = target
    if hasattr(found, "ainvoke") and not inspect.isclass(found):
        return found
    if hasattr(found, "compile"):
        msg = _(
            "{target} is not compiled: name what its compile() gives, as in app = graph.compile().",
            target=target,
        )
        raise InputError(msg)
    if callable(found):
        _check_factory(found, target)
        try:
            runnable = found()
            runnable = await runnable if inspect.isawaitable(runnable) else runnable
        except (Exception, SystemExit) as error:
            msg = _("{target}: it cannot be made: {error}", target=target, error=describe(error))
            raise InputError(msg) from None
        if hasattr(runnable, "ainvoke"):
            return runnable
        name, found = _("what {target} gives", target=target), runnable
    msg = _(
        "{target} is {type}, not a runnable: it has no ainvoke().", target=name, type=type(found).__name__
    )
    raise InputError(msg)


def _check_factory(found: Any, target: str) -> None:
    try:
        parameters = inspect.signature(found).parameters.values()
    except (TypeError, ValueError):  # written in C, without a signature
        return
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    needed = [each.name for each in parameters if each.default is each.empty and each.kind not in variadic]
    if needed:
        msg = _(
            "{target} takes {needed}, but what makes a runnable is called without arguments. Is it"
            " the bot itself? --adapter function.",
            target=target,
            needed=", ".join(needed),
        )
        raise InputError(msg)


class RunnableBot:
    """A runnable as the bot; if it declares no input, the first question finds out the form."""

    def __init__(self, runnable: Any, form: Form | None, paths: OutputPaths) -> None:
        self.runnable, self.form, self.paths = runnable, form, paths
        self._form_lock = asyncio.Lock()

    async def __call__(self, query: Query) -> Answer:
        """The runnable's answer. Raises BotFailure."""
        watch = Watch()
        # Graphs identify a conversation by its thread, chains with a message history by its session.
        ids = {"thread_id": query.session, "session_id": query.session}
        config = {"configurable": ids, "callbacks": [watch, watch.counted]}
        try:
            output = await self._output(query, config)
        except Exception as error:
            raise failure_of(error) from error
        return self.paths.read(output, watch)

    async def _output(self, query: Query, config: dict[str, Any]) -> Any:
        earlier = await self._unremembered(query, config)
        if self.form is None:
            async with self._form_lock:
                if self.form is None:
                    return await self._try_forms(query, earlier, config)
        return await self.runnable.ainvoke(self.form(query, earlier), config)

    async def _try_forms(self, query: Query, earlier: Sequence[Message], config: dict[str, Any]) -> Any:
        """The output for the first form of input that the runnable accepts."""
        misfits = []
        for name, form in CANDIDATES.items():
            try:
                output = await self.runnable.ainvoke(form(query, earlier), config)
            except Exception as error:
                if not isinstance(error, _MISFIT) and type(error).__name__ not in _MISFIT_NAMES:
                    raise
                misfits.append(f"{name}: {type(error).__name__}")
            else:
                self.form = form
                return output
        tried = ", ".join(misfits)
        raise BotFailure(
            "malformed",
            _("it takes none of the usual inputs ({tried}); say which: --set input=...", tried=tried),
        )

    async def _unremembered(self, query: Query, config: dict[str, Any]) -> Sequence[Message]:
        """The dialogue that it has to be describe: none when it keeps the conversation itself."""
        if not query.history:
            return ()
        own: Any = self.runnable
        while own is not None:
            if hasattr(own, "get_session_history"):
                return ()
            if hasattr(getattr(own, "checkpointer", None), "aget_tuple"):
                return () if (await own.aget_state(config)).values else query.history
            own = getattr(own, "bound", None)
        return query.history
