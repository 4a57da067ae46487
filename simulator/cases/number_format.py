"""The text that Excel shows for a number under a number format: 12000 under `#,##0,"千円"` is 12千円.

    9012345678  0##-####-####             090-1234-5678
    46113       yyyy"年"m"月"d"日"        2026年4月1日      dates are days since the workbook's epoch
    46113       [$-411]ggge"年"m"月"d"日"  令和8年4月1日
    0.4375      h"時"mm"分"               10時30分          and times are parts of a day
    -5          #,##0;"▲"#,##0            ▲5

A format has up to four sections with semicolons between them (positive, negative, zero, text), or sections
with conditions (`[<=99999999]####-####;(00) ####-####`). `_sections` reads them, `_section` chooses one,
`_number` and `_moment` fill it in.

These are the formats that question files have. Powers of ten (`0.00E+00`), fractions (`# ?/?`), parts of
seconds, numerals of other scripts (`[DBNum1]`) and Buddhist years are not supported. What depends on the
system is shown as Japanese Excel shows it: format 14 as 2026/4/1, the built-in formats from 27 on as dates
with 年, 月 and 日.

Written from ECMA-376, part 1, 18.8.30 and 18.8.31 (number formats).
"""

import operator
import re
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal, localcontext
from functools import lru_cache
from typing import NamedTuple

GENERAL, TEXT = "General", "@"
# Formats that are stored by number alone, where Japanese Excel has others than `openpyxl` knows.
_SHORT, _LONG = "yyyy/m/d", 'yyyy"年"m"月"d"日"'
_ERA, _ERA_LONG = "[$-411]ge.m.d", '[$-411]ggge"年"m"月"d"日"'
_MONTH, _DAY = 'yyyy"年"m"月"', 'm"月"d"日"'
BUILT_IN = {
    14: _SHORT, 22: f"{_SHORT} h:mm", 27: _ERA, 28: _ERA_LONG, 29: _ERA_LONG, 30: "m/d/yy", 31: _LONG,
    32: 'h"時"mm"分"', 33: 'h"時"mm"分"ss"秒"', 34: _MONTH, 35: _DAY, 36: _ERA, 50: _ERA, 51: _ERA_LONG,
    52: _MONTH, 53: _DAY, 54: _ERA_LONG, 55: _MONTH, 56: _DAY, 57: _ERA, 58: _ERA_LONG,
}  # fmt: skip
# The system's own long date and time.
_SYSTEM = {"f800": _LONG, "f400": "h:mm:ss"}

# Numbers of Excel have 15 digits; larger ones are shown as they are stored.
_LARGEST = 10**15
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
_WEEKDAYS_JA = "月火水木金土日"
_WEEKDAYS_EN = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS_EN = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December",
)  # fmt: skip
# Seconds of what counts on beyond 24 hours: [h]:mm.
_UNITS = {"h": 3600, "m": 60, "s": 1}

