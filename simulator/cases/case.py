"""From a row to its case: which columns fill which field, each cell read once."""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from simulator.cases.dialogues import columns_of_turns, is_dialogue, lines_of
from simulator.cases.fields import READERS, FileCell, decoded, read_cell, speaker, text
from simulator.cases.formats import choice_rows
from simulator.cases.headings import (
    COLUMNS,
    MESSAGE_HEADINGS,
    OF_LABELLED,
    columns_option,
    field_of,
    has_choices,
    has_question,
    is_empty,
    is_missing,
    normalised,
    takes_columns,
)
from simulator.cases.logs.values import asked_in
from simulator.cases.row import LeftOut, Row, RowFault
from simulator.core.errors import CaseFileError
from simulator.core.messages import Message, _, both, quote, sentences
from simulator.core.types import Answer, Case, ChatMessage, Language
from simulator.text.typography import language_of

# The question of a case from a data set of graded answers without questions.
NO_QUESTION = "-"
# What --columns has to say of a log with one message a row.
_OF_MESSAGES = ("id", "role", "text", "user", "agent")
# Names for a column of questions that an error lists.
_LISTED = 6
# A name of a column that is a question itself, in a table without names.
_ASKS = re.compile(r"[?？。]\s*$")
# A name of a column of ids, which are no questions.
_IS_ID = re.compile(r"(?:^|_| )(?:id|idx|index)$", re.IGNORECASE)
# The fields that a row prepared for later questions may have; with any other one its question was forgotten.
_OF_PREPARED_ROWS = frozenset({"id", "language", "tags", "answerable", "handover", "error"})


def case_of(
    path: Path,
    row: Row,
    number: str,
    *,
    language: Language | None = None,
    asks: bool = True,
    values: bool = False,
) -> Case:
    """The case of one row; `number` is the id of a row without one. Raises RowFault.

    `asks` is False where a prompt makes the question of a row, so that a row may do without one; with
    `values` the columns that fill no field are kept as text.

    Columns of choices become one list first, with the right one as label; a column of turns becomes columns
    of its dialogue. An error in the log replaces the recorded answer to turn 1. The language is that of the
    row, `language`, or that of the question's script.
    """
    # Before the cells are read: of A, B, C and Answer, `answer` is the right choice, not what a bot said.
    if has_choices(tuple(row.values)) and (reader := choice_rows()):
        row = reader.row(path, row)
    others = _values(row) if values else {}
    can_ask = not asks and any(others.values())
    columns = row.columns
    if (with_dialogue := _with_dialogue(path, row, columns)) is not row:
        row, columns = with_dialogue, with_dialogue.columns
    if "question" not in columns and not can_ask:
        _check_question(path, row, columns)
    if row.cells and {"answer", "recorded"}.isdisjoint(map(field_of, row.values)):
        columns.pop("error", None)  # in a table without answers, `error` means something else
    fields: dict[str, Any] = {
        name: read_cell(path, row, FileCell(column, row.values[column], row.cells), READERS[name])
        for name, column in columns.items()
    }
    if "question" not in fields:
        fields["question"], fields["history"] = split_question(fields.get("history", ()))
        if not asks and fields["question"] == NO_QUESTION:
            # The only value of the row, or all of them with their names.
            filled = {column: value for column, value in others.items() if value}
            named = [f"{column}: {value}" for column, value in filled.items()]
            fields["question"] = "\n".join(named if len(named) > 1 else filled.values()) or NO_QUESTION
    # A log with both an error and a text has a failure: what the customer saw first is unknown.
    if failure := fields.pop("error", None):
        fields["recorded"] = (Answer(text="", error=failure), *fields.get("recorded", ())[1:])
    if others:
        fields["values"] = others
    fields.setdefault("id", number)
    fields.setdefault("language", language or _language(fields))
    return Case(**fields)


def _with_dialogue(path: Path, row: Row, columns: dict[str, str]) -> Row:
    """The row with the columns of its dialogue in place of its turns; what it says of itself goes first.

    `columns` are those of the row, by field.
    """
    if "turns" not in columns:
        return _with_question(row, columns.get("question", ""))
    turns = FileCell(columns["turns"], row.values[columns["turns"]], row.cells)
    others = {column: value for column, value in row.values.items() if field_of(column) != "turns"}
    question = ""
    if "question" in columns:
        # A column of that name may hold something else, where there is a question.
        if not is_dialogue(turns):
            return row._replace(values=others)
        column = columns.pop("question")
        question = read_cell(path, row, FileCell(column, others.pop(column), row.cells), text)
    has_answer = not {"answer", "recorded"}.isdisjoint(columns)
    reader = partial(columns_of_turns, question=question, has_answer=has_answer)
    said = read_cell(path, row, turns, reader)
    return row._replace(values={name: said[name] for name in said if name not in columns} | others)


