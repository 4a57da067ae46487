"""Formulas as text: their references follow rows, columns and worksheets that move or are renamed."""

import re
from collections.abc import Callable

from tests.servers.sheets_a1 import column_index, column_name, quoted
from tests.servers.sheets_grid import Shift

_SHEET = r"(?:'(?:[^']|'')+'|[^\W\d][\w.]*)!"
_CORNER = r"\$?[A-Za-z]{1,3}\$?\d+"
_LINE = r"(?:\$?[A-Za-z]{1,3}(?:\$?\d+)?|\$?\d+)"
REFERENCE = rf"(?:{_SHEET})?(?:{_LINE}:{_LINE}|{_CORNER})(?![\w(!])"
_TOKEN = re.compile(rf'"(?:[^"]|"")*"|(?<![\w$.]){REFERENCE}')
_PART = re.compile(r"(\$?)([A-Za-z]{1,3})?(\$?)(\d+)?")
_NAMED = re.compile(rf'"(?:[^"]|"")*"|{_SHEET}')
Part = tuple[str, str, str, str]


def title_of(mark: str) -> str:
    """`'My sheet'!` is My sheet."""
    return mark[:-1].strip("'").replace("''", "'") if mark.startswith("'") else mark[:-1]


def renamed_in(formula: str, old: str, new: str) -> str:
    """The formula after a worksheet got another name."""

    def replaced(found: re.Match[str]) -> str:
        if found[0].startswith('"') or title_of(found[0]) != old:
            return found[0]
        return quoted(new) + "!"

    return _NAMED.sub(replaced, formula)


def shifted_formula(formula: str, shift: Shift, title: str, at_home: bool) -> str:
    """The formula after `shift` on worksheet `title`; `at_home`: it stands there itself."""

    def replaced(found: re.Match[str]) -> str:
        text = found[0]
        if text.startswith('"'):
            return text
        sheet, mark, reference = text.rpartition("!")
        if (title_of(sheet + mark) != title) if mark else not at_home:
            return text
        new = _shifted(reference, shift)
        return new if new == "#REF!" else sheet + mark + new

    return _TOKEN.sub(replaced, formula)


def _shifted(reference: str, shift: Shift) -> str:
    first, _, last = reference.partition(":")
    parts = [_parts(text) for text in ((first, last) if last else (first,))]
    read, write = _COLUMN if shift.axis == "COLUMNS" else _ROW
    bounds = [read(part) for part in parts]
    if bounds[0] is None:
        return reference
    end = None if bounds[-1] is None else bounds[-1] + 1
    span = shift.span(bounds[0], end)
    if span is None:
        return "#REF!"
    new = (span[0], None if span[1] is None else span[1] - 1)
    # One cell is both ends of its range.
    written = [write(part, index) for part, index in zip(parts, new, strict=False)]
    return ":".join("".join(part) for part in written)


def _parts(text: str) -> Part:
    found = _PART.fullmatch(text)
    if found is None:
        return "", text, "", ""
    dollar, letters, mark, digits = (found[number] or "" for number in (1, 2, 3, 4))
    # In `$5` the only mark is the row's.
    return (dollar, letters, mark, digits) if letters else ("", "", dollar + mark, digits)


def _with_column(part: Part, index: int | None) -> Part:
    return part if index is None else (part[0], column_name(index), part[2], part[3])


def _with_row(part: Part, index: int | None) -> Part:
    return part if index is None else (part[0], part[1], part[2], str(index + 1))


Read = Callable[[Part], int | None]
Write = Callable[[Part, int | None], Part]
_COLUMN: tuple[Read, Write] = (lambda part: column_index(part[1]) if part[1] else None, _with_column)
_ROW: tuple[Read, Write] = (lambda part: int(part[3]) - 1 if part[3] else None, _with_row)
