"""Values in a third of the memory, for those of which a run has ten or a hundred thousand."""

from functools import cache
from typing import Any, TypeVar

from simulator.types import Answer, Case, Conversation, Passage, Score, Turn, Value

Kept = TypeVar("Kept", bound=Value)


def compact(value: Kept, /, **instead: Any) -> Kept:
    """The same value, its fields beside each other instead of in a dict; `instead` replaces some, unchecked.

    A value that was checked carries a dict and the set of the fields that were given: most of its size.
    """
    kind = type(value)
    small = kind.__new__(kind)
    put = object.__setattr__  # one by one in the same order: the interpreter then shares the keys
    for name, held in value.__dict__.items():
        put(small, name, instead.get(name, held))
    put(small, "__pydantic_fields_set__", _all_fields(kind))
    put(small, "__pydantic_extra__", None)
    put(small, "__pydantic_private__", None)
    return small


@cache
def _all_fields(kind: type[Value]) -> set[str]:
    return set(kind.model_fields)


def _with_keys(kind: type[Value]) -> None:
    """Has the interpreter share the names of the fields among all values of a kind.

    It does so only for names that one of the first thirty values put there itself.
    """
    first = kind.__new__(kind)
    for name in kind.model_fields:
        object.__setattr__(first, name, None)


for _kind in (Answer, Case, Conversation, Passage, Score, Turn):
    _with_keys(_kind)
