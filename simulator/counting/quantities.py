"""Numbers with their units, so that 1万円, １０，０００円 and 10,000 yen are the same amount."""

import re
from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from simulator.core.types import Language
from simulator.counting.numerals import KANJI, digits_of, value_of
from simulator.counting.segments import normalise

_SCALES = {"千": 10**3, "万": 10**4, "億": 10**8, "thousand": 10**3, "million": 10**6, "billion": 10**9}

# Digits joined by hyphens are one telephone number or code from this length on; 10-20 is a range.
SHORTEST_CODE = 7

# Every spelling of a unit, and the one it is compared as. Longest first: か月 before 月.
_UNITS = {
    "円": ("円", "yen", "jpy"),
    "$": ("ドル", "dollars", "dollar", "usd"),
    "%": ("パーセント", "percent", "per cent", "%"),
    "か月": ("か月", "ヶ月", "ヵ月", "カ月", "ケ月", "箇月", "months", "month"),
    "営業日": ("営業日", "business days", "business day", "working days", "working day"),
    "週": ("週間", "weeks", "week"),
    "日": ("日間", "日", "days", "day"),
    "年": ("年間", "年", "years", "year"),
    "月": ("月",),
    "時間": ("時間", "hours", "hour", "hrs"),
    "分": ("分間", "分", "minutes", "minute", "mins", "min"),
    "秒": ("秒間", "秒", "seconds", "second"),
    "時": ("時",),
    "回": ("回", "times"),
    "人": ("人", "名様", "名", "people", "persons", "person"),
    "gb": ("ギガバイト", "ギガ", "gb", "giga", "gigs", "gig"),
    "mb": ("メガバイト", "mb"),
    "mbps": ("mbps",),
    "gbps": ("gbps",),
    "km": ("キロメートル", "km"),
    "kg": ("キログラム", "キロ", "kg"),
    "cm": ("センチ", "cm"),
    "m": ("メートル", "m"),
}
_CANONICAL = {spelling: unit for unit, spellings in _UNITS.items() for spelling in spellings}
_SPELLINGS = "|".join(
    re.escape(s) + (r"(?![a-z])" if s[-1].isascii() and s[-1].isalpha() else "")
    for s in sorted(_CANONICAL, key=len, reverse=True)
)
_ENGLISH = {unit: next(filter(str.isascii, spellings), unit) for unit, spellings in _UNITS.items()}
_SYMBOLS = {"gb": "GB", "mb": "MB", "mbps": "Mbps", "gbps": "Gbps", "km": "km", "kg": "kg"}
_DAY_UNIT = "th"
_CURRENCY = {"¥": "円", "$": "$", "€": "€", "£": "£"}

_PLAIN = r"\d+(?:,\d{3}(?!\d))*(?:\.\d+)?"
_CODE = re.compile(r"(?<![\d.,])\+?\d{2,}(?:[-ー]\d{2,}){1,4}(?!\.?\d)")
_CLOCK = re.compile(
    r"(午前|午後)?(?<!\d)(\d{1,2})(?::(\d{2})(?!\d)|時(?!間)(?:(\d{1,2})分|(半))?)"
    r"(?! ?[ap]\.?m\b)|\b(\d{1,2})(?::(\d{2}))? ?([ap])\.?m\b\.?"
)
_AMOUNT = re.compile(
    rf"([¥$€£])?\s?({_PLAIN})\s?((?:[千万億]|thousand|million|billion)?)((?:{_PLAIN}[千万]?)?)\s?({_SPELLINGS})?"
)
_KANJI_AMOUNT = re.compile(
    r"(?<![一-龥])(?:[一二三四五六七八九]?十[一二三四五六七八九]?|[二三四五六七八九])(?=か月|ヶ月|カ月|ヵ月|年間|日間|週間|営業日|時間|回(?![線答復])|名様|泊|円)"
    rf"|(?<![{KANJI}\d数何幾第])[{KANJI}]{{2,24}}+(?=円|ドル)"
)
# Days of a month in English: the 20th (not: the 20th century), 31 May, May 31st. As a unit they are "th".
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|march|mar|april|apr|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_NO_DAY = (
    r"(?! (?:centur|floor|street|avenue|edition|birthday|anniversar|place|season|grade|time|amendment"
    r"|president|state|month|year|week|hour|version|generation|century|district|row|line|item|step|page|chapter|minute))"
)
_DAY = re.compile(
    rf"\bthe (\d{{1,2}})(?:st|nd|rd|th)\b{_NO_DAY}"
    rf"|(?<![\d.,:$-])\b(\d{{1,2}})(?:st|nd|rd|th)?(?= (?:of )?{_MONTH})"
    rf"|\b{_MONTH} (\d{{1,2}})(?:st|nd|rd|th)?\b(?![:.,]?\d|%| (?:{_SPELLINGS}))"
)
# A figure as it stands beside "within" or 以内: 20日, 3 business days, the 20th, 31 May.
FIGURE = (
    rf"(?:the )?(?:{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?\b(?!\d)|(?<![\d.,-]){_PLAIN}(?!\d)"
    rf"(?:(?:st|nd|rd|th)?(?: of)? {_MONTH}|(?:st|nd|rd|th)\b|\s?(?:{_SPELLINGS})|[歳才個枚台件口]|)目?)"
)
_BRACKETED = re.compile(r"\[\d{1,3}\]")
_COMPOUND = re.compile(rf"({_PLAIN})([千万億])")


