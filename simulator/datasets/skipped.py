"""The rows that are left out of an evaluation, and why: counted all, listed as far as anybody reads."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from simulator.files.row import RowFault

# The note of a run that tells of them.
NOTE = "rows_skipped"
# So many are listed in it.
_LISTED = 1000


class SkippedRow(NamedTuple):
    """Where a row stands (`line 5`), the line itself, and what is wrong with it."""

    place: str
    line: int
    why: str

    def __str__(self) -> str:
        return f"{self.place}: {self.why}"


class Skipped:
    """All that are left out of one data set."""

    def __init__(self, rows: int = 0, count: int = 0, listed: tuple[SkippedRow, ...] = ()) -> None:
        """`rows` are all rows of the file, `count` those that are left out."""
        self.rows, self.count, self.listed = rows, count, list(listed)

    def add(self, found: RowFault) -> None:
        """One more."""
        self.count += 1
        if len(self.listed) < _LISTED:
            self.listed.append(SkippedRow(found.row.place, found.row.line, found.what))

    @classmethod
    def of(cls, notes: Mapping[str, Any]) -> "Skipped":
        """As a run has noted it."""
        told = notes.get(NOTE)
        if not isinstance(told, dict):
            return cls()
        return cls(told["rows"], told["count"], tuple(SkippedRow(**each) for each in told["listed"]))

    def as_json(self) -> dict[str, Any]:
        """As it is noted with a run, and shown by `--json`: in the order of the file."""
        listed = sorted(self.listed, key=lambda row: row.line)
        return {"rows": self.rows, "count": self.count, "listed": [row._asdict() for row in listed]}
