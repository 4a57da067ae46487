"""Rows of data files of every kind: tables here, worksheets and objects by readers of their own.

Every row has the number of the line or row it begins on, and its values by column name. Who reads rows says
with `fits` which column names make sense (a question, a text of knowledge, ratings); by that a table tells
comma, tab and semicolon apart, a workbook its worksheet, and a log that it is no table of questions.

    questions.csv          -> table_rows, after a look at the delimiter
    questions.xlsx#料金    -> workbook_rows of that worksheet
    traces.jsonl           -> a row for each conversation, where it is a known log (`_or_log`)
    exports/               -> the same for all files of a folder, joined by their ids

Readers that need a library are imported when there is such a file (`feature`).
"""

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from simulator.core.errors import CaseFileError, UnknownName
from simulator.core.messages import _
from simulator.core.shelves import Features
from simulator.data.files import (
    AN_HTML_PAGE,
    MAX_CELL,
    MAX_COLUMNS,
    MAX_TEXT,
    Lines,
    files_of,
    is_page,
    open_lines,
    open_pieces,
    plain_suffix,
    printable,
    quote,
    read_text,
)
from simulator.data.values import (
    COLUMNS,
    Fits,
    Row,
    RowFault,
    Rows,
    check_columns,
    column_names,
    field_of,
    is_lower_heading,
    raise_faults,
)

# What only some files need: imported when there is such a file.
feature = Features(
    choices="simulator.data.choices",
    dialogues="simulator.data.dialogues",
    logs="simulator.data.logs",
    profile="simulator.data.profile",
    structured="simulator.data.structured",
    workbooks="simulator.data.workbooks",
    yaml="simulator.data.yaml_rows",
)
DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": "\t"}
_TEXTS = frozenset({*DELIMITERS, ".jsonl", ".ndjson", ".json", ".transcript"})
WORKBOOKS = frozenset({".xlsx", ".xlsm"})
ACCEPTED = _("CSV, TSV, JSONL, JSON, YAML or Excel (.xlsx), each also as .gz")
# Columns and keys by which a file may be a log of conversations, though it has one for questions as well.
_OF_LOGS = frozenset({
    "sessionId", "session_id", "traceId", "trace_id", "traces", "observations", "messages", "conversations",
    "conversation_id", "run_type", "inputs", "post", "events", "role", "author_role", "sender_role",
    "speaker", "sender", "direction", "payload", "webhookEventId",
    "話者", "発話者", "発言者", "送信者", "役割", "発話", "ターン",
})  # fmt: skip
# `questions.xlsx#料金` names a worksheet; a worksheet's own name holds no slash.
_SHEET = re.compile(r"(.+\.xls[xm](?:\.gz)?)#([^/]+)", re.IGNORECASE)
# What Excel writes as the first line of a CSV to name its delimiter.
_NAMED_DELIMITER = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)
# The alias of a field whose cell holds one text: in `references` a line break begins another one.
_HEADERS = {"references": "reference"}


def read_rows(path: Path, fits: Fits, columns: Mapping[str, str] | None = None) -> Iterator[Row]:
    """The rows of a file, like `rows_of`. Raises RowFault for the first one that cannot be read."""
    return raise_faults(rows_of(path, fits, columns))


def rows_of(path: Path, fits: Fits, columns: Mapping[str, str] | None) -> Rows:
    """The rows of a file; `fits` says whether column names are the needed ones.

    It decides on the delimiter of a table, and on the worksheet and the header row of a workbook. `columns`
    are those of `--columns`. Raises UnknownName when no row has a column that is named there.
    """
    if plain_suffix(path) in _TEXTS and is_page(path):
        raise CaseFileError(_("{path}: {why}.", path=path, why=AN_HTML_PAGE))
    if columns and not {"role", "user"}.isdisjoint(columns):  # one message a row
        return feature("logs").rows_of_file(path, columns)  # type: ignore[no-any-return]
    return rows_by_field(path, partial(_rows, path), fits, columns)


