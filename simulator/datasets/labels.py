"""The labels of a data set: which there are, what stands for each in an answer, what is wrong with some."""

from collections.abc import Collection, Iterable, Mapping
from typing import TypeAlias

from simulator.core.types import Case
from simulator.files.quoting import shown
from simulator.text.normalise import plain_form

# For each label, in order, the texts that may stand for it in an answer; the label itself is one of them.
Labels: TypeAlias = Mapping[str, tuple[str, ...]]


def labels_in(cases: Iterable[Case]) -> tuple[str, ...]:
    """The labels that occur, numbers by size and all others as the data set has them first."""
    return in_order(case.label for case in cases if case.label)


def in_order(labels: Iterable[str]) -> tuple[str, ...]:
    """Each label once, numbers by size and all others as they come."""
    found = dict.fromkeys(labels)
    return tuple(sorted(found, key=float)) if found and all(map(_is_number, found)) else tuple(found)


def label_forms(labels: Iterable[str], said: Iterable[Mapping[str, str]] = ()) -> dict[str, tuple[str, ...]]:
    """Each label with what stands for it; `said` is what a prompt says for labels, language by language.

    The labels that a prompt names come first, in its order: they are the whole set.
    """
    named = list(said)
    whole = dict.fromkeys([*(label for each in named for label in each), *labels])
    return {
        label: tuple(dict.fromkeys([*(each[label] for each in named if label in each), label]))
        for label in whole
    }


def labels_of(case: Case, labels: Labels) -> Labels:
    """The labels that a row chooses among: its own choices when its label is one of them, else all."""
    if case.label is not None and case.label in case.choices:
        return {choice: labels.get(choice, (choice,)) for choice in case.choices}
    return labels


def label_problem(label: str | None, allowed: Collection[str]) -> str | None:
    """What is wrong with the label of one row, in words that follow its file and line; None if nothing is.

    `allowed` is the whole set where it is known; an empty one allows every label.
    """
    if label is None or not label.strip():
        return "the label is empty; every row needs one."
    if allowed and label not in allowed:
        return f"the label {shown(label)} is none of: {', '.join(allowed)}."
    return None


def label_set_problem(labels: Collection[str]) -> str | None:
    """What is wrong with all labels together: only one, or two that are read as one and the same."""
    if len(labels) == 1:
        return f"every row has the label {shown(next(iter(labels)))}: there is nothing to tell apart."
    forms: dict[str, str] = {}
    for label in labels:
        other = forms.setdefault(plain_form(label), label)
        if other != label:
            return f"the labels {shown(other)} and {shown(label)} differ in nothing that an answer shows."
    return None


def _is_number(label: str) -> bool:
    return label.removeprefix("-").isdecimal()
