"""The figures of a text, each in one spelling: amounts, shares, spans, sizes, dates, times, telephones.

    figures("解約金は１万5,000円、2週間以内")  -> 15000円, 20160分 (as 14 days has)
    figures("$20 within 14 days, by 6 pm")       -> 20$, 20160分, 18:00
    differing("5,000円です。", ["4,800円です。"])  -> the 5000円

Small and rough, for runs without a model, for checks that only sort, and for the judge `facts`: a number
counts with the unit beside it, and a bare one from two digits on. Signs, ranges, days of the week and sums
are not read.
"""

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from functools import lru_cache
from typing import Literal, NamedTuple

from simulator.core.patterns import LazyPattern
from simulator.text.numerals import NUMERAL, digits_of, value_of
from simulator.text.segments import normalise

Kind = Literal["amount", "percent", "span", "size", "date", "time", "phone", "number"]

# Units in the spelling that they are compared by, how many of it one is, and how they are written.
_UNITS: tuple[tuple[str, Kind, int | Decimal, str], ...] = (
    ("円", "amount", 1, "円|yen|jpy"),
    ("$", "amount", 1, "ドル|dollars?|usd|bucks"),
    ("€", "amount", 1, "ユーロ|euros?|eur"),
    ("£", "amount", 1, "ポンド|pounds?|gbp"),
    ("%", "percent", 1, "%|パーセント|percent|per cent"),
    ("%", "percent", 10, "割"),
    ("営業日", "span", 1, "営業日|(?:business|working) days?"),
    ("月", "span", 12, "年間|years?"),
    ("月", "span", 1, "[かヶカヵケ箇]月|months?"),
    ("分", "span", 7 * 1440, "週間?|weeks?"),
    ("分", "span", 1440, "日間?|days?"),
    ("分", "span", 60, "時間|hours?|hrs?"),
    ("分", "span", 1, "分間?|minutes?|mins?"),
    ("秒", "span", 1, "秒間?|seconds?|secs?"),
    ("秒", "span", Decimal("0.001"), "ms|ミリ秒|milliseconds?"),
    ("gb", "size", 1000, "tb|テラ(?:バイト)?"),
    ("gb", "size", 1, "gb|ギガ(?:バイト)?"),
    ("gb", "size", Decimal("0.001"), "mb|メガ(?:バイト)?"),
    ("kcal", "size", 1, "kcal|キロカロリー"),
    ("w", "size", 1000, "kw|キロワット"),
    ("w", "size", 1, "w|ワット|watts?"),
    ("g", "size", 1_000_000, "t|トン|tonnes?"),
    ("mm", "size", 1_000_000, "km|キロメートル|kilomet(?:re|er)s?"),
    ("g", "size", 1000, "kg|キロ(?:グラム)?|kilos?"),
    ("g", "size", 1, "g|グラム|grams?"),
    ("g", "size", Decimal("0.001"), "mg|ミリグラム"),
    ("ml", "size", 1, "ml|ミリリットル|millilitres?"),
    ("ml", "size", 1000, "l|リットル|lit(?:re|er)s?"),
    ("mm", "size", 1000, "m|メートル|metres?|meters?"),
    ("mm", "size", 10, "cm|センチ"),
    ("mm", "size", 1, "mm|ミリ"),
    ("文字", "size", 1, "文字|characters?"),
    ("錠", "size", 1, "錠|tablets?"),
)
_BEFORE = {"¥": "円", "\\": "円", "$": "$", "€": "€", "£": "£"}
_UNIT = LazyPattern(
    "[ -]?(?:"
    + "|".join(f"(?P<u{place}>{written})" for place, (*_, written) in enumerate(_UNITS))
    + r")(?![a-z])"
)
# $2k and 22k yen: short for thousands and more, only of amounts.
_SHORT = {"k": 10**3, "m": 10**6, "bn": 10**9}
_NUMBER = LazyPattern(
    rf"(?P<sign>[¥\\$€£] ?)?(?P<number>{NUMERAL})"
    "(?P<short>(?(sign)(?:k|m|bn)|(?:k|bn)(?= ?(?:円|yen|jpy|dollars?|usd|euros?|eur|pounds?|gbp)))"
    "(?![a-z]))?"
)
# Addresses of pages and mailboxes, whose digits count nothing.
_ADDRESS = re.compile(
    r"(?:https?://|www\.)[^\s「」、。<>]{1,300}|[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,4}"
)
# Years of the era that began in 2019, which is its first.
_REIWA = re.compile(r"令和(\d{1,2})年")
_PHONE = re.compile(r"(?<![\d-])(?:\+81[ -]?|0)\d{1,4}[-( ]{0,2}\d{1,4}[-) ]{0,2}\d{3,4}(?![\d-])")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = r"(?P<name>jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)[a-z]{0,6}\.?"
_DATES = tuple(
    map(
        LazyPattern,
        (
            r"(?:(?P<year>(?:19|20)\d\d)年 ?)?(?<!\d)(?P<month>\d{1,2})月 ?(?P<day>\d{1,2})日",
            r"(?<!\d)(?P<year>(?:19|20)\d\d)[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})(?!\d)",
            rf"\b{_MONTH} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? (?P<year>(?:19|20)\d\d)\b)?",
            rf"(?<!\d)(?P<day>\d{{1,2}})(?:st|nd|rd|th)? (?:of )?{_MONTH}(?:,? (?P<year>(?:19|20)\d\d)\b)?",
        ),
    )
)
_TIME = LazyPattern(
    r"(?:(?P<before>午前|午後|夕方|夜) ?)?(?<![\d.,:])(?P<hour>\d{1,2})"
    r"(?::(?P<minutes>\d\d)(?!\d)|時(?!間)(?:(?P<past>\d{1,2})分)?(?P<half>半)?|(?= ?[ap]\.?m))"
    r" ?(?P<after>[ap])?(?:\.?m\b\.?)?"
)


