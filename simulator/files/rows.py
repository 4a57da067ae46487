"""Rows of data files: CSV, TSV, JSONL and JSON, each row with the line it begins on."""

import csv
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import JsonValue

from simulator.errors import CaseFileError
from simulator.files.quoting import shown
from simulator.files.text import lines, plain_suffix, read_text

TABLES = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": "\t"}
RECORDS = frozenset({".jsonl", ".ndjson", ".json"})
ACCEPTED = "CSV, TSV, JSONL or JSON, each also as .gz"

# A recorded context can be longer than the 131,072 characters that the csv module stops at.
_LONGEST_CELL = 2**31 - 1
_SPACE = " \t\n\r\ufeff"


class Row(NamedTuple):
    """One row: the line of the file it begins on (1-based) and its values by column name.

    `cells` is true for tables, where every value is text and a list is written inside one cell.
    """

    line: int
    values: dict[str, JsonValue]
    cells: bool = False


def read_rows(path: Path, fits: Callable[[Sequence[str]], bool]) -> Iterator[Row]:
    """The rows of a file; `fits` says whether a header has what is needed, which settles the delimiter."""
    suffix = plain_suffix(path)
    if suffix not in TABLES and suffix not in RECORDS:
        msg = f"{path}: '{suffix or path.name}' is not a known kind of data file; save it as {ACCEPTED}."
        raise CaseFileError(msg)
    text = read_text(path)
    return _table(path, text, TABLES[suffix], fits) if suffix in TABLES else _records(path, text)


def fault(path: Path, line: int, what: str) -> CaseFileError:
    """The error for something wrong on a line of a file."""
    return CaseFileError(f"{path}, line {line}: {what}")


def _table(path: Path, text: str, delimiter: str, fits: Callable[[Sequence[str]], bool]) -> Iterator[Row]:
    csv.field_size_limit(_LONGEST_CELL)
    reader = csv.reader(lines(text), delimiter=_delimiter(text, delimiter, fits), strict=True)
    header: list[str] = []
    start = 1
    try:
        for cells in reader:
            if header and any(map(str.strip, cells)):
                yield Row(start, _by_column(path, start, header, cells), cells=True)
            elif any(map(str.strip, cells)):
                header = _header(path, start, cells)
            start = reader.line_num + 1
    except csv.Error as error:
        what = f"not a readable table row ({error}); inside quotation marks, write a quotation mark twice."
        raise fault(path, start, what) from None


def _delimiter(text: str, usual: str, fits: Callable[[Sequence[str]], bool]) -> str:
    """The delimiter of the file's kind, unless only another one makes sense of the header."""
    for delimiter in (usual, ",", "\t", ";"):
        try:
            rows = csv.reader(lines(text), delimiter=delimiter, strict=True)
            if fits(next((row for row in rows if any(map(str.strip, row))), [])):
                return delimiter
        except csv.Error:
            continue
    return usual


def _header(path: Path, line: int, cells: list[str]) -> list[str]:
    names = [cell.strip() for cell in cells]
    if twice := next((name for name in names if name and names.count(name) > 1), None):
        raise fault(path, line, f"the column {shown(twice)} is there twice; rename one.")
    return names


def _by_column(path: Path, line: int, header: list[str], cells: list[str]) -> dict[str, JsonValue]:
    if any(map(str.strip, cells[len(header) :])):
        what = (
            f"{len(cells)} cells under {len(header)} column names;"
            " put a text that contains the separator in quotation marks."
        )
        raise fault(path, line, what)
    return {name: cell for name, cell in zip(header, cells, strict=False) if name}


def _records(path: Path, text: str) -> Iterator[Row]:
    """The objects of a JSON list, or of a sequence of objects (JSONL), in one pass."""
    position = _skip(text, 0)
    in_list = text[position] == "["
    position = _skip(text, position + in_list)
    line = text.count("\n", 0, position) + 1
    while position < len(text) and not (in_list and text[position] == "]"):
        value, end = _decoded(path, line, text, position)
        yield Row(line, _object(path, line, value, text[position:end]))
        after = _skip(text, end)
        if in_list:
            after = _next_item(path, line, text, after)
        line += text.count("\n", position, after)
        position = after
    if in_list and position >= len(text):
        raise fault(path, line, "the list is not closed with ]; the file was cut off.")


def _skip(text: str, position: int) -> int:
    while position < len(text) and text[position] in _SPACE:
        position += 1
    return position


def _next_item(path: Path, line: int, text: str, position: int) -> int:
    if text.startswith(",", position):
        return _skip(text, position + 1)
    if position >= len(text) or text[position] == "]":
        return position
    raise fault(path, line, "a comma is missing after this object.")


# pandas and others write a missing value as NaN, which is no JSON.
_DECODER = json.JSONDecoder(parse_constant=lambda _: None)


def _decoded(path: Path, line: int, text: str, position: int) -> tuple[JsonValue, int]:
    try:
        return _DECODER.raw_decode(text, position)
    except json.JSONDecodeError as error:
        what = f"not valid JSON ({error.msg}, at line {error.lineno}, character {error.colno})."
    except RecursionError:
        what = "nested too deeply."
    except ValueError:
        what = "a number with too many digits; write it as text."
    raise fault(path, line, what)


def _object(path: Path, line: int, value: JsonValue, raw: str) -> dict[str, JsonValue]:
    if not isinstance(value, dict):
        raise fault(path, line, 'not an object; a row is written {"question": "..."}.')
    if "\\u" in raw:
        for text in _texts(value):
            if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
                what = "a text holds \\u0000 or half of a \\u pair, which cannot be stored; remove it."
                raise fault(path, line, what)
    return value


def _texts(value: JsonValue) -> Iterator[str]:
    """Every key and text of a document; a list instead of recursion, because depth is the sender's choice."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, list):
            waiting.extend(item)
        elif isinstance(item, dict):
            waiting.extend([*item.keys(), *item.values()])
