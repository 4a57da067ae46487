"""A function of your own, question in, answer out: --set target=bot.py:answer."""

import asyncio
import difflib
import importlib
import importlib.util
import inspect
import sys
import sysconfig
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from rag_adapters._arguments import Call, arguments_of
from rag_adapters._json import setting
from rag_adapters._returned import answer_of
from simulator import Answer, InputError, Query, Rag, RagFailure

_LONGEST_MESSAGE = 200
_LIBRARIES = ("<", *(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")))


def connect(*, target: str, prompt: str = "") -> Rag:
    """The function `file.py:name` or `package.module:name`, looked up where the user stands.

    What it is called with goes by the names of its parameters; docs/adapters.md lists them. `prompt`
    (text, or `@file.txt`) is for functions that take one.
    """
    where, _, name = target.rpartition(":")
    if not where or not name:
        msg = f"target={target}: write file.py:function or package.module:function."
        raise InputError(msg)
    function = _function(load(where), where, name)
    try:
        arguments = arguments_of(function, setting("prompt", prompt))
    except InputError as error:
        msg = f"{target}: {error}"
        raise InputError(msg) from None
    called = getattr(function, "__call__", None)  # noqa: B004 - an object's own __call__ may be async
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called):
        return _asynchronous(function, arguments)
    return _synchronous(function, arguments)


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


def failure_of(error: BaseException) -> RagFailure:
    """What the function raised, with the line of the user's own code that it came from."""
    if isinstance(error, RagFailure):
        return error
    return RagFailure("timeout" if isinstance(error, TimeoutError) else "error", _told(error))


def load(where: str) -> ModuleType:
    """The module of a file or of a dotted name; the folder where the user stands is searched first."""
    _search(Path.cwd())
    try:
        is_file = where.endswith(".py") or "/" in where or "\\" in where
        return _of_file(Path(where)) if is_file else importlib.import_module(where)
    except InputError:
        raise
    except ModuleNotFoundError as error:
        if error.name and f"{where}.".startswith(f"{error.name}."):
            msg = (
                f"there is no module {where} here ({Path.cwd()}). A file is written path/to/bot.py:function."
            )
            raise InputError(msg) from None
        raise _not_importable(where, error) from None
    except (Exception, SystemExit) as error:
        raise _not_importable(where, error) from None


def _not_importable(where: str, error: BaseException) -> InputError:
    return InputError(f"{where} cannot be imported: {_told(error)}")


def _of_file(path: Path) -> ModuleType:
    file = path.resolve()
    if not file.is_file():
        msg = f"{path}: there is no such file here ({Path.cwd()})."
        raise InputError(msg)
    for module in list(sys.modules.values()):
        # A bot that is loaded already is not loaded twice: that can take minutes and gigabytes.
        if getattr(module, "__dict__", {}).get("__file__") == str(file):
            return module
    _search(file.parent)
    spec = importlib.util.spec_from_file_location(f"_user_{file.stem}", file)
    if spec is None or spec.loader is None:
        msg = f"{path}: not a Python file."
        raise InputError(msg)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[spec.name]
        raise
    return module


def _search(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _function(module: ModuleType, where: str, name: str) -> Callable[..., Any]:
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            public = [key for key, each in vars(found).items() if callable(each) and not key.startswith("_")]
            meant = difflib.get_close_matches(part, public, n=1) or public[:10]
            msg = f"{where} has no '{name}'. It has: {', '.join(meant) or 'no functions'}."
            raise InputError(msg)
        found = getattr(found, part)
    if inspect.isclass(found) or not callable(found):
        what = "a class" if inspect.isclass(found) else type(found).__name__
        msg = f"{where}:{name} is {what}, not a function. Wrap it: def answer(question): return ...(question)"
        raise InputError(msg)
    return found  # type: ignore[no-any-return]


def _told(error: BaseException) -> str:
    """One line: where in the user's code, what kind of error, what it says."""
    lines = str(error.msg if isinstance(error, SyntaxError) else error).strip().splitlines() or [""]
    said = f"{type(error).__name__}: {lines[0]}"[:_LONGEST_MESSAGE].rstrip(": ")
    place = _place(error)
    return f"{place}: {said}" if place else said


def _place(error: BaseException) -> str:
    """`bot.py, line 12`: of a syntax error its own place, else the innermost line outside libraries."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{_shown(error.filename)}, line {error.lineno}"
    frames = [each for each in traceback.extract_tb(error.__traceback__) if each.filename != __file__]
    own = [each for each in frames if not each.filename.startswith(_LIBRARIES)]
    if not (own or frames):
        return ""
    frame = (own or frames)[-1]
    return f"{_shown(frame.filename)}, line {frame.lineno}"


def _shown(filename: str) -> str:
    path = Path(filename)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
