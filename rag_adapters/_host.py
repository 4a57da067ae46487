"""Answers with a bot of the interpreter that runs this file: the standard library alone, from Python 3.8 on.

    python _host.py bot.py:answer

Reads a JSON object a line, {"id": 1, "args": [...], "kwargs": {...}}, and answers {"id": 1, "result": ...},
for a stream {"id": 1, "pieces": [...], "first": 0.2} with the seconds to its first words, or {"id": 1,
"error": "..."}.
The first line says what the bot is. What the bot prints goes to the standard error; the end of the input ends
the process.
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":  # the modules beside this file would hide those of the library: http, _json
    _HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder or ".") != _HERE]  # noqa: PTH100

import asyncio
import dataclasses
import importlib
import importlib.util
import inspect
import json
import operator
import signal
import threading
import time
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

# What is kept of objects: messages and documents of LangChain and others; of messages also what tools left.
_ATTRIBUTES = ("content", "type", "role", "page_content", "metadata", "id", "text", "score")
_OF_MESSAGES = ("artifact", "name", "status", "tool_calls", "tool_call_id")
# Characters of an object that is none of these, as text: an id, a date, a path.
_LONGEST_WORD = 1000
# Lists within each other deeper than this are told as text; an object may hold itself.
_DEEPEST = 20


def plain(value: Any, depth: int = 0) -> Any:
    """The value as JSON: what tells tuples and objects from lists and mappings stands in keys of their own.

    Of an object the fields that it declares are a mapping; else those attributes are kept that messages and
    documents have, or its text.
    """
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if depth > _DEEPEST:
        return str(value)
    if isinstance(value, (tuple, list, set, frozenset)):
        items = [plain(item, depth + 1) for item in value]
        return {"__tuple__": items} if isinstance(value, tuple) else items
    fields = _declared(value)
    if fields is not None:
        return {str(key): plain(item, depth + 1) for key, item in fields.items()}
    for number in (operator.index, float):  # of any library, as scores of an index are
        try:
            return number(value)
        except (TypeError, ValueError):
            continue
    names = _ATTRIBUTES + _OF_MESSAGES if hasattr(value, "content") else _ATTRIBUTES
    # Callables are left out: a message has a method `text` in some versions, a field in others.
    there = {key: getattr(value, key) for key in names if hasattr(value, key)}
    kept = {key: plain(item, depth + 1) for key, item in there.items() if not callable(item)}
    return {"__object__": kept} if kept else {"__other__": [type(value).__name__, str(value)[:_LONGEST_WORD]]}


def _declared(value: Any) -> dict[Any, Any] | None:
    """A mapping, or the fields of a data class or a pydantic object; None of a message and anything else."""
    if isinstance(value, dict):
        return value
    if hasattr(value, "content") or hasattr(value, "page_content") or isinstance(value, type):
        return None
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return dict(value) if hasattr(value, "model_fields_set") else None


def described(error: BaseException) -> str:
    """An exception on one line, with the last place that is not in this file."""
    text = f"{type(error).__name__}: {error}"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
    frames_of_bot = [frame for frame in frames if "site-packages" not in frame.filename] or frames
    if frames_of_bot and not isinstance(error, SyntaxError):
        text = f"{text} ({os.path.relpath(frames_of_bot[-1].filename)}, line {frames_of_bot[-1].lineno})"
    return " ".join(text.split())[:1000]


def package_of(file: Path) -> tuple[Path, str]:
    """The folder above the packages around a file, and the file's name as part of them."""
    top = file.parent
    while (top.parent / "__init__.py").is_file():
        top = top.parent
    return top.parent, ".".join(file.relative_to(top.parent).with_suffix("").parts)


def target_object(target: str) -> Any:
    """What `file.py:name` or `package.module:name` names; what imports relatively as part of its package."""
    where, _, name = target.rpartition(":")
    module: Any = None
    above = Path.cwd()
    if where.endswith(".py") or "/" in where or os.sep in where:
        file = Path(where).resolve()
        sys.path.insert(0, str(file.parent))
        spec = importlib.util.spec_from_file_location(file.stem, str(file))
        if not file.is_file():
            raise FileNotFoundError(f"{where}: no such file")
        if spec is None or spec.loader is None:
            raise ImportError(f"{where} is not a Python file")
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        try:
            spec.loader.exec_module(module)
        except ImportError as error:
            if "attempted relative import with no known parent package" not in str(error):
                raise
            module = None
            above, where = package_of(file)
    if module is None:
        sys.path.insert(0, str(above))
        module = importlib.import_module(where)
    thing: Any = module
    for part in name.split("."):
        thing = getattr(thing, part)
    return thing