def rows_by_field(
    path: Path, read: Callable[[Fits], Rows], fits: Fits, columns: Mapping[str, str] | None
) -> Rows:
    """The rows of `read`; the columns that `columns`, those of `--columns`, assign to fields are renamed.

    Other columns that mean these fields are left out. Raises UnknownName for an unknown field, and for a
    column that no row has.
    """
    if not columns:
        return read(fits)
    by_field: dict[str, str] = {}
    for name, column in columns.items():
        field = field_of(name)
        if field is None:
            raise UnknownName(_("case column in --columns"), name, COLUMNS)
        by_field[field] = column
    assigned = frozenset(by_field.values())

    def renamed(values: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        others = {
            key: value
            for key, value in values.items()
            if key not in assigned and field_of(key) not in by_field
        }
        return others | {
            _HEADERS.get(field, field): values[column]
            for field, column in by_field.items()
            if column in values
        }

    def fitting(headers: Sequence[str]) -> bool:
        # Of two columns with the name that was assigned, either may be meant.
        if twice := next((name for name in headers if name in assigned and headers.count(name) > 1), None):
            raise CaseFileError(
                _("{path}: the column {name} occurs twice; rename one of them.", path=path, name=quote(twice))
            )
        return fits(list(renamed(dict.fromkeys(headers))))

    # The first pass also accepts a header with only some of the columns, to say which one is missing. Files
    # are read twice, for which `read` begins anew each time.
    missing, headers = list(by_field.values()), dict[str, None]()
    for row in read(lambda names: fitting(names) or not assigned.isdisjoint(names)):
        headers |= {} if isinstance(row, RowFault) else dict.fromkeys(row.values)
        missing = [name for name in missing if name not in headers]
        if not missing:
            break
    if missing and headers:
        raise UnknownName(_("column of {path} in --columns", path=path), missing[0], headers)
    return (
        row if isinstance(row, RowFault) else row._replace(values=renamed(row.values))
        for row in read(fitting)
    )


def _rows(path: Path, fits: Fits) -> Rows:
    if (files := files_of(path)) != [path]:
        log: Rows | None = feature("logs").rows_of_file(path) if files else None
        if log is None:
            msg = _("{path}: no log of conversations of a known format; name one file.", path=path)
            raise CaseFileError(msg)
        return log
    suffix = plain_suffix(split_sheet(path)[0])
    if suffix in DELIMITERS:
        read = partial(table_rows, path, open_lines(path), DELIMITERS[suffix], fits)
    else:
        read = partial(structured_rows, path, fits)
    return _or_log(path, read, fits) if fits(["turns"]) and suffix not in (".yaml", ".yml") else read()


def structured_rows(path: Path, fits: Fits) -> Rows:
    """The rows of a file that is no table of text."""
    file, sheet = split_sheet(path)
    suffix = plain_suffix(file)
    found: Any  # of modules that are imported only where they are needed
    if suffix in WORKBOOKS:
        found = feature("workbooks").workbook_rows(file, sheet, fits)
    elif suffix in (".jsonl", ".ndjson", ".json", ".transcript"):
        found = feature("structured").json_rows(path, open_pieces(path))
    elif suffix in (".yaml", ".yml"):
        found = feature("yaml").yaml_rows(path, read_text(path, most_bytes=MAX_TEXT))
    else:
        raise _unknown_kind(path, suffix)
    rows: Rows = found
    return rows


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
        log: Iterator[Row] | None = feature("logs").rows_of_file(path)
        if log is not None:
            yield from log
            return
    if unread:
        raise unread
    yield from read()


def split_sheet(path: Path) -> tuple[Path, str]:
    """A workbook and the name of the worksheet behind `#`; the name is empty when there is none.

    A file whose own name has such a `#` in it is read as that file.
    """
    match = _SHEET.fullmatch(str(path))
    return (Path(match[1]), match[2]) if match and not path.exists() else (path, "")


def _unknown_kind(path: Path, suffix: str) -> CaseFileError:
    name = printable(str(path))
    if name.lower().startswith(("http:", "https:")):
        what = _(
            "not a file here; download it; a Google Sheet is written sheet:KEY#worksheet. Read are {kinds}",
            kinds=ACCEPTED,
        )
    elif suffix == ".xls":
        what = _("an old Excel file; open it in Excel and save it as .xlsx")
    elif not path.exists():
        what = _("no such file; check the name and the folder")
    else:
        what = _(
            "'{suffix}' is not a known kind of data file; save it as {kinds}",
            suffix=suffix or path.name,
            kinds=ACCEPTED,
        )
    return CaseFileError(_("{path}: {why}.", path=name, why=what))


def table_rows(path: Path, lines: Lines, delimiter: str, fits: Fits) -> Rows:
    """The rows below the column names; `fits` says whether a delimiter makes sense of these.

    A row with more cells than names is a fault, unless the further ones are blank: nearly always a text with
    a comma in it lacks its quotation marks. Missing cells at the end are missing values. A first line `sep=;`
    names the delimiter and is no row.
    """
    csv.field_size_limit(MAX_CELL)  # a recorded context can be longer than what it stops at
    header: list[str] = []
    constants: dict[str, JsonValue] = {}
    named = _NAMED_DELIMITER.fullmatch(next(lines(), ""))
    delimiter = named[1] if named else _delimiter(lines, delimiter, fits)
    rows = _lines_of_cells(path, lines(), delimiter)
    if named:
        next(rows, None)
    for line, cells in _with_one_heading(rows, fits):
        if isinstance(cells, RowFault):
            yield cells
            continue
        if not header:
            check_columns(path, line, len(cells))
        if not header and not fits(cells) and (header := feature("choices").implied_columns(cells)):
            constants = {"subject": feature("choices").subject_of(path)}
        elif not header:
            header = column_names(path, line, cells)
            continue
        if any(map(str.strip, cells[len(header) :])):
            what = _(
                "{cells} cells under {names} column names;"
                " put a text that contains the separator in quotation marks.",
                cells=len(cells),
                names=len(header),
            )
            yield RowFault(path, line, what)
            continue
        values: dict[str, JsonValue] = {name: cell for name, cell in zip(header, cells, strict=False) if name}
        yield Row(line, values | constants, cells=True)


Cells = tuple[int, list[str] | RowFault]


def _with_one_heading(rows: Iterator[Cells], fits: Fits) -> Iterator[Cells]:
    """The rows of a table; of a heading of two rows, groups of columns above names, only the lower one."""
    first, second = next(rows, None), next(rows, None)
    is_group = False
    if first and second:
        upper, lower = first[1], second[1]
        is_group = (
            isinstance(upper, list) and isinstance(lower, list) and is_lower_heading(upper, lower, fits)
        )
    if first and not is_group:
        yield first
    if second:
        yield second
    yield from rows


def _lines_of_cells(path: Path, lines: Iterator[str], delimiter: str) -> Iterator[Cells]:
    """The filled rows with the lines they begin on; an unclosed quotation swallows the rest of the file.

    So that one fault ends the reading, where all others are told row by row.
    """
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    start = 1
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            what = _(
                "not a readable table row ({error}); inside quotation marks, write a quotation mark twice.",
                error=error,
            )
            fault = RowFault(path, start, what)
            # An open quotation mark: the rest of the file is one cell, and there is no next row.
            if str(error) == "unexpected end of data":
                raise fault from None
            yield start, fault
            cells = []
        if cells is None:
            return
        if any(map(str.strip, cells)):
            yield start, cells
        start = reader.line_num + 1


def _delimiter(lines: Lines, usual: str, fits: Fits) -> str:
    """The usual delimiter of the file type, unless the header fits only with another one."""
    # The one that the suffix promises is tried first: a header of one column fits with any of them.
    for delimiter in (usual, ",", "\t", ";"):
        try:
            rows = csv.reader(lines(), delimiter=delimiter, strict=True)
            first = next((row for row in rows if any(map(str.strip, row))), [])
            if len(first) > MAX_COLUMNS or fits(first):
                return delimiter
        except csv.Error:
            continue
    return usual
