"""The labels of a row, and the rows that are skipped. What a row lacks: data/lacks.py."""

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

from simulator.core.messages import Message, _, restored, stored
from simulator.core.types import Case
from simulator.data.values import RowFault

# By label, the texts that may stand for it in an answer, the label itself included.
Labels: TypeAlias = Mapping[str, tuple[str, ...]]
# What a judge needs of a row.
Need = Literal["references", "label", "choices"]


def labels_of(case: Case, labels: Labels) -> Labels:
    """The labels that a row chooses from: its own choices when its label is one of them, else all."""
    if case.label is not None and case.label in case.choices:
        return {choice: labels.get(choice, (choice,)) for choice in case.choices}
    return labels


# How many skipped rows the note of a run lists.
_MAX_LISTED_ROWS = 1000


class SkippedRow(NamedTuple):
    """A skipped row: its place for people (`line 5`), its line, and what is wrong with it."""

    place: Message | str
    line: int
    why: Message | str

    def __str__(self) -> str:
        return str(self.message)

    @property
    def message(self) -> Message:
        """Both in one line."""
        return _("{place}: {why}", place=self.place, why=self.why)


class SkippedRows:
    """The skipped rows of a data set, of which the first are listed."""

    def __init__(self, rows: int = 0, count: int = 0, listed: tuple[SkippedRow, ...] = ()) -> None:
        """`rows` counts all rows of the file, `count` the skipped ones."""
        self.rows, self.count, self.listed = rows, count, list(listed)

    def add(self, fault: RowFault) -> None:
        """Counts a skipped row."""
        self.count += 1
        if len(self.listed) < _MAX_LISTED_ROWS:
            self.listed.append(SkippedRow(fault.row.place, fault.row.line, fault.what))

    @classmethod
    def of(cls, notes: Mapping[str, Any]) -> "SkippedRows":
        """The skipped rows in the notes of a run."""
        note = notes.get("rows_skipped")
        if not isinstance(note, dict):
            return cls()
        listed = (
            SkippedRow(restored(row["place"]), row["line"], restored(row["why"])) for row in note["listed"]
        )
        return cls(note["rows"], note["count"], tuple(listed))

    def as_json(self) -> dict[str, Any]:
        """The output of `--json`; rows are in the order of the file."""
        return self._as_dict(str)

    def as_note(self) -> dict[str, Any]:
        """The note of a run, from which `of` reads it."""
        return self._as_dict(stored)

    def _as_dict(self, text: Callable[[Message | str], Any]) -> dict[str, Any]:
        listed = [
            {"place": text(row.place), "line": row.line, "why": text(row.why)}
            for row in sorted(self.listed, key=lambda row: row.line)
        ]
        return {"rows": self.rows, "count": self.count, "listed": listed}
