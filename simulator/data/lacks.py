"""What a row of a data set lacks: evidence for a judge, or a label that is one of those there are."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from importlib import import_module

from simulator.core.messages import Message, _, listed, ngettext, pgettext
from simulator.core.types import Case
from simulator.data.cases import Need
from simulator.data.files import quote
from simulator.data.values import field_of

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
