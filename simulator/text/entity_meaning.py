"""What a checkable detail of a text means, apart from how it is written, and what it is held against."""

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from simulator.text.evidence import denied
from simulator.text.numerals import quantities
from simulator.text.segments import normalise
from simulator.text.typography import straight

Kind = Literal["amount", "date", "time", "hours", "phone", "url", "email", "number"]

# Days of the week, Monday first, and public holidays.
WEEK = ("月曜", "火曜", "水曜", "木曜", "金曜", "土曜", "日曜")
HOLIDAY = "祝日"
EVERY_DAY = frozenset((*WEEK, HOLIDAY))

# 3日 may be the third of a month or three days: where the words around it do not tell, it is either.
DAYS, DAY_OR_DAYS = "日間", "日"


class Reading(NamedTuple):
    """Year, month and day, as far as they are told."""

    year: int | None = None
    month: int | None = None
    day: int | None = None

    def is_part_of(self, other: "Reading") -> bool:
        """Whether the other date says all that this one says."""
        return all(own in (None, told) for own, told in zip(self, other, strict=True))


@dataclass
class StatedDetails:
    """All the details of one text, for looking them up."""

    tokens: set[tuple[Kind, str]] = field(default_factory=set)
    readings: set[Reading] = field(default_factory=set)
    clocks: set[int] = field(default_factory=set)
    lone_clocks: set[int] = field(default_factory=set)
    hours: "list[Hours]" = field(default_factory=list)
    measures: set[tuple[str, str]] = field(default_factory=set)
    bare: set[str] = field(default_factory=set)


class Token(NamedTuple):
    """A telephone number, an address or a code: the same when its signs are."""

    kind: Kind
    canonical: str

    def add_to(self, stated: StatedDetails) -> None:
        """File it."""
        stated.tokens.add((self.kind, self.canonical))

    def is_in(self, stated: StatedDetails) -> bool:
        """Whether the text has the same token."""
        return (self.kind, self.canonical) in stated.tokens or self.canonical in stated.bare


class Date(NamedTuple):
    """A date; 01/04/2024 has two readings, of which one is enough."""

    readings: tuple[Reading, ...]

    @property
    def canonical(self) -> str:
        """As 2024年4月1日; a day of whatever month as 毎月1日; both readings with slashes."""
        year, month, day = self.readings[0]
        if len(self.readings) > 1:
            return f"{month}/{day}/{year}"
        if month is None and year is None:
            return f"毎月{day}日"
        return "".join(f"{part}{unit}" for part, unit in ((year, "年"), (month, "月"), (day, "日")) if part)

    def add_to(self, stated: StatedDetails) -> None:
        """File all readings."""
        stated.readings.update(self.readings)

    def is_in(self, stated: StatedDetails) -> bool:
        """Whether a date of the text says as much or more: 4月1日 is in 2024年4月1日, not the reverse."""
        lone = self.readings[0]
        if lone.year is None and lone.month is None and (str(lone.day), DAY_OR_DAYS) in stated.measures:
            return True
        return any(own.is_part_of(other) for own in self.readings for other in stated.readings)


class Clock(NamedTuple):
    """A time of day, in minutes since midnight."""

    minute: int

    @property
    def canonical(self) -> str:
        """As 18:00."""
        return shown(self.minute)

    def add_to(self, stated: StatedDetails) -> None:
        """File it as a time of its own."""
        stated.clocks.add(self.minute)
        stated.lone_clocks.add(self.minute)

    def is_in(self, stated: StatedDetails) -> bool:
        """Whether the text names this time, be it as an end of opening hours."""
        return self.minute in stated.clocks


class Hours(NamedTuple):
    """From when to when, in minutes since midnight, and on which days (none told: empty)."""

    start: int
    end: int
    days: frozenset[str] = frozenset()

    @property
    def canonical(self) -> str:
        """As 月曜・火曜 9:00-18:00."""
        days = "・".join(day for day in (*WEEK, HOLIDAY) if day in self.days)
        return f"{days} {shown(self.start)}-{shown(self.end)}".strip()

    def add_to(self, stated: StatedDetails) -> None:
        """File the hours, and both ends as times."""
        stated.hours.append(self)
        stated.clocks.update((self.start, self.end))

    def is_in(self, stated: StatedDetails) -> bool:
        """Whether the text has these hours, for all of these days where both name days.

        A text that names the two ends apart (opens at nine, closes at six) has them, too.
        """
        same = [other for other in stated.hours if (other.start, other.end) == (self.start, self.end)]
        if same:
            told = frozenset().union(*(other.days for other in same))
            return any(not other.days for other in same) or self.days <= told
        return {self.start, self.end} <= stated.lone_clocks


