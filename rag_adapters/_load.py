"""A user's own object, from `file.py:name` or `package.module:name`, and its errors as the bot's failures."""

from typing import Any

from simulator import BotFailure, InputError, _, describe_error, user_object


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
    return BotFailure("timeout" if isinstance(error, TimeoutError) else "error", describe_error(error))
