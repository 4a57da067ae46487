"""What a checkable detail of a text means, however it is written, and whether a text has the same."""

from collections import defaultdict
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import product
from typing import Literal, NamedTuple

from simulator.text.numerals import digits_of

Kind = Literal["amount", "date", "time", "hours", "phone", "url", "email", "number"]

# Days of the week, Monday first, and public holidays.
WEEK = ("月曜", "火曜", "水曜", "木曜", "金曜", "土曜", "日曜")
HOLIDAY = "祝日"
EVERY_DAY = frozenset((*WEEK, HOLIDAY))

# 3日 may be the third of a month or three days: where the words around it do not say which, it is either.
DAY_OR_DAYS = "日"
SECONDS, A_DAY = "秒", 86400
# A number without a unit says something by itself from here on, and may be any unit's cell in a table.
A_THOUSAND = 1000


class CalendarDate(NamedTuple):
    """Year, month and day, as far as they are index."""

    year: int | None = None
    month: int | None = None
    day: int | None = None


@dataclass
class DetailIndex:
    """All the details of one text, for looking them up."""

    tokens: set[tuple[Kind, str]] = field(default_factory=set)
    # Every date with each of its parts also left out: as much as the text says, and less.
    readings: set[CalendarDate] = field(default_factory=set)
    clocks: set[int] = field(default_factory=set)
    lone_clocks: set[int] = field(default_factory=set)
    hours: dict[tuple[int, int], set[frozenset[str]]] = field(default_factory=dict)
    measures: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    bare: set[str] = field(default_factory=set)


class Token(NamedTuple):
    """A telephone number, an address or a code: the same when its signs are."""

    kind: Kind
    canonical: str

    def add_to(self, index: DetailIndex) -> None:
        """Add it to the index."""
        index.tokens.add((self.kind, self.canonical))

    def is_in(self, index: DetailIndex) -> bool:
        """Whether the text has the same token."""
        return (self.kind, self.canonical) in index.tokens or self.canonical in index.bare


class Date(NamedTuple):
    """A date; 01/04/2024 has two readings, of which one is enough."""

    readings: tuple[CalendarDate, ...]

    @property
    def canonical(self) -> str:
        """As 2024年4月1日; a day of whatever month as 毎月1日; both readings with slashes."""
        year, month, day = self.readings[0]
        if len(self.readings) > 1:
            return f"{month}/{day}/{year}"
        if month is None and year is None:
            return f"毎月{day}日"
        return "".join(f"{part}{unit}" for part, unit in ((year, "年"), (month, "月"), (day, "日")) if part)

    def add_to(self, index: DetailIndex) -> None:
        """Add all readings."""
        for reading in self.readings:
            parts = ((None,) if part is None else (part, None) for part in reading)
            index.readings.update(CalendarDate(*some) for some in product(*parts) if any(some))

    def is_in(self, index: DetailIndex) -> bool:
        """Whether a date of the text says as much or more: 4月1日 is in 2024年4月1日, not the reverse."""
        lone = self.readings[0]
        if lone.year is None and lone.month is None and DAY_OR_DAYS in index.measures.get(str(lone.day), ()):
            return True
        return not index.readings.isdisjoint(self.readings)


class Clock(NamedTuple):
    """A time of day, in minutes since midnight."""

    minute: int

    @property
    def canonical(self) -> str:
        """As 18:00."""
        return clock_text(self.minute)

    def add_to(self, index: DetailIndex) -> None:
        """Add it as a time of its own."""
        index.clocks.add(self.minute)
        index.lone_clocks.add(self.minute)

    def is_in(self, index: DetailIndex) -> bool:
        """Whether the text names this time, be it as an end of opening hours."""
        return self.minute in index.clocks


class Hours(NamedTuple):
    """From when to when, in minutes since midnight, and on which days (empty: none are named)."""

    start: int
    end: int
    days: frozenset[str] = frozenset()

    @property
    def canonical(self) -> str:
        """As 月曜・火曜 9:00-18:00."""
        days = "・".join(day for day in (*WEEK, HOLIDAY) if day in self.days)
        return f"{days} {clock_text(self.start)}-{clock_text(self.end)}".strip()

    def add_to(self, index: DetailIndex) -> None:
        """Add the hours, and both ends as times."""
        index.hours.setdefault((self.start, self.end), set()).add(self.days)
        index.clocks.update((self.start, self.end))

    def is_in(self, index: DetailIndex) -> bool:
        """Whether the text has these hours, for all of these days where both name days.

        A text that names the two ends apart (opens at nine, closes at six) has them, too.
        """
        if same := index.hours.get((self.start, self.end)):
            return frozenset() in same or self.days <= frozenset().union(*same)
        return {self.start, self.end} <= index.lone_clocks


class Measure(NamedTuple):
    """A number in the unit that its dimension is compared in, or several of them; bare ones have unit ''."""

    values: tuple[str, ...]
    unit: str

    @property
    def canonical(self) -> str:
        """As 10000円, 3～5営業日; without a unit as 10,000."""
        if self.unit:
            return "～".join(self.values) + self.unit
        value = Decimal(self.values[0])
        return f"{value:,}" if value >= A_THOUSAND else f"{value} things"

    def add_to(self, index: DetailIndex) -> None:
        """Add each value with the unit."""
        for value in self.values:
            index.measures[value].add(self.unit)
            if not self.unit and Decimal(value) >= A_THOUSAND:
                index.bare.add(value)
            if self.unit == DAY_OR_DAYS:
                index.measures[_seconds(value)].add(SECONDS)

    def is_in(self, index: DetailIndex) -> bool:
        """Whether the text has each value in this unit (or, in a table, a large one without any)."""
        return all(self._has(value, index) for value in self.values)

    def _has(self, value: str, index: DetailIndex) -> bool:
        units = index.measures.get(value, set())
        if value in index.bare or self.unit in units or (units and not self.unit):
            return True
        if self.unit != DAY_OR_DAYS:
            return False
        is_day = value.isdecimal() and CalendarDate(day=int(value)) in index.readings
        return is_day or SECONDS in index.measures.get(_seconds(value), ())


def _seconds(days: str) -> str:
    return digits_of(Decimal(days) * A_DAY)


Meaning = Token | Date | Clock | Hours | Measure


class DetailMatch(NamedTuple):
    """A detail in a text: where it stands, its kind and its meaning."""

    start: int
    end: int
    kind: Kind
    meaning: Meaning


def clock_text(minute: int) -> str:
    """Minutes since midnight as 18:00."""
    return f"{minute // 60}:{minute % 60:02}"
