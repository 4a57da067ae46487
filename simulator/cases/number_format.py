"""The text that Excel shows for a number under a number format: 12000 under `#,##0,"千円"` is 12千円.

    9012345678  0##-####-####             090-1234-5678
    46113       yyyy"年"m"月"d"日"        2026年4月1日      dates are days since the workbook's epoch
    46113       [$-411]ggge"年"m"月"d"日"  令和8年4月1日
    0.4375      h"時"mm"分"               10時30分          and times are parts of a day
    -5          #,##0;"▲"#,##0            ▲5

A format has up to four sections with semicolons between them (positive, negative, zero, text), or sections
with conditions (`[<=99999999]####-####;(00) ####-####`). `_sections` reads them, `_section` chooses one,
`_number` and `_moment` fill it in.

These are the formats that question files have; for any other one UnsupportedFormat is raised, and the cell is
named. What depends on the system is shown as Japanese Excel shows it: format 14 as 2026/4/1, the built-in
formats from 27 on as dates with 年, 月 and 日.

Written from ECMA-376, part 1, 18.8.30 and 18.8.31 (number formats).
"""

import operator
import re
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal, localcontext
from functools import lru_cache
from typing import NamedTuple

GENERAL = "General"
# Formats that are stored by number alone, where Japanese Excel has others than `openpyxl` knows.
_SHORT, _LONG = "yyyy/m/d", 'yyyy"年"m"月"d"日"'
_ERA, _ERA_LONG = "[$-411]ge.m.d", '[$-411]ggge"年"m"月"d"日"'
_MONTH, _DAY = 'yyyy"年"m"月"', 'm"月"d"日"'
BUILT_IN = {
    14: _SHORT, 22: f"{_SHORT} h:mm", 27: _ERA, 28: _ERA_LONG, 29: _ERA_LONG, 30: "m/d/yy", 31: _LONG,
    32: 'h"時"mm"分"', 33: 'h"時"mm"分"ss"秒"', 34: _MONTH, 35: _DAY, 36: _ERA, 50: _ERA, 51: _ERA_LONG,
    52: _MONTH, 53: _DAY, 54: _ERA_LONG, 55: _MONTH, 56: _DAY, 57: _ERA, 58: _ERA_LONG,
}  # fmt: skip
# Numbers of Excel have 15 digits. Larger ones are shown as they are stored where they have no format; with
# one, those up to here are filled in.
_LARGEST, _LARGEST_IN_FORMAT = 10**15, 10**30
_MOST_DECIMALS = 30
# The last day that Excel knows is 31 December 9999.
_MOST_DAYS = 2_958_466
# Japanese eras from their first days, as Excel names them.
_ERAS = (
    (date(2019, 5, 1), ("R", "令", "令和")),
    (date(1989, 1, 8), ("H", "平", "平成")),
    (date(1926, 12, 25), ("S", "昭", "昭和")),
    (date(1912, 7, 30), ("T", "大", "大正")),
    (date(1868, 1, 25), ("M", "明", "明治")),
)
_WEEKDAYS = "月火水木金土日"
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December",
)  # fmt: skip

