"""The checkable details of a text: addresses, telephone numbers, dates, times, amounts, codes.

First what a detail means, however it is written, and when two are the same; then how each kind is found.

A text comes in as people write it; a tuple of `Specific` comes out, each with the words it stands in and one
canonical spelling, in the order of the text:

    午後6時まで                  -> time 18:00
    平日 9時～18時               -> hours 月曜・火曜・水曜・木曜・金曜 9:00-18:00
    令和6年4月1日                -> date 2024年4月1日
    14日以内, 2 weeks            -> number 1209600秒 (a dimension is compared in its first unit)
    1万5千円, ￥15,000           -> amount 15000円
    +81-3-1234-5678              -> phone 0312345678
    注文番号 AB-12345            -> number ab12345

Two texts are never compared by these spellings alone. `located` asks a text's `DetailIndex`, which knows that
4月1日 stands in 2024年4月1日 (and not the reverse), that 9:00-18:00 is there where both ends are named apart,
and that a large number without a unit, as in the cell of a table, may be an amount.

The kinds are looked for from the most to the least distinct, each in what the ones before it have left:
addresses, e-mail, telephone numbers, dates, times, measures, codes (`_scan`). What is no detail at all: small
counts (一人, two steps), numbers of list items and sections, and numbers without a unit, unless they have
five digits, a comma between thousands (1,500) or the name of what they count behind them (120 puffs).

Everything reads untrusted text, so every repetition in a pattern is bounded or possessive; `make bench-text`
doubles hostile texts and fails where the time grows faster than they do.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from itertools import chain, pairwise, product, zip_longest
from pathlib import Path
from typing import Literal, NamedTuple

from simulator.core.templates import read_toml
from simulator.lab.judging.masked_text import MaskedText
from simulator.text.numerals import KANJI, NUMERAL, digits_of, value_of
from simulator.text.segments import CJK, normalise

# --- What a detail means, and whether a text has the same ---

# What a report calls a detail; `number` covers measures that are no money, and codes.
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
    """Year, month and day, as far as they are known.

    4月1日 -> (None, 4, 1); 2024年 -> (2024, None, None); 毎月27日 -> (None, None, 27).
    """

    year: int | None = None
    month: int | None = None
    day: int | None = None


@dataclass
class DetailIndex:
    """All the details of one text, for looking them up.

    `tokens` are addresses, telephone numbers and codes. `clocks` are minutes since midnight, those of opening
    hours included; `lone_clocks` leaves these out. `hours` has the days that go with each span, `measures`
    the units that stand beside each value, and `bare` the large values that stand without any.
    """

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
    """A detail in a text: where it stands, its kind and its meaning.

    `start` and `end` are places in the normalised text; `MaskedText.written` leads back to the original
    words.
    """

    start: int
    end: int
    kind: Kind
    meaning: Meaning


def clock_text(minute: int) -> str:
    """Minutes since midnight as 18:00."""
    return f"{minute // 60}:{minute % 60:02}"


# --- Addresses, telephone numbers and codes ---

_TOP = (
    r"(?:jp|com|net|org|info|biz|io|me|tv|app|dev|shop|site|online|cloud|example|test|gov|edu|uk|us|eu|de|fr)"
)
# A pattern that begins by looking behind is tried at every place of a text. `(?=...)` in front of it, with
# the signs that it can begin with, leaves most places at a glance: it takes a third of the time, or a fifth.

# Signs that end an address in running text, be they its last part or a full-width bracket behind it.
_PATH = r"[a-z0-9\-._~:/?#@$&'*+=%]"
_LAST = ".:?*'~_-&=#$+@"
_URL = re.compile(
    rf"(?:https?|ftp)://{_PATH}++"
    rf"|(?<![a-z0-9.@_%+/\-])(?:[a-z0-9\-]{{1,63}}+\.){{1,8}}{_TOP}(?![a-z0-9\-]|\.[a-z0-9])(?![a-z0-9._%+\-]{{0,64}}@)(?:[/?#]{_PATH}*+)?",
    re.IGNORECASE | re.ASCII,
)
_HAS_URL = re.compile(rf"://|\.{_TOP}", re.IGNORECASE | re.ASCII)
_EMAIL = re.compile(
    r"(?<![a-z0-9._%+\-])[a-z0-9._%+\-]{1,64}+@(?:[a-z0-9\-]{1,63}+\.){1,8}[a-z]{2,24}", re.ASCII
)
_DASH = r"\-ー"
_GAP = rf"[ {_DASH}.・]{{0,2}}"
# Digits in two to four groups: 03-1234-5678, (0120) 000 371, +44 20 7946 0333. Not a date or a range within a
# longer run of digits, nor a price with commas. How many digits there must be says `_national`.
_PHONE = re.compile(
    rf"(?=[\d+(])(?<![\d.,])(?<!\d[{_DASH}/])(?:\+\d{{1,3}}{_GAP}(?:\(0\){_GAP})?)?\(?\d{{1,5}}\)?{_GAP}\(?\d{{1,4}}\)?"
    rf"(?:{_GAP}\d{{2,4}}){{1,2}}(?![\da-z,]|[{_DASH}]\d)"
)
# 1-800-555-0199, (212) 555-0199: the American form, kept as three groups.
_FREEPHONE = re.compile(rf"(?:1{_GAP})?\(?([2-9]\d\d)\)?[ {_DASH}.]{{1,2}}(\d{{3}})[ {_DASH}.](\d{{4}})")
# #9110, 188番, "call 110": numbers too short for a group. 100番地 and 12番目 are none.
_SHORT = re.compile(
    r"(?=[#1])(?<![\d.])(?:#\d{4}|1\d\d(?=番(?![号目地]))|(?<=call )1\d\d|(?<=dial )1\d\d)(?![\d,])"
)
# Runs of letters and digits, with hyphens or underscores between them; whether there are enough digits is
# checked afterwards. Not the head of 1,234.
_CODE = re.compile(
    rf"(?<![a-z0-9{_DASH}_.,#])[a-z0-9]{{1,40}}+(?:[{_DASH}_][a-z0-9]{{1,40}}+){{0,8}}+(?![a-z0-9]|,\d{{3}})"
)
# Of a code (an order, a contract, a customer): its fewest digits, and its most signs. 1234 is a price or a
# year as well; a run of more than 40 signs is a hash or an attack.
_FEWEST, _LONGEST = 5, 40


def urls(text: str) -> Iterator[DetailMatch]:
    """Web addresses, the same with and without scheme and final slash; capitals count in the path."""
    for match in _URL.finditer(text) if _HAS_URL.search(text) else ():
        written = re.split(r"(?<=.)(?:https?|ftp)://", match[0], flags=re.IGNORECASE)[0].rstrip(_LAST)
        host, slash, path = re.sub(r"^\w+://", "", written).partition("/")
        if "." in host or host.startswith("localhost"):
            token = Token("url", "https://" + (host.lower() + slash + path).rstrip(_LAST + "/"))
            yield DetailMatch(match.start(), match.start() + len(written), "url", token)


def emails(text: str) -> Iterator[DetailMatch]:
    """E-mail addresses; capitals do not count."""
    for match in _EMAIL.finditer(text):
        yield DetailMatch(*match.span(), "email", Token("email", match[0].strip(".")))


def phones(text: str) -> Iterator[DetailMatch]:
    """Telephone numbers as their national digits: +81-3-1234-5678 is 0312345678; also #9110 and 188番."""
    for match in _PHONE.finditer(text):
        if number := _national(match[0]):
            opens_around = match[0].startswith("(") and ")" not in match[0]
            yield DetailMatch(match.start() + opens_around, match.end(), "phone", Token("phone", number))
    for match in _SHORT.finditer(text):
        number = match[0] if match[0].startswith("#") else f"{match[0]}番"
        yield DetailMatch(*match.span(), "phone", Token("phone", number))


