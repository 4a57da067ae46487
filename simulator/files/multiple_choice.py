"""Multiple-choice rows: a column for each choice, or a list of them, and which one is right.

The layout of MMLU (Question, A, B, C, D, Answer, Subject), the same in Japanese (問題, 選択肢A, ..., 正解,
科目), and the files of MMLU and JMMLU themselves, whose tables have no column names.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from simulator.files.columns import columns_by_field, field_of, has_question, is_empty, normalised
from simulator.files.quoting import shown
from simulator.files.row import Row, fault
from simulator.files.values import Cell, text
from simulator.text import choices as letters
from simulator.text.choices import LETTERS, place_of, place_of_text

FEWEST, MOST = 2, 26
# What may stand before the letter or number of a choice in its column's name; a bare number is no choice.
_PREFIXES = ("choice", "option", "opt", "選択肢", "肢", "")
_KANA = "アイウエオカキクケコ"
# Without column names a table is taken for questions of at most so many choices.
_MOST_UNNAMED = 10
# Files of the original sets are named for their subject and their part.
_PARTS = ("_test", "_dev", "_val", "_train")
_TELLS_RIGHT = ("label", "references", "answer")


_FIRST = frozenset({"a", *(f"{prefix}{first}" for prefix in _PREFIXES[:-1] for first in "a01ア")})


@lru_cache(maxsize=256)
def choice_columns(headers: tuple[str, ...]) -> tuple[str, ...]:
    """The columns of the choices in their order (A, B; choice_0, choice_1; 選択肢ア, 選択肢イ), or none."""
    found = {normalised(header): header for header in reversed(headers)}
    if not _FIRST & found.keys():
        return ()
    for prefix in _PREFIXES:
        for marks in _marks(prefix):
            names = [f"{prefix}{mark}" for mark in marks]
            run = next((at for at, name in enumerate(names) if name not in found), len(names))
            if run >= FEWEST:
                return tuple(found[name] for name in names[:run])
    return ()


def _marks(prefix: str) -> Sequence[Sequence[str]]:
    """In which ways choices are counted: by letter, and after a word also by number or kana."""
    by_letter = LETTERS.lower()
    numbers = [str(number) for number in range(MOST + 1)]
    return (by_letter, numbers[:MOST], numbers[1:], _KANA) if prefix else (by_letter,)


def with_choices(path: Path, row: Row) -> Row:
    """The row with its columns of choices as one list and the right one as its label; any other row as it is.

    Raises RowFault for a right answer that is none of the choices.
    """
    columns = choice_columns(tuple(row.values))
    if not columns or not has_question(row.values):
        return row
    choices = _filled(path, row, columns)
    fields = columns_by_field(row.values)
    said = next((fields[field] for field in _TELLS_RIGHT if field in fields), None)
    place = None if said is None else _place(path, row, said, choices, columns[: len(choices)])
    if place is None and not _are_surely_choices(columns):
        return row
    if said is not None and place is None:
        allowed = f"{LETTERS[0]} to {LETTERS[len(choices) - 1]}, or the choice's own text"
        what = f"column {shown(said)}: {shown(row.values[said])} is none of the choices; write {allowed}."
        raise fault(path, row, what)
    kept = {key: value for key, value in row.values.items() if key not in (*columns, said)}
    label: dict[str, JsonValue] = {} if place is None else {"label": choices[place]}
    return row._replace(values={**kept, "choices": list(choices), **label})


def _are_surely_choices(columns: Sequence[str]) -> bool:
    """Whether columns are choices even where none of them is right.

    Columns a, b and c may be anything, and two bots' answers may stand side by side as A and B.
    """
    return normalised(columns[0]) != "a" or (columns[0].strip().isupper() and len(columns) > FEWEST)


def _filled(path: Path, row: Row, columns: Sequence[str]) -> list[str]:
    """The choices of this row: the last ones may be empty, for questions have different numbers of them."""
    texts = [text(Cell(column, row.values[column], row.cells)) for column in columns]
    while texts and not texts[-1]:
        texts.pop()
    if len(texts) < FEWEST or not all(texts):
        empty = columns[texts.index("") if "" in texts else len(texts)]
        raise fault(
            path, row, f"column {shown(empty)} is empty; a question needs at least two choices, without gaps."
        )
    return texts


def _place(path: Path, row: Row, column: str, choices: Sequence[str], columns: Sequence[str]) -> int | None:
    """The place of the right choice: as its column is marked, else by its letter, text or number from 0."""
    value = row.values[column]
    if type(value) is int:
        return value if 0 <= value < len(choices) else None
    given = text(Cell(column, value, row.cells))
    said = normalised(given.strip("()[]（）「」 ."))
    names = [normalised(each) for each in columns]
    marked = next(
        (at for at, name in enumerate(names) if said and name in (said, *(p + said for p in _PREFIXES))), None
    )
    return _agreed(
        path, row, column, given, choices, marked if marked is not None else _number(said, choices)
    )


def _agreed(  # noqa: PLR0917 - where it stands, and what it may mean
    path: Path, row: Row, column: str, given: str, choices: Sequence[str], marked: int | None
) -> int | None:
    """The place that is meant; a number that is one choice's text and stands for another one is refused."""
    by_text = place_of_text(given, choices)
    if marked is not None and by_text not in (None, marked) and not given.strip().isalpha():
        one, other = LETTERS[marked], LETTERS[by_text or 0]
        may = f"{shown(given)} may be choice {one} or the text of {other}"
        raise fault(path, row, f"column {shown(column)}: {may}; write the letter.")
    return place_of(given, choices) if marked is None else marked


