"""Formats of logs: how one program writes conversations, and those that plug-ins have.

Marks are keys that only this program writes; a format without such keys has a test.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

from simulator.core.messages import Message

if TYPE_CHECKING:  # a page of help needs none of it
    from simulator.cases.logs.talks import Part

Record = dict[str, Any]


class Format(NamedTuple):
    """How one program writes conversations.

    `marks` are the keys of its records, with a bar between several sets of which one is enough, or a test.
    `parts` says what records hold. After `gap` seconds of silence another conversation begins. A format that
    is `one_sided` may hold customers only.
    """

    name: Message | str
    marks: str | Callable[[Record], bool]
    parts: "Callable[[Iterator[Record]], Iterator[Part]]"
    gap: float = inf
    one_sided: bool = False

    def matches(self, record: Record) -> bool:
        """Whether a record is of this format."""
        if not isinstance(self.marks, str):
            return self.marks(record)
        return any(set(keys.split()) <= record.keys() for keys in self.marks.split("|"))


def of_each(
    parts: "Callable[[Record, int], Iterator[Part]]",
) -> "Callable[[Iterator[Record]], Iterator[Part]]":
    """Of a format whose records need no others to be understood."""
    return lambda records: chain.from_iterable(
        parts(record, number) for number, record in enumerate(records, 1)
    )


_READERS: list[Callable[[], Sequence[Format]]] = []


def offer_formats(read: Callable[[], Sequence[Format]]) -> None:
    """Makes the formats of plug-ins known; said by whoever starts the program."""
    _READERS[:] = [read]


def further_formats() -> tuple[Format, ...]:
    """The formats of plug-ins, in the order in which a file is held against them."""
    return tuple(format_ for read in _READERS for format_ in read())