def _with_question(row: Row, column: str) -> Row:
    """The row with the question of an object, or of messages, in its place; earlier ones are history."""
    value = decoded(row.values.get(column)) if row.cells else row.values.get(column)
    earlier, question = asked_in(value) if isinstance(value, (dict, list)) else ([], "")
    if not question:
        return row
    said: dict[str, JsonValue] = {}
    if earlier:
        said["history"] = [{"role": speaker(line.role), "content": line.text} for line in earlier]
    if (lines := lines_of(value)) and lines[-1].role != "user":
        said["answer"] = lines[-1].text
    return row._replace(values=said | row.values | {column: question})


def _check_question(path: Path, row: Row, names: Collection[str]) -> None:
    """Raises RowFault for a row without a question that should have one; `names` are the fields it has."""
    questions = [column for column in row.values if has_question([column])]
    # A recorded answer whose data set says `"question": null`; in a table that is a forgotten question.
    is_null = any(is_missing("question", row.values[name], in_table=False) for name in questions)
    if "answer" in names and not row.cells and is_null:
        return
    if questions and set(names) <= _OF_PREPARED_ROWS:
        raise LeftOut(path, row, "prepared")
    raise _no_question(path, row, questions)


def _values(row: Row) -> dict[str, str]:
    """The columns that fill no field, as text (lists and objects as JSON).

    In a case that this program wrote, they are in `values`.
    """
    used = {column for name, column in row.columns.items() if name != "error"}
    others: dict[str, str] = {}
    for column, value in row.values.items():
        if column == "values" and isinstance(value, dict):
            others |= {key: _text(item) for key, item in value.items()}
        elif column not in used and not (
            (field_of(column) or column in Case.model_fields) and is_empty(value)
        ):
            others[column] = _text(value)
    return others


def _text(value: JsonValue) -> str:
    if isinstance(value, str):
        return value.strip()
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _language(fields: Mapping[str, Any]) -> Language:
    """The language of the question, or of the answer in a data set without questions."""
    question = str(fields["question"])
    return language_of(question if question != NO_QUESTION else str(fields.get("answer", "")))


def _no_question(path: Path, row: Row, questions: Sequence[str]) -> CaseFileError:
    if questions:
        what = _("column {questions} is empty; every row needs a question.", questions=quote(questions[0]))
        return RowFault(path, row, what)
    columns = list(row.values)
    every = [name for name in COLUMNS["question"] if name not in OF_LABELLED]
    what = _(
        "no question column. Found: {columns}. Rename one of them to one of: {names}.",
        columns=tuple(map(quote, columns[:20])),
        names=both(", ".join([*filter(str.isascii, every)][:_LISTED]), ", ".join(every[:_LISTED])),
    )
    line = row.line if row.heading is None else row.heading
    return RowFault(path, row._replace(line=line), sentences(what, *_advice(row)))


def _advice(row: Row) -> Iterator[Message]:
    """What else may be wrong with a file without a column of questions."""
    others = (name for name in row.values if not field_of(name) or normalised(name) in OF_LABELLED)
    texts = [name for name in others if isinstance(row.values[name], str) and not _IS_ID.search(name)]
    if row.cells and (len(row.values) == 1 or any(map(_ASKS.search, row.values))):
        yield _("The first row has to name the columns; in a CSV, put commas between them.")
    elif not row.cells and not texts:  # a list or an object is no question
        yield _('Write a list of rows: [{{"question": "..."}}].')
    elif takes_columns():
        yield _("Or write {option}.", option=columns_option({"question": next(iter(texts), "...")}))
        if MESSAGE_HEADINGS.columns_of(row.values):
            names = ("case", "who", "what", "Customer", "*"), ("案件", "話した人", "内容", "お客様", "*")
            options = (columns_option(dict(zip(_OF_MESSAGES, columns, strict=True))) for columns in names)
            yield _("Of a log with one message a row, write {option}.", option=both(*options))


def record_of(case: Case, names: Iterable[str]) -> dict[str, Any]:
    """Those of these fields of a case that differ from their defaults, and its language."""
    fields = case.model_dump(mode="json", exclude_defaults=True)
    if "facts" in fields:
        fields["facts"] = {key: value for key, value in fields["facts"].items() if value}
    return {name: fields[name] for name in names if name in fields}


def split_question(history: Sequence[ChatMessage]) -> tuple[str, tuple[ChatMessage, ...]]:
    """The question and the history before it, from a dialogue whose next answer was graded.

    The question is the customer's last line; when the dialogue does not end with one, it is `-`. Data sets of
    graded answers have `"question": null` and a history.
    """
    if history and history[-1].role == "user" and history[-1].content.strip():
        return history[-1].content.strip(), tuple(history[:-1])
    return NO_QUESTION, tuple(history)
