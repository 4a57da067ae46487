"""The text that Excel shows for a number under a number format: 12000 under `#,##0,"千円"` is 12千円.

    9012345678  0##-####-####             090-1234-5678
    46113       yyyy"年"m"月"d"日"        2026年4月1日      dates are days since the workbook's epoch
    46113       [$-411]ggge"年"m"月"d"日"  令和8年4月1日
    0.4375      h"時"mm"分"               10時30分          and times are parts of a day
    -5          #,##0;"▲"#,##0            ▲5

A format has up to four sections with semicolons between them (positive, negative, zero, text), or sections
with conditions (`[<=99999999]####-####;(00) ####-####`). `_sections` reads them, `_section` chooses one,
`_number` and `_moment` fill it in.

Fractions (`# ?/?`), numerals of other scripts (`[DBNum1]`) and Buddhist years are not supported. What
depends on the system is shown as Japanese Excel shows it: format 14 as 2026/4/1, the built-in formats
from 27 on as dates with 年, 月 and 日.

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
BUILT_IN = {
    14: _SHORT, 22: f"{_SHORT} h:mm", 27: _ERA, 28: _ERA_LONG, 29: _ERA_LONG, 30: "m/d/yy", 31: _LONG,
    32: 'h"時"mm"分"', 33: 'h"時"mm"分"ss"秒"', 34: 'yyyy"年"m"月"', 35: 'm"月"d"日"', 36: _ERA,
    50: _ERA, 51: _ERA_LONG, 52: 'yyyy"年"m"月"', 53: 'm"月"d"日"', 54: _ERA_LONG, 55: 'yyyy"年"m"月"',
    56: 'm"月"d"日"', 57: _ERA, 58: _ERA_LONG,
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

_TOKEN = re.compile(
    r"""
    "(?P<quoted>[^"]*)"? | \\(?P<escaped>.) | (?P<blank>_.) | (?P<fill>\*.)
  | \[(?P<bracket>[^\]]*)\]
  | (?P<general>General|G/標準)
  | (?P<noon>AM/PM|A/P|午前/午後)
  | (?P<date>y+|m+|d+|h+|s+|g+|aaaa?|e+(?![+-]))
  | (?P<exponent>e[+-])
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
_COMPARED: dict[str, Callable[[Decimal, Decimal], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "=": operator.eq, "<>": operator.ne,
}  # fmt: skip
# What stands in a place for a digit that there is none for.
_EMPTY = {"0": "0", "?": " ", "#": ""}
_ELAPSED = re.compile(r"(h+|m+|s+)$", re.IGNORECASE)


class FormattedText(str):
    """A text of which parts have a font of their own."""


class UnsupportedFormat(Exception):
    """A number format that this module cannot fill in; the cell has to be named."""


class _Token(NamedTuple):
    kind: str
    text: str


class _Section(NamedTuple):
    """One part of a format: its tokens, its condition, and whether it is written in Japanese."""

    tokens: tuple[_Token, ...]
    condition: tuple[str, Decimal] | None
    is_japanese: bool
    first_year: bool

    def has(self, *kinds: str) -> bool:
        return any(token.kind in kinds for token in self.tokens)


def shown_number(value: float, number_format: str, epoch: datetime) -> str:
    """The text of a number in this format; `epoch` is day 0 of the workbook's dates.

    Raises UnsupportedFormat for a format that is not supported, and for a date before day 0, which Excel
    shows as ####.
    """
    sections = _sections(number_format)
    section, is_negated = _section(sections, value)
    if section is None or abs(value) >= _LARGEST:
        return general(value)
    if section.has("date", "elapsed"):
        return _moment(section, value, epoch)
    return _number(section, value, is_negated=is_negated)


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
            plain = text.lower() if kind in ("date", "noon", "exponent") else text
            tokens.append(_Token("literal" if kind in letters else kind, plain))
    return _Section(tuple(tokens), condition, is_japanese, first_year)


def _section(sections: Sequence[_Section], value: float) -> tuple[_Section | None, bool]:
    """The section for a value, and whether it says by itself that the value is negative."""
    numeric = [part for part in sections if part.tokens == () or not part.has("text")]
    # The last of several may be for text alone: yyyy/m/d;@
    numeric = numeric[:3]
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


def _number(section: _Section, value: float, *, is_negated: bool) -> str:
    """Digits from the right into the places for digits, decimals from the left, all else as it stands."""
    tokens = section.tokens
    if section.has("unsupported") or _is_fraction(tokens):
        raise UnsupportedFormat
    sign = "-" if value < 0 and not is_negated else ""
    if section.has("general"):
        body = "".join(general(abs(value)) if t.kind == "general" else t.text for t in tokens)
        return (sign + body).strip()
    digits = [place for place, token in enumerate(tokens) if token.kind == "digit"]
    if not digits:
        return (sign + "".join(token.text for token in tokens)).strip()
    if section.has("exponent"):
        return (sign + _scientific(tokens, value)).strip()
    dot = next((place for place, token in enumerate(tokens) if token.kind == "dot"), len(tokens))
    whole = [place for place in digits if place < dot]
    decimals = [place for place in digits if place > dot]
    if len(decimals) > _MOST_DECIMALS:
        raise UnsupportedFormat
    commas = [place for place, token in enumerate(tokens) if token.kind == "comma"]
    grouping = {place for place in commas if whole and whole[0] < place < whole[-1]}
    scaling = {place for place in commas if place not in grouping and place > digits[0]}
    # Numbers of Excel have 15 digits; the scale and the rounding must not lose any.
    with localcontext(prec=60):
        number = abs(Decimal(repr(value)))
        number = number * 100 ** sum(token.kind == "percent" for token in tokens) / 1000 ** len(scaling)
        text = f"{number.quantize(Decimal(1).scaleb(-len(decimals)), ROUND_HALF_UP):f}"
    before, _dot, behind = text.partition(".")
    before = before.lstrip("0")
    out: dict[int, str] = dict.fromkeys(grouping | scaling, "")
    out |= _filled_whole(tokens, whole, before, grouped=bool(grouping))
    out |= _filled_decimals(tokens, decimals, behind)
    if not whole and before:
        out[dot] = before + "."
    body = "".join(out.get(place, token.text) for place, token in enumerate(tokens)).strip()
    return (sign if before or behind.strip("0") else "") + body


def _filled_whole(
    tokens: Sequence[_Token], places: Sequence[int], digits: str, *, grouped: bool
) -> dict[int, str]:
    """The digits in their places from the right; the first place has all that are left."""
    cells = [*(_EMPTY[tokens[place].text] for place in places[: max(0, len(places) - len(digits))]), *digits]
    if grouped:
        behind = range(len(cells) - 1, -1, -1)
        cells = [
            f"{cell}," if n and n % 3 == 0 and cell.strip() else cell
            for n, cell in zip(behind, cells, strict=True)
        ]
    first = len(cells) - len(places) + 1
    return dict(zip(places, ["".join(cells[:first]), *cells[first:]], strict=False))


def _filled_decimals(tokens: Sequence[_Token], places: Sequence[int], digits: str) -> dict[int, str]:
    significant = len(digits.rstrip("0"))
    return {
        place: digits[position] if position < significant else _EMPTY[tokens[place].text]
        for position, place in enumerate(places)
    }


def _is_fraction(tokens: Sequence[_Token]) -> bool:
    """Whether a slash stands between digits: `# ?/?`, `# ??/16`."""
    slashes = [place for place, token in enumerate(tokens) if token == _Token("literal", "/")]
    digits = [place for place, token in enumerate(tokens) if token.kind == "digit"]
    return any(digits and digits[0] < place for place in slashes)


def _scientific(tokens: Sequence[_Token], value: float) -> str:
    """A mantissa of one digit: `0.00E+00`."""
    mark = next(place for place, token in enumerate(tokens) if token.kind == "exponent")
    dot = next((place for place in range(mark) if tokens[place].kind == "dot"), mark)
    whole = [place for place in range(dot) if tokens[place].kind == "digit"]
    decimals = [place for place in range(dot, mark) if tokens[place].kind == "digit"]
    widths = [place for place in range(mark, len(tokens)) if tokens[place].kind == "digit"]
    if len(whole) != 1 or not widths or len(decimals) > _MOST_DECIMALS:
        raise UnsupportedFormat
    mantissa, _e, exponent = f"{abs(value):.{len(decimals)}E}".partition("E")
    sign = "-" if exponent.startswith("-") else "+" if tokens[mark].text.endswith("+") else ""
    lead = "".join(token.text for token in tokens[: whole[0]])
    tail = "".join(token.text for token in tokens[widths[-1] + 1 :])
    return f"{lead}{mantissa}E{sign}{abs(int(exponent)):0{len(widths)}}{tail}"


def _moment(section: _Section, value: float, epoch: datetime) -> str:
    """A date, a time, or a duration that may exceed 24 hours."""
    tokens = section.tokens
    fraction = sum(token.kind == "digit" for token in tokens)
    # Excel knows no part of a second below thousandths.
    if section.has("unsupported", "percent", "general") or fraction > 3 or not 0 <= value < _MOST_DAYS:
        raise UnsupportedFormat
    seconds = Decimal(repr(value)) * 86400
    seconds = seconds.quantize(Decimal(1).scaleb(-fraction), ROUND_HALF_UP)
    days = int(seconds // 86400)
    # Of the dates from 1900 on, day 60 is a 29 February that never was.
    days += epoch.year == 1899 and 0 < days < 60
    moment = epoch + timedelta(days=days, seconds=int(seconds % 86400))
    half_day = section.has("noon")
    out = []
    for place, token in enumerate(tokens):
        if token.kind == "date":
            out.append(_part(section, place, moment, half_day=half_day))
        elif token.kind == "elapsed":
            unit = {"h": 3600, "m": 60, "s": 1}[token.text[0]]
            out.append(f"{int(seconds // unit):0{len(token.text)}}")
        elif token.kind == "noon":
            out.append(_half(token.text, moment, is_japanese=section.is_japanese))
        elif token.kind == "digit":
            behind = sum(tokens[earlier].kind == "digit" for earlier in range(place))
            out.append(f"{seconds % 1:.{max(fraction, 1)}f}"[2 + behind])
        else:
            out.append(token.text)
    return "".join(out).strip()


def _part(section: _Section, place: int, moment: datetime, *, half_day: bool) -> str:
    """A part of a date or a time: the letters y, m, d, a (weekday), h, s, g and e, each of some width."""
    text = section.tokens[place].text
    letter, width = text[0], len(text)
    number: int | None = None
    if letter == "y":
        number, width = (moment.year % 100, 2) if width <= 2 else (moment.year, 4)
    elif letter == "m" and _is_minute(section.tokens, place):
        number = moment.minute
    elif letter == "m" and width <= 2:
        number = moment.month
    elif letter == "d" and width <= 2:
        number = moment.day
    elif letter == "h":
        number = (moment.hour - 1) % 12 + 1 if half_day else moment.hour
    elif letter == "s":
        number = moment.second
    if number is not None:
        return f"{number:0{width if letter == 'y' else min(width, 2)}}"
    if letter in "ge":
        return _era(letter, width, moment.date(), first_year=section.first_year)
    return _name(letter, width, moment, is_japanese=section.is_japanese)


def _name(letter: str, width: int, moment: datetime, *, is_japanese: bool) -> str:
    """The name of a month (mmm, mmmm, mmmmm) or of a weekday (ddd, dddd, and aaa, aaaa in Japanese)."""
    if letter == "m":
        name = f"{moment.month}月" if is_japanese else _MONTHS_EN[moment.month - 1]
        return name if width == 4 or is_japanese else name[: 1 if width > 4 else 3]
    if letter == "a" or is_japanese:
        return _WEEKDAYS_JA[moment.weekday()] + ("曜日" if width > 3 else "")
    return _WEEKDAYS_EN[moment.weekday()][: None if width > 3 else 3]


def _era(letter: str, width: int, day: date, *, first_year: bool) -> str:
    """The name of the era (g, gg, ggg), or its year (e, ee)."""
    era = next(((first_day, names) for first_day, names in _ERAS if day >= first_day), None)
    if era is None:
        raise UnsupportedFormat
    first_day, names = era
    if letter == "g":
        return names[min(width, 3) - 1]
    year = day.year - first_day.year + 1
    return "元" if year == 1 and first_year else f"{year:0{min(width, 2)}}"


def _is_minute(tokens: Sequence[_Token], place: int) -> bool:
    """Whether an m behind hours, or before seconds, is of minutes."""
    moments = [(at, token.text[0]) for at, token in enumerate(tokens) if token.kind in ("date", "elapsed")]
    order = [at for at, _letter in moments].index(place)
    before = moments[order - 1][1] if order else ""
    behind = moments[order + 1][1] if order + 1 < len(moments) else ""
    return len(tokens[place].text) <= 2 and (before == "h" or behind == "s")


def _half(text: str, moment: datetime, *, is_japanese: bool) -> str:
    is_morning = moment.hour < 12
    if text == "a/p":
        return "A" if is_morning else "P"
    if is_japanese or text.startswith("午前"):
        return "午前" if is_morning else "午後"
    return "AM" if is_morning else "PM"
