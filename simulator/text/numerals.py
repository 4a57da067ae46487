"""Numbers as Japanese and English write them: 12,345.6, 1万5千, 一万五千, 二〇二四, two, 1.5 million."""

import re
import tomllib
from collections.abc import Iterable
from decimal import Context, Decimal
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from simulator.text.segments import normalise
from simulator.text.typography import nfkc, straight

_DIGITS = {digit: value for value, digit in enumerate("〇一二三四五六七八九")} | {
    "零": 0, "壱": 1, "弐": 2, "参": 3,
}  # fmt: skip
_TENS = {"十": 10, "拾": 10, "百": 100, "千": 1000}
_MYRIADS = {"万": 10**4, "億": 10**8, "兆": 10**12}
_WORDS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6,
    "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
    "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18,
    "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60,
    "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip
_POWERS = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
_EXACT = Context(prec=80)
UNITS = Path(__file__).with_name("units.toml")

KANJI = "".join((*_DIGITS, *_TENS, *_MYRIADS))
# Digits with commas between thousands and a decimal part. Bounded: what is longer is no number of anything.
PLAIN = r"\d{1,18}+(?:,\d{3}(?!\d)){0,5}(?:\.\d{1,6}+)?(?!\d)"
_SCALED = (
    rf"{PLAIN}(?:[百千万億兆]{{1,2}}+(?:{PLAIN})?+){{0,4}}+(?: ?(?:hundred|thousand|million|billion)\b)?"
)
_ONES = "|".join(sorted(_WORDS, key=len, reverse=True))
_SPELT = rf"\b(?:{_ONES})(?:[- ](?:{'|'.join(_POWERS)}|{_ONES})){{0,5}}\b"
# Not within another number, nor in 数千, 第三, 三分の一.
NUMERAL = rf"(?:(?<![\d{KANJI}数何幾第])(?<![\d][.,])(?:{_SCALED}|[{KANJI}]{{1,24}}+)|{_SPELT})"

_MOST_PIECES = 40
_SPLIT = re.compile(rf"{PLAIN}|[{KANJI}]|[a-z]+")


def value_of(numeral: str) -> Decimal | None:
    """The value of a numeral in lower case; None of what is none (万, 百 twice) or beyond 10 to the 18th."""
    pieces = _SPLIT.findall(numeral)
    if not 0 < len(pieces) <= _MOST_PIECES:
        return None
    if all(piece in _DIGITS for piece in pieces) and len(pieces) > 1:
        return Decimal("".join(str(_DIGITS[piece]) for piece in pieces))
    total = _spelt(pieces) if pieces[0] in _WORDS else _summed(pieces)
    return None if total is None or total >= 10**18 else total


def digits_of(value: Decimal) -> str:
    """The value without exponent and needless zeros: 10000, 0.5."""
    return f"{value.normalize(_EXACT):f}" if value else "0"


def _summed(pieces: list[str]) -> Decimal | None:
    """Powers of ten below 10,000 gather in a section, 万 and 億 close it; a lone 万 counts nothing."""
    total, section = Decimal(0), Decimal(0)
    last: Decimal | None = None
    for piece in pieces:
        if piece in _TENS:
            section, last = section + _TENS[piece] * (last or 1), None
        elif power := _MYRIADS.get(piece) or _POWERS.get(piece):
            section += last or 0
            if not section:
                return None
            total, section, last = total + section * power, Decimal(0), None
        elif last is not None or (last := _single(piece)) is None:
            return None
    return total + section + (last or 0)


def _single(piece: str) -> Decimal | None:
    if piece in _DIGITS:
        return Decimal(_DIGITS[piece])
    return Decimal(piece.replace(",", "")) if piece[0].isdecimal() else None


