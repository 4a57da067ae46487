"""Evaluates formulas: arithmetic, comparisons, references and the functions a summary needs."""

import fnmatch
import re
from collections.abc import Callable, Iterator
from typing import Any

from tests.servers.sheets_a1 import parse_area
from tests.servers.sheets_errors import ApiError, Json
from tests.servers.sheets_formulas import REFERENCE, title_of
from tests.servers.sheets_state import Sheet, Spreadsheet

_TOKEN = re.compile(
    rf'\s*(?:(?P<text>"(?:[^"]|"")*")|(?P<error>#REF!)|(?P<range>{REFERENCE})'
    r"|(?P<number>\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)|(?P<name>[A-Za-z_][\w.]*)|(?P<op><>|<=|>=|[-+*/^&=<>%(),]))"
)
_DEEPEST = 40
_LEVELS = (("=", "<>", "<", ">", "<=", ">="), ("&",), ("+", "-"), ("*", "/"), ("^",))


class Failed(Exception):
    """An error value, such as #DIV/0!; its type as the API calls it."""

    def __init__(self, kind: str, shown: str, message: str = "") -> None:
        super().__init__(message)
        self.kind, self.shown, self.message = kind, shown, message


class Cells(list[list[Any]]):
    """What a range holds, row by row; None is an empty cell."""

    @property
    def flat(self) -> list[Any]:
        """All of its cells."""
        return [value for row in self for value in row]


def effective(book: Spreadsheet, sheet: Sheet, value: Json, depth: int = 0) -> Json:
    """The ExtendedValue a cell's entered one comes to."""
    formula = value.get("formulaValue")
    if formula is None:
        return value
    try:
        result = _plain(_Formula(book, sheet, formula[1:], depth).value())
    except Failed as failed:
        return {"errorValue": {"type": failed.kind, "message": failed.message}}
    except RecursionError:
        return {"errorValue": {"type": "REF", "message": "Circular dependency detected."}}
    if isinstance(result, bool):
        return {"boolValue": result}
    if isinstance(result, int | float):
        return {"numberValue": result}
    return {"stringValue": result or ""}


def shown_error(kind: str) -> str:
    """How an error stands in its cell."""
    return {"DIVIDE_BY_ZERO": "#DIV/0!", "NAME": "#NAME?", "N_A": "#N/A"}.get(kind, f"#{kind}!")


def _plain(value: Any) -> Any:
    return value.flat[0] if isinstance(value, Cells) else value


def value_of(value: Json) -> Any:
    """An ExtendedValue as a Python value; None for an empty one."""
    if "errorValue" in value:
        kind = value["errorValue"]["type"]
        raise Failed(kind, shown_error(kind))
    return next(iter(value.values()), None)