class Figure(NamedTuple):
    """A figure: its kind, the spelling that others are compared by, and its words in lower case."""

    kind: Kind
    value: str
    text: str


@lru_cache(maxsize=1024)
def figures(text: str) -> tuple[Figure, ...]:
    """The figures of a text in order, each value once."""
    plain, placed = normalise(text), list[tuple[int, Figure]]()
    plain = _REIWA.sub(lambda year: f"{2018 + int(year[1])}年", plain)
    plain = _ADDRESS.sub(lambda address: " " * len(address[0]), plain)
    # What one kind has taken the next does not see.
    for finder in (_phones, _dates, _times, _numbers):
        taken, signs = list(finder(plain)), list(plain)
        for start, figure in taken:
            signs[start : start + len(figure.text)] = " " * len(figure.text)
        placed, plain = [*placed, *taken], "".join(signs)
    by_value = {figure.value: figure for _, figure in sorted(placed, reverse=True)}
    return tuple(figure for _, figure in sorted(placed) if by_value[figure.value] is figure)


def differing(text: str, others: Iterable[str]) -> tuple[Figure, ...]:
    """The figures of a text that stand in none of the others.

    A date without its year stands in one with it, a bare number wherever its digits do, and an amount in a
    bare number, as the cell of a table has it.
    """
    if not (of_text := figures(text)):
        return ()
    said, bare = set[str](), set[str]()
    for other in others:
        bare |= _bare(other)
        for figure in figures(other):
            said.add(figure.value)
            if figure.kind == "date":
                said.add(figure.value[-len("04-01") :])
            if figure.kind == "number":
                said.update(f"{figure.value}{unit}" for unit in _BEFORE.values())
    return tuple(
        figure
        for figure in of_text
        if figure.value not in said and not (figure.kind == "number" and figure.value in bare)
    )


@lru_cache(maxsize=1024)
def _bare(text: str) -> frozenset[str]:
    """The digits of all numbers of a text, whatever stands beside them."""
    return frozenset(digits_of(value) for _, value in _numerals(normalise(text)))


def _numerals(text: str) -> Iterator[tuple[re.Match[str], Decimal]]:
    for match in _NUMBER.finditer(text):
        if (value := value_of(match["number"])) is not None:
            yield match, value * _SHORT.get(match["short"], 1)


def _phones(text: str) -> Iterator[tuple[int, Figure]]:
    for match in _PHONE.finditer(text):
        digits = re.sub(r"\D", "", match[0])
        digits = f"0{digits[2:]}" if match[0].startswith("+") else digits
        if 9 <= len(digits) <= 11:
            yield match.start(), Figure("phone", digits, match[0])


def _dates(text: str) -> Iterator[tuple[int, Figure]]:
    taken = set[int]()
    for pattern in _DATES:
        for match in pattern.finditer(text):
            parts = match.groupdict()
            month = int(parts["month"]) if parts.get("month") else _MONTHS.index(parts["name"][:3]) + 1
            if taken.isdisjoint(range(*match.span())) and month <= 12 and int(parts["day"]) <= 31:
                taken.update(range(*match.span()))
                year = f"{parts['year']}-" if parts["year"] else ""
                yield match.start(), Figure("date", f"{year}{month:02}-{int(parts['day']):02}", match[0])


def _times(text: str) -> Iterator[tuple[int, Figure]]:
    for match in _TIME.finditer(text):
        hour, minute = int(match["hour"]), int(match["minutes"] or match["past"] or 0)
        minute = 30 if match["half"] else minute
        if hour < 12 and (match["after"] == "p" or match["before"] in ("午後", "夕方", "夜")):
            hour += 12
        if hour <= 24 and minute < 60:
            yield match.start(), Figure("time", f"{hour}:{minute:02}", match[0].rstrip())


def _numbers(text: str) -> Iterator[tuple[int, Figure]]:
    for match, value in _numerals(text):
        written, sign = match[0], (match["sign"] or "").strip()
        if sign:
            yield match.start(), Figure("amount", f"{digits_of(value)}{_BEFORE[sign]}", written)
        elif unit := _UNIT.match(text, match.end()):
            name, kind, size, _written = _UNITS[int((unit.lastgroup or "u0")[1:])]
            yield match.start(), Figure(kind, f"{digits_of(value * size)}{name}", written + unit[0])
        elif (value >= 10 or value % 1) and match["number"][0].isdecimal():
            yield match.start(), Figure("number", digits_of(value), written)
