"""What a workbook that people have edited is found to hold; reading one takes far more than this."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from simulator.reports.layouts import Layout
from simulator.reports.pulled import PulledRow

_DAY = re.compile(r"(\d{4})\s*[-/.年]\s*(\d{1,2})\s*[-/.月]\s*(\d{1,2})\s*日?")


class EditedRow(NamedTuple):
    """A row as it was found; `others` are its cells in the columns that people added."""

    pulled: PulledRow
    others: tuple[str, ...] = ()


class EditedSheet(NamedTuple):
    """A worksheet as it was found: all its titles, which columns are known, and which people added."""

    tab: str
    titles: tuple[str, ...]
    columns: frozenset[str]
    others: tuple[str, ...]
    rows: Sequence[EditedRow]


class Edited(NamedTuple):
    """A workbook as it was found; `notes` say what was skipped, `foreign` is what people added."""

    sheets: Mapping[str, EditedSheet]
    properties: Mapping[str, str]
    foreign: tuple[str, ...]
    notes: tuple[str, ...]


def read_value(column: str, text: str, layout: Layout) -> str:
    """What a cell means: the id of a choice, a day in ISO 8601, or its text."""
    if column in layout.choices:
        return layout.choice(column, text)
    if column in layout.days and (day := _DAY.fullmatch(text.strip())):
        return f"{int(day[1]):04}-{int(day[2]):02}-{int(day[3]):02}"
    return text
