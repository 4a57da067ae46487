"""Grades and labels side by side: the rows that an analysis measures, with the scorers to beat."""

from collections.abc import Sequence
from typing import NamedTuple

from simulator.core.errors import InputError, UnknownName
from simulator.runner.labelled import (
    Dimension,
    GradedRow,
    LabelFile,
    LabelledAnswer,
    RowGrade,
    context_of,
    grades_of,
)
from simulator.stats import agreement
from simulator.stats.calibration import Figures, LabelledGrade, Yardstick, measure

# Where the rows of several domains stand together, the first of these that tells them apart.
_DOMAINS = ("domain", "subset", "dataset", "topic", "category")


class Counts(NamedTuple):
    """What became of the labelled rows before the judge: n = rows less skipped and failed.

    `unlabelled` rows of the file are none of them. `reason` is the commonest one of what is missing.
    """

    rows: int
    unlabelled: int
    skipped: int
    failed: int
    reason: str = ""


class LabelComparison(NamedTuple):
    """The grades that have a label, their figures, and what became of the other rows."""

    grades: tuple[RowGrade, ...]
    figures: Figures
    counts: Counts
    rubric: str
    own_reference: int


def compare(
    file: LabelFile,
    graded: Sequence[GradedRow],
    label: Dimension,
    *,
    field: str = "",
    by: str | None = None,
    precision: float = 0.9,
    seed: int = 42,
    apart: str = "",
) -> LabelComparison:
    """Measures a judge's grades against one dimension; raises InputError when there is nothing to compare.

    `by` names what tells domains apart, `apart` is the mark between references that stand in one text.
    """
    counts = _counts(file, graded, label)
    grades = [grade for grade in grades_of(graded, field) if label.said(grade.row)]
    if not grades:
        raise InputError(_nothing(file, label, counts))
    domain = domain_of(file, by)
    marked = [_marked(grade, label, domain, apart) for grade in grades]
    yardstick = Yardstick(grades[0].scale, label.levels, label.good_from, precision, seed)
    rubrics = [each.score.rubric for each in graded if each.score.state == "scored" and each.score.rubric]
    return LabelComparison(
        grades=tuple(grades),
        figures=measure(marked, yardstick),
        counts=counts,
        rubric=max(set(rubrics), key=lambda rubric: (rubrics.count(rubric), rubric)) if rubrics else "",
        own_reference=sum(_is_own_reference(grade.row) for grade in grades),
    )


def domain_of(file: LabelFile, by: str | None) -> str:
    """The column or `meta` field that tells domains apart; empty when there is none."""
    known = {key for row in file.rows for key in row.about}
    if by is not None:
        if by not in known:
            raise UnknownName("field for --by", by, known)
        return by
    fitting = (name for name in _DOMAINS if len({row.about.get(name, "") for row in file.rows}) > 1)
    return next(fitting, "")


def _counts(file: LabelFile, graded: Sequence[GradedRow], label: Dimension) -> Counts:
    labelled = [each for each in graded if label.said(each.row)]
    skipped = [each.score for each in labelled if each.score.state == "skipped"]
    failed = [each.score for each in labelled if each.score.state == "failed"]
    reasons = [score.reason for score in (failed or skipped)]
    return Counts(
        rows=len(labelled),
        unlabelled=sum(not label.said(row) for row in file.rows),
        skipped=len(skipped),
        failed=len(failed),
        reason=max(set(reasons), key=lambda text: (reasons.count(text), text)) if reasons else "",
    )


def _nothing(file: LabelFile, label: Dimension, counts: Counts) -> str:
    """Why no row could be compared, in one line."""
    if counts.failed:
        return f"{file.path}: the judge failed on all rows: {counts.reason}"
    contexts = any(row.case.contexts for row in file.rows)
    hint = "" if contexts else " No row has contexts: add a column of what was retrieved."
    return f"{file.path}: the judge skipped all {counts.skipped} rows: {counts.reason}{hint}"


def _marked(grade: RowGrade, label: Dimension, domain: str, apart: str) -> LabelledGrade:
    said = label.said(grade.row)
    assert said is not None  # noqa: S101 - rows without a label were left out
    return LabelledGrade(
        group=grade.row.group,
        grade=grade.value,
        people=said.mean,
        part=grade.row.about.get(domain, "") if domain else "",
        votes=said.votes,
        annotators=said.annotators,
        scorers={**_trivial(grade.row, apart), **grade.row.published},
    )


def _trivial(row: LabelledAnswer, apart: str) -> dict[str, float]:
    """What can be said without judging, as far as the row has something to compare with."""
    case, answer = row.case, row.case.answer or ""
    references = context_of(row, apart).references
    found = {"length": agreement.length(answer)}
    if case.contexts:
        found["token_precision"] = agreement.token_precision(answer, case.contexts, case.language)
    if references:
        found["token_recall"] = agreement.token_recall(answer, references, case.language)
        found["rouge_l"] = agreement.rouge_l(answer, references)
    return found


def _is_own_reference(row: LabelledAnswer) -> bool:
    return any((row.case.answer or "").strip() == text.strip() for text in row.case.references_at(1))
