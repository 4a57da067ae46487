"""A part of a report that only some runs have: told once, painted alike in every view."""

from dataclasses import dataclass, field
from typing import Any

from simulator.reports.table import Table


@dataclass(frozen=True, slots=True)
class Section:
    """A title, one line that says it all, tables, notes; `figures` is what `--json` shows under `key`.

    In every table the first column names the row, and the one at `counts` holds the figure that counts.
    """

    key: str
    title: str
    line: str
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()
    figures: dict[str, Any] = field(default_factory=dict)