class _Formula:
    """One formula being read from left to right."""

    def __init__(self, book: Spreadsheet, sheet: Sheet, text: str, depth: int) -> None:
        if depth > _DEEPEST:
            raise Failed("REF", "#REF!", "Circular dependency detected.")
        self.book, self.sheet, self.depth = book, sheet, depth
        self.tokens = list(_tokens(text))
        self.at = 0

    def value(self) -> Any:
        """What it comes to."""
        result = self._binary(0)
        if self.at != len(self.tokens):
            raise Failed("ERROR", "#ERROR!", "Formula parse error.")
        return result

    def _next(self) -> tuple[str, str]:
        return self.tokens[self.at] if self.at < len(self.tokens) else ("end", "")

    def _take(self, *texts: str) -> str:
        kind, text = self._next()
        if kind != "op" or text not in texts:
            return ""
        self.at += 1
        return text

    def _need(self, text: str) -> None:
        if not self._take(text):
            raise Failed("ERROR", "#ERROR!", "Formula parse error.")

    def _binary(self, level: int) -> Any:
        if level == len(_LEVELS):
            return self._unary()
        left = self._binary(level + 1)
        while sign := self._take(*_LEVELS[level]):
            left = _operation(sign, _plain(left), _plain(self._binary(level + 1)))
        return left

    def _unary(self) -> Any:
        if sign := self._take("-", "+"):
            return number(_plain(self._unary())) * (-1 if sign == "-" else 1)
        value = self._atom()
        while self._take("%"):
            value = number(_plain(value)) / 100
        return value

    def _atom(self) -> Any:
        if self._take("("):
            inner = self._binary(0)
            self._need(")")
            return inner
        kind, text = self._next()
        self.at += 1
        if kind == "number":
            return float(text)
        if kind == "text":
            return text[1:-1].replace('""', '"')
        if kind == "range":
            return self._range(text)
        if kind == "name":
            return self._name(text.upper())
        raise Failed("REF" if kind == "error" else "ERROR", "#ERROR!", "Formula parse error.")

    def _name(self, name: str) -> Any:
        if name in ("TRUE", "FALSE") and self._next() != ("op", "("):
            return name == "TRUE"
        if name not in FUNCTIONS and name != "IFERROR":
            raise Failed("NAME", "#NAME?", f"Unknown function: '{name}'.")
        self._need("(")
        if name == "IFERROR":
            return self._iferror()
        arguments = []
        while not self._take(")"):
            arguments.append(self._binary(0))
            self._take(",")
        return FUNCTIONS[name](*arguments)

    def _iferror(self) -> Any:
        start = self.at
        try:
            value = self._binary(0)
        except Failed:
            self.at = _end_of_argument(self.tokens, start)
            value = ""
            if self._take(","):
                value = self._binary(0)
            self._need(")")
            return value
        if self._take(","):
            self.at = _end_of_argument(self.tokens, self.at)
        self._need(")")
        return value

    def _range(self, text: str) -> Cells:
        mark, bang, rest = text.rpartition("!")
        area = parse_area(rest.replace("$", ""))
        try:
            sheet = self.book.sheet(title_of(mark + bang)) if bang else self.sheet
            if area is None:
                raise KeyError(text)
            box = sheet.box(area)
        except (KeyError, ApiError):
            raise Failed("REF", "#REF!", "Reference does not exist") from None
        # What lies below the last filled cell is empty, for any function.
        used = sheet.grid.used()
        bottom = max(box.top + 1, min(box.bottom, used.bottom))
        right = max(box.left + 1, min(box.right, used.right))
        rows = range(box.top, bottom)
        return Cells([[self._cell(sheet, row, col) for col in range(box.left, right)] for row in rows])

    def _cell(self, sheet: Sheet, row: int, column: int) -> Any:
        entered = sheet.grid.get(row, column).get("userEnteredValue")
        return value_of(effective(self.book, sheet, entered, self.depth + 1)) if entered else None


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    while text[at:].strip():
        found = _TOKEN.match(text, at)
        if found is None or found.lastgroup is None:
            raise Failed("ERROR", "#ERROR!", "Formula parse error.")
        yield found.lastgroup, found[found.lastgroup]
        at = found.end()


def _end_of_argument(tokens: list[tuple[str, str]], at: int) -> int:
    depth = 0
    while at < len(tokens):
        kind, text = tokens[at]
        if kind == "op" and depth == 0 and text in (",", ")"):
            break
        depth += {"(": 1, ")": -1}.get(text, 0) if kind == "op" else 0
        at += 1
    return at


def number(value: Any) -> float:
    """A value as a number; text that is none is #VALUE!."""
    if value is None or value == "":
        return 0
    try:
        return float(value)
    except ValueError:
        raise Failed("VALUE", "#VALUE!", "Expects number values.") from None


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    return "" if value is None else f"{value:.15g}" if isinstance(value, int | float) else str(value)


def _operation(sign: str, left: Any, right: Any) -> Any:
    if sign == "&":
        return _text(left) + _text(right)
    if sign in _LEVELS[0]:
        return _compared(sign, left, right)
    first, second = number(left), number(right)
    if sign == "/":
        if not second:
            raise Failed("DIVIDE_BY_ZERO", "#DIV/0!", "Function DIVIDE parameter 2 cannot be zero.")
        return first / second
    if sign == "^":
        return first**second
    return first + second if sign == "+" else first - second if sign == "-" else first * second


