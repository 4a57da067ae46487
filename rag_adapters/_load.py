"""A user's own object, from `file.py:name` or `package.module:name`, and where its errors come from."""

import difflib
import importlib
import inspect
import sysconfig
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from simulator import InputError, RagFailure, module_of_file, search_first

_LONGEST_MESSAGE = 200
_LIBRARIES = ("<", *(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")))
_OURS = str(Path(__file__).parent)


def load(target: str) -> Any:
    """What `target` names, looked up where the user stands; raises InputError when there is no such thing."""
    where, _, name = target.rpartition(":")
    if not where or not name:
        msg = f"target={target}: write file.py:function or package.module:function."
        raise InputError(msg)
    found: Any = _module(where)
    for part in name.split("."):
        if not hasattr(found, part):
            public = _names_of_bots(vars(found))
            meant = difflib.get_close_matches(part, public, n=1) or public[:10]
            msg = f"{where} has no '{name}'. It has: {', '.join(meant) or 'no functions'}."
            raise InputError(msg)
        found = getattr(found, part)
    return found


def _names_of_bots(there: Mapping[str, Any]) -> list[str]:
    """What could be a bot: functions and runnables before classes, which are mostly imported ones."""
    bots = [
        name
        for name, each in there.items()
        if not name.startswith("_") and (callable(each) or hasattr(each, "ainvoke"))
    ]
    return sorted(bots, key=lambda name: inspect.isclass(there[name]))


def failure_of(error: BaseException) -> RagFailure:
    """What the user's code raised, with the line of it that it came from."""
    if isinstance(error, RagFailure):
        return error
    return RagFailure("timeout" if isinstance(error, TimeoutError) else "error", told(error))


def told(error: BaseException) -> str:
    """One line: where in the user's code, what kind of error, what it says."""
    lines = str(error.msg if isinstance(error, SyntaxError) else error).strip().splitlines() or [""]
    said = f"{type(error).__name__}: {lines[0]}"[:_LONGEST_MESSAGE].rstrip(": ")
    place = _place(error)
    return f"{place}: {said}" if place else said


def _module(where: str) -> ModuleType:
    """The module of a file or of a dotted name; the folder where the user stands is searched first."""
    search_first(Path.cwd())
    try:
        is_file = where.endswith(".py") or "/" in where or "\\" in where
        return module_of_file(Path(where)) if is_file else importlib.import_module(where)
    except InputError:
        raise
    except ModuleNotFoundError as error:
        if error.name and f"{where}.".startswith(f"{error.name}."):
            here = Path.cwd()
            msg = f"there is no module {where} here ({here}). A file is written path/to/bot.py:function."
            raise InputError(msg) from None
        raise _not_importable(where, error) from None
    except (Exception, SystemExit) as error:
        raise _not_importable(where, error) from None


def _not_importable(where: str, error: BaseException) -> InputError:
    return InputError(f"{where} cannot be imported: {told(error)}")


def _place(error: BaseException) -> str:
    """`bot.py, line 12`: of a syntax error its own place, else the innermost line outside libraries."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{_shown(error.filename)}, line {error.lineno}"
    frames = [each for each in traceback.extract_tb(error.__traceback__) if not _is_ours(each.filename)]
    own = [each for each in frames if not each.filename.startswith(_LIBRARIES)]
    if not (own or frames):
        return ""
    frame = (own or frames)[-1]
    return f"{_shown(frame.filename)}, line {frame.lineno}"


def _is_ours(filename: str) -> bool:
    return filename.startswith(_OURS)


def _shown(filename: str) -> str:
    path = Path(filename)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
