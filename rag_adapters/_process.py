"""A bot in another interpreter, with the libraries of its own: --set python=../bot/.venv/bin/python.

`_host.py` is started by that interpreter with the bot's target. Over its pipes go JSON lines, many questions
at a time, each with a number:

    <- {"ready": true, "callable": true, "parameters": [["question", 1, "", false]], ...}
    -> {"id": 1, "args": ["How much?"], "kwargs": {}}
    <- {"id": 1, "result": {"__tuple__": ["5 yen", ["It costs 5."]]}}

Parameters are matched here, by the same code as for a function of this interpreter. A process that ends fails
the questions it was asked, and is started again for the next one, at most `_IN_VAIN` times in a row without
an answer. What the bot prints goes to its standard error, the last lines of which are shown with a failure.
"""

import asyncio
import inspect
import itertools
import json
import os
import re
import shutil
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from simulator.extending import Answer, BotFailure, InputError, Query, Traits, _, returned

from . import _host
from ._arguments import Pieces, arguments_of, not_a_function, traits_taken

# Bytes of one answer; lines of the standard error shown with a failure; characters of it, or of an error.
_LONGEST, _TAIL, _LONGEST_TEXT = 16 * 2**20, 5, 600
# Seconds: until the bot's module is imported (a model may be loaded with it), and until a process that is
# told to end is killed.
_IMPORTING, _ENDING = 120.0, 5.0
# A process that was started so often in a row without an answer is not started again.
_IN_VAIN = 3
# PYTHONHOME of this interpreter would give the other one a standard library that is not its own; the other is
# set by the command line (cli/app.py).
_OURS = frozenset({"PYTHONHOME", "PYDANTIC_DISABLE_PLUGINS"})
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")

_KINDS = (
    inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD,
)  # fmt: skip

Ask = Callable[[Query], dict[str, Any]]


async def process_bot(target: str, python: str, prompt: str) -> "ProcessBot":
    """The function `target`, imported by the interpreter `python`. Raises InputError."""
    path = shutil.which(python)
    if path is None:
        msg = _(
            "python={python}: no such interpreter; give the path of one, as in .venv/bin/python.",
            python=python,
        )
        raise InputError(msg)
    bot = ProcessBot(target, path)
    try:
        bot.ask, bot.traits = _asking((await bot.host()).hello, target, prompt)
    except BotFailure as error:
        await bot.aclose()
        msg = _("{target} with python={python}: {error}.", target=target, python=python, error=error)
        raise InputError(msg) from None
    except InputError:
        await bot.aclose()
        raise
    return bot


def _asking(hello: Mapping[str, Any], target: str, prompt: str) -> tuple[Ask, Traits]:
    """How a query is put to what the other process found, and what of it that gets."""
    if not hello.get("callable"):
        raise not_a_function(target, str(hello.get("type"))[:40])
    parameters = hello.get("parameters")
    declared = None if parameters is None else [_parameter(*parameter) for parameter in parameters]
    try:
        arguments = arguments_of(declared, prompt)
    except InputError as error:
        raise InputError(_("{target}: {problem}", target=target, problem=error)) from None

    def ask(query: Query) -> dict[str, Any]:
        positional, named = arguments(query)
        return {
            "args": [*map(_sent, positional)],
            "kwargs": {name: _sent(argument) for name, argument in named.items()},
        }

    return ask, Traits(takes=traits_taken(declared or []))


def _parameter(name: str, kind: int, annotation: str, optional: bool) -> inspect.Parameter:
    empty = inspect.Parameter.empty
    default = None if optional else empty
    return inspect.Parameter(name, _KINDS[kind], default=default, annotation=annotation or empty)


def _sent(value: Any) -> Any:
    """An argument; there is no Query in the other environment, so that its text stands for it."""
    return value.text if isinstance(value, Query) else value


class ProcessBot:
    """Asks a process many questions at a time over its pipes, and starts it again when it has ended."""

    ask: Ask  # known when the process has told what the function takes

    def __init__(self, target: str, python: str) -> None:
        self.target, self.python = target, python
        self.traits = Traits()
        self._host: BotProcess | None = None
        self._starting = asyncio.Lock()
        self._in_vain = 0

    async def __call__(self, query: Query) -> Answer:
        """The bot's answer. Raises BotFailure."""
        host, began = await self.host(), time.perf_counter()
        reply = await host.asked(self.ask(query))
        self._in_vain = 0
        if "error" in reply:
            raise BotFailure("error", _clean(str(reply["error"])))
        if "pieces" in reply:
            answer = Pieces(began).joined(reply["pieces"])
        else:
            answer = returned.answer_of(reply.get("result"))
        return answer.model_copy(update={"first_token_seconds": reply.get("first")})

    async def host(self) -> "BotProcess":
        """The process that has imported the bot, started if there is none. Raises BotFailure.

        Under a lock: of many customers who find it dead, one starts it.
        """
        async with self._starting:
            host = self._host
            if host is not None and not host.has_ended:
                return host
            if host is not None:
                await host.close()
                if self._in_vain >= _IN_VAIN:
                    raise host.failure()
            # Set back by the first answer: a process that dies after an hour is started again as often as
            # needed.
            self._in_vain += 1
            self._host = await BotProcess.of(self.python, self.target)
            await self._host.start()
            return self._host

    async def aclose(self) -> None:
        """Ends the process."""
        if self._host is not None:
            await self._host.close()