class Measure(NamedTuple):
    """A number with its unit, or the two ends of a range in the same unit; bare numbers have unit ''."""

    values: tuple[str, ...]
    unit: str

    @property
    def canonical(self) -> str:
        """As 10000円, 3～5営業日; without a unit as 10,000."""
        if self.unit:
            return "～".join(self.values) + self.unit
        whole, point, rest = self.values[0].partition(".")
        return f"{int(whole):,}{point}{rest}"

    def add_to(self, stated: StatedDetails) -> None:
        """File each value with the unit."""
        stated.measures.update((value, self.unit) for value in self.values)
        if not self.unit:
            stated.bare.update(self.values)

    def is_in(self, stated: StatedDetails) -> bool:
        """Whether the text has each value in this unit (or, in a table, a large one without any)."""
        return all(self._has(value, stated) for value in self.values)

    def _has(self, value: str, stated: StatedDetails) -> bool:
        if not self.unit:
            return value in stated.bare or any(value == other for other, _ in stated.measures)
        if (value, self.unit) in stated.measures or value in stated.bare:
            return True
        if self.unit == DAYS:
            return (value, DAY_OR_DAYS) in stated.measures
        if self.unit != DAY_OR_DAYS:
            return False
        return (value, DAYS) in stated.measures or any(str(day) == value for *_, day in stated.readings)


Meaning = Token | Date | Clock | Hours | Measure


class DetailMatch(NamedTuple):
    """A detail in a text: where it stands, its kind and its meaning."""

    start: int
    end: int
    kind: Kind
    meaning: Meaning


def shown(minute: int) -> str:
    """Minutes since midnight as 18:00."""
    return f"{minute // 60}:{minute % 60:02}"


# Full-width forms as plain ones, character for character, so that positions stay the same.
_PLAIN = str.maketrans(
    {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20, 0xFFE5: 0xA5, 0xFFE1: 0xA3}
)
_ADDRESS = (
    r"[A-Za-z][A-Za-z0-9+.\-]{1,15}://[!-~]+"
    r"|[A-Za-z0-9._%+\-]{1,64}@[A-Za-z0-9\-]+(?:\.[A-Za-z0-9\-]+)+"
    r"|[A-Za-z0-9\-]{1,63}(?:\.[A-Za-z0-9\-]{1,63})*\.[A-Za-z]{2,}(?![A-Za-z0-9])(?:/[!-~]*)?"
)
_MONEY = (
    r"[¥$€£]\s?\d[\d,.]*"
    r"|\d[\d,.]*\s?(?:[千万億]\s?\d*\s?)*(?:円|ドル|ユーロ|(?:yen|dollars?|euros?|pounds?|cents?|usd|jpy|eur)\b)"
)
# Words, numbers and what joins them; a code is one with a digit and with a letter or a joint in it:
# E-205, 10GB, 0120-000-371, 9:00, 3.5.
_RUN = r"(?P<run>[A-Za-z0-9]+(?:[-_./:#][A-Za-z0-9]+)*)"
_NEGATION = (
    r"な(?:[いくし]|かっ|けれ)|(?:ませ|まへ)ん|[^ま]ずに|[不無未非]|禁止|対象外|[だダ][めメ]|無理"
    r"|\b[A-Za-z]+n't\b|\b(?:not|no|never|none|nothing|nobody|nowhere|neither|nor|without|cannot|unable)\b"
)
_EXACT = re.compile(f"{_ADDRESS}|{_MONEY}|{_NEGATION}|{_RUN}", re.IGNORECASE)
_CODES = re.compile(f"{_ADDRESS}|{_RUN}", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")


def half_width(text: str) -> str:
    """The text with full-width letters, digits and signs, and curly marks, as plain ones, in place."""
    return straight(text).translate(_PLAIN)


def exact_spans(text: str) -> list[tuple[int, int]]:
    """Where (start, end) codes, addresses, telephone numbers, amounts of money and negations stand."""
    return [match.span() for match in _EXACT.finditer(half_width(text)) if _is_exact(match)]


def codes(text: str) -> Counter[str]:
    """The codes, addresses and telephone numbers in plain lower case, and how often each is there."""
    return Counter(match[0].lower() for match in _CODES.finditer(half_width(text)) if _is_exact(match))


def is_same_matter(one: str, other: str) -> bool:
    """Whether two ways of typing a line have the same codes, numbers and negations, in the same order."""
    told = ((_exact(text), quantities(text), denied(text)) for text in (one, other))
    return next(told) == next(told)


def _is_exact(match: re.Match[str]) -> bool:
    run = match["run"]
    return run is None or (not run.isdigit() and any(map(str.isdigit, run)))


def _exact(text: str) -> tuple[list[str], list[str]]:
    parts = [half_width(text)[start:end].lower() for start, end in exact_spans(text)]
    return parts, _DIGITS.findall(normalise(text))
