"""What the rows of a data set lack: a label, evidence for a judge; and which rows are skipped for it."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any, Literal, NamedTuple, TypeAlias

from simulator.core.messages import Message, _, listed, ngettext, pgettext, restored, stored
from simulator.core.types import Case
from simulator.data.files import quote
from simulator.data.values import RowFault, field_of

# By label, the texts that may stand for it in an answer, the label itself included.
Labels: TypeAlias = Mapping[str, tuple[str, ...]]


def labels_of(case: Case, labels: Labels) -> Labels:
    """The labels that a row chooses from: its own choices when its label is one of them, else all."""
    if case.label is not None and case.label in case.choices:
        return {choice: labels.get(choice, (choice,)) for choice in case.choices}
    return labels


Need = Literal["references", "label", "choices"]
# Reads which choice is meant; imported where a row has choices.
_CHOICES = "simulator.text.choices"

# What a judge needs of a case.
_COLUMN: Mapping[Need, str] = {"references": "reference", "label": "label", "choices": "choices"}
_NAMES: Mapping[Need, Message] = {
    "references": pgettext("what a row lacks", "reference"),
    "label": pgettext("what a row lacks", "label"),
    "choices": pgettext("what a row lacks", "choices"),
}
_LISTED = 8


def missing_need(case: Case, needs: Sequence[Collection[Need]]) -> Need | None:
    """What a row lacks so that no judge can grade it; `needs` has what each judge needs. None if one can."""
    has = {"references": case.references_at(1), "label": case.label is not None, "choices": case.choices}
    missing = [next((need for need in sorted(judge) if not has[need]), None) for judge in needs]
    return missing[0] if missing and all(missing) else None


def missing_need_message(need: Need, judges: Sequence[str], headers: Iterable[str] = ()) -> Message:
    """The error for what a row lacks; it names the column as the file's headers do."""
    own = next((header for header in headers if field_of(header) == need), None)
    fix = _("fill the column {column}", column=quote(_COLUMN[need] if own is None else own))
    return ngettext(
        "no {need}, which judge {judges} compares with; {fix}.",
        "no {need}, which judges {judges} compare with; {fix}.",
        n=len(judges),
        need=_NAMES[need],
        judges=tuple(judges),
        fix=fix,
    )


def case_label_problem(case: Case, labels: Collection[str] = ()) -> Message | str | None:
    """The error in the label of a case: not one of its own choices, or not in `labels`; None when valid."""
    if case.label is None:
        return None
    if case.choices:
        if import_module(_CHOICES).place_of(case.label, case.choices) is not None:
            return None
        count = len(case.choices)
        return _(
            "the label {label} is none of the {count} choices: {listed}.",
            label=quote(case.label),
            count=count,
            listed=listed([quote(choice) for choice in case.choices], _LISTED),
        )
    if not case.label.strip():
        return _("the label is empty; every row needs one.")
    if labels and case.label not in labels:
        return _(
            "the label {label} is none of: {allowed}.", label=quote(case.label), allowed=", ".join(labels)
        )
    return None


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