_TOKEN = re.compile(
    r"""
    "(?P<quoted>[^"]*)"? | \\(?P<escaped>.) | (?P<blank>_.) | (?P<fill>\*.)
  | \[(?P<bracket>[^\]]*)\]
  | (?P<general>General|G/標準)
  | (?P<noon>AM/PM|午前/午後) | (?P<unsupported>A/P|e[+-])
  | (?P<date>y+|m+|d+|h+|s+|g+|aaaa?|e+)
  | (?P<digit>[0\#?]) | (?P<dot>\.) | (?P<comma>,) | (?P<percent>%) | (?P<text>@)
  | (?P<other>.)
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_CONDITION = re.compile(r"(<=|>=|<>|<|>|=)\s*(-?\d+(?:\.\d+)?)")
_COLOUR = re.compile(
    r"(?:black|blue|cyan|green|magenta|red|white|yellow|黒|青|水|緑|紫|赤|白|黄|colou?r\s*\d+|色\s*\d+)$",
    re.IGNORECASE,
)
_ELAPSED = re.compile(r"(h+|m+|s+)$", re.IGNORECASE)
_COMPARED: dict[str, Callable[[Decimal, Decimal], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "=": operator.eq, "<>": operator.ne,
}  # fmt: skip
# What stands in a place for a digit that there is none for.
_EMPTY = {"0": "0", "?": " ", "#": ""}


class FormattedText(str):
    """A text of which parts have a font of their own."""


class UnsupportedFormat(Exception):
    """A number format that this module cannot fill in; the cell has to be named."""


class _Token(NamedTuple):
    kind: str
    text: str


class _Section(NamedTuple):
    """One part of a format: its tokens, its condition, and whether it is written in Japanese.

    With `first_year` the first year of an era is 元年.
    """

    tokens: tuple[_Token, ...]
    condition: tuple[str, Decimal] | None
    is_japanese: bool
    first_year: bool

    def has(self, *kinds: str) -> bool:
        return any(token.kind in kinds for token in self.tokens)

    def places(self, kind: str) -> list[int]:
        return [place for place, token in enumerate(self.tokens) if token.kind == kind]


def shown_number(value: float, number_format: str, epoch: datetime) -> str:
    """The text of a number in this format; `epoch` is day 0 of the workbook's dates.

    Raises UnsupportedFormat for a format that is not supported, and for a date before day 0, which Excel
    shows as ####.
    """
    sections = _sections(number_format)
    section, is_negated = _section(sections, value)
    if section is None or abs(value) >= _LARGEST:
        return general(value)
    if section.has("unsupported"):
        raise UnsupportedFormat
    if section.has("date", "elapsed"):
        return _moment(section, value, epoch)
    sign = "-" if value < 0 and not is_negated else ""
    return _number(section, value, sign)


def shown_text(value: str, number_format: str) -> str:
    """The text of a cell that holds text: `@"様"` puts 様 behind it."""
    if TEXT not in number_format or number_format == TEXT:
        return value
    section = next((part for part in reversed(_sections(number_format)) if part.has("text")), None)
    if section is None:
        return value
    return "".join(value if token.kind == "text" else token.text for token in section.tokens)


def general(value: float) -> str:
    """A number without a format, with up to 15 digits."""
    if abs(value) < _LARGEST:
        return str(int(value)) if int(value) == value else f"{value:.15g}"
    return str(value)


@lru_cache(maxsize=1024)
def _sections(number_format: str) -> tuple[_Section, ...]:
    sections: list[list[_Token]] = [[]]
    for match in _TOKEN.finditer(number_format):
        kind, text = match.lastgroup or "", match[match.lastgroup or 0]
        if kind == "bracket" and (system := _SYSTEM.get(text.partition("-")[2].casefold())):
            return _sections(system)
        if (kind, text) == ("other", ";"):
            sections.append([])
        else:
            sections[-1].append(_Token(kind, text))
    return tuple(map(_section_of, sections))


def _section_of(written: Sequence[_Token]) -> _Section:
    """The section of these tokens, of which fills and colours are left out.

    Brackets hold a condition, a currency with a locale, an elapsed time or a colour.
    """
    tokens: list[_Token] = []
    condition: tuple[str, Decimal] | None = None
    is_japanese = first_year = False
    # Without digits a dot or a comma is one like any other letter.
    letters = {"quoted", "escaped", "other"}
    letters |= set() if any(token.kind == "digit" for token in written) else {"comma", "dot", "percent"}
    for kind, text in written:
        if kind == "bracket" and (match := _CONDITION.fullmatch(text)):
            condition = match[1], Decimal(match[2])
        elif kind == "bracket" and text.startswith("$"):
            currency, _dash, locale = text[1:].casefold().partition("-")
            is_japanese |= locale.endswith("411") or locale.startswith("ja")
            first_year |= "gannen" in locale
            tokens.append(_Token("literal", text[1 : 1 + len(currency)]))
        elif kind == "bracket":
            if not _COLOUR.match(text):
                tokens.append(_Token("elapsed" if _ELAPSED.match(text) else "unsupported", text.lower()))
        elif kind == "blank":  # as wide as the character behind it
            tokens.append(_Token("literal", " "))
        elif kind != "fill":
            plain = text.lower() if kind == "date" else text
            tokens.append(_Token("literal" if kind in letters else kind, plain))
    is_japanese |= any(token.text.startswith("午前") for token in tokens if token.kind == "noon")
    return _Section(tuple(_with_minutes(tokens)), condition, is_japanese, first_year)


def _with_minutes(tokens: list[_Token]) -> list[_Token]:
    """The tokens with n in place of an m that is of minutes: one behind hours, or before seconds."""
    moments = [place for place, token in enumerate(tokens) if token.kind in ("date", "elapsed")]
    letters = ["", *(tokens[place].text[0] for place in moments), ""]
    for number, place in enumerate(moments, 1):
        kind, text = tokens[place]
        if (kind, text) in (("date", "m"), ("date", "mm")) and (
            letters[number - 1] == "h" or letters[number + 1] == "s"
        ):
            tokens[place] = _Token(kind, text.replace("m", "n"))
    return tokens


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
    is_fraction = any(tokens[place] == _Token("literal", "/") for place in range(digits[0], len(tokens)))
    dot = next(iter(section.places("dot")), len(tokens))
    whole, decimals = ([p for p in digits if p < dot], [p for p in digits if p > dot])
    if is_fraction or section.has("general") or len(decimals) > _MOST_DECIMALS:
        raise UnsupportedFormat
    grouping = {place for place in section.places("comma") if whole and whole[0] < place < whole[-1]}
    scaling = {place for place in section.places("comma") if place > digits[0]} - grouping
    # Numbers of Excel have 15 digits; the scale and the rounding must not lose any.
    with localcontext(prec=60):
        number = abs(Decimal(repr(value))) * 100 ** len(section.places("percent")) / 1000 ** len(scaling)
        text = f"{number.quantize(Decimal(1).scaleb(-len(decimals)), ROUND_HALF_UP):f}"
    before, _dot, behind = text.partition(".")
    before, behind = before.lstrip("0"), behind.rstrip("0")
    out: dict[int, str] = dict.fromkeys(grouping | scaling, "")
    if whole:
        out |= _filled(tokens, whole, before, grouped=bool(grouping))
    elif before:
        out[dot] = before + "."
    for place, digit in zip(decimals, behind.ljust(len(decimals), "."), strict=True):
        out[place] = _EMPTY[tokens[place].text] if digit == "." else digit
    body = "".join(out.get(place, token.text) for place, token in enumerate(tokens)).strip()
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
    """A date, a time, or a duration that may exceed 24 hours."""
    if section.has("digit", "percent", "general") or not 0 <= value < _MOST_DAYS:
        raise UnsupportedFormat
    seconds = int((Decimal(repr(value)) * 86400).quantize(Decimal(1), ROUND_HALF_UP))
    days = seconds // 86400
    # Of the dates from 1900 on, day 60 is a 29 February that never was.
    days += epoch.year == 1899 and 0 < days < 60
    moment = epoch + timedelta(days=days, seconds=seconds % 86400)
    parts = _parts(section, moment)
    out = []
    for kind, text in section.tokens:
        if kind == "date" and text not in parts:
            raise UnsupportedFormat
        if kind == "elapsed":
            out.append(f"{seconds // _UNITS[text[0]]:0{len(text)}}")
        elif kind == "noon":
            out.append(("午前午後" if section.is_japanese else "AMPM")[2 * (moment.hour >= 12) :][:2])
        else:
            out.append(parts[text] if kind == "date" else text)
    return "".join(out).strip()


def _parts(section: _Section, moment: datetime) -> dict[str, str]:
    """The parts of a date and a time by their letters in a format; nn are minutes."""
    year, month, weekday = moment.year, moment.month, moment.weekday()
    hour = (moment.hour - 1) % 12 + 1 if section.has("noon") else moment.hour
    month_name, weekday_name = _MONTHS_EN[month - 1], _WEEKDAYS_EN[weekday]
    months = (f"{month}月",) * 2 if section.is_japanese else (month_name[:3], month_name)
    days_ja = (_WEEKDAYS_JA[weekday], _WEEKDAYS_JA[weekday] + "曜日")
    days = days_ja if section.is_japanese else (weekday_name[:3], weekday_name)
    parts = {"y": f"{year % 100:02}", "yy": f"{year % 100:02}", "yyyy": f"{year:04}", "mmm": months[0]}
    parts |= {"mmmm": months[1], "ddd": days[0], "dddd": days[1], "aaa": days_ja[0], "aaaa": days_ja[1]}
    era = next(((first, names) for first, names in _ERAS if moment.date() >= first), None)
    if era:
        first, names = era
        parts |= dict(zip(("g", "gg", "ggg"), names, strict=True))
        in_era = year - first.year + 1
        parts["e"] = parts["ee"] = "元"
        if in_era > 1 or not section.first_year:
            parts |= {"e": str(in_era), "ee": f"{in_era:02}"}
    numbers = {"m": month, "d": moment.day, "h": hour, "n": moment.minute, "s": moment.second}
    for letter, number in numbers.items():
        parts |= {letter: str(number), 2 * letter: f"{number:02}"}
    return parts
