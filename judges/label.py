"""Label: whether the label that the bot gave is the row's own."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from judges._label_reading import TEXTS, Label, Reader
from simulator import GradingContext, Score

SCALE = (0, 1)


def label(context: GradingContext, labels: Mapping[str, Sequence[str]]) -> Score:
    """1 when the label read from the answer is the row's, else 0; one that cannot be read is wrong.

    If the endpoint says how likely each label is, the likeliest counts. Rows without a label are skipped.
    """
    expected = context.case.label
    if expected is None:
        return _score(context, state="skipped", reason=_say(context, "no_label"))
    known = {**labels, expected: labels.get(expected, (expected,))}
    read = _likeliest(context, known) or _reader(_frozen(known))(context.turn.answer.text)
    if read is None:
        missing = {"expected": expected, "predicted": None, "not_extracted": "label"}
        reason = _say(context, "not_extracted", expected=expected)
        return _graded(context, right=False, by_rule=True, reason=reason, detail=missing)
    right = read.label == expected
    key = ("right" if right else "wrong") + ("_likelihood" if read.how == "likelihood" else "")
    values = {"predicted": read.label} if right else {"predicted": read.label, "expected": expected}
    detail = {"expected": expected, "predicted": read.label, "read": read.how}
    return _graded(context, right=right, reason=_say(context, key, **values), detail=detail)


def _likeliest(context: GradingContext, labels: Mapping[str, Sequence[str]]) -> Label | None:
    """The label whose text is the likeliest; None without probabilities, or on a tie."""
    logprobs = context.turn.answer.logprobs
    forms = {form: name for name, texts in reversed([*labels.items()]) for form in reversed(texts)}
    found = sorted((value, form) for form, value in logprobs.items() if form in forms)
    if not found or (len(found) > 1 and found[-1][0] == found[-2][0]):
        return None
    return Label(forms[found[-1][1]], "likelihood")


def _frozen(labels: Mapping[str, Sequence[str]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple((name, tuple(texts)) for name, texts in labels.items())


@lru_cache(maxsize=256)
def _reader(labels: tuple[tuple[str, tuple[str, ...]], ...]) -> Reader:
    """One reader for all rows of a data set; rows with choices of their own have more."""
    return Reader(dict(labels))


def _graded(context: GradingContext, *, right: bool, **fields: Any) -> Score:
    return _score(context, state="scored", value=float(right), raw=float(right), **fields)


def _say(context: GradingContext, key: str, **values: str) -> str:
    return TEXTS(context.case.language, key, **values)


def _score(context: GradingContext, **fields: Any) -> Score:
    return Score(
        judge="label", conversation=context.conversation, turn=context.turn.index, scale=(0, 1), **fields
    )