def parameters_of(function: Any) -> list[list[Any]] | None:
    """Name, kind, annotation and whether there is a default, of each parameter; None where nobody knows."""
    try:
        declared = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    empty = inspect.Parameter.empty
    return [
        [
            parameter.name,
            int(parameter.kind),
            ""
            if parameter.annotation is empty
            else getattr(parameter.annotation, "__name__", str(parameter.annotation)),
            parameter.default is not empty,
        ]
        for parameter in declared
    ]


class Host:
    """The bot, its event loop on a thread of its own, and the two ends of the pipe."""

    def __init__(self, thing: Any, out: BinaryIO) -> None:
        self.thing, self.out, self.lock = thing, out, threading.Lock()
        self.loop = asyncio.new_event_loop()
        self.idle: list[asyncio.AbstractEventLoop] = []  # for functions that ask their thread for one
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    def send(self, **line: Any) -> None:
        """Writes one line."""
        data = json.dumps(line, ensure_ascii=True).encode("ascii") + b"\n"
        with self.lock:
            self.out.write(data)
            self.out.flush()

    def answer(self, question: dict[str, Any]) -> None:
        """Answers one question, on the thread that was started for it."""
        began = time.perf_counter()
        try:
            result = self.called(question)
            pieces = self.pieces_of(result)
            answer = {"result": plain(result)} if pieces is None else streamed(pieces, began)
            self.send(id=question["id"], **answer)
        except BaseException as error:
            self.send(id=question["id"], error=described(error))

    def called(self, question: dict[str, Any]) -> Any:
        """What the function gives."""
        try:
            loop = self.idle.pop()
        except IndexError:
            loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        try:
            result = self.thing(*question["args"], **question["kwargs"])
        finally:
            asyncio.set_event_loop(None)
            if not loop.is_closed():
                self.idle.append(loop)
        return self.awaited(result) if inspect.isawaitable(result) else result

    def pieces_of(self, result: Any) -> Iterator[Any] | None:
        """An iterator over what a generator yields; None for anything else."""
        if inspect.isasyncgen(result):
            return iter(lambda: self.awaited(_next(result)), _next)
        return result if inspect.isgenerator(result) else None

    def awaited(self, awaitable: Any) -> Any:
        """The result of a coroutine, on the event loop that all share."""
        return asyncio.run_coroutine_threadsafe(_finished(awaitable), self.loop).result()


def streamed(pieces: Iterable[Any], began: float) -> dict[str, Any]:
    """All pieces, and after how many seconds the first with words came."""
    first, all_pieces = None, []
    for piece in pieces:
        words = piece if isinstance(piece, str) else getattr(piece, "content", "")
        if words and first is None:
            first = time.perf_counter() - began
        all_pieces.append(plain(piece))
    return {"pieces": all_pieces, "first": first}


async def _finished(awaitable: Any) -> Any:
    return await awaitable


async def _next(stream: Any) -> Any:
    try:
        return await stream.__anext__()
    except StopAsyncIteration:
        return _next


def main() -> None:
    """Loads the bot, says what it is, and answers until nobody asks any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for who started this: it closes the pipe
    # The pipe is moved away from the standard streams before the bot is imported: whatever it prints, also
    # from C, must not stand between the answers, and whatever it reads must not eat a question.
    asked, out = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)  # also for what C libraries and child processes print
    try:
        thing = target_object(sys.argv[1])
    except BaseException as error:
        failed = {"failed": described(error), "missing": isinstance(error, ImportError)}
        out.write(json.dumps(failed).encode("ascii") + b"\n")
        out.flush()
        os._exit(1)
    host = Host(thing, out)
    host.send(
        ready=True,
        callable=callable(thing) and not inspect.isclass(thing),
        type=type(thing).__name__,
        parameters=parameters_of(thing) if callable(thing) else None,
    )
    for line in asked:
        threading.Thread(target=host.answer, args=(json.loads(line),), daemon=True).start()
    os._exit(0)


if __name__ == "__main__":
    main()
