"""Rows of CSV and TSV files, and what the columns of any table are called."""

import csv
import io
import re
import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal, localcontext
from pathlib import Path
from typing import Any, NamedTuple
from unicodedata import normalize

import openpyxl
from openpyxl.cell.read_only import ReadOnlyCell
from openpyxl.worksheet._reader import FORMULA_TAG, WorkSheetParser
from pydantic import JsonValue

from simulator.core.errors import CaseFileError, UnknownName
from simulator.core.replies import encodable
from simulator.data.files import Lines, lines_of, package, plain_suffix, printable, read_text, readable, shown
from simulator.data.structured import json_rows, jsonl_rows
from simulator.data.values import (
    COLUMNS,
    Row,
    RowFault,
    Wrong,
    fault,
    field_of,
    stop,
    subject_of,
    unnamed_columns,
)

# A number format's pieces: a quoted or escaped literal, a space or filling, digits, any other character.
_PIECE = re.compile(r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|[_*].|(?P<digits>[0#,.]*[0#]%?)|(?P<other>.)')
# Colours, conditions and locales; `[$¥-411]` is the currency ¥.
_BRACKETS = re.compile(r"\[(?:\$(?P<currency>[^\]\-\"]*))?[^\]]*\]")
_LARGEST = 10**15
_MOST_PLACES = 30
_DIGITS = re.compile(r"(?P<whole>[#,0]*)(?:\.(?P<places>0+))?(?P<percent>%?)")
_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")


def shown_text(value: object, number_format: str = "General") -> str:
    """The text that a cell with this value and this number format shows.

    Dates are ISO 8601; a format that this cannot follow gives the plain number.
    """
    match value:
        case None:
            return ""
        case str():
            return _ESCAPED.sub(_character, value).replace("\r\n", "\n").replace("\r", "\n")
        case bool():
            return str(value).upper()
        case date() | time() | timedelta():
            return _moment(value)
        case int() | float() if abs(value) < _LARGEST:
            return _formatted(Decimal(repr(value)), number_format) or _plain(value)
    return str(value)


def _character(escaped: re.Match[str]) -> str:
    return str(encodable(chr(int(escaped[1], 16))))


def _moment(value: date | time | timedelta) -> str:
    """A day without a time that nobody wrote; hours go beyond 24."""
    if isinstance(value, timedelta):
        minutes, seconds = divmod(round(value.total_seconds()), 60)
        return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    return value.isoformat()


def _plain(value: float) -> str:
    """As Excel shows it: 15 digits, and no decimals where there are none."""
    return str(int(value)) if int(value) == value else f"{value:.15g}"


def _formatted(value: Decimal, number_format: str) -> str:
    """A number in a format of literals around one group of digits; empty for any other format."""
    positive, _, rest = number_format.partition(";")
    negative = rest.partition(";")[0]
    section = negative if value < 0 and negative else positive
    section = _BRACKETS.sub(lambda found: f'"{found["currency"] or ""}"', section)
    pieces = list(_PIECE.finditer(section))
    groups = [piece for piece in pieces if piece["digits"]]
    strange = any(re.match(r"[\w?@/,.]", piece["other"] or " ", re.ASCII) for piece in pieces)
    parts = _DIGITS.fullmatch(groups[0]["digits"]) if len(groups) == 1 and not strange else None
    if parts is None or "0" not in parts[0] or len(parts["places"] or "") > _MOST_PLACES:
        return ""
    number = _digits(abs(value), parts)
    text = "".join(number if piece["digits"] else _literal(piece) for piece in pieces).strip()
    return f"-{text}" if value < 0 and not negative else text


def _literal(piece: re.Match[str]) -> str:
    return piece["quoted"] or piece["escaped"] or piece["other"] or ""


def _digits(value: Decimal, parts: re.Match[str]) -> str:
    places = len(parts["places"] or "")
    with localcontext(prec=50):
        scaled = value * 100 if parts["percent"] else value
        whole, _, decimals = str(scaled.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)).partition(".")
    padded = whole.zfill(parts["whole"].count("0"))
    grouped = f"{int(padded):,}" if "," in parts["whole"] else padded
    return grouped + (f".{decimals}" if decimals else "") + parts["percent"]


Fits = Callable[[Sequence[str]], bool]

# A recorded context can be longer than the 131,072 characters that the csv module stops at.
_LONGEST_CELL = 2**31 - 1


def table_rows(path: Path, lines: Lines, delimiter: str, fits: Fits, wrong: Wrong = stop) -> Iterator[Row]:
    """The rows below the column names; `fits` says whether a delimiter makes sense of these.

    `wrong` is told of rows that cannot be read; where it does not raise, reading goes on with the next line.
    """
    csv.field_size_limit(_LONGEST_CELL)
    header: list[str] = []
    beside: dict[str, JsonValue] = {}
    for line, cells in _lines_of_cells(path, lines(), _delimiter(lines, delimiter, fits), wrong):
        if not header and not fits(cells) and (header := unnamed_columns(cells)):
            beside = {"subject": subject_of(path)}
        elif not header:
            header = column_names(path, line, cells)
            continue
        try:
            yield Row(line, _by_column(path, line, header, cells) | beside, cells=True)
        except RowFault as found:
            wrong(found)


def _lines_of_cells(
    path: Path, lines: Iterator[str], delimiter: str, wrong: Wrong
) -> Iterator[tuple[int, list[str]]]:
    """The filled rows and the lines they begin on; a quotation that is never closed swallows the rest."""
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    start = 1
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            what = (
                f"not a readable table row ({error}); inside quotation marks, write a quotation mark twice."
            )
            found = fault(path, start, what)
            if str(error) == "unexpected end of data":
                raise found from None
            wrong(found)
            cells = []
        if cells is None:
            return
        if any(map(str.strip, cells)):
            yield start, cells
        start = reader.line_num + 1


def column_names(path: Path, row: Row | int, cells: Sequence[str]) -> list[str]:
    """The names in a header row, without blanks around them; none may be there twice."""
    names = [cell.strip() for cell in cells]
    if twice := next((name for name in names if name and names.count(name) > 1), None):
        raise fault(path, row, f"the column {shown(twice)} is there twice; rename one.")
    return names


def _delimiter(lines: Lines, usual: str, fits: Fits) -> str:
    """The delimiter of the file's kind, unless only another one makes sense of the header."""
    for delimiter in (usual, ",", "\t", ";"):
        try:
            rows = csv.reader(lines(), delimiter=delimiter, strict=True)
            if fits(next((row for row in rows if any(map(str.strip, row))), [])):
                return delimiter
        except csv.Error:
            continue
    return usual


def _by_column(path: Path, line: int, header: list[str], cells: list[str]) -> dict[str, JsonValue]:
    if any(map(str.strip, cells[len(header) :])):
        what = (
            f"{len(cells)} cells under {len(header)} column names;"
            " put a text that contains the separator in quotation marks."
        )
        raise fault(path, line, what)
    return {name: cell for name, cell in zip(header, cells, strict=False) if name}


# How a source gives its rows, the headers that are needed and who is told of wrong rows being known.
Reading = Callable[[Fits, Wrong], Iterator[Row]]

# Of our own names the one whose cell is a single text: a line break in `references` begins another one.
_HEADERS = {"references": "reference"}


class Mapped:
    """Fields of a case with the columns that fill them; other columns for these fields are not used."""

    def __init__(self, columns: Mapping[str, str]) -> None:
        """`columns` is what was given; raises UnknownName for what is no column of a case."""
        self.columns: dict[str, str] = {}
        for ours, theirs in columns.items():
            field = field_of(ours)
            if field is None:
                raise UnknownName("case column in --columns", ours, COLUMNS)
            self.columns[field] = theirs

    def renamed(self, values: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """The values of a row under our names."""
        named = frozenset(self.columns.values())
        kept = {key: value for key, value in values.items() if key not in named and not self._is_ousted(key)}
        given = {field: values[theirs] for field, theirs in self.columns.items() if theirs in values}
        return kept | {_HEADERS.get(field, field): value for field, value in given.items()}

    def _is_ousted(self, header: str) -> bool:
        return field_of(header) in self.columns

    def rows(self, path: Path, read: Reading, fits: Fits, wrong: Wrong) -> Iterator[Row]:
        """The rows that `read` gives, under our names; raises UnknownName for a column that is in none."""
        named = frozenset(self.columns.values())

        def fitting(headers: Iterable[str]) -> bool:
            return fits(list(self.renamed(dict.fromkeys(headers))))

        # Also where only some of the columns are there: to say which one is not.
        self._check(path, read(lambda headers: fitting(headers) or bool(named & {*headers}), lambda _: None))
        return (row._replace(values=self.renamed(row.values)) for row in read(fitting, wrong))

    def _check(self, path: Path, rows: Iterable[Row]) -> None:
        missing, seen = dict.fromkeys(self.columns.values()), dict[str, None]()
        for row in rows:
            seen |= dict.fromkeys(row.values)
            missing = {name: None for name in missing if name not in seen}
            if not missing:
                return
        if seen:
            raise UnknownName(f"column of {path} in --columns", next(iter(missing)), seen)


TABLES = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": "\t"}
RECORDS = frozenset({".jsonl", ".ndjson", ".json"})
YAML = frozenset({".yaml", ".yml"})
WORKBOOKS = frozenset({".xlsx", ".xlsm"})
ACCEPTED = "CSV, TSV, JSONL, JSON, YAML or Excel (.xlsx), each also as .gz"

_ELSEWHERE = re.compile(r"https?:", re.IGNORECASE)
_OLD_WORKBOOK = ".xls"
# `questions.xlsx#料金` names a worksheet; a worksheet's own name holds no slash.
_SHEET = re.compile(r"(.+\.xls[xm](?:\.gz)?)#([^/]+)", re.IGNORECASE)


def read_rows(
    path: Path, fits: Fits, wrong: Wrong = stop, columns: Mapping[str, str] | None = None
) -> Iterator[Row]:
    """The rows of a file; `fits` says whether a header has what is needed.

    That settles the delimiter of a table, and the worksheet and the header row of a workbook. `wrong` is told
    of rows that cannot be read; where it does not raise, they are left out. The columns of `--columns`, in
    `columns`, arrive under our names. Raises UnknownName where no row has a column that is named there.
    """
    if not columns:
        return _rows(path, fits, wrong)
    return Mapped(columns).rows(path, lambda fits, wrong: _rows(path, fits, wrong), fits, wrong)


def _rows(path: Path, fits: Fits, wrong: Wrong) -> Iterator[Row]:
    file, sheet = split_sheet(path)
    suffix = plain_suffix(file)
    if suffix in WORKBOOKS:
        # Loaded here, like the YAML reader: a command that reads neither starts without them.
        pass

        return workbook_rows(file, sheet, fits, wrong)
    if suffix not in TABLES and suffix not in RECORDS and suffix not in YAML:
        raise _unknown_kind(path, suffix)
    if suffix in TABLES:
        return table_rows(path, lines_of(path), TABLES[suffix], fits, wrong)
    if suffix != ".json" and suffix in RECORDS:
        return jsonl_rows(path, lines_of(path)(), wrong)
    text = read_text(path)
    if suffix in YAML:
        from simulator.data.structured import yaml_rows

        return yaml_rows(path, text, wrong)
    return json_rows(path, text, wrong)


def split_sheet(path: Path) -> tuple[Path, str]:
    """A workbook and the worksheet named behind `#`; an empty name when there is none."""
    named = _SHEET.fullmatch(str(path))
    return (Path(named[1]), named[2]) if named and not path.exists() else (path, "")


def _unknown_kind(path: Path, suffix: str) -> CaseFileError:
    name = printable(str(path))
    if _ELSEWHERE.match(name):
        where = "download it; a Google Sheet is written sheet:KEY#worksheet"
        what = f"not a file here; {where}. Read are {ACCEPTED}"
    elif suffix == _OLD_WORKBOOK:
        what = "an old Excel file; open it in Excel and save it as .xlsx"
    else:
        what = f"'{suffix or path.name}' is not a known kind of data file; save it as {ACCEPTED}"
    return CaseFileError(f"{name}: {what}.")


# Column names stand below at most this many rows of titles and notes.
_MOST_TITLE_ROWS = 30
# A merged area is filled downwards; areas that overlap endlessly are no table.
_MOST_FILLED = 1_000_000
_UNCALCULATED = "a formula without a stored result; open the file in Excel and save it once"


class WorksheetRow(NamedTuple):
    """A row of a worksheet: its number, its texts by column (from 1), and cells that have none and why."""

    number: int
    texts: dict[int, str]
    faults: Mapping[int, str] = {}


class Worksheet(NamedTuple):
    """The filled rows of a worksheet; `below` says down to which row a merged cell's column reaches."""

    name: str
    lines: tuple[WorksheetRow, ...]
    below: Mapping[tuple[int, int], int] = {}


def workbook_rows(path: Path, sheet: str, fits: Fits, wrong: Wrong = stop) -> Iterator[Row]:
    """The rows of the worksheet that is named, or else of the only one whose column names fit."""
    sheets = read_workbook(path, sheet)
    if sheet or len(sheets) == 1:
        at = Path(f"{path}#{sheet}") if sheet else path
        return worksheet_rows(at, sheets[0], fits, wrong, named=False)
    fitting = [each for each in sheets if column_row(each, fits) is not None]
    if len(fitting) != 1:
        which = "several worksheets have" if fitting else "no worksheet has"
        names = ", ".join(shown(each.name) for each in fitting or sheets)
        example = printable((fitting or sheets)[0].name) if sheets else "..."
        msg = f"{path}: {which} the column names that are needed ({names}); name one: {path.name}#{example}"
        raise CaseFileError(msg)
    return worksheet_rows(path, fitting[0], fits, wrong, named=True)


def worksheet_rows(
    path: Path, sheet: Worksheet, fits: Fits, wrong: Wrong = stop, *, named: bool
) -> Iterator[Row]:
    """The rows below the column names; `named` puts the worksheet's name into errors."""
    title = sheet.name if named else ""
    if not sheet.lines:
        return
    top = column_row(sheet, fits)
    start = _first_wide(sheet.lines) if top is None else top
    head = sheet.lines[start]
    names = column_names(path, Row(head.number, {}, sheet=title), _in_order(head.texts))
    for line in sheet.lines[start + 1 :]:
        row = Row(line.number, _workbooks_by_column(names, line), cells=True, sheet=title)
        problems = (
            fault(path, row, f"column {shown(names[column - 1])}: {what}.")
            for column, what in line.faults.items()
            if column <= len(names) and field_of(names[column - 1])
        )
        if (found := next(problems, None)) is None:
            yield row
        else:
            wrong(found)


def column_row(sheet: Worksheet, fits: Fits) -> int | None:
    """Which of the lines holds the column names: the first that fits, if possible one with several.

    Where a name is merged downwards over a second row of names, that second row counts.
    """
    tops = [line for line in sheet.lines[:_MOST_TITLE_ROWS] if fits(_stripped(line))]
    if not tops:
        return None
    top = tops[_first_wide(tops)]
    last = max([top.number, *(sheet.below.get((top.number, column), 0) for column in top.texts)])
    return max(place for place, line in enumerate(sheet.lines) if top.number <= line.number <= last)


def read_workbook(path: Path, sheet: str = "") -> list[Worksheet]:
    """The visible worksheets of an Excel file, or the one named; raises CaseFileError in one line."""
    data = package(path, "Excel")
    with readable(path, "Excel"), warnings.catch_warnings():
        # What openpyxl leaves out (validation lists, headers) is no part of a table.
        warnings.simplefilter("ignore")
        return _worksheets(path, data, sheet)


def worksheet_text(sheet: Worksheet) -> str:
    """A worksheet that is no list of passages: its name as a heading, a line for each row."""
    rows = (
        " | ".join(" ".join(text.split()) for _, text in sorted(line.texts.items())) for line in sheet.lines
    )
    return "\n".join([f"# {sheet.name}", "", *rows])


def _worksheets(path: Path, data: io.BytesIO, sheet: str) -> list[Worksheet]:
    workbook = openpyxl.load_workbook(data, read_only=True, data_only=True, keep_links=False)
    there = [each for each in workbook.worksheets if sheet or each.sheet_state == "visible"]
    if not sheet:
        return [_worksheet(each) for each in there]
    named = {_workbooks_plain(each.title): each for each in there} | {each.title: each for each in there}
    if (found := named.get(sheet, named.get(_workbooks_plain(sheet)))) is None:
        names = ", ".join(shown(each.title) for each in there)
        msg = f"{path}: no worksheet {shown(sheet)}. There are: {names}."
        raise CaseFileError(msg)
    return [_worksheet(found)]


def _workbooks_plain(name: str) -> str:
    return normalize("NFKC", name).strip().casefold()


class _Parser(WorkSheetParser):  # type: ignore[misc]
    """The reader of openpyxl's read-only mode without what that mode adds and leaves out.

    It pads rows to whatever width a file claims, and knows neither merged cells nor whether an empty
    cell holds a formula.
    """

    def parse_cell(self, element: Any) -> dict[str, Any]:
        cell: dict[str, Any] = super().parse_cell(element)
        if cell["value"] is None and element.find(FORMULA_TAG) is not None and element.get("t") != "str":
            cell["data_type"] = "uncalculated"
        return cell


def _worksheet(sheet: Any) -> Worksheet:
    book = sheet.parent
    formats = {"date_formats": book._date_formats, "timedelta_formats": book._timedelta_formats}
    lines = []
    with sheet._get_source() as source:
        parser = _Parser(source, sheet._shared_strings, data_only=True, epoch=book.epoch, **formats)
        for number, cells in parser.parse():
            line = _line(sheet, number, cells)
            if line.texts or line.faults:
                lines.append(line)
    areas = [area.bounds for area in parser.merged_cells.mergeCell] if parser.merged_cells else []
    return _filled(sheet.title, lines, areas)


def _line(sheet: Any, number: int, cells: list[dict[str, Any]]) -> WorksheetRow:
    texts, faults = {}, {}
    for cell in cells:
        column = cell["column"]
        if cell["data_type"] == "uncalculated":
            faults[column] = _UNCALCULATED
        elif text := _text(sheet, cell):
            texts[column] = text
            if cell["data_type"] == "e":
                faults[column] = f"it shows {shown(text)}; mend the formula"
    return WorksheetRow(number, texts, faults)


def _text(sheet: Any, cell: dict[str, Any]) -> str:
    is_number = isinstance(cell["value"], (int, float))
    number_format = ReadOnlyCell(sheet, **cell).number_format if is_number else ""
    text = shown_text(cell["value"], number_format or "")
    return text if text.strip() else ""


def _filled(
    name: str, lines: Sequence[WorksheetRow], areas: Sequence[tuple[int, int, int, int]]
) -> Worksheet:
    """The text of a merged area also in the rows below its first; `areas` are left, top, right, bottom."""
    by_number = {line.number: line for line in lines}
    numbers = sorted(by_number)
    below: dict[tuple[int, int], int] = {}
    left = _MOST_FILLED
    for column, top, _, bottom in areas:
        text = by_number[top].texts.get(column) if top in by_number else None
        if text is None or bottom == top:
            continue
        below[top, column] = bottom
        reached = numbers[bisect_right(numbers, top) : bisect_right(numbers, bottom)]
        left -= len(reached)
        if left < 0:
            msg = "merged cells that overlap"
            raise ValueError(msg)
        for number in reached:
            by_number[number].texts.setdefault(column, text)
    return Worksheet(name, tuple(lines), below)


def _first_wide(lines: Sequence[WorksheetRow]) -> int:
    """The place of the first line with more than one text; the first line when there is none."""
    return next((place for place, line in enumerate(lines) if len(line.texts) > 1), 0)


def _stripped(line: WorksheetRow) -> list[str]:
    return [text.strip() for text in line.texts.values()]


def _in_order(texts: Mapping[int, str]) -> list[str]:
    return [texts.get(column, "") for column in range(1, max(texts, default=0) + 1)]


def _workbooks_by_column(names: Sequence[str], line: WorksheetRow) -> dict[str, JsonValue]:
    return {name: line.texts.get(column, "") for column, name in enumerate(names, 1) if name}
