"""What has to be in a row so that it can be asked and graded, and what is wrong where it is not."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal

from simulator.core.types import Case
from simulator.datasets.labels import label_problem
from simulator.files.columns import field_of
from simulator.files.quoting import shown
from simulator.text.choices import place_of

Need = Literal["references", "label", "choices"]

_COLUMN: Mapping[Need, str] = {"references": "reference", "label": "label", "choices": "choices"}
_LISTED = 8


def lacking(case: Case, needs: Sequence[Collection[Need]]) -> Need | None:
    """What a row lacks so that not one judge can grade it; `needs` are those of each judge."""
    has = {"references": case.references_at(1), "label": case.label is not None, "choices": case.choices}
    missing = [next((need for need in sorted(each) if not has[need]), None) for each in needs]
    return missing[0] if missing and all(missing) else None


def told_lacking(need: Need, judges: Sequence[str], headers: Iterable[str] = ()) -> str:
    """The sentence about it; of the file's own headers it names the one that is meant."""
    own = next((header for header in headers if field_of(header) == need), None)
    way = f"fill the column '{_COLUMN[need]}'" if own is None else f"fill the column {shown(own)}"
    who = f"judge{'s'[: len(judges) > 1]} {', '.join(judges)} compare{'s'[: len(judges) == 1]} with"
    return f"no {_COLUMN[need]}, which {who}; {way}."


def outside(case: Case, labels: Collection[str]) -> str | None:
    """What is wrong with a label that is none of the row's own choices, or of `labels` if there are any."""
    if case.label is None:
        return None
    if case.choices:
        if place_of(case.label, case.choices) is not None:
            return None
        count = len(case.choices)
        return f"the label {shown(case.label)} is none of the {count} choices: {_listed(case.choices)}."
    return label_problem(case.label, labels)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(shown(name) for name in names[:_LISTED]) + more
