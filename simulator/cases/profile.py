"""What rows have (labels, choices, forms of references) and lack, and the judges that fit a data set.

A row lacks evidence for a judge, or a label that is one of those there are.

    富士山, 4180 yen        -> phrase     exact_match decides
    It costs 5 yen.         -> sentence   a model's similarity, offline rouge_l

`evaluate` without --judges takes those for what most rows have; `doctor CASES` prints them with the reason.
docs/lab/thresholds.md says why each of them fits.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from simulator.cases.headings import field_of
from simulator.core.messages import Message, _, listed, ngettext, pgettext, quote
from simulator.core.types import Case
from simulator.text.choices import place_of
from simulator.text.normalise import plain_form
from simulator.text.typography import KANA_OR_KANJI

# What a judge needs of a row.
Need = Literal["references", "label", "choices"]


def labels_in(cases: Iterable[Case]) -> tuple[str, ...]:
    """The labels of these cases: numbers by size, others in the order of their first row."""
    return sort_labels(case.label for case in cases if case.label)


def sort_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """Each label once: numbers by size, others in their order."""
    unique = dict.fromkeys(labels)
    if unique and all(label.removeprefix("-").isdecimal() for label in unique):
        return tuple(sorted(unique, key=float))
    return tuple(unique)


def label_forms(
    labels: Iterable[str], wordings: Iterable[Mapping[str, str]] = ()
) -> dict[str, tuple[str, ...]]:
    """By label the texts that stand for it; `wordings` are those of a prompt, one mapping per language.

    The labels that a prompt names come first, in its order: {"1": ("wrong", "悪い", "1")} for a prompt that
    calls the label 1 "wrong" in English and 悪い in Japanese.
    """
    by_language = list(wordings)
    every = dict.fromkeys([*(label for wording in by_language for label in wording), *labels])
    return {
        label: tuple(dict.fromkeys([*(wording[label] for wording in by_language if label in wording), label]))
        for label in every
    }


def label_set_problem(labels: Collection[str]) -> Message | None:
    """The error in a set of labels: there is only one, or two are read alike. None when it is valid."""
    if len(labels) == 1:
        return _(
            "every row has the label {labels}: there is nothing to tell apart.",
            labels=quote(next(iter(labels))),
        )
    forms: dict[str, str] = {}
    for label in labels:
        other = forms.setdefault(plain_form(label), label)
        if other != label:
            return _(
                "the labels {other} and {label} differ in nothing that an answer shows.",
                other=quote(other),
                label=quote(label),
            )
    return None


Form = Literal["phrase", "sentence"]

# The longest phrase: characters in Japanese, words in English.
_MAX_PHRASE = {True: 12, False: 4}

# A short Japanese sentence without its full stop: something, a particle, and a predicate at the end.
_PREDICATE = re.compile(r"[^\s]+[がをはにでもへ].*(?:[るたすいだうくむぶぬつぐ]|ません|です|ます)")
_ENDS = re.compile(r"[。．.!?！？]\s*$")


def answer_form(text: str) -> Form:
    """The form of a right answer: number or short phrase, else sentences."""
    text = text.strip()
    japanese = bool(KANA_OR_KANJI.search(text))
    length = len(text) if japanese else len(text.split())
    if length <= _MAX_PHRASE[japanese] and not (_ENDS.search(text) or _PREDICATE.fullmatch(text)):
        return "phrase"
    return "sentence"


_EXACT, _READ = ("exact_match", "contains"), ("llm_similarity", "llm_correctness", "rouge_l")
# By what most rows have: how messages call it (but for the first three, a form of references), and the judges
# of a run that names none, the first of which decides. Why each of them fits: docs/lab/thresholds.md.
_CHOSEN: Mapping[str, tuple[Message, tuple[str, ...]]] = {
    "choice": (_("choices with a label"), ("choice",)),
    "label": (_("a label"), ("label",)),
    "none": (_("no references"), ("turn", "relevance", "groundedness", "fluency")),
    "phrase": (_("references: phrase"), _EXACT),
    "sentence": (_("references: sentence"), _READ),
}


class JudgeChoice(NamedTuple):
    """The judges for a data set, and why they were chosen."""

    judges: tuple[str, ...]
    why: Message | str


class Profile:
    """Counts of what the rows of a data set have; `names` are the labels of rows without choices."""

    def __init__(self) -> None:
        self.rows = self.labels = self.choices = self.references = 0
        self.forms: Counter[Form] = Counter()
        self.names: dict[str, None] = {}

    def add(self, case: Case) -> None:
        """Counts a row."""
        self.rows += 1
        if case.label is not None:
            self.labels += 1
            self.choices += bool(case.choices)
            if not case.choices:
                self.names[case.label] = None
        if case.references_at(1):
            self.references += 1
            self.forms[answer_form(case.references_at(1)[0])] += 1

    @property
    def form(self) -> str:
        """What most rows have: `choice`, `label`, the form of their references, or `none` of these."""
        # More than half, so that a few rows of another kind do not turn the choice.
        if 2 * self.choices > self.rows:
            return "choice"
        if 2 * self.labels > self.rows:
            return "label"
        if 2 * self.references <= self.rows:
            return "none"
        return "phrase" if self.forms["phrase"] > self.forms["sentence"] else "sentence"

    def judges(self, *, offline: bool = False) -> JudgeChoice:
        """The default judges for the form of most rows; `offline`: for a run in which no model judges."""
        reason, judges = _CHOSEN[self.form]
        if offline and judges == _READ:
            reason = _("{form}; no model to judge, so what compares words comes first", form=reason)
            judges = ("rouge_l", "llm_similarity", "llm_correctness")
        return JudgeChoice(judges, reason)


# The column of what a judge needs, and what messages call it.
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
    header_there = next((header for header in headers if field_of(header) == need), None)
    fix = _("fill the column {column}", column=quote(_COLUMN[need] if header_there is None else header_there))
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
        if place_of(case.label, case.choices) is not None:
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