def _number(said: str, choices: Sequence[str]) -> int | None:
    return int(said) if said.isascii() and said.isdecimal() and int(said) < len(choices) else None


def settle(path: Path, row: Row, fields: dict[str, Any], cells: Mapping[str, Cell]) -> None:
    """Which of a row's choices is right, as its label, where the row has no label of its own.

    Its answer or its only reference says so: by text, letter or number (from 0). An answer that names no
    choice is one that was recorded. A label that is a number stands for a choice, too.
    """
    choices = fields.get("choices", ())
    if not choices:
        return
    if "label" in cells:
        if str(cells["label"].value) not in choices:
            _set_label(fields, _numbered(path, row, cells["label"], choices))
    elif any(field_of(header) == "label" for header in row.values):
        return
    elif "answer" in cells and _set_label(
        fields, _answered(path, row, cells["answer"], fields["answer"], choices)
    ):
        del fields["answer"]
    elif len(told := fields.get("references", ((),))[0]) == 1:
        place = _agreed(path, row, cells["references"].column, told[0], choices, _number(told[0], choices))
        if _set_label(fields, place):
            fields["references"] = ((fields["label"],),)


def _set_label(fields: dict[str, Any], place: int | None) -> bool:
    if place is not None:
        fields["label"] = fields["choices"][place]
    return place is not None


def _answered(path: Path, row: Row, cell: Cell, said: str, choices: Sequence[str]) -> int | None:
    place = _numbered(path, row, cell, choices)
    if place is not None:
        return place
    return _agreed(path, row, cell.column, said, choices, _number(said, choices))


def _numbered(path: Path, row: Row, cell: Cell, choices: Sequence[str]) -> int | None:
    """The place that a number stands for; None for a text."""
    if type(cell.value) is not int:
        return None
    if not 0 <= cell.value < len(choices):
        what = f"column {shown(cell.column)}: there is no choice {cell.value}; the first is 0."
        raise fault(path, row, what)
    return cell.value


def unnamed_columns(cells: Sequence[str]) -> list[str]:
    """The column names of a table that has none, by its first row (question, A, B, ..., answer), or none."""
    count = len(cells) - 2
    is_one = FEWEST <= count <= _MOST_UNNAMED and cells[-1].strip() in tuple(letters(count))
    named = [cell for cell in cells if not is_empty(cell) and field_of(cell)]
    filled = all(map(str.strip, cells)) and len(cells[0].strip()) > 1
    return ["question", *letters(count), "answer"] if is_one and filled and not named else []


def subject_of(path: Path) -> str:
    """The subject that a file of MMLU or JMMLU is named for: `anatomy` of anatomy_test.csv."""
    name = path.name.partition(".")[0]
    return next((name.removesuffix(part) for part in _PARTS if name.endswith(part)), name)