_TOKEN = re.compile(
    r"""
    "(?P<quoted>[^"]*)"? | \\(?P<escaped>.) | (?P<blank>_.) | \*.
  | \[(?P<condition>[<>=]+\s*-?\d+(?:\.\d+)?)\]
  | \[\$-(?P<japanese>(?:[\w-]*411|ja)[^\]]*)\]
  | \[\$(?P<currency>[^\]-]*)[^\]]*\]
  | \[(?:black|blue|cyan|green|magenta|red|white|yellow|[黒青水緑紫赤白黄]|colou?r\s*\d+|色\s*\d+)\]
  | (?P<general>General|G/標準)
  | (?P<date>y+|m+|d+|h+|s+|g+|aaaa?|e+(?![+-])|AM/PM|午前/午後)
  | (?P<digit>[0\#?]) | (?P<dot>\.) | (?P<comma>,) | (?P<percent>%) | (?P<text>@)
  | (?P<unsupported>[\[e]|A/P) | (?P<other>.)
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_COMPARED: dict[str, Callable[[Decimal, Decimal], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "=": operator.eq, "<>": operator.ne,
}  # fmt: skip
# What stands in a place for a digit that there is none for.
_EMPTY = {"0": "0", "?": " ", "#": ""}


class UnsupportedFormat(Exception):
    """A number format that this module cannot fill in; the cell has to be named."""


class _Token(NamedTuple):
    kind: str
    text: str


class _Section(NamedTuple):
    """One part of a format: its tokens, its condition (a sign and a number), its locale if Japanese."""

    tokens: tuple[_Token, ...]
    condition: tuple[str, Decimal] | None
    japanese: str

    def has(self, *kinds: str) -> bool:
        return any(token.kind in kinds for token in self.tokens)

    def places(self, kind: str) -> list[int]:
        return [place for place, token in enumerate(self.tokens) if token.kind == kind]


def shown_number(value: float, number_format: str, epoch: datetime) -> str:
    """The text of a number in this format; `epoch` is day 0 of the workbook's dates.

    Raises UnsupportedFormat for a format that is not supported, and for a date before day 0, which Excel
    shows as ####.
    """
    section, is_negated = _section(_sections(number_format), value)
    if section is None or abs(value) >= _LARGEST_IN_FORMAT:
        return general(value)
    if section.has("unsupported"):
        raise UnsupportedFormat
    if section.has("date"):
        return _moment(section, value, epoch)
    return _number(section, value, "-" if value < 0 and not is_negated else "")


def general(value: float) -> str:
    """A number without a format, with up to 15 digits."""
    if abs(value) < _LARGEST:
        return str(int(value)) if int(value) == value else f"{value:.15g}"
    return str(value)


@lru_cache(maxsize=1024)
def _sections(number_format: str) -> tuple[_Section, ...]:
    sections: list[list[_Token]] = [[]]
    if "[$-f800]" in number_format.lower():  # the system's own long date
        number_format = _LONG
    for match in _TOKEN.finditer(number_format):
        kind, text = match.lastgroup or "", match[match.lastgroup or 0]
        if (kind, text) == ("other", ";"):
            sections.append([])
        elif kind:  # without one it is a colour, or what fills the cell
            sections[-1].append(_Token(kind, text))
    return tuple(map(_section_of, sections))


def _section_of(tokens: Sequence[_Token]) -> _Section:
    """The section of these tokens, with n in place of an m of minutes: behind hours, before seconds."""
    condition: tuple[str, Decimal] | None = None
    japanese = ""
    has_digits = any(token.kind == "digit" for token in tokens)
    dates = ["", *(token.text[0].lower() for token in tokens if token.kind == "date"), ""]
    number, read = 0, []
    for kind, text in tokens:
        if kind == "condition":
            sign = text.rstrip("-.0123456789 ")
            condition = sign, Decimal(text.removeprefix(sign).strip())
        elif kind == "japanese":
            japanese = text
        elif kind == "date":
            number += 1
            is_minute = text.lower() in ("m", "mm") and (dates[number - 1] == "h" or dates[number + 1] == "s")
            read.append(_Token(kind, text.lower().replace("m", "n") if is_minute else text.lower()))
        elif kind == "blank":  # as wide as the character behind it
            read.append(_Token("literal", " "))
        # Without digits a dot or a comma is one like any other letter.
        elif kind in ("quoted", "escaped", "currency", "other") or (
            kind in ("comma", "dot", "percent") and not has_digits
        ):
            read.append(_Token("literal", text))
        else:
            read.append(_Token(kind, text))
    return _Section(tuple(read), condition, japanese)


def _section(sections: Sequence[_Section], value: float) -> tuple[_Section | None, bool]:
    """The section for a value, and whether it says by itself that the value is negative."""
    # The last of several may be for text alone: yyyy/m/d;@
    numeric = [part for part in sections if part.tokens == () or not part.has("text")][:3]
    if not numeric:
        return None, False
    if any(part.condition for part in numeric):
        number = Decimal(repr(value))
        for part in numeric:
            sign, limit = part.condition or (">=", number)
            if _COMPARED[sign](number, limit):
                return part, bool(part.condition) and sign in ("<", "<=") and limit <= 0
        return numeric[-1], False
    if value < 0 and len(numeric) > 1:
        return numeric[1], True
    if value == 0 and len(numeric) > 2:
        return numeric[2], False
    return numeric[0], False


def _number(section: _Section, value: float, sign: str) -> str:
    """Digits from the right into the places for digits, decimals from the left, all else as it stands."""
    tokens, digits = section.tokens, section.places("digit")
    if not digits:
        texts = (general(abs(value)) if token.kind == "general" else token.text for token in tokens)
        return (sign + "".join(texts)).strip()
    dot = next(iter(section.places("dot")), len(tokens))
    whole, decimals = [place for place in digits if place < dot], [place for place in digits if place > dot]
    is_fraction = any(tokens[place].text == "/" for place in range(digits[0], len(tokens)))
    if is_fraction or section.has("general") or not whole or len(decimals) > _MOST_DECIMALS:
        raise UnsupportedFormat
    grouping = {place for place in section.places("comma") if whole[0] < place < whole[-1]}
    scaling = {place for place in section.places("comma") if place > digits[0]} - grouping
    # Numbers of Excel have 15 digits; the scale and the rounding must not lose any.
    with localcontext(prec=60):
        number = abs(Decimal(f"{value:.15g}")) * 100 ** len(section.places("percent")) / 1000 ** len(scaling)
        text = f"{number.quantize(Decimal(1).scaleb(-len(decimals)), ROUND_HALF_UP):f}"
    before, _dot, behind = text.partition(".")
    before, behind = before.lstrip("0"), behind.rstrip("0")
    shown = dict.fromkeys(grouping | scaling, "") | _filled(tokens, whole, before, grouped=bool(grouping))
    for at, place in enumerate(decimals):
        shown[place] = behind[at] if at < len(behind) else _EMPTY[tokens[place].text]
    body = "".join(shown.get(place, token.text) for place, token in enumerate(tokens)).strip()
    return (sign if before or behind else "") + body


def _filled(tokens: Sequence[_Token], places: Sequence[int], digits: str, *, grouped: bool) -> dict[int, str]:
    """The digits in their places from the right; the first place has all that are left."""
    cells = [*(_EMPTY[tokens[place].text] for place in places[: max(0, len(places) - len(digits))]), *digits]
    if grouped:
        left = range(len(cells) - 1, -1, -1)  # of each how many more come
        cells = [f"{cell}," if n and n % 3 == 0 and cell.strip() else cell
                 for n, cell in zip(left, cells, strict=True)]  # fmt: skip
    first = len(cells) - len(places) + 1
    return dict(zip(places, ["".join(cells[:first]), *cells[first:]], strict=True))


def _moment(section: _Section, value: float, epoch: datetime) -> str:
    """A date or a time."""
    if section.has("digit", "percent", "general") or not 0 <= value < _MOST_DAYS:
        raise UnsupportedFormat
    seconds = int((Decimal(repr(value)) * 86400).quantize(Decimal(1), ROUND_HALF_UP))
    days = seconds // 86400
    # Of the dates from 1900 on, day 60 is a 29 February that never was.
    days += epoch.year == 1899 and 0 < days < 60
    moment = epoch + timedelta(days=days, seconds=seconds % 86400)
    parts = _parts(section, moment)
    if any(token.kind == "date" and token.text not in parts for token in section.tokens):
        raise UnsupportedFormat
    texts = (parts[token.text] if token.kind == "date" else token.text for token in section.tokens)
    return "".join(texts).strip()


def _parts(section: _Section, moment: datetime) -> dict[str, str]:
    """The parts of a date and a time by their letters in a format; nn are minutes."""
    year, month, weekday, is_late = moment.year, moment.month, _WEEKDAYS[moment.weekday()], moment.hour >= 12
    half = ("午前", "午後")[is_late]
    parts = {"yy": f"{year % 100:02}", "yyyy": f"{year:04}", "aaa": weekday, "aaaa": f"{weekday}曜日"}
    parts |= {"午前/午後": half, "am/pm": half if section.japanese else ("AM", "PM")[is_late]}
    if section.japanese:
        parts |= {"ddd": weekday, "dddd": f"{weekday}曜日", "mmm": f"{month}月", "mmmm": f"{month}月"}
    else:
        day, name = _DAYS[moment.weekday()], _MONTHS[month - 1]
        parts |= {"ddd": day[:3], "dddd": day, "mmm": name[:3], "mmmm": name}
    # Day 0 of a workbook is in the last of these.
    first, names = next((first, names) for first, names in _ERAS if moment.date() >= first)
    parts |= dict(zip(("g", "gg", "ggg"), names, strict=True))
    in_era = year - first.year + 1
    is_gannen = in_era == 1 and "gannen" in section.japanese.lower()
    parts |= {"e": "元" if is_gannen else str(in_era), "ee": f"{in_era:02}"}
    has_halves = any(kind == "date" and "/" in text for kind, text in section.tokens)
    hour = (moment.hour - 1) % 12 + 1 if has_halves else moment.hour
    numbers = {"m": moment.month, "d": moment.day, "h": hour, "n": moment.minute, "s": moment.second}
    for letter, number in numbers.items():
        parts |= {letter: str(number), 2 * letter: f"{number:02}"}
    return parts