def codes(text: str) -> Iterator[DetailMatch]:
    """Order numbers and other codes: at least five digits, with or without letters and hyphens.

    AB-12345 and ab12345 are the same. Ten or eleven digits that begin with 0 are a telephone number instead.
    """
    for match in _CODE.finditer(text):
        # Letters at the end are rather a unit that nobody listed.
        if not match[0][-1].isdigit() or sum(map(str.isdigit, match[0])) < _FEWEST:
            continue
        plain = re.sub(rf"[{_DASH}_]", "", match[0])
        if len(plain) > _LONGEST:
            continue
        is_phone = plain.isdigit() and plain[0] == "0" and len(plain) in (10, 11)
        kind: Kind = "phone" if is_phone else "number"
        yield DetailMatch(*match.span(), kind, Token(kind, plain))


def _national(written: str) -> str:
    """The digits a caller within the country dials, or '' when this is no telephone number."""
    digits = re.sub(r"\D", "", written)
    if written.startswith(("+81", "+44")):
        digits = "0" + digits[2:].removeprefix("0")
        return digits if len(digits) in (10, 11) else ""
    american = _FREEPHONE.fullmatch(written.removeprefix("+"))
    if american:
        return "-".join(american.groups())
    if written.startswith("+"):
        return "+" + digits if 8 <= len(digits) <= 15 else ""
    # Digits in groups, so that a long number without any is left to be a code.
    return digits if digits.startswith("0") and len(digits) in (10, 11) else ""


# --- Dates, times of day and opening hours, as Japanese and English write them ---
# Dates: 2024年4月1日, 令和6年4月1日, R6.4.1, 2024/4/1, April 1, 2024, 1 April 2024, the 27th.
# Times: 午後6時, 18:00, 6 pm; hours with their days: 平日 9時～18時, Monday to Friday 9:00-17:00.

# The halves of the day that make 6 o'clock 18:00.
_AFTER_NOON = {"午後", "夕方", "夜", "夜間", "pm", "p.m."}
_HALF_DAY = r"午前|午後|早朝|翌朝|朝|夕方|夜間|夜|深夜|(?<![a-z])[ap]\.?m\.?(?![a-z])"
_ZONE = r"(?P<zone>[ap](?:m\b|\.m\.?))"
_H = rf"(?:(?<![\d.,:/])\d{{1,2}}|(?<![{KANJI}数同一臨])[{KANJI}]{{1,3}}+)"
# A time of day in one of five forms: 18:00 (6:30pm), 18時30分 (18時半), 6 pm, noon, midnight, each perhaps
# behind 午後 and the like. 2時間 is a span, 16:9 and 10:1倍 are ratios, ¥18:00 is none.
_TIME = re.compile(
    rf"(?=[\d午早翌朝夕夜深正{KANJI}]|(?<![a-z])[apnm])(?:(?P<half>{_HALF_DAY})(?:の)? ?)?(?:"
    rf"(?<![\d.,:/$¥])(?P<h>\d{{1,2}}):(?P<m>[0-5]\d)(?![\d:]| ?(?:%|倍))(?: ?{_ZONE})?"
    rf"|(?P<hh>{_H}) ?時(?![間期点刻代差々折計短給])(?: ?(?P<mm>{_H}) ?分(?![の割])|(?P<by>半))?"
    rf"|(?<![\d.,:/$¥])(?P<hour>\d{{1,2}})(?: ?{_ZONE.replace('<zone>', '<late>')}| ?o'clock)"
    rf"|(?P<noon>正午|(?<![a-z])(?:noon|midday)(?![a-z]))|(?P<night>(?<![a-z])midnight(?![a-z])))"
)
# Times with a dot, as they are written in Britain; without these words around it, 7.30 is a number.
_DOTTED = re.compile(
    r"(?=\d)(?:(?<![\d.,:/$¥€£])\d{1,2}\.[0-5]\d(?= ?[ap]\.?m\b)"
    r"|(?<=\bfrom )\d{1,2}\.[0-5]\d (?:to|until|till) \d{1,2}\.[0-5]\d(?!\d|\.\d| ?[%€£円]))"
)
_CLOCK_TO = r"(?:から|より|~|〜|-|ー|\bto\b|\buntil\b|\btill\b|\bthrough\b)"
# What joins two times to opening hours: 9時から18時, 9:00-17:00, 22時～翌2時. With "between" before the first
# one, `_AND` does as well.
_CLOCK_BETWEEN = re.compile(rf" ?(?:まで)?{_CLOCK_TO} ?(?:翌日?の?)? ?")
_AND = re.compile(r" ?(?:and|と) ?")
# The first end of 9-18時 or 2 to 5:30 pm, which has no unit of its own.
_BARE = re.compile(
    rf"(?:(?<![\d.,:/$¥\w])|(?<=[^\x00-\x7f]))(?P<h>\d{{1,2}})(?::(?P<m>[0-5]\d))? ?{_CLOCK_TO} ?$"
)