class BotProcess:
    """One process with the bot: the questions it was asked, and what it printed last.

    Two tasks listen as long as it lives: one to its answers, one to its standard error.
    """

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        if process.stdin is None or process.stdout is None or process.stderr is None:
            raise RuntimeError("a process without pipes")
        self.hello: Mapping[str, Any] = {}
        self._process, self._in, self._out = process, process.stdin, process.stdout
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._numbers = itertools.count(1)
        self._said: deque[str] = deque(maxlen=_TAIL)
        self._hearing = asyncio.create_task(self._hear(process.stderr))
        self._reading: asyncio.Task[None] | None = None

    @classmethod
    async def of(cls, python: str, target: str) -> "BotProcess":
        """A new process. Raises BotFailure when the system cannot start it."""
        environment = {name: value for name, value in os.environ.items() if name not in _OURS}
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                python, "-u", str(Path(_host.__file__)), target,
                stdin=pipe, stdout=pipe, stderr=pipe, env=environment, limit=_LONGEST,
            )  # fmt: skip
        except OSError as error:
            msg = _("it cannot be started ({error})", error=error.strerror or str(error))
            raise BotFailure("error", msg) from None
        return cls(process)

    @property
    def has_ended(self) -> bool:
        """Whether nobody answers any more."""
        return self._reading is None or self._reading.done()

    async def start(self) -> None:
        """Waits until the bot is imported. Raises BotFailure."""
        try:
            async with asyncio.timeout(_IMPORTING):
                line = await self._line()
        except TimeoutError:
            self._process.kill()
            raise BotFailure("timeout", _("it is not imported after {n:g} s", n=_IMPORTING)) from None
        if line is None or not line.get("ready"):
            await self._over()
            failed = line and line.get("failed")
            if not isinstance(failed, str):
                raise self.failure()
            # The name of another environment, most often: the one that is meant has what the bot imports.
            lacks = line is not None and line.get("missing") is True
            advice = _(
                "{error}; name the Python of the environment in which the bot runs", error=_clean(failed)
            )
            raise BotFailure("error", advice if lacks else _clean(failed))
        self.hello = line
        self._reading = asyncio.create_task(self._read())

    async def asked(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """What it answers to a question. Raises BotFailure when it ends before."""
        number = next(self._numbers)
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            self._in.write(json.dumps({"id": number, **question}).encode() + b"\n")
            await self._in.drain()
            return await answer
        except ConnectionError:  # it ended just now
            await self._over()
            raise self.failure() from None
        finally:
            del self._waiting[number]

    async def close(self) -> None:
        """Ends the input, which ends the process; after some seconds it is killed.

        A bot that works on an answer then loses it: nobody waits for it any more.
        """
        self._in.close()
        try:
            async with asyncio.timeout(_ENDING):
                await self._process.wait()
        except TimeoutError:
            self._process.kill()
        await self._over()

    async def _over(self) -> None:
        await self._process.wait()
        # A child of the bot may keep the pipe open.
        await asyncio.wait([self._hearing], timeout=_ENDING / 5)
        self._hearing.cancel()

    async def _line(self) -> dict[str, Any] | None:
        """The next line that says something; None at the end, and for a line beyond the limit.

        What is no JSON object is passed over: a C library may print to the pipe before it is moved away.
        """
        while True:
            try:
                raw = await self._out.readline()
            except ValueError:  # too long: what follows cannot be told apart any more
                self._said.append(str(_("an answer of more than {n} MB", n=_LONGEST >> 20)))
                self._process.kill()
                return None
            if not raw:
                return None
            try:
                line = json.loads(raw, object_hook=_value)
            except (ValueError, TypeError, RecursionError):
                continue
            if isinstance(line, dict):
                return line

    async def _read(self) -> None:
        """Gives each answer to who waits for it; when the process has ended, nobody waits any longer."""
        while (line := await self._line()) is not None:
            number = line.get("id")
            answer = self._waiting.get(number) if isinstance(number, int) else None
            if answer is not None and not answer.done():  # else nobody waits any more
                answer.set_result(line)
        await self._over()
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(self.failure())

    async def _hear(self, printed: asyncio.StreamReader) -> None:
        """Keeps the last lines of what the bot prints."""
        while True:
            try:
                raw = await printed.readline()
            except ValueError:
                continue
            if not raw:
                return
            if text := _clean(raw.decode("utf-8", "replace")):
                self._said.append(text)

    def failure(self) -> BotFailure:
        """The failure of a process that is no more, with the last it said."""
        code = self._process.returncode
        if not self._said:
            return BotFailure("error", _("the bot's process ended (exit code {code})", code=code))
        said = " / ".join(self._said)[-_LONGEST_TEXT:]
        # What an interpreter before 3.8 says of the host file.
        if "SyntaxError" in said and "_host.py" in said:
            return BotFailure("error", _("this interpreter is too old; Python 3.8 or newer is needed"))
        msg = _("the bot's process ended (exit code {code}): {said}", code=code, said=said)
        return BotFailure("error", msg)


def _clean(text: str) -> str:
    """A text on one line, without control codes, cut."""
    plain = "".join(sign if sign.isprintable() else " " for sign in _ESCAPES.sub("", text))
    return " ".join(plain.split())[:_LONGEST_TEXT]


def _value(content: dict[str, Any]) -> Any:
    """A JSON object as it is, or the tuple or object that `_host.plain` made it of."""
    if "__tuple__" in content:
        return tuple(content["__tuple__"])
    if "__object__" in content:
        return SimpleNamespace(**content["__object__"])
    if "__other__" in content:  # of which nothing is known but its text: an id, a date, a path
        name, text = content["__other__"]
        return type(_clean(name), (), {"__str__": lambda _self: text})()
    return content
