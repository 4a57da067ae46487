"""What plug-ins may add to the reading of files: formats of logs, and rows with columns of choices.

A format is how one program writes conversations. Its marks are keys that only this program writes; a format
without such keys has a test.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from simulator.core.messages import Message

if TYPE_CHECKING:  # a page of help needs none of it
    from pydantic import JsonValue

    from simulator.cases.logs.talks import Part
    from simulator.cases.row import Row

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


class ChoiceRows(NamedTuple):
    """How rows of multiple-choice questions are read.

    `row` puts the choices of a row into one list, and the right one into its label; it raises RowFault.
    `unnamed` makes the names of a table without any, and the values that all its rows have, of its path and
    its first row; no names where it is none of these.
    """

    row: "Callable[[Path, Row], Row]"
    unnamed: "Callable[[Path, Sequence[str]], tuple[list[str], dict[str, JsonValue]]]"


_CHOICE_ROWS: list[Callable[[], ChoiceRows | None]] = []


def offer_choice_rows(read: Callable[[], ChoiceRows | None]) -> None:
    """Makes known what reads multiple-choice questions; said by whoever starts the program."""
    _CHOICE_ROWS[:] = [read]


def choice_rows() -> ChoiceRows | None:
    """What reads multiple-choice questions; None where no plug-in does."""
    return next((reader for read in _CHOICE_ROWS if (reader := read())), None)