def _spelt(words: list[str]) -> Decimal:
    """English words: tens and ones add up, hundred multiplies, thousand and above close a section."""
    total = section = 0
    for word in words:
        power = _POWERS.get(word)
        if power is None:
            section += _WORDS.get(word, 0)
        elif power == 100:
            section *= power
        else:
            total, section = total + section * power, 0
    return Decimal(total + section)


_SCALES = _TENS | _MYRIADS | _POWERS

# Digits joined by hyphens are one telephone number or code from this length on; 10-20 is a range.
SHORTEST_CODE = 7

# Every spelling of a unit, and the one it is compared as. Longest first: か月 before 月.
_UNITS = tomllib.loads(UNITS.read_text(encoding="utf-8"))["stated"]
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
MONTHS = (
    "jan(?:uary)?", "feb(?:ruary)?", "mar(?:ch)?", "apr(?:il)?", "may", "june?", "july?", "aug(?:ust)?",
    "sep(?:t(?:ember)?)?", "oct(?:ober)?", "nov(?:ember)?", "dec(?:ember)?",
)  # fmt: skip
_MONTH = rf"(?:{'|'.join(MONTHS)})\b\.?"
_NO_DAY = (
    r"(?! (?:centur|floor|street|avenue|edition|birthday|anniversar|place|season|grade|time|amendment"
    r"|president|state|month|year|week|hour|version|generation|century|district|row|line|item|step|page|chapter|minute))"
)
_DAY = re.compile(
    rf"\bthe (\d{{1,2}})(?:st|nd|rd|th)\b{_NO_DAY}"
    rf"|(?<![\d.,:$-])\b(\d{{1,2}})(?:st|nd|rd|th)?(?= (?:of )?{_MONTH})"
    rf"|\b{_MONTH} (\d{{1,2}})(?:st|nd|rd|th)?\b(?![:.,]?\d|%| (?:{_SPELLINGS}))"
)
_BRACKETED = re.compile(r"\[\d{1,3}\]")
_COMPOUND = re.compile(rf"({_PLAIN})([千万億])")


class Quantity(NamedTuple):
    """A number as canonical digits, and its unit ('' when it has none)."""

    value: str
    unit: str

    def shown(self, language: str) -> str:
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
    plain = _KANJI_AMOUNT.sub(
        # A kanji number before a unit: 二十四 as 24, 一万五千 as 15000.
        lambda match: match[0] if (value := value_of(match[0])) is None else digits_of(value),
        _BRACKETED.sub(" ", normalise(text)),
    )
    found: set[Quantity] = set()

    def take_code(match: re.Match[str]) -> str:
        digits = re.sub(r"\D", "", match[0])
        if len(digits) < SHORTEST_CODE:
            return match[0].replace("-", " - ")
        found.add(Quantity(digits, ""))
        return " "

    rest = _CODE.sub(take_code, plain)
    found.update(map(_time, _CLOCK.finditer(rest)))
    rest = _CLOCK.sub(" ", rest)
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
    return sorted(
        each
        for each in stated
        if each.value not in units or (each.unit and units[each.value].isdisjoint((each.unit, "")))
    )


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


# Numbers of more digits than this are codes, and a larger exponent would write a page of zeros.
_LONGEST = 40
_NUMBER = re.compile(
    r"[+-]?(?:[1-9][0-9]{0,2}(?:,[0-9]{3})+|0|[1-9][0-9]*)?(?:(?<=[0-9])|(?=\.))(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,2})?"
)


def number_text(text: str) -> str | None:
    """A text that is nothing but a number, written plainly; None for every other text.

    「１，０００」 is 1000, 1.50 is 1.5, 1e3 is 1000. With a leading zero it is a code, not a number: 007.
    """
    plain = nfkc(straight(text)).strip()
    if len(plain) > _LONGEST or not plain or not _NUMBER.fullmatch(plain):
        return None
    written = f"{Decimal(plain.replace(',', '')):f}"
    if "." in written:
        written = written.rstrip("0").rstrip(".")
    return "0" if written in ("-0", "") else written