_ONE = r"[月火水木金土日]"
_JA_DAY = rf"(?:平日|祝祭日|祝日?|{_ONE}曜日?|{_ONE})"
_JA_DAYS = (
    rf"(?:毎日|年中無休|全日|連日|(?:平日|祝祭日|祝日|{_ONE}曜日?)(?:[・、,及びおよとも/~〜\-からー(]{{0,3}}{_JA_DAY}\)?){{0,8}}"
    rf"|(?<![\d当翌前同本終毎昨明休年初連今一-九]){_ONE}(?:[・、,/~〜\-からー]{{0,2}}{_JA_DAY}){{1,8}})"
)
_EN_NAMES = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_EN_DAY = (
    r"(?:mon(?:day)?s?|tues?(?:day)?s?|wed(?:nesday)?s?|thu(?:rs?)?(?:day)?s?|fri(?:day)?s?|sat(?:urday)?s?"
    r"|sun(?:day)?s?|weekdays?|weekends?|(?:public |bank |national )?holidays?)\b"
)
_EN_JOIN = r"\.?(?: ?(?:,|&|/|-|~) ?(?:and )?| (?:to|through|till|until|and|or) )"
_EN_DAYS = rf"(?:\b(?:every ?day|daily|(?:7|seven) days a week)\b|\b{_EN_DAY}(?:{_EN_JOIN}{_EN_DAY}){{0,8}})"
_DAYS = rf"(?:{_JA_DAYS}|{_EN_DAYS})"
# Days before the hours (平日は9時, Mon-Fri: 9:00), and days behind them (9:00-17:00 on weekdays, 土日を除く).
_LEFT = re.compile(
    rf"(?P<days>{_DAYS})(?P<link>(?: ?[)\]:はにもの,、]{{0,2}}| ?\|) ?(?:from |between |の)?)$"
)
_RIGHT = re.compile(
    r"(?: ?まで)? ?(?:[,、(\[]|\bon\b|\bexcept\b|の)? ?(?:on )?"
    rf"(?P<but>(?:except|excluding|but not)(?: on)? )?"
    rf"(?P<days>{_DAYS})(?P<off> ?(?:[はをも]|・年末年始)? ?(?:除く|除き|以外|休み|お休み|定休|休業))?\)?"
)
_TILL = re.compile(r" ?まで")
# How many characters before and behind the hours may hold their days.
_REACH = 40
# One name of days at a time, and what makes a span of two: 月～金, Monday to Friday.
_NAMED = re.compile(
    rf"{_EN_DAY}|every ?day|daily|(?:7|seven) days|平日|祝祭日|祝日?|毎日|年中無休|全日|連日"
    rf"|{_ONE}(?!本)(?:曜日?)?"
)
_SPAN = re.compile(r"[~〜\-ー]|から|\b(?:to|through|till|until)\b")
# Days that already belong to the next hours: 平日9:00-18:00、土日10:00-17:00.
_NEXT = re.compile(r" ?[:はも、,]? ?(?:午[前後]|[ap]m|\d{1,2}(?::|時| ?[ap]\.?m))")


class _Time(NamedTuple):
    """A time in a text, which may be one end of opening hours."""

    start: int
    end: int
    hour: int
    minute: int
    half: str

    @property
    def clock(self) -> int:
        """Minutes since midnight: 午後6時 is 18:00, 26時 is 2:00."""
        hour = self.hour
        if self.half in _AFTER_NOON and hour < 12:
            hour += 12
        if self.half in {"am", "a.m."} and hour == 12:
            hour = 0
        return 60 * (hour % 24) + self.minute


def times(text: str) -> Iterator[DetailMatch]:
    """Opening hours with the days beside them, and times of day that stand alone."""
    text = _DOTTED.sub(lambda match: match[0].replace(".", ":"), text)
    every = _times(text)
    time = next(every, None)
    while time:
        after = next(every, None)
        if after and _is_range(text, time, after):
            yield _hours(text, time, after)
            after = next(every, None)
        elif bare := _bare(text, time):
            yield _hours(text, bare, time)
        else:
            yield DetailMatch(time.start, time.end, "time", Clock(time.clock))
        time = after


def _times(text: str) -> Iterator[_Time]:
    for match in _TIME.finditer(text):
        half = (match["half"] or match["zone"] or match["late"] or "").replace(".", "")
        if match["noon"] or match["night"]:
            yield _Time(*match.span(), 12 if match["noon"] else 0, 0, "")
            continue
        written = match["h"] or match["hh"] or match["hour"]
        hour = _number(written)
        minute = 30 if match["by"] else _number(match["m"] or match["mm"] or "0")
        alone = written == "一" and not half
        if hour is not None and minute is not None and hour < 30 and minute < 60 and not alone:
            yield _Time(*match.span(), hour, minute, half)


def _number(written: str) -> int | None:
    value = value_of(written)
    return int(value) if value is not None else None


