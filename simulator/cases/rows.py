"""Rows of data files of every kind: of one file (cases/tables.py), or of a log of conversations (cases/logs).

Every row has the number of the line or row it begins on, and its values by column name. Who reads rows says
with `fits` which column names make sense (a question, a text of knowledge, ratings); by that a table tells
comma, tab and semicolon apart, a workbook its worksheet, and a log that it is no table of questions.

    questions.csv          -> table_rows, after a look at the delimiter
    questions.xlsx#料金    -> workbook_rows of that worksheet
    traces.jsonl           -> a row for each conversation, where it is a known log (`_or_log`)
    exports/               -> the same for all files of a folder, joined by their ids
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

from pydantic import JsonValue

from simulator.cases.dialogues import objects
from simulator.cases.files import AN_HTML_PAGE, DELIMITERS, OBJECTS, files_of, is_page, plain_suffix
from simulator.cases.headings import COLUMNS, NAMES, field_of
from simulator.cases.logs import rows_of_file
from simulator.cases.logs.table import SPEAKERS
from simulator.cases.row import Fits, Row, RowFault, Rows, raise_faults
from simulator.cases.tables import file_rows
from simulator.core.errors import CaseFileError, UnknownName
from simulator.core.messages import _, quote

# Columns and keys by which a file may be a log of conversations, though it has one for questions as well.
_OF_LOGS = frozenset(NAMES["logs"]["marks"])
# The alias of a field whose cell holds one text: in `references` a line break begins another one.
_HEADERS = {"references": "reference"}
# So many objects within each other may wrap rows.
_DEEPEST = 3


def read_rows(path: Path, fits: Fits, columns: Mapping[str, str] | None = None) -> Iterator[Row]:
    """The rows of a file, like `rows_of`. Raises RowFault for the first one that cannot be read."""
    return raise_faults(rows_of(path, fits, columns))


def rows_of(path: Path, fits: Fits, columns: Mapping[str, str] | None) -> Rows:
    """The rows of a file; `fits` says whether column names are the needed ones.

    It decides on the delimiter of a table, and on the worksheet and the header row of a workbook. `columns`
    are those of `--columns`. Raises UnknownName when no row has a column that is named there.
    """
    if plain_suffix(path) in DELIMITERS.keys() | OBJECTS and is_page(path):
        raise CaseFileError(_("{path}: {why}.", path=path, why=AN_HTML_PAGE))
    if columns and not {"role", *SPEAKERS}.isdisjoint(columns):  # one message a row
        return rows_of_file(path, columns) or iter(())
    return rows_by_field(path, partial(_rows, path), fits, columns)


def rows_by_field(
    path: Path, read: Callable[[Fits], Rows], fits: Fits, columns: Mapping[str, str] | None
) -> Rows:
    """The rows of `read`; the columns that `columns`, those of `--columns`, assign to fields are renamed.

    Other columns that mean these fields are left out. Raises UnknownName for an unknown field, and for a
    column that no row has.
    """
    if not columns:
        yield from read(fits)
        return
    by_field = _by_field(columns)
    assigned = frozenset(by_field.values())

    def fitting(headers: Sequence[str]) -> bool:
        # Of two columns with the name that was assigned, either may be meant.
        if twice := next((name for name in headers if name in assigned and headers.count(name) > 1), None):
            raise CaseFileError(
                _("{path}: the column {name} occurs twice; rename one of them.", path=path, name=quote(twice))
            )
        # A header with only some of the columns, too, to say which one is missing.
        return fits(list(_renamed(dict.fromkeys(headers), by_field))) or not assigned.isdisjoint(headers)

    missing, headers = list(by_field.values()), dict[str, None]()
    for row in read(fitting):
        if isinstance(row, RowFault):
            yield row
            continue
        if missing:
            headers |= dict.fromkeys(row.values)
            missing = [name for name in missing if name not in headers]
            # All rows of a table have the same columns, and a first object has some of those that are named.
            if missing and (row.cells or assigned.isdisjoint(headers)):
                break
        yield row._replace(values=_renamed(row.values, by_field))
    if missing and headers:
        raise UnknownName(_("column of {path} in --columns", path=path), missing[0], headers)


def _by_field(columns: Mapping[str, str]) -> dict[str, str]:
    """The columns of --columns by field. Raises UnknownName."""
    by_field: dict[str, str] = {}
    for name, column in columns.items():
        field = field_of(name)
        if field is None:
            raise UnknownName(
                _("case column in --columns"), name, COLUMNS, listed=_("All names: docs/questions.md.")
            )
        by_field[field] = column
    return by_field


def _renamed(values: Mapping[str, JsonValue], by_field: Mapping[str, str]) -> dict[str, JsonValue]:
    assigned = by_field.values()
    others = {
        key: value for key, value in values.items() if key not in assigned and field_of(key) not in by_field
    }
    named = {
        _HEADERS.get(field, field): values[column] for field, column in by_field.items() if column in values
    }
    return others | named


def _rows(path: Path, fits: Fits) -> Rows:
    if (files := files_of(path)) != [path]:
        log: Rows | None = rows_of_file(path) if files else None
        if log is None:
            msg = _("{path}: no log of conversations of a known format; name one file.", path=path)
            raise CaseFileError(msg)
        return log
    read = partial(file_rows, path, fits)
    return _or_log(path, read, fits) if fits(["turns"]) else _unwrapped(read(), fits)


def _unwrapped(rows: Rows, fits: Fits) -> Rows:
    """The rows, and those in an object that wraps some.

    {"count": 1, "articles": [{"title": ..., "body": ...}]}    -> title, body
    {"vars": {"question": "How much?"}, "assert": [...]}       -> question, assert
    """
    return chain.from_iterable(
        [row] if isinstance(row, RowFault) or row.cells else _inside(row, fits) for row in rows
    )


def _inside(row: Row, fits: Fits, depth: int = _DEEPEST) -> list[Row]:
    if not depth or fits([*row.values]):
        return [row]
    for key, value in row.values.items():
        is_one = isinstance(value, dict)
        beside = {name: held for name, held in row.values.items() if is_one and name != key}
        items = (beside | item for item in objects([value] if is_one else value))
        inside = [part for item in items for part in _inside(row._replace(values=item), fits, depth - 1)]
        if inside and fits([*inside[0].values]):
            return inside
    return [row]


def _or_log(path: Path, read: Callable[[], Rows], fits: Fits) -> Rows:
    """The rows of a file, or its conversations where it is a log of a known format.

    A file is held against the formats only where its columns do not fit, or one of them is a log's
    (`_OF_LOGS`): a table of questions with a column `sessionId` stays one if no format claims it.
    """
    names: list[str] = []
    unread: CaseFileError | None = None
    try:
        first = next(read(), None)
        names = list(first.values) if isinstance(first, Row) else []
        del first  # which may be as large as the file
    except CaseFileError as error:  # such as two columns of one name
        unread = error
    if not names or not fits(names) or not _OF_LOGS.isdisjoint(names):
        log: Iterator[Row] | None = rows_of_file(path)
        if log is not None:
            yield from log
            return
    if unread:
        raise unread
    yield from _unwrapped(read(), fits)
