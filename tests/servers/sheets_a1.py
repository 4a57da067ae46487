"""A1 notation and the ranges it stands for."""

import re
from typing import NamedTuple

from gspread.utils import column_letter_to_index

_CELL = r"\$?([A-Za-z]{1,3})?\$?([1-9]\d*)?"
_RANGE = re.compile(rf"{_CELL}(?::{_CELL})?")
Bound = tuple[int | None, int | None]


class Area(NamedTuple):
    """Rows and columns from 0, ends not included; None is as far as the grid goes."""

    top: int = 0
    bottom: int | None = None
    left: int = 0
    right: int | None = None


class Box(NamedTuple):
    """An area with all of its bounds known."""

    top: int
    bottom: int
    left: int
    right: int

    @property
    def cells(self) -> list[tuple[int, int]]:
        """All (row, column) within, row by row."""
        return [
            (row, column) for row in range(self.top, self.bottom) for column in range(self.left, self.right)
        ]


def parse_area(text: str) -> Area:
    """`A1`, `A1:B2`, `A2:Z`; KeyError when it is none of them."""
    found = _RANGE.fullmatch(text)
    if found is None:
        raise KeyError(text)
    first = _bound(found[1], found[2])
    return _between(first, _bound(found[3], found[4]) if ":" in text else first)


def _bound(letters: str | None, digits: str | None) -> Bound:
    return int(digits) - 1 if digits else None, column_letter_to_index(letters) - 1 if letters else None


def _between(first: Bound, last: Bound) -> Area:
    (top, bottom), (left, right) = _ordered(first[0], last[0]), _ordered(first[1], last[1])
    return Area(top, bottom, left, right)


def _ordered(first: int | None, last: int | None) -> tuple[int, int | None]:
    if first is None or last is None:
        return (first if first is not None else last) or 0, None
    return min(first, last), max(first, last) + 1