def _is_range(text: str, time: _Time, after: _Time) -> bool:
    if after.start - time.end > 12:
        return False
    is_between = text[max(0, time.start - 10) : time.start].rstrip().endswith("between")
    links = (_CLOCK_BETWEEN, _AND) if is_between else (_CLOCK_BETWEEN,)
    return any(link.fullmatch(text, time.end, after.start) for link in links)


def _bare(text: str, last: _Time) -> _Time | None:
    """The start of hours whose unit stands only at the end: 9-18時, 2 to 5:30 pm."""
    match = _BARE.search(text, max(0, last.start - 16), last.start)
    if not match or int(match["h"]) > 24:
        return None
    return _Time(match.start("h"), match.end("h"), int(match["h"]), int(match["m"] or 0), "")


def _hours(text: str, opening: _Time, after: _Time) -> DetailMatch:
    """A half of the day that is named once holds for the other end of the hours where it can."""
    start, end = opening.clock, after.clock
    if not after.half and opening.half and end <= start and after.hour < 12:
        end += 720
    if not opening.half and after.half in _AFTER_NOON and opening.hour < 12 and start + 720 < end:
        start += 720
    left, right, days = _days_beside(text, opening.start, after.end)
    return DetailMatch(left, right, "hours", Hours(start, end % 1440, days))


def _days_beside(text: str, start: int, end: int) -> tuple[int, int, frozenset[str]]:
    """Where the hours begin and end with the days before and behind them, and these days."""
    line = text.rfind("\n", max(0, start - _REACH), start) + 1
    before = _LEFT.search(text, max(line, start - _REACH), start)
    left, days = (before.start(), days_of(before["days"])) if before else (start, frozenset[str]())
    till = _TILL.match(text, end)
    right = till.end() if till else end
    behind = _RIGHT.match(text, end, end + _REACH)
    if behind and not _NEXT.match(text, behind.end()) and (named := days_of(behind["days"])):
        is_off = bool(behind["but"] or behind["off"])
        open_days = (days or EVERY_DAY) - named if is_off else days | named
        return left, behind.end(), open_days
    return left, right, days


def days_of(written: str) -> frozenset[str]:
    """The days that a phrase of a normalised text names: 平日, 土日祝, 月~金, monday to friday, daily.

    A span may run over the end of the week: 金~月 is Friday to Monday.
    """
    days: list[str] = []
    week_days: set[str] = set()
    reached = 0
    for match in _NAMED.finditer(written):
        named = _named(match[0])
        ends = (*days, *named)
        are_days = len(days) == len(named) == 1 and HOLIDAY not in ends
        if are_days and _SPAN.search(written, reached, match.start()):
            first, last = map(WEEK.index, ends)
            week_days.update(WEEK[first : last + 1] if first <= last else (*WEEK[first:], *WEEK[: last + 1]))
        week_days.update(named)
        days, reached = named, match.end()
    return frozenset(week_days)


def _named(word: str) -> list[str]:
    if word.startswith(("平日", "weekday")):
        return list(WEEK[:5])
    if word.startswith("weekend"):
        return list(WEEK[5:])
    if word.startswith("祝") or "holiday" in word:
        return [HOLIDAY]
    if word[:3] in _EN_NAMES:
        return [WEEK[_EN_NAMES.index(word[:3])]]
    return next(([day] for day in WEEK if day[0] == word[0]), sorted(EVERY_DAY))