def _compared(sign: str, left: Any, right: Any) -> bool:
    first, second = (v.casefold() if isinstance(v, str) else v for v in (left, right))
    first, second = _blank_like(first, second), _blank_like(second, first)
    if sign in ("=", "<>"):
        return bool((first == second) is (sign == "="))
    # Numbers stand before text.
    one, two = (isinstance(first, str), first), (isinstance(second, str), second)
    return bool({"<": one < two, ">": one > two, "<=": one <= two, ">=": one >= two}[sign])


def _blank_like(value: Any, other: Any) -> Any:
    return value if value is not None else ("" if isinstance(other, str) else 0)


def _matches(criterion: Any) -> Callable[[Any], bool]:
    found = re.fullmatch(r"(<>|<=|>=|<|>|=)?(.*)", _text(criterion), re.DOTALL)
    sign, wanted = (found[1] or "=", found[2]) if found else ("=", "")
    if re.fullmatch(r"-?\d+(\.\d+)?", wanted):
        aim = float(wanted)
        return lambda value: _is_number(value) and _compared(sign, value, aim)
    if sign in ("=", "<>"):
        pattern = re.compile(fnmatch.translate(wanted.replace("[", "[[]")), re.IGNORECASE)
        return lambda value: bool(pattern.match("" if value is None else _text(value))) is (sign == "=")
    return lambda value: isinstance(value, str) and _compared(sign, value, wanted)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _all(arguments: tuple[Any, ...]) -> list[Any]:
    return [value for item in arguments for value in (item.flat if isinstance(item, Cells) else [item])]


def _numbers(*arguments: Any) -> list[float]:
    return [value for value in _all(arguments) if _is_number(value)]


def _average(*arguments: Any) -> float:
    found = _numbers(*arguments)
    return _operation("/", sum(found), len(found))  # type: ignore[no-any-return]


def _countifs(*pairs: Any) -> int:
    columns = [list(map(_matches(_plain(pairs[i + 1])), pairs[i].flat)) for i in range(0, len(pairs), 2)]
    # Ranges were cut at the last filled row, all alike.
    return sum(all(row) for row in zip(*columns, strict=False))


def _sumif(cells: Cells, criterion: Any, summed: Cells | None = None) -> float:
    hits = map(_matches(_plain(criterion)), cells.flat)
    return sum(
        number(v) for v, hit in zip((summed or cells).flat, hits, strict=False) if hit and _is_number(v)
    )


def _if(test: Any, then: Any, other: Any = False) -> Any:
    return then if _plain(test) else other


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "SUM": lambda *a: sum(_numbers(*a)),
    "AVERAGE": _average,
    "COUNT": lambda *a: len(_numbers(*a)),
    "COUNTA": lambda *a: sum(value is not None for value in _all(a)),
    "COUNTBLANK": lambda *a: sum(value in (None, "") for value in _all(a)),
    "COUNTIF": _countifs,
    "COUNTIFS": _countifs,
    "SUMIF": _sumif,
    "MIN": lambda *a: min(_numbers(*a), default=0),
    "MAX": lambda *a: max(_numbers(*a), default=0),
    "ABS": lambda a: abs(number(_plain(a))),
    "ROUND": lambda a, places=0: round(number(_plain(a)) + 0.0, int(places)),
    "IF": _if,
    "AND": lambda *a: all(_all(a)),
    "OR": lambda *a: any(_all(a)),
    "NOT": lambda a: not _plain(a),
    "LEN": lambda a: len(_text(_plain(a))),
    "ISBLANK": lambda a: _plain(a) is None,
    "CONCATENATE": lambda *a: "".join(map(_text, _all(a))),
    "HYPERLINK": lambda address, label=None: _plain(address) if label is None else _plain(label),
    "SPARKLINE": lambda *_: "",
}
