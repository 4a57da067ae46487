"""Rows of JSON and JSONL files, each with the line it begins on.

    {"question": "a"}                      one object a line, or one behind another
    [{"question": "a"}, {"question": "b"}] a list, over as many lines as it likes

A faulty line of JSONL is told, and the next one is read; in a list nothing behind a mistake can be read. One
object is held at a time; one that would take more than `_MOST_HELD` bytes (a page with all traces) is refused
before it is parsed: a megabyte of "[" becomes some sixty.
"""

import contextlib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import JsonValue

from simulator.cases.row import CutOff, Row, RowFault, Rows, check_columns, is_storable
from simulator.core.errors import CaseFileError
from simulator.core.messages import _, sentences

_BLANK = re.compile(r"[ \t\n\r\ufeff]*")
# pandas and others write a missing value as NaN, which is not valid JSON.
_DECODER = json.JSONDecoder(parse_constant=lambda _: None)
# What a value may begin with that a file which was cut off holds only a part of.
_LITERALS = ("true", "false", "null", "NaN", "Infinity", "-Infinity")
# About what an object, a list, a further value and a name take in memory, and what a row may in all.
_BYTES = {"{": 184, "[": 64, ",": 64, ":": 150}
_MOST_HELD = 250_000_000
# In a file that takes more than that so many characters are looked at for the end of a row, then all.
_WINDOWS = (1 << 16, 1 << 20, 1 << 26)
# A file with more faulty lines is none of these.
_MOST_FAULTS = 1000


def json_rows(path: Path, text: str) -> Rows:
    """The objects of a JSON list, or of a sequence of objects (JSONL).

    In a list nothing behind a mistake can be read.
    """
    windows = _WINDOWS if _held(text) > _MOST_HELD else ()
    start = _filled(text, 0)
    in_list = text.startswith("[", start)
    at = _filled(text, start + in_list)
    line, faults = 1 + text.count("\n", 0, at), 0
    while at < len(text) and not (in_list and text[at] == "]"):
        try:
            value, end = _value(path, text, at, line, windows)
        except RowFault as fault:
            faults += 1
            if in_list or faults > _MOST_FAULTS:
                raise
            yield fault
            end = text.find("\n", at) + 1 or len(text)
        else:
            yield _row(path, Row(line, {}), value, has_escapes=text.find("\\u", at, end) >= 0)
            # Behind an object of a list there is a comma or the end; anything else is a mistake that all
            # later lines would suffer from.
            if in_list:
                end = _filled(text, end)
                if text[end : end + 1] not in (",", "]", ""):
                    raise RowFault(path, line, _("a comma is missing after this object."))
                end += text.startswith(",", end)
        before, at = at, _filled(text, end)
        line += text.count("\n", before, at)
    if in_list and at >= len(text):
        raise CutOff(path, line, _("the list is not closed with ]; the file was cut off."))


def _filled(text: str, start: int) -> int:
    """Where the next character stands that is no space."""
    blank = _BLANK.match(text, start)
    return blank.end() if blank else start


def _held(text: str) -> int:
    """About how many bytes the values of a text take in memory."""
    return sum(text.count(sign) * size for sign, size in _BYTES.items())


def _value(path: Path, text: str, start: int, line: int, windows: Iterable[int]) -> tuple[JsonValue, int]:
    """The value that begins at `start`, on a line, and where it ends. Raises RowFault for none."""
    for size in windows:
        part = text[start : start + size]
        if _held(part) > _MOST_HELD:
            fault = RowFault(path, line, _("too many values to be read at once; split the file."))
            raise CaseFileError(fault.message)
        with contextlib.suppress(ValueError, RecursionError):
            value, end = _DECODER.raw_decode(part)
            if end < len(part):
                return value, start + end
    try:
        return _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        what = _(
            "not valid JSON ({problem}, at line {line:d}, character {column:d}).",
            problem=error.msg, line=error.lineno, column=error.colno,
        )  # fmt: skip
        if _is_end(text[error.pos :][: len(_LITERALS[-1]) + 1].strip(), error):
            cut = _("The file ends in the middle of this: it was cut off. Export or copy it again.")
            raise CutOff(path, line, sentences(what, cut)) from None
    except RecursionError:
        what = _("nested too deeply.")
    except ValueError:
        what = _("a number with too many digits; write it as text.")
    raise RowFault(path, line, what)


def _is_end(rest: str, error: json.JSONDecodeError) -> bool:
    """Whether a value is wrong there only in that the file ends in it; `rest` is what stands there."""
    if not rest or error.msg.startswith("Unterminated string"):
        return True
    is_escape = error.msg.startswith("Invalid \\") and '"' not in rest and len(rest) < len("\\u0000")
    return is_escape or any(literal.startswith(rest) for literal in _LITERALS)


def object_rows(path: Path, objects: Iterable[object]) -> Rows:
    """The rows of objects that a program has, as if they stood in a file; `path` is what errors call them.

    What JSON has no form for (a date, a decimal) is its text.
    """
    for number, item in enumerate(objects, 1):
        row = Row(number, {}, sheet="")
        try:
            raw = json.dumps(dict(item) if isinstance(item, Mapping) else item, default=str)
            value = _DECODER.decode(raw)
        except (RecursionError, TypeError, ValueError) as error:
            yield RowFault(path, row, _("it has no form in JSON ({problem}).", problem=error))
        else:
            yield _row(path, row, value, has_escapes="\\u" in raw)


def _row(path: Path, row: Row, value: JsonValue, *, has_escapes: bool) -> Row | RowFault:
    """The row with these values."""
    if not isinstance(value, dict):
        return RowFault(path, row, _('not an object; a row is written {{"question": "..."}}.'))
    check_columns(path, row, len(value))
    # Only an escape can write what cannot be stored; without any, the row is not walked through.
    if has_escapes and not is_storable(value):
        what = _("a text holds \\u0000 or half of a \\u pair, which cannot be stored; remove it.")
        return RowFault(path, row, what)
    return row._replace(values=value)
