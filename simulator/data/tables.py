"""Rows of CSV and TSV files, and what the columns of any table are called."""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal, localcontext
from pathlib import Path

from pydantic import JsonValue

from simulator.core.errors import UnknownName
from simulator.core.replies import encodable
from simulator.data.files import Lines, shown
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
