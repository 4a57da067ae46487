"""Rows of multiple-choice questions: their choices, and the right one as their label.

Imported where a file has such rows.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from simulator.cases.values import (
    CHOICE_PREFIXES,
    MIN_CHOICES,
    FileCell,
    Row,
    RowFault,
    answer,
    choice_columns,
    columns_by_field,
    field_of,
    has_question,
    is_empty,
    normalised,
    read_cell,
    text,
)
from simulator.core.messages import _, quote
from simulator.text.choices import LETTERS, letters, place_of, place_of_text

# A table without column names may have at most this many choices.
_MAX_UNNAMED = 10
# How the files of MMLU and JMMLU end, behind their subject.
_SPLITS = ("_test", "_dev", "_val", "_train")
# The fields that may name the right choice, in this order.
_RIGHT_CHOICE_FIELDS = ("label", "references", "answer")


def collect_choices(path: Path, row: Row) -> Row:
    """The row with its columns of choices as one list, and the right choice as its label.

        A red, B blue, C sea, Answer C   -> choices (red, blue, sea), label sea

    A row without such columns is returned as it is, and so is one with two columns A and B and no right one:
    they may be the answers of two bots. Raises RowFault for a right answer that is not a choice.
    """
    columns = choice_columns(tuple(row.values))
    if not columns or not has_question(row.values):
        return row
    texts = [
        read_cell(path, row, FileCell(column, row.values[column], row.cells), text) for column in columns
    ]
    while texts and not texts[-1]:  # the last columns may be empty: questions differ in their number
        texts.pop()
    if len(texts) < MIN_CHOICES or not all(texts):
        empty = quote(columns[texts.index("") if "" in texts else len(texts)])
        what = _("column {name} is empty; a question needs at least two choices, without gaps.", name=empty)
        raise RowFault(path, row, what)
    fields = columns_by_field(row.values)
    right = next((fields[field] for field in _RIGHT_CHOICE_FIELDS if field in fields), None)
    place = None
    if right is not None:
        cell = FileCell(right, row.values[right], row.cells)
        place = _right_choice(path, row, cell, texts, [normalised(name) for name in columns[: len(texts)]])
    if place is None:
        # Without a right one, columns a, b and c may be anything, and A and B the answers of two bots.
        if normalised(columns[0]) == "a" and not (
            columns[0].strip().isupper() and len(columns) > MIN_CHOICES
        ):
            return row
        if right is not None:
            what = _(
                "column {column}: {value} is none of the choices;"
                " write {first} to {last}, or the choice's own text.",
                column=quote(right),
                value=quote(row.values[right]),
                first=LETTERS[0],
                last=LETTERS[len(texts) - 1],
            )
            raise RowFault(path, row, what)
    others = {key: value for key, value in row.values.items() if key not in (*columns, right)}
    label: dict[str, JsonValue] = {} if place is None else {"label": texts[place]}
    return row._replace(values={**others, "choices": list(texts), **label})


def _right_choice(
    path: Path, row: Row, cell: FileCell, choices: Sequence[str], names: Sequence[str] = ()
) -> int | None:
    """The index of the choice that a value means, or None: by number from 0, by letter or by text.

    Under columns of choices (`names`) the name of a column goes before everything else. Raises RowFault for
    a number that is also the text of another choice, and in a list of choices for one that is too large.
    """
    # A number in JSON counts from 0, as in the data sets of Hugging Face; bool is no number here.
    if type(cell.value) is int:
        if 0 <= cell.value < len(choices):
            return cell.value
        if names:
            return None
        what = _(
            "column {column}: there is no choice {cell}; the first is 0.",
            column=quote(cell.column),
            cell=cell.value,
        )
        raise RowFault(path, row, what)
    value = read_cell(path, row, cell, answer)
    # Under columns A, B, C, a value "(b)" or "Ｂ" names the column.
    mark = normalised(value.strip("()[]（）「」 .")) if names else value
    spellings = {mark, *(prefix + mark for prefix in CHOICE_PREFIXES)} if mark else set()
    marked = next((at for at, name in enumerate(names) if name in spellings), None)
    if marked is None and mark.isascii() and mark.isdecimal() and int(mark) < len(choices):
        marked = int(mark)
    if marked is None:
        return place_of(value, choices)
    by_text = place_of_text(value, choices)
    # Of the choices 8, 2, 24, "2" may be a place or a text, and nobody can know.
    if by_text not in (None, marked) and not value.isalpha():
        what = _(
            "{value} may be choice {one} or the text of {other}",
            value=quote(value),
            one=LETTERS[marked],
            other=LETTERS[by_text or 0],
        )
        what = _("column {column}: {what}; write the letter.", column=quote(cell.column), what=what)
        raise RowFault(path, row, what)
    return marked


def set_choice_label(path: Path, row: Row, fields: dict[str, Any], cells: Mapping[str, FileCell]) -> None:
    """Sets the label of a row with choices to its right choice.

    Without a label, the answer or the only reference names it: by text, letter or number (from 0). An answer
    that names no choice is a recorded answer. A label that is a number stands for a choice, too. Labels are
    texts of choices, never letters: choices may be shuffled before they are asked.
    """
    choices = fields["choices"]
    if any(field_of(header) == "label" for header in row.values):
        if "label" in cells and type(cells["label"].value) is int and fields["label"] not in choices:
            fields["label"] = choices[_right_choice(path, row, cells["label"], choices) or 0]
        return
    place = _right_choice(path, row, cells["answer"], choices) if "answer" in cells else None
    if place is not None:
        fields["label"] = choices[place]
        del fields["answer"]
    elif len(first := fields.get("references", ((),))[0]) == 1:
        place = _right_choice(path, row, cells["references"]._replace(value=first[0]), choices)
        if place is not None:
            fields["label"] = choices[place]
            fields["references"] = ((fields["label"],),)


def implied_columns(cells: Sequence[str]) -> list[str]:
    """Names for a table without a header whose first row is question, A, B, ..., answer; else none."""
    count = len(cells) - 2
    is_question = MIN_CHOICES <= count <= _MAX_UNNAMED and cells[-1].strip() in tuple(letters(count))
    headers = [cell for cell in cells if not is_empty(cell) and field_of(cell)]
    filled = all(map(str.strip, cells)) and len(cells[0].strip()) > 1
    return ["question", *letters(count), "answer"] if is_question and filled and not headers else []


def subject_of(path: Path) -> str:
    """The subject in the name of a file of MMLU or JMMLU: `anatomy` for anatomy_test.csv."""
    name = path.name.partition(".")[0]
    return next((name.removesuffix(part) for part in _SPLITS if name.endswith(part)), name)
