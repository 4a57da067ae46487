"""Rows of JSON and JSONL files, each with the line it begins on."""

import json
from collections.abc import Iterator
from pathlib import Path

from pydantic import JsonValue

from simulator.files.row import Row, RowFault, Wrong, fault, is_storable, stop

_SPACE = " \t\n\r\ufeff"


def jsonl_rows(path: Path, lines: Iterator[str], wrong: Wrong = stop) -> Iterator[Row]:
    """The objects of a file that is read line by line; from the first line on that is no object, as one text.

    `wrong` is told of what cannot be read; where it does not raise, reading goes on with the next line.
    """
    for number, line in enumerate(lines, 1):
        start = _skip(line, 0)
        if start == len(line):
            continue
        try:
            value, end = _DECODER.raw_decode(line, start)
            whole = isinstance(value, dict) and _skip(line, end) == len(line)
        except (ValueError, RecursionError):
            whole = False
        if not whole:  # a list, an object over several lines or several on one, or a mistake
            yield from json_rows(path, "".join((line, *lines)), wrong, number)
            return
        try:
            yield Row(number, _object(path, number, value, line))
        except RowFault as found:
            wrong(found)


def json_rows(path: Path, text: str, wrong: Wrong = stop, first: int = 1) -> Iterator[Row]:
    """The objects of a JSON list, or of a sequence of objects (JSONL), in one pass.

    `first` is the line that the text begins on. In a list nothing can be read behind a mistake.
    """
    position = _skip(text, 0)
    in_list = text[position] == "["
    position = _skip(text, position + in_list)
    line = first + text.count("\n", 0, position)
    while position < len(text) and not (in_list and text[position] == "]"):
        try:
            value, end = _decoded(path, line, text, position, first)
        except RowFault as found:
            if in_list:
                raise
            wrong(found)
            end = text.find("\n", position) + 1 or len(text)
        else:
            try:
                yield Row(line, _object(path, line, value, text[position:end]))
            except RowFault as found:
                wrong(found)
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


def _decoded(path: Path, line: int, text: str, position: int, first: int) -> tuple[JsonValue, int]:
    try:
        return _DECODER.raw_decode(text, position)
    except json.JSONDecodeError as error:
        at = error.lineno + first - 1
        what = f"not valid JSON ({error.msg}, at line {at}, character {error.colno})."
    except RecursionError:
        what = "nested too deeply."
    except ValueError:
        what = "a number with too many digits; write it as text."
    raise fault(path, line, what)


def _object(path: Path, line: int, value: JsonValue, raw: str) -> dict[str, JsonValue]:
    if not isinstance(value, dict):
        raise fault(path, line, 'not an object; a row is written {"question": "..."}.')
    if "\\u" in raw and not is_storable(value):
        what = "a text holds \\u0000 or half of a \\u pair, which cannot be stored; remove it."
        raise fault(path, line, what)
    return value
