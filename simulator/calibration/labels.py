"""Files of answers that people have labelled: who said what of which answer, and on which scale."""

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import JsonValue

from simulator.core.errors import CaseFileError
from simulator.core.types import Answer, Case, Failure, GradingContext, Passage, Turn
from simulator.data.cases import read_cases
from simulator.data.files import printable, read_bytes, shown
from simulator.data.tables import read_rows, split_sheet
from simulator.data.values import Row, fault, field_of, has_question, is_empty, is_extra

Vote = float | str
# `labels.faithfulness` is a column of its own in a table.
_PREFIX = re.compile(r"labels?[._]", re.IGNORECASE)
_ENDINGS = re.compile(r"(\.(jsonl|ndjson|json|csv|tsv|tab|txt|yaml|yml|xlsx|xlsm|gz))+$", re.IGNORECASE)


_SENTENCE_ENDS = tuple("。.．！!？?")
# Shares of a file's references.
_MANY, _FEW = 0.3, 0.1


class Labelled(NamedTuple):
    """One answer and what people said of it, by dimension: one vote for each annotator.

    `about` holds what rows may be told apart by (domain, model); `published` are other systems' scores.
    """

    case: Case
    row: Row
    group: str
    labels: Mapping[str, tuple[Vote, ...]]
    scales: Mapping[str, str] = {}
    annotators: Mapping[str, tuple[str, ...]] = {}
    about: Mapping[str, str] = {}
    published: Mapping[str, float] = {}
    context_ids: tuple[str, ...] = ()


class LabelFile(NamedTuple):
    """All rows of a file, the data set's name, and a hash of the bytes."""

    path: Path
    dataset: str
    rows: tuple[Labelled, ...]
    sha256: str

    @property
    def dimensions(self) -> list[str]:
        """What was labelled, in the order of the file."""
        return list(dict.fromkeys(name for row in self.rows for name in row.labels))


def read_labels(path: str | Path) -> LabelFile:
    """The labelled answers of a JSONL, JSON, CSV, TSV, YAML or Excel file (also `.gz`).

    The columns are those of a question file with `answer` and `contexts`, beside them `labels` (an object of
    dimensions; in a table also a column for each) and, if there are any, `scale`, `group`, `dataset`,
    `annotators`, `meta`, `published_scores` and `context_ids`. A broken row is named by its line.
    """
    path = Path(path)
    cases = read_cases(path)
    rows = list(read_rows(path, has_question))
    found = tuple(_labelled(path, case, row) for case, row in zip(cases, rows, strict=True))
    if not any(row.labels for row in found):
        msg = f'{path}: nobody has labelled anything in it; add "labels": {{"NAME": number}} or a column.'
        raise CaseFileError(msg)
    names = {str(row.values["dataset"]) for row in rows if not is_empty(row.values.get("dataset"))}
    file, _ = split_sheet(path)
    dataset = names.pop() if len(names) == 1 else _ENDINGS.sub("", file.name)
    return LabelFile(path, printable(dataset), found, hashlib.sha256(read_bytes(file)).hexdigest())


def mark_between_references(rows: Sequence[Labelled]) -> str:
    """The stroke where a file has its acceptable answers in one text, parted by strokes; else nothing.

    Told by the whole file: many references with a stroke, and hardly any that ends like a sentence.
    """
    texts = [text for row in rows for text in row.case.references_at(1)]
    strokes = sum("/" in text and "://" not in text for text in texts)
    ends = sum(text.rstrip().endswith(_SENTENCE_ENDS) for text in texts)
    return "/" if strokes > _MANY * len(texts) and ends < _FEW * len(texts) else ""


def exhibit_of(row: Labelled, apart: str = "") -> GradingContext:
    """The labelled answer as a judge of a run would see it: turn 1, with its passages and history.

    `apart` is a mark that stands between acceptable answers which the file has in one text.
    """
    case = row.case
    if apart:
        split = (part.strip() for text in case.references_at(1) for part in text.split(apart))
        case = case.model_copy(update={"references": (tuple(filter(None, split)),)})
    text = case.answer or ""
    answer = Answer(
        text=text,
        passages=_passages(case, row.context_ids),
        shows_passages=bool(case.contexts),
        error=None if text.strip() else Failure(kind="empty", message="the answer is empty"),
    )
    turn = Turn(index=1, user=case.question, answer=answer)
    return GradingContext(conversation=f"calibration/{case.id}", case=case, persona="", turn=turn)