_ERA = r"(?P<era>令和|平成|昭和|大正|明治|(?<![a-z0-9])[rhs]\.?(?=\d))"
_N = rf"(?:(?<![\d.,])\d{{1,2}}|(?<![{KANJI}])[{KANJI}]{{1,3}}+)"
_IN_ERA = rf"{_ERA} ?(?P<reign>元|\d{{1,2}}|[{KANJI}]{{1,4}}+)"
_AD = rf"(?:西暦)?(?<![\d.,{KANJI}])(?P<year>(?:19|20|21)\d\d|[一二][{KANJI}]{{3,8}}+)"
# 2024年4月1日, 令和6年4月, 4月1日, 二〇二四年; not 3日間, 月額, or 4月々.
_JAPANESE = re.compile(
    rf"(?:{_IN_ERA}|{_AD}) ?年度?(?: ?(?P<m>{_N}) ?月(?![間額次])(?: ?(?P<d>{_N}) ?日(?!間))?)?"
    rf"|(?P<mm>{_N}) ?月(?![間額次々])(?: ?(?P<dd>{_N}) ?日(?!間))?"
)
# 2024/4/1, 2024.4.1, R6.4.1, 2024-04; not within a longer run such as a code or a path.
_NUMERIC = re.compile(
    r"(?=[\drhs])(?<![\w./-])(?:(?P<year>(?:19|20|21)\d\d)|(?P<era>[rhs])\.?(?P<reign>\d{1,2}))"
    r"(?:(?P<sep>[./-]) ?(?P<m>\d{1,2})(?P=sep) ?(?P<d>\d{1,2})|[/-](?P<mm>\d{1,2}))(?!\d|[./-]\d)"
)
# 01/04/2024 has two readings; only those that the calendar has are kept.
_YEAR_LAST = re.compile(r"(?=\d)(?<![\w./-])(\d{1,2})([/.-])(\d{1,2})\2((?:19|20|21)\d\d)(?!\d|[./-]\d)")
# 4/1から, 12/25(水): month and day only where a word behind them says so. 1/2, 24/7 and 3/4程度 are fractions
# or names.
_SLASHED = re.compile(
    r"(?=\d)(?<![\w./-])(\d{1,2})/(\d{1,2})(?![\d/.%]| ?(?:以[上下]|の|程度|倍))"
    r"(?= ?(?:\(|から|~|〜|-|まで|以降|より|に|付|時点|現在|頃|は))"
)
# The names of the months as patterns, January first: jan, january.
_MONTHS = (
    "jan(?:uary)?", "feb(?:ruary)?", "mar(?:ch)?", "apr(?:il)?", "may", "june?", "july?", "aug(?:ust)?",
    "sep(?:t(?:ember)?)?", "oct(?:ober)?", "nov(?:ember)?", "dec(?:ember)?",
)  # fmt: skip
_MONTH = rf"(?P<month>\b(?:{'|'.join(_MONTHS)})\b(?:\.(?= \d))?)"
_ANY_MONTH = re.compile(rf"\b(?:{'|'.join(_MONTHS)})\b")
_TH = r"(?:st|nd|rd|th)?\b"
_YEAR = r"(?:,? (?:of )?(?P<year>(?:19|20|21)\d\d)\b)?"
_TO_DAY = r" ?(?:-|~|〜|to(?: the)?|until|till|through|and) ?"
_DAY_FIRST = re.compile(
    rf"(?=\d)(?:(?<![\w.,:/$-])(?P<first>\d{{1,2}}){_TH}{_TO_DAY})?(?<![\d.,:/$])"
    rf"(?P<d>\d{{1,2}}){_TH} (?:of )?{_MONTH}{_YEAR}"
)
_MONTH_FIRST = re.compile(rf"{_MONTH} (?P<d>\d{{1,2}}){_TH}(?![:.]\d| ?%| ?[ap]\.?m\b){_YEAR}")
# "This may" is seldom the month.
_CUE = (
    r"\b(?:(?:in|of|by|until|till|from|since|before|after|during|through|late|early|mid)[ -]"
    r"|(?:next|last|this|every|each) (?!may\b|mar))"
)
_MONTH_ALONE = re.compile(
    rf"{_MONTH},? (?:of )?(?P<year>(?:19|20|21)\d\d)\b|{_CUE}{_MONTH.replace('<month>', '<alone>')}(?! \d)"
)
# The second day of 5月1日から31日 or May 1 to 31, which takes its month from the first.
_LATER = re.compile(
    rf"(?:\(.{{1,3}}\))? ?(?:から|より|~|〜|-|・|、|及び|および|と) ?(?P<d>{_N})日(?![間以前後目本])"
    rf"|(?:-| to | through | until | and )(?:the )?(?P<dd>\d{{1,2}}){_TH}(?![:.,]\d| ?[a-z%])"
)
# "the 27th" is a day; "the 27th floor" or "the 20th century" is none: what may follow is listed.
_ORDINAL = re.compile(
    rf"\bthe (?P<d>\d{{1,2}})(?:st|nd|rd|th)\b(?! (?:of )?(?:{'|'.join(_MONTHS)})\b)"
    r"(?! (?!of|to|and|or|is|if|falls|each|every|in|at|until|through|by|for"
    r"|we|you|will|on|with|but|as|when|so)[a-z])"
)
# "in 2024" is a year; a bare 2024 is a number like any other.
_YEAR_ALONE = re.compile(
    r"\b(?:in|since|until|till|from|by|before|after|during|of|year|fiscal)"
    r" (?P<year>(?:19|20)\d\d)\b(?![-:]?\d)"
)
_BETWEEN = re.compile(rf"(?:\(.{{1,3}}\))? ?(?:から|より) ?|(?:\(.{{1,3}}\))?{_TO_DAY}")


def dates(text: str) -> list[DetailMatch]:
    """The dates in their order; the second one of a range has month and year of the first.

    2026年5月1日～6月30日 gives 2026年5月1日 and 2026年6月30日. Of overlapping readings the longest one from
    the left is kept.
    """
    every = _without_overlaps(date for finder in (_japanese, _numeric, _english) for date in finder(text))
    return _inherited(text, _with_later_days(text, every))


def _without_overlaps(matches: Iterable[DetailMatch]) -> list[DetailMatch]:
    """In order, of those that overlap the first one, and of those that begin together the longest."""
    kept: list[DetailMatch] = []
    for match in sorted(matches, key=lambda match: (match.start, -match.end)):
        if not kept or match.start >= kept[-1].end:
            kept.append(match)
    return kept


def _japanese(text: str) -> Iterator[DetailMatch]:
    for match in _JAPANESE.finditer(text) if "年" in text or "月" in text else ():
        if reading := _reading(_year(match), match["m"] or match["mm"], match["d"] or match["dd"]):
            yield DetailMatch(*match.span(), "date", Date((reading,)))


def _numeric(text: str) -> Iterator[DetailMatch]:
    for match in _NUMERIC.finditer(text):
        reading = _reading(_year(match), match["m"] or match["mm"], match["d"])
        if reading and (match["m"] or not match["era"]):
            yield DetailMatch(*match.span(), "date", Date((reading,)))
    for match in _YEAR_LAST.finditer(text):
        # Month first or day first: what the calendar allows.
        orders = ((match[1], match[3]), (match[3], match[1]))
        if readings := dict.fromkeys(filter(None, (_reading(int(match[4]), *order) for order in orders))):
            yield DetailMatch(*match.span(), "date", Date(tuple(readings)))
    for match in _SLASHED.finditer(text):
        reading = _reading(None, match[1], match[2])
        if reading and match[0] not in ("1/2", "1/3", "2/3", "1/4", "3/4"):
            yield DetailMatch(*match.span(), "date", Date((reading,)))


def _english(text: str) -> Iterator[DetailMatch]:
    for match in _DAY_FIRST.finditer(text):
        year = int(match["year"]) if match["year"] else None
        if match["first"] and (first := _reading(year, match["month"], match["first"])):
            yield DetailMatch(match.start(), match.end("first"), "date", Date((first,)))
        if reading := _reading(year, match["month"], match["d"]):
            yield DetailMatch(match.start("d"), match.end(), "date", Date((reading,)))
    with_month = (_MONTH_FIRST, _MONTH_ALONE) if _ANY_MONTH.search(text) else ()
    for pattern in (*with_month, _ORDINAL, _YEAR_ALONE):
        for match in pattern.finditer(text):
            groups = match.groupdict()
            year = int(groups["year"]) if groups.get("year") else None
            name = "alone" if groups.get("alone") else "month" if groups.get("month") else ""
            start = match.start(name) if name else match.start("year") if year else match.start()
            if reading := _reading(year, groups.get(name), groups.get("d")):
                yield DetailMatch(start, match.end(), "date", Date((reading,)))


