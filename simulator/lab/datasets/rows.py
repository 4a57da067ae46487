"""Rows of multiple-choice questions: their choices as one list, and the right one as their label.

Question,A,B,C,D,Answer
q?,red,blue,sea,tan,C         -> choices (red, blue, sea, tan), label sea
"""

from collections.abc import Sequence
from pathlib import Path

from pydantic import JsonValue

from simulator.cases.fields import FileCell, answer, choice_marks, choices, read_cell, references, text
from simulator.cases.formats import ChoiceRows
from simulator.cases.headings import (
    CHOICE_PREFIXES,
    MIN_CHOICES,
    choice_columns,
    field_of,
    has_question,
    is_empty,
    normalised,
)
from simulator.cases.row import Row, RowFault
from simulator.core.messages import _, quote
from simulator.text.choices import LETTERS, letters, place_of, place_of_text, without_letters

# A table without column names may have at most this many choices.
_MAX_UNNAMED = 10
# How the files of MMLU and JMMLU end, behind their subject.
_SPLITS = ("_test", "_dev", "_val", "_train")
# The fields that may name the right choice, in this order.
_RIGHT_CHOICE_FIELDS = ("label", "references", "answer")


def choice_row(path: Path, row: Row) -> Row:
    """The row with its choices as one list and the right one's text as its label. Raises RowFault."""
    return _labelled(path, _collected(path, row))


def _collected(path: Path, row: Row) -> Row:
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
    fields = row.columns
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
    texts = [*without_letters(texts)]
    others = {key: value for key, value in row.values.items() if key not in (*columns, right)}
    label: dict[str, JsonValue] = {} if place is None else {"label": texts[place]}
    return row._replace(values={**others, "choices": list(texts), **label})


def _right_choice(
    path: Path, row: Row, cell: FileCell, options: Sequence[str], names: Sequence[str] = ()
) -> int | None:
    """The index of the choice that a value means, or None: by number from 0, by letter or by text.

    Under columns of choices (`names`) the name of a column goes before everything else. Raises RowFault for
    a number that is also the text of another choice, and in a list of choices for one that is too large.
    """
    # A number in JSON counts from 0, as in the data sets of Hugging Face; bool is no number here.
    if type(cell.value) is int:
        if 0 <= cell.value < len(options):
            return cell.value
        if names:
            return None
        what = _(
            "column {column}: no choice {cell}; the first is 0.",
            column=quote(cell.column),
            cell=cell.value,
        )
        raise RowFault(path, row, what)
    value = read_cell(path, row, cell, answer)
    # Under columns A, B, C, a value "(b)" or "Ｂ" names the column.
    mark = normalised(value.strip("()[]（）「」 .")) if names else value
    spellings = {mark, *(prefix + mark for prefix in CHOICE_PREFIXES)} if mark else set()
    marked = next((at for at, name in enumerate(names) if name in spellings), None)
    if marked is None and mark.isascii() and mark.isdecimal() and int(mark) < len(options):
        marked = int(mark)
    if marked is None:
        return place_of(value, options)
    by_text = place_of_text(value, options)
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


def _labelled(path: Path, row: Row) -> Row:
    """A row with a list of choices, whose label is the text of the right one.

    Without a label, the answer or the only reference names it: by text, letter or number (from 0). An answer
    that names no choice is a recorded answer. A label that is a number stands for a choice, too. Labels are
    texts of choices, never letters: choices may be shuffled before they are asked.
    """
    columns = row.columns
    cells = {name: FileCell(column, row.values[column], row.cells) for name, column in columns.items()}
    options = read_cell(path, row, cells["choices"], choices) if "choices" in cells else ()
    if not options:
        return row
    names = choice_marks(cells["choices"].value)
    if any(field_of(header) == "label" for header in row.values):
        value = cells["label"].value if "label" in cells else None
        if (type(value) is int or (names and isinstance(value, str))) and str(value) not in options:
            place = _right_choice(path, row, cells["label"], options, () if type(value) is int else names)
            if place is not None:
                return row._replace(values=row.values | {columns["label"]: options[place]})
        return row
    place = _right_choice(path, row, cells["answer"], options, names) if "answer" in cells else None
    if place is not None:
        others = {name: value for name, value in row.values.items() if name != columns["answer"]}
        return row._replace(values={**others, "label": options[place]})
    right = read_cell(path, row, cells["references"], references) if "references" in cells else ()
    if right and len(right[0]) == 1:
        cell = cells["references"]._replace(value=right[0][0])
        place = _right_choice(path, row, cell, options, names)
        if place is not None:
            text = options[place]
            return row._replace(values={**row.values, "label": text, columns["references"]: [text]})
    return row


def unnamed(path: Path, cells: Sequence[str]) -> tuple[list[str], dict[str, JsonValue]]:
    """Names for a table without a header whose first row is question, A, B, ..., answer; else none.

    All its rows have the subject that the file's name says.
    """
    count = len(cells) - 2
    is_question = MIN_CHOICES <= count <= _MAX_UNNAMED and cells[-1].strip() in tuple(letters(count))
    headers = [cell for cell in cells if not is_empty(cell) and field_of(cell)]
    filled = all(map(str.strip, cells)) and len(cells[0].strip()) > 1
    if not is_question or not filled or headers:
        return [], {}
    return ["question", *letters(count), "answer"], {"subject": _subject(path)}


def _subject(path: Path) -> str:
    """The subject in the name of a file of MMLU or JMMLU: `anatomy` for anatomy_test.csv."""
    name = path.name.partition(".")[0]
    return next((name.removesuffix(part) for part in _SPLITS if name.endswith(part)), name)


CHOICE_ROWS = ChoiceRows(choice_row, unnamed)
