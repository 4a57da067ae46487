"""A plugin of mypy: a message in an f-string would show English to everybody."""

from collections.abc import Callable

from mypy.plugin import MethodContext, Plugin
from mypy.types import Instance, Type, UnionType, get_proper_type

MESSAGE = "simulator.core.messages.Message"


class Messages(Plugin):
    """Reports messages that are formatted; mypy reads `f"{x}"` as `"{:{}}".format(x, "")`."""

    def get_method_hook(self, fullname: str) -> Callable[[MethodContext], Type] | None:
        """The check, for `str.format`."""
        return _check if fullname == "builtins.str.format" else None


def _check(context: MethodContext) -> Type:
    for types, arguments in zip(context.arg_types, context.args, strict=True):
        for type_, argument in zip(types, arguments, strict=True):
            if _is_message(type_):
                context.api.fail("A message is no part of an f-string: use it as a value", argument)
    return context.default_return_type


def _is_message(type_: Type) -> bool:
    type_ = get_proper_type(type_)
    if isinstance(type_, UnionType):
        return any(map(_is_message, type_.items))
    return isinstance(type_, Instance) and type_.type.fullname == MESSAGE


def plugin(version: str) -> type[Plugin]:
    """What mypy asks for."""
    return Messages