def _year(match: re.Match[str]) -> int | None:
    """The year of our calendar; 元年 is the first of a reign."""
    if match["era"]:
        reign = 1 if match["reign"] == "元" else _number(match["reign"])
        return _TABLES["eras"][match["era"].rstrip(".")] + reign if reign else None
    return _number(match["year"]) if match["year"] else None


def _reading(year: int | None, month: str | None, day: str | None) -> CalendarDate | None:
    """A date that exists; None for the 13th month."""
    date = CalendarDate(year, _month(month) if month else None, _number(day) if day else None)
    if date == CalendarDate() or (month and not date.month) or (day and not date.day):
        return None
    is_real = (date.month or 1) <= 12 and (date.day or 1) <= 31 and (date.year or 1900) < 2200
    return date if is_real else None


def _month(written: str) -> int | None:
    names = [name[:3] for name in _MONTHS]
    return names.index(written[:3]) + 1 if written[:3] in names else _number(written)


def _with_later_days(text: str, dates: Sequence[DetailMatch]) -> list[DetailMatch]:
    """With the days that lean on the date before them: 5月1日から31日まで, May 1 to 31."""
    every: list[DetailMatch] = []
    for date in dates:
        every.append(date)
        reading = _only(date)
        later = _LATER.match(text, date.end) if reading and reading.day and reading.month else None
        if later and reading and (day := _number(later["d"] or later["dd"])) and day <= 31:
            start = later.start("d") if later["d"] else later.start("dd")
            every.append(DetailMatch(start, later.end(), "date", Date((reading._replace(day=day),))))
    return [date for date, after in zip_longest(every, every[1:]) if not after or date.end <= after.start]


def _inherited(text: str, dates: Sequence[DetailMatch]) -> list[DetailMatch]:
    """With the year stated once for both ends of a range: 2026年5月1日～6月30日, 1 May to 30 June 2026."""
    every = list(dates)
    for number, (date, other) in enumerate(pairwise(dates)):
        first, second = _only(every[number]), _only(other)
        if not (first and second and first.month and second.month):
            continue
        if other.start - date.end > 20 or not _BETWEEN.fullmatch(text, date.end, other.start):
            continue
        if first.year and not second.year:
            year = first.year + (second.month < first.month)
            every[number + 1] = other._replace(meaning=Date((second._replace(year=year),)))
        elif second.year and not first.year and first.month <= second.month:
            every[number] = every[number]._replace(meaning=Date((first._replace(year=second.year),)))
    return every


def _only(date: DetailMatch) -> CalendarDate | None:
    meaning = date.meaning
    return meaning.readings[0] if isinstance(meaning, Date) and len(meaning.readings) == 1 else None


# --- Amounts and other numbers with a unit ---


class _Unit(NamedTuple):
    """A unit, the one it is compared as, and how many of that it is."""

    name: str
    base: str
    size: Decimal


_TABLES = read_toml(Path(__file__).with_name("units.toml"))


def _units() -> Iterator[tuple[str, _Unit]]:
    """Every spelling with its unit; 日 alone may be the day of a month or a span."""
    yield DAY_OR_DAYS, _Unit(DAY_OR_DAYS, DAY_OR_DAYS, Decimal(1))
    for units in _TABLES["converts"].values():
        base = next(iter(units))
        for name, (size, *spellings) in units.items():
            yield from ((spelling, _Unit(name, base, Decimal(size))) for spelling in spellings)
    for name, spellings in _TABLES["plain"].items():
        yield from ((spelling, _Unit(name, name, Decimal(1))) for spelling in spellings or [name])


_UNITS = dict(_units())
_BEFORE = {written: _Unit(name, name, Decimal(1)) for written, name in _TABLES["before"].items()}
_MONEY, _COUNTED, _ONE_WITH = (frozenset(_TABLES[name]) for name in ("money", "counted", "one_with"))


def _spelling(spelling: str) -> str:
    if spelling[-1].isascii() and spelling[-1].isalnum():
        return re.escape(spelling) + "(?![a-z0-9])"
    barred = _TABLES["barred"].get(spelling)
    return re.escape(spelling) + (f"(?![{barred}])" if barred else "")


