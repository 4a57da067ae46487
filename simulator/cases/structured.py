"""Rows of JSON and JSONL files, each with the line it begins on.

    {"question": "a"}                      one object a line, or one behind another
    [{"question": "a"}, {"question": "b"}] a list, over as many lines as it likes

Both are read through a window on the file, which grows until the object that begins in it is whole, so a list
of a gigabyte never stands in the memory at once. A faulty line of JSONL is told, and the next one is read; in
a list nothing behind a mistake can be read. An object whose values would take more than `_MOST_HELD` bytes is
refused before it is parsed: a megabyte of "[" becomes some sixty.
"""

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from pydantic import JsonValue

from simulator.cases.files import MAX_LINE
from simulator.cases.row import CutOff, Row, RowFault, Rows, check_columns, is_storable
from simulator.core.messages import _, sentences

_FILLED = re.compile(r"[^ \t\n\r\ufeff]")
# pandas and others write a missing value as NaN, which is not valid JSON.
_DECODER = json.JSONDecoder(parse_constant=lambda _: None)
# A name that JSON allows for a value is so long at most: an error before the end may be the end's.
_CUT = len("-Infinity")
# What a value may begin with that a file which was cut off holds only a part of.
_LITERALS = ("true", "false", "null", "NaN", "Infinity", "-Infinity")
# About what an object, a list, a further value and a name take in memory, and what a row may with its text.
_BYTES = {"{": 184, "[": 64, ",": 64, ":": 150}
_MOST_HELD = 180_000_000


class _Window:
    """The text of a file, about as much at a time as the row takes that is being read."""

    def __init__(self, path: Path, pieces: Iterator[str]) -> None:
        self._path, self._pieces = path, pieces
        self.text, self.position, self.line = "", 0, 1
        # Characters of the first line of the text that are no longer held.
        self._gone = 0

    def more(self) -> bool:
        """Whether there was more to read; raises RowFault where one row would take too much memory.

        The window at least doubles each time, so that a long object is not parsed again for every piece of
        it.
        """
        kept = self.text[self.position :]
        self._gone = self._column(self.position)
        parts, size = [kept], len(kept)
        for piece in self._pieces:
            parts.append(piece)
            size += len(piece)
            # Twice as much each time: a row of n characters is parsed about log n times.
            if size > 2 * len(kept):
                break
        self.text, self.position = "".join(parts), 0
        held = sys.getsizeof(self.text) + sum(self.text.count(sign) * n for sign, n in _BYTES.items())
        if len(kept) > MAX_LINE or held > _MOST_HELD:
            what = _(
                "this object is too large to be read at once;"
                " write a list of smaller ones, or one on each line."
            )
            raise RowFault(self._path, self.line, what)
        return len(parts) > 1

    def next(self) -> str:
        """The next character that is no space, to which it goes; empty at the end."""
        while True:
            match = _FILLED.search(self.text, self.position)
            self.go(match.start() if match else len(self.text))
            if match or not self.more():
                return match[0] if match else ""

    def go(self, position: int) -> None:
        """Goes there, and counts the lines."""
        self.line += self.text.count("\n", self.position, position)
        self.position = position

    def skip_line(self) -> None:
        """Goes to the beginning of the next line."""
        while (end := self.text.find("\n", self.position)) < 0:
            self.go(len(self.text))
            if not self.more():
                return
        self.go(end + 1)

    def value(self) -> tuple[JsonValue, str]:
        """The value that begins here, and how it is written. Raises RowFault for none.

        An error near the end of the window may be that of the window: more is read, and the value tried
        again.
        """
        try:
            value, end = _DECODER.raw_decode(self.text, self.position)
        except json.JSONDecodeError as error:
            # A text without its end, or a mistake so near the end of the window that more of the file may
            # mend it.
            rest = self.text[error.pos : error.pos + _CUT].rstrip()
            ends = _FILLED.search(self.text, error.pos + len(rest)) is None
            is_cut = error.msg.startswith("Unterminated string") or ends
            before = self.position
            if is_cut and self.more():
                return self.value()
            # At the end of the file, too, what was read is no longer held.
            at = error.pos - (before - self.position)
            what = _(
                "not valid JSON ({problem}, at line {line:d}, character {column:d}).",
                problem=error.msg,
                line=self.line + self.text.count("\n", self.position, at),
                column=self._column(at) + 1,
            )
            if is_cut and self._is_end(at, error.msg):
                cut = _("The file ends in the middle of this: it was cut off. Export or copy it again.")
                raise CutOff(self._path, self.line, sentences(what, cut)) from None
        except RecursionError:
            what = _("nested too deeply.")
        except ValueError:
            what = _("a number with too many digits; write it as text.")
        else:
            raw = self.text[self.position : end]
            self.go(end)
            return value, raw
        raise RowFault(self._path, self.line, what)

    def _is_end(self, position: int, problem: str) -> bool:
        """Whether a value is wrong there only in that the file ends in it."""
        rest = self.text[position:].strip()
        if not rest or problem.startswith("Unterminated string"):
            return True
        is_escape = problem.startswith("Invalid \\") and '"' not in rest and len(rest) < len("\\u0000")
        return is_escape or any(literal.startswith(rest) for literal in _LITERALS)

    def _column(self, position: int) -> int:
        """How many characters of its line stand before it."""
        newline = self.text.rfind("\n", 0, position)
        return position - newline - 1 if newline >= 0 else self._gone + position


def json_rows(path: Path, pieces: Iterator[str]) -> Rows:
    """The objects of a JSON list, or of a sequence of objects (JSONL), as they are read.

    In a list nothing behind a mistake can be read.
    """
    window = _Window(path, pieces)
    if in_list := window.next() == "[":
        window.go(window.position + 1)
    while (first := window.next()) and not (in_list and first == "]"):
        line = window.line
        try:
            value, raw = window.value()
        except RowFault as fault:
            if in_list:
                raise
            yield fault
            window.skip_line()
            continue
        row = _row(path, Row(line, {}), value, raw)
        del value, raw  # which may be as large as the file
        yield row
        del row
        # Behind an object of a list there is a comma or the end; anything else is a mistake that all later
        # lines would suffer from.
        if in_list and (behind := window.next()) == ",":
            window.go(window.position + 1)
        elif in_list and behind not in ("]", ""):
            raise RowFault(path, line, _("a comma is missing after this object."))
    if in_list and not first:
        raise CutOff(path, window.line, _("the list is not closed with ]; the file was cut off."))


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
            yield _row(path, row, value, raw)


def _row(path: Path, row: Row, value: JsonValue, raw: str) -> Row | RowFault:
    """The row with these values."""
    if not isinstance(value, dict):
        return RowFault(path, row, _('not an object; a row is written {{"question": "..."}}.'))
    check_columns(path, row, len(value))
    # Only an escape can write what cannot be stored; without any, the row is not walked through.
    if "\\u" in raw and not is_storable(value):
        what = _("a text holds \\u0000 or half of a \\u pair, which cannot be stored; remove it.")
        return RowFault(path, row, what)
    return row._replace(values=value)
