"""A user's own object, from `file.py:name` or `package.module:name`, and where its errors come from."""

import sysconfig
import traceback
from pathlib import Path
from typing import Any

from simulator import BotFailure, InputError, Sentence, _, user_object

_LONGEST_MESSAGE = 200
_LIBRARIES = ("<", *(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")))
_OURS = str(Path(__file__).parent)


def load(target: str) -> Any:
    """What `target` names, looked up from the current folder. Raises InputError when it does not exist."""
    where, _unused, name = target.rpartition(":")
    if not where or not name:
        msg = _("target={target}: write file.py:function or package.module:function.", target=target)
        raise InputError(msg)
    return user_object(target)


def failure_of(error: BaseException) -> BotFailure:
    """The failure for an exception of the user's code, with the line that raised it."""
    if isinstance(error, BotFailure):
        return error
    return BotFailure("timeout" if isinstance(error, TimeoutError) else "error", describe(error))


def describe(error: BaseException) -> Sentence | str:
    """An exception on one line: the place in the user's code, its type and its message.

    The place is that of a syntax error, else the innermost line outside libraries.
    """
    lines = str(error.msg if isinstance(error, SyntaxError) else error).strip().splitlines() or [""]
    message = f"{type(error).__name__}: {lines[0]}"[:_LONGEST_MESSAGE].rstrip(": ")
    if isinstance(error, SyntaxError) and error.filename:
        file, line = error.filename, error.lineno
    else:
        frames = [
            each for each in traceback.extract_tb(error.__traceback__) if not each.filename.startswith(_OURS)
        ]
        own = [each for each in frames if not each.filename.startswith(_LIBRARIES)]
        if not frames:
            return message
        file, line = (own or frames)[-1].filename, (own or frames)[-1].lineno
    path = Path(file)
    shown = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    place = _("{path}, line {line:d}", path=str(shown), line=line)
    return _("{place}: {message}", place=place, message=message)