_SPELLINGS = "|".join(_spelling(s) for s in sorted(_UNITS, key=len, reverse=True))
# What numbers in words, jpy, usd, eur and gbp begin with.
_BEGIN = "efgjnostu"
_NUMBER = re.compile(
    rf"(?=[\d¥$€£大小{KANJI}]|(?<![a-z])[{_BEGIN}]|(?:us|au|ca|hk)[¥$€£])"
    rf"(?P<sign>(?:(?:us|au|ca|hk)?[¥$€£]|(?<![a-z])(?:jpy|usd|eur|gbp)|[大小]さじ) ?)?(?P<number>{NUMERAL})"
    rf"(?:(?<=\d)(?:st|nd|rd|th)(?= ))?(?P<half> and a half)?"
    rf"(?:(?P<gap> ?|-(?=[a-z]))(?P<unit>{_SPELLINGS})"
    r"(?P<more>(?<=[間月年])半(?![年月日期分額]))?)?"
)
_TO = re.compile(r" ?(?:~|〜|-|ー|から|または|か|と|や|および|及び|,? (?:or|and)\b|\bto\b) ?")
_LISTED = re.compile(r"[,、・] ?")
# What is counted in words that no table knows: 60リクエスト, 120 puffs.
_THINGS = re.compile(
    r"[ァ-ヶ][ァ-ヶー]+| (?!(?:is|was|has|does|its|this|as|plus|minus|percents?)\b)[a-z]{3,20}s\b(?! ?:)"
)
_FEWEST_THINGS = 10
# "1. Open the app" numbers a step; "1.5 GB" does not.
_LIST_ITEM = re.compile(r"^ *\d{1,2}[.)、] ?(?!\d)", re.MULTILINE)
# What stands before a number that names something: 手順 3, step 2, No. 5, 図 1, プラン 2.
_STEP = re.compile(
    r"(?:手順|ステップ|step|no\.?|第|図|表|※|注|問|item|option|section|chapter|page|プラン) ?$"
)
_THIRD = r"(?:翌々月|毎月|翌月|当月|同月|前月|今月|来月|先月|各月|月の|月末) ?の? ?"
# 27日 is a day of the month behind 毎月 or 翌月, or before words such as 締め, 払い, 時点 (`_IS_DATE_BY`); it
# is a span behind 約 or 最大, or before 以内, 後, かかる (`_IS_SPAN`, `_IS_SPAN_BY`).
_IS_DATE = re.compile(rf"{_THIRD}$")
_IS_DATE_BY = re.compile(
    r"\([月火水木金土日]|締|払|引き?落|付[^き]|頃|ごろ|時点|現在|に(?![0-9]|つき)|発売|開催"
)
_IS_SPAN = re.compile(r"(?:約|およそ|最短|最長|最大|最低|中|過去|直近|残り|通常|各|延べ|丸) ?$")
_IS_SPAN_BY = re.compile(
    r"以内|以上|以下|未満|後|前|目|ほど|程度|くらい|ぐらい|分|経|かか|を要|しか|も(?:かか|あれ)|あたり|当たり|につき|[0-9]|連続|超"
)
# 十分 is enough, 十分以内 and 十分ほど are ten minutes.
_PLURAL = re.compile(r" ?(?:以内|ほど|程度|間|前|後|くらい|ぐらい)")
# Words are found the sooner where what may not stand before them is looked at behind them.
_IMPLIED = {
    re.compile(re.sub(r"\(\?<!\[a-z\]\)([a-z ]+)", r"\1(?<![a-z]\1)", words)): said
    for words, said in _TABLES["implied"].items()
}


def measures(text: str) -> Iterator[DetailMatch]:
    """Numbers with a unit, ranges and lists of them as one, and numbers of things without a unit.

    3～5営業日 and "12, 36 or 60 months" are one detail with several values: an answer that says only one of
    them does not say the same. Numbers wait until it is known whether a unit ends their range.
    """
    waiting: list[re.Match[str]] = []
    for match in _NUMBER.finditer(text):
        if waiting and not _is_next(text, waiting, match):
            yield from _things(waiting)
            waiting = []
        if match["unit"] or match["sign"]:
            if measure := _measured(text, match, waiting):
                yield measure
            else:
                yield from _things(waiting)
            waiting = []
        else:
            waiting.append(match)
    yield from _things(waiting)


def _is_next(text: str, waiting: list[re.Match[str]], match: re.Match[str]) -> bool:
    """Whether this number goes on a range or a list: 3～5, 12, 36 or 60."""
    between = text[waiting[-1].end() : match.start()]
    is_last = bool(match["unit"])
    return bool(_TO.fullmatch(between) or (not is_last and _LISTED.fullmatch(between)))


@lru_cache(maxsize=1024)
def bare_numbers(text: str, least: int = 100) -> frozenset[str]:
    """The numbers, fractions or at least so large, that stand without unit, as in the cells of a table.

    As canonical digits: "1,980 | 2.5 | 12" -> {1980, 2.5}. Smaller whole numbers number steps and sections.
    """
    numbers = (m["number"] for m in _NUMBER.finditer(text) if not m["unit"] and not m["sign"])
    values = (value_of(number) for number in numbers if number[0].isdecimal())
    kept = (value for value in values if value is not None and (value >= least or value % 1))
    return frozenset(map(digits_of, kept))


def implied(text: str) -> Iterator[DetailMatch]:
    """What words say without a figure: 無料 is 0円, 半額 is 50%, the Fourth of July is July 4."""
    for pattern, said in _IMPLIED.items():
        if pattern.search(text):
            yield from _scan(said)[1]


@lru_cache(maxsize=1024)
def numbers_in(text: str) -> frozenset[Decimal]:
    """The numbers above one of a text, in digits or English words; those that number a list are none.

    "2 kayaks for four hours" -> {2, 4}. Kanji numerals are left out: 一番 and 三々五々 count nothing.
    """
    plain = _LIST_ITEM.sub(" ", normalise(text))
    written = (match["number"] for match in _NUMBER.finditer(plain))
    values = (value_of(number) for number in written if number[0] not in KANJI)
    return frozenset(value for value in values if value is not None and value > 1)


def _measured(text: str, match: re.Match[str], before: Sequence[re.Match[str]]) -> DetailMatch | None:
    """A number, with those before it in a range or list, in its unit or currency; None for a phrase."""
    sign = (match["sign"] or "").strip()  # $, US$, JPY
    unit = _BEFORE.get(sign) or _BEFORE.get(sign[-1:]) or _UNITS.get(sign or match["unit"])
    value = value_of(match["number"])
    if not unit or value is None or _is_phrase(text, match, unit.name, value):
        return None
    if unit.name == DAY_OR_DAYS:
        if _is_span(text, match):
            unit = _UNITS["日間"]
        elif day := _day(text, match, value):
            return day
    half = Decimal("0.5") if match["half"] or match["more"] else 0
    values = [value_of(number["number"]) for number in before] + [value + half]
    kind: Kind = "amount" if unit.name in _MONEY else "number"
    start = before[0].start() if before else match.start()
    meaning = Measure(
        tuple(digits_of(amount * unit.size) for amount in values if amount is not None), unit.base
    )
    return DetailMatch(start, match.end(), kind, meaning)


