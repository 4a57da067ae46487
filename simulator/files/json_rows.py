"""Rows of JSON and JSONL files, each with the line it begins on."""

import json
from collections.abc import Iterator
from pathlib import Path

from pydantic import JsonValue

from simulator.files.row import Row, fault, is_storable

_SPACE = " \t\n\r\ufeff"


def json_rows(path: Path, text: str) -> Iterator[Row]:
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
    if "\\u" in raw and not is_storable(value):
        what = "a text holds \\u0000 or half of a \\u pair, which cannot be stored; remove it."
        raise fault(path, line, what)
    return value