class Quantity(NamedTuple):
    """A number as canonical digits, and its unit ('' when it has none)."""

    value: str
    unit: str

    @property
    def kind(self) -> str:
        """What it is a number of: its unit, `time` (of day), `code` (or telephone number), or nothing."""
        if self.unit or ":" in self.value:
            return self.unit or "time"
        return "code" if len(self.value) >= SHORTEST_CODE else ""

    def shown(self, language: Language) -> str:
        """The number as people of that language write it: 22,000円, 22,000 yen, 9:00."""
        value = f"{Decimal(self.value):,}" if self.unit in {"円", "$"} else self.value
        if self.unit in _CURRENCY.values() and self.unit != "円":
            return f"{self.unit}{value}"
        if self.unit == _DAY_UNIT:
            return f"{self.value}日" if language == "ja" else ordinal(int(self.value))
        if self.unit in _SYMBOLS:
            return f"{value} {_SYMBOLS[self.unit]}"
        return value + (self.unit if language == "ja" else f" {_ENGLISH.get(self.unit, self.unit)}".rstrip())


@lru_cache(maxsize=1024)
def quantities(text: str) -> frozenset[Quantity]:
    """The numbers of a text: amounts with units, times of day (24 h), telephone numbers and codes.

    A lone digit without a unit is left out: it mostly numbers a step.
    """
    plain = _KANJI_AMOUNT.sub(_arabic, _BRACKETED.sub(" ", normalise(text)))
    found: set[Quantity] = set()

    def take_code(match: re.Match[str]) -> str:
        digits = re.sub(r"\D", "", match[0])
        if len(digits) < SHORTEST_CODE:
            return match[0].replace("-", " - ")
        found.add(Quantity(digits, ""))
        return " "

    def take_clock(match: re.Match[str]) -> str:
        found.add(_time(match))
        return " "

    rest = _CLOCK.sub(take_clock, _CODE.sub(take_code, plain))
    if "a" in rest or "e" in rest or "o" in rest or "u" in rest:  # no Latin vowel, no English date
        found.update(Quantity(str(int(next(filter(None, day)))), _DAY_UNIT) for day in _DAY.findall(rest))
        rest = _DAY.sub(" ", rest)
    found.update(_amount(match) for match in _AMOUNT.finditer(rest))
    return frozenset(q for q in found if q.unit or len(q.value) > 1)


def ordinal(number: int) -> str:
    """A number as English counts: 1st, 12th, 22nd."""
    ending = "th" if 10 < number % 100 < 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def unmatched(stated: Iterable[Quantity], known: Iterable[Quantity]) -> list[Quantity]:
    """The stated numbers that are not among the known ones; a missing unit matches any."""
    units: dict[str, set[str]] = {}
    for quantity in known:
        units.setdefault(quantity.value, set()).add(quantity.unit)
    return sorted(q for q in stated if not _is_among(q, units))


def _is_among(quantity: Quantity, known: dict[str, set[str]]) -> bool:
    units = known.get(quantity.value)
    return units is not None and (not quantity.unit or quantity.unit in units or "" in units)


def _arabic(match: re.Match[str]) -> str:
    """A kanji number before a unit: 二十四 as 24, 一万五千 as 15000."""
    value = value_of(match[0])
    return match[0] if value is None else digits_of(value)


def _time(match: re.Match[str]) -> Quantity:
    half_day, hour, minute, minutes, half, en_hour, en_minute, en_half_day = match.groups()
    if en_hour:
        hour, minute, half_day = en_hour, en_minute, en_half_day
    after_noon = 12 if half_day in {"午後", "p"} and int(hour) < 12 else 0
    return Quantity(f"{int(hour) + after_noon}:{30 if half else int(minute or minutes or 0):02}", "")


def _amount(match: re.Match[str]) -> Quantity:
    currency, number, scale, rest, unit = match.groups()
    value = _decimal(number) * _SCALES.get(scale, 1)
    if rest:
        compound = _COMPOUND.fullmatch(rest)
        value += _decimal(compound[1]) * _SCALES[compound[2]] if compound else _decimal(rest)
    return Quantity(digits_of(value), _CURRENCY[currency] if currency else _CANONICAL.get(unit or "", ""))


def _decimal(number: str) -> Decimal:
    return Decimal(number.replace(",", ""))