def _is_phrase(text: str, match: re.Match[str], unit: str, value: Decimal) -> bool:
    """A step, a few of something, or a word that only looks like a number: 一人, 十分, one day."""
    number = match["number"]
    is_step = match["gap"] == " " and number.isdecimal()
    if is_step and _STEP.search(text, max(0, match.start() - 10), match.start()):
        return True
    if unit in _COUNTED and (value <= 1 or (unit == "番" and value < 100)):
        return True
    if number in {"一", "one"} and unit not in _ONE_WITH:
        return True
    if number[0] in KANJI and unit == "分" and not _PLURAL.match(text, match.end()):
        return True
    is_few = number[0] in KANJI and value < 10 and unit in _COUNTED - {"回", "泊"}
    # 5G is a network, not a weight; the 90s are no seconds.
    is_name = not match["gap"] and (match["unit"] == "s" or (match["unit"] == "g" and value in range(3, 7)))
    return (is_few and match["unit"] != "名様") or is_name


def _day(text: str, match: re.Match[str], value: Decimal) -> DetailMatch | None:
    """The day of a month, where the words around 27日 say that it is one."""
    is_date = _IS_DATE.search(text, max(0, match.start() - 8), match.start())
    if value > 31 or value < 1 or value % 1 or not (is_date or _IS_DATE_BY.match(text, match.end())):
        return None
    start = is_date.start() if is_date else match.start()
    return DetailMatch(start, match.end(), "date", Date((CalendarDate(day=int(value)),)))


def _is_span(text: str, match: re.Match[str]) -> bool:
    """Whether the words around 3日 say that it is three days: 3日以内, 約3日, 3日ほどかかります.

    Where neither these nor the words of a date stand there, 3日 keeps a unit of its own, which matches both.
    """
    before = _IS_SPAN.search(text, max(0, match.start() - 4), match.start())
    return bool(before or _IS_SPAN_BY.match(text, match.end()))


def _things(numbers: Iterable[re.Match[str]]) -> Iterator[DetailMatch]:
    """Numbers without a unit that say something: with commas between thousands, or before what they count."""
    for match in numbers:
        value = value_of(match["number"])
        if value is None or not match["number"][0].isdecimal():
            continue
        is_large = value >= 1000 and "," in match["number"]
        if is_large or (value >= _FEWEST_THINGS and _THINGS.match(match.string, match.end())):
            yield DetailMatch(*match.span(), "number", Measure((digits_of(value),), ""))


# A line break within a paragraph: between Japanese characters it stands for nothing, elsewhere for a space.
_WRAPPED_CJK = re.compile(rf"(?<=[{CJK}])\r?\n(?=[{CJK}])")
_WRAPPED = re.compile(r"(?<=\S)\r?\n(?=\S)")


class Specific(NamedTuple):
    """One checkable detail: its kind, the words it is written in, and its one canonical spelling.

    `text` is quoted in reasons, so it keeps the width, the case and the script of the original.
    """

    kind: Kind
    text: str
    meaning: Meaning

    @property
    def canonical(self) -> str:
        """The spelling that all others are compared as; it has itself as canonical spelling."""
        return self.meaning.canonical


@lru_cache(maxsize=256)
def specifics_of(text: str) -> tuple[Specific, ...]:
    """The checkable details of a text in their order; small counts, steps and citations are none."""
    plain, matches = _scan(text)
    return tuple(
        Specific(match.kind, plain.written(match.start, match.end), match.meaning) for match in matches
    )


def located(specific: Specific, texts: Sequence[str]) -> int | None:
    """The index of the first text that holds this detail; None when none does.

    14日間 in ["返品は2週間以内"]     -> 0
    4月1日 in ["2024年4月1日"]        -> 0
    2024年4月1日 in ["4月1日"]        -> None, for the text does not say the year
    """
    return next(
        (number for number, text in enumerate(texts) if specific.meaning.is_in(_detail_index(text))), None
    )


@lru_cache(maxsize=1024)
def _detail_index(text: str) -> DetailIndex:
    return index_of([text])


def index_of(texts: Iterable[str]) -> DetailIndex:
    """What texts say line by line, and what they say where their lines are only wrapped.

    A knowledge base made of PDFs breaks lines within dates and amounts; a line break that ends a sentence
    must not join two figures, so both readings count. What words imply (無料 is 0円) is known here alone: an
    answer has to say a figure to be held to it.
    """
    index = DetailIndex()
    versions = ((text, _WRAPPED.sub(" ", _WRAPPED_CJK.sub("", text))) for text in texts)
    for version in dict.fromkeys(chain.from_iterable(versions)):
        plain, matches = _scan(version)
        for detail in matches:
            detail.meaning.add_to(index)
        index.bare |= bare_numbers(plain.lower)
        for detail in implied(normalise(version)):
            detail.meaning.add_to(index)
    return index


# The same text is asked for its details, and for whether it has those of others.
@lru_cache(maxsize=64)
def _scan(text: str) -> tuple[MaskedText, tuple[DetailMatch, ...]]:
    """Kind by kind, from the most to the least distinct; what one kind has taken the next does not see.

    So the digits of a telephone number are no code, and the 6 of 6 pm no measure. Web addresses are read with
    their capitals, everything else in lower case.
    """
    plain = MaskedText(text)
    every = list(_taken(plain, urls(plain.text)))
    for finder in (emails, phones, dates, times, measures, codes):
        every += _taken(plain, finder(plain.lower))
    return plain, tuple(sorted(every, key=lambda match: match.start))


def _taken(plain: MaskedText, matches: Iterable[DetailMatch]) -> list[DetailMatch]:
    """These details without overlaps, masked in the text."""
    kept = _without_overlaps(matches)
    plain.take([(match.start, match.end) for match in kept])
    return kept