def _passages(case: Case, ids: tuple[str, ...]) -> tuple[Passage, ...]:
    if len(ids) != len(case.contexts):
        ids = tuple(str(number) for number in range(1, len(case.contexts) + 1))
    return tuple(Passage(id=id_, text=text) for id_, text in zip(ids, case.contexts, strict=True))


def _labelled(path: Path, case: Case, row: Row) -> Labelled:
    if case.answer is None and "answer" not in map(field_of, row.values):
        raise fault(path, row, "no answer to grade; name a column 'answer'.")
    group = row.values.get("group")
    return Labelled(
        case=case,
        row=row,
        group=case.id if is_empty(group) else str(group),
        labels=_labels(path, row),
        scales={key: str(text) for key, text in _object(row, "scale").items()},
        annotators={
            key: tuple(map(str, names))
            for key, names in _object(row, "annotators").items()
            if isinstance(names, list)
        },
        about=_about(row),
        published=dict(_numbers(_object(row, "published_scores"))),
        context_ids=_ids(row.values.get("context_ids")),
    )


def _object(row: Row, column: str) -> Mapping[str, JsonValue]:
    """An object, or one that is written inside a cell; a text stands for all dimensions."""
    value = row.values.get(column)
    if isinstance(value, str) and row.cells and value.lstrip().startswith("{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    if isinstance(value, str) and column == "scale" and value.strip():
        return {"": value}
    return value if isinstance(value, dict) else {}


def _labels(path: Path, row: Row) -> dict[str, tuple[Vote, ...]]:
    given = dict(_object(row, "labels"))
    for column, value in row.values.items():
        if _PREFIX.match(column) and field_of(column) is None and not is_extra(column):
            given[_PREFIX.sub("", column, count=1)] = value
        elif row.cells and field_of(column) is None and not is_extra(column):
            given.setdefault(column, value)
    found: dict[str, tuple[Vote, ...]] = {}
    for name, value in given.items():
        if not isinstance(value, dict) and (votes := _votes(path, row, name, value)):
            found[name] = votes
    return found


def _votes(path: Path, row: Row, name: str, value: JsonValue) -> tuple[Vote, ...]:
    """One vote for each annotator; in a table `|` stands between them."""
    if isinstance(value, str) and row.cells:
        inside = value.strip()
        if inside.startswith("["):
            try:
                value = json.loads(inside)
            except (ValueError, RecursionError):
                what = f"column {shown(name)}: {shown(inside)} is no list; write 4|3|4."
                raise fault(path, row, what) from None
        elif "|" in inside:
            value = list(inside.split("|"))
    items = value if isinstance(value, list) else [value]
    return tuple(_vote(path, row, name, item) for item in items if not is_empty(item))


def _vote(path: Path, row: Row, name: str, value: JsonValue) -> Vote:
    if isinstance(value, (list, dict)):
        raise fault(path, row, f"label {shown(name)}: {shown(value)} is neither a number nor a text.")
    if isinstance(value, str):
        try:
            number = float(value)
        except ValueError:
            return value.strip()
    else:
        number = float(value or 0)
    if not math.isfinite(number):
        raise fault(path, row, f"label {shown(name)}: {shown(value)} is no number.")
    return number


def _about(row: Row) -> dict[str, str]:
    """What the row is of: its `meta`, and its other plain columns."""
    plain = {key: value for key, value in row.values.items() if isinstance(value, (str, int, float))}
    meta = dict(_object(row, "meta"))
    about = {**{key: value for key, value in plain.items() if not _is_text(key)}, **meta}
    return {key: _joined(value) for key, value in about.items() if not is_empty(value)}


def _is_text(column: str) -> bool:
    """Whether a column is different in every row, so that nothing can be grouped by it."""
    return field_of(column) not in {None, "language", "tags", "label"}


def _joined(value: JsonValue) -> str:
    return printable(", ".join(map(str, value)) if isinstance(value, list) else str(value))


def _numbers(given: Mapping[str, JsonValue]) -> Iterable[tuple[str, float]]:
    for name, value in given.items():
        if isinstance(value, (int, float)) and math.isfinite(value):
            yield printable(name), float(value)


def _ids(value: JsonValue) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()
