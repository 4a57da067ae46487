"""Dates, times of day and opening hours, as Japanese and English write them.

Dates: 2024年4月1日, 令和6年4月1日, R6.4.1, 2024/4/1, April 1, 2024, 1 April 2024, the 27th.
Times: 午後6時, 18:00, 6 pm; hours with their days: 平日 9時～18時, Monday to Friday 9:00-17:00.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise, zip_longest
from typing import NamedTuple

from simulator.text.entity_meaning import (
    EVERY_DAY,
    HOLIDAY,
    WEEK,
    CalendarDate,
    Clock,
    Date,
    DetailMatch,
    Hours,
)
from simulator.text.numerals import KANJI, MONTHS, value_of

_AFTER_NOON = {"午後", "夕方", "夜", "夜間", "pm", "p.m."}
_HALF = r"午前|午後|早朝|翌朝|朝|夕方|夜間|夜|深夜|(?<![a-z])[ap]\.?m\.?(?![a-z])"
_ZONE = r"(?P<zone>[ap](?:m\b|\.m\.?))"
_H = rf"(?:(?<![\d.,:/])\d{{1,2}}|(?<![{KANJI}数同一臨])[{KANJI}]{{1,3}}+)"
_TIME = re.compile(
    rf"(?:(?P<half>{_HALF})(?:の)? ?)?(?:"
    rf"(?<![\d.,:/$¥])(?P<h>\d{{1,2}}):(?P<m>[0-5]\d)(?![\d:]| ?(?:%|倍))(?: ?{_ZONE})?"
    rf"|(?P<hh>{_H}) ?時(?![間期点刻代差々折計短給])(?: ?(?P<mm>{_H}) ?分(?![の割])|(?P<by>半))?"
    rf"|(?<![\d.,:/$¥])(?P<hour>\d{{1,2}})(?: ?{_ZONE.replace('<zone>', '<late>')}| ?o'clock)"
    rf"|(?P<noon>正午|(?<![a-z])(?:noon|midday)(?![a-z]))|(?P<night>(?<![a-z])midnight(?![a-z])))"
)
# Times with a dot, as they are written in Britain; without these words around it, 7.30 is a number.
_DOTTED = re.compile(
    r"(?<![\d.,:/$¥€£])\d{1,2}\.[0-5]\d(?= ?[ap]\.?m\b)"
    r"|(?<=\bfrom )\d{1,2}\.[0-5]\d (?:to|until|till) \d{1,2}\.[0-5]\d(?!\d|\.\d| ?[%€£円])"
)
_CLOCK_TO = r"(?:から|より|~|〜|-|ー|\bto\b|\buntil\b|\btill\b|\bthrough\b)"
_CLOCK_BETWEEN = re.compile(rf" ?(?:まで)?{_CLOCK_TO} ?(?:翌日?の?)? ?")
_AND = re.compile(r" ?(?:and|と) ?")
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
_LEFT = re.compile(
    rf"(?P<days>{_DAYS})(?P<link>(?: ?[)\]:はにもの,、]{{0,2}}| ?\|) ?(?:from |between |の)?)$"
)
_RIGHT = re.compile(
    r"(?: ?まで)? ?(?:[,、(\[]|\bon\b|\bexcept\b|の)? ?(?:on )?"
    rf"(?P<but>(?:except|excluding|but not)(?: on)? )?"
    rf"(?P<days>{_DAYS})(?P<off> ?(?:[はをも]|・年末年始)? ?(?:除く|除き|以外|休み|お休み|定休|休業))?\)?"
)
_TILL = re.compile(r" ?まで")
_REACH = 40
_NAMED = re.compile(
    rf"{_EN_DAY}|every ?day|daily|(?:7|seven) days|平日|祝祭日|祝日?|毎日|年中無休|全日|連日"
    rf"|{_ONE}(?!本)(?:曜日?)?"
)
_SPAN = re.compile(r"[~〜\-ー]|から|\b(?:to|through|till|until)\b")
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
    one = next(every, None)
    while one:
        after = next(every, None)
        if after and _is_range(text, one, after):
            yield _hours(text, one, after)
            after = next(every, None)
        elif bare := _bare(text, one):
            yield _hours(text, bare, one)
        else:
            yield DetailMatch(one.start, one.end, "time", Clock(one.clock))
        one = after


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


def _is_range(text: str, one: _Time, after: _Time) -> bool:
    if after.start - one.end > 12:
        return False
    is_between = text[max(0, one.start - 10) : one.start].rstrip().endswith("between")
    links = (_CLOCK_BETWEEN, _AND) if is_between else (_CLOCK_BETWEEN,)
    return any(link.fullmatch(text, one.end, after.start) for link in links)


def _bare(text: str, last: _Time) -> _Time | None:
    """The start of hours whose unit stands only at the end: 9-18時, 2 to 5:30 pm."""
    match = _BARE.search(text, max(0, last.start - 16), last.start)
    if not match or int(match["h"]) > 24:
        return None
    return _Time(match.start("h"), match.end("h"), int(match["h"]), int(match["m"] or 0), "")


def _hours(text: str, one: _Time, after: _Time) -> DetailMatch:
    """A half of the day that is named once holds for the other end of the hours where it can."""
    start, end = one.clock, after.clock
    if not after.half and one.half and end <= start and after.hour < 12:
        end += 720
    if not one.half and after.half in _AFTER_NOON and one.hour < 12 and start + 720 < end:
        start += 720
    left, right, days = _days_beside(text, one.start, after.end)
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
    """The days that a phrase names: 平日, 土日祝, 月～金, Monday to Friday, weekends, daily."""
    days: list[str] = []
    found: set[str] = set()
    reached = 0
    for match in _NAMED.finditer(written):
        named = _named(match[0])
        ends = (*days, *named)
        are_days = len(days) == len(named) == 1 and HOLIDAY not in ends
        if are_days and _SPAN.search(written, reached, match.start()):
            first, last = map(WEEK.index, ends)
            found.update(WEEK[first : last + 1] if first <= last else (*WEEK[first:], *WEEK[: last + 1]))
        found.update(named)
        days, reached = named, match.end()
    return frozenset(found)


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


# The year before the first of each reign.
_ERAS = {
    "令和": 2018,
    "平成": 1988,
    "昭和": 1925,
    "大正": 1911,
    "明治": 1867,
    "r": 2018,
    "h": 1988,
    "s": 1925,
}
_ERA = r"(?P<era>令和|平成|昭和|大正|明治|(?<![a-z0-9])[rhs]\.?(?=\d))"
_N = rf"(?:(?<![\d.,])\d{{1,2}}|(?<![{KANJI}])[{KANJI}]{{1,3}}+)"
_IN_ERA = rf"{_ERA} ?(?P<reign>元|\d{{1,2}}|[{KANJI}]{{1,4}}+)"
_AD = rf"(?:西暦)?(?<![\d.,{KANJI}])(?P<year>(?:19|20|21)\d\d|[一二][{KANJI}]{{3,8}}+)"
_JAPANESE = re.compile(
    rf"(?:{_IN_ERA}|{_AD}) ?年度?(?: ?(?P<m>{_N}) ?月(?![間額次])(?: ?(?P<d>{_N}) ?日(?!間))?)?"
    rf"|(?P<mm>{_N}) ?月(?![間額次々])(?: ?(?P<dd>{_N}) ?日(?!間))?"
)
_NUMERIC = re.compile(
    r"(?<![\w./-])(?:(?P<year>(?:19|20|21)\d\d)|(?P<era>[rhs])\.?(?P<reign>\d{1,2}))"
    r"(?:(?P<sep>[./-]) ?(?P<m>\d{1,2})(?P=sep) ?(?P<d>\d{1,2})|[/-](?P<mm>\d{1,2}))(?!\d|[./-]\d)"
)
_YEAR_LAST = re.compile(r"(?<![\w./-])(\d{1,2})([/.-])(\d{1,2})\2((?:19|20|21)\d\d)(?!\d|[./-]\d)")
_SLASHED = re.compile(
    r"(?<![\w./-])(\d{1,2})/(\d{1,2})(?![\d/.%]| ?(?:以[上下]|の|程度|倍))"
    r"(?= ?(?:\(|から|~|〜|-|まで|以降|より|に|付|時点|現在|頃|は))"
)
_MONTH = rf"(?P<month>\b(?:{'|'.join(MONTHS)})\b(?:\.(?= \d))?)"
_TH = r"(?:st|nd|rd|th)?\b"
_YEAR = r"(?:,? (?:of )?(?P<year>(?:19|20|21)\d\d)\b)?"
_TO = r" ?(?:-|~|〜|to(?: the)?|until|till|through|and) ?"
_DAY_FIRST = re.compile(
    rf"(?:(?<![\w.,:/$-])(?P<first>\d{{1,2}}){_TH}{_TO})?(?<![\d.,:/$])"
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
_LATER = re.compile(
    rf"(?:\(.{{1,3}}\))? ?(?:から|より|~|〜|-|・|、|及び|および|と) ?(?P<d>{_N})日(?![間以前後目本])"
    rf"|(?:-| to | through | until | and )(?:the )?(?P<dd>\d{{1,2}}){_TH}(?![:.,]\d| ?[a-z%])"
)
_ORDINAL = re.compile(
    rf"\bthe (?P<d>\d{{1,2}})(?:st|nd|rd|th)\b(?! (?:of )?(?:{'|'.join(MONTHS)})\b)"
    r"(?! (?!of|to|and|or|is|if|falls|each|every|in|at|until|through|by|for"
    r"|we|you|will|on|with|but|as|when|so)[a-z])"
)
_YEAR_ALONE = re.compile(
    r"\b(?:in|since|until|till|from|by|before|after|during|of|year|fiscal)"
    r" (?P<year>(?:19|20)\d\d)\b(?![-:]?\d)"
)
_BETWEEN = re.compile(rf"(?:\(.{{1,3}}\))? ?(?:から|より) ?|(?:\(.{{1,3}}\))?{_TO}")


def dates(text: str) -> list[DetailMatch]:
    """The dates in their order; the second one of a range has month and year of the first."""
    every = [one for finder in (_japanese, _numeric, _english) for one in finder(text)]
    kept: list[DetailMatch] = []
    for one in sorted(every, key=lambda found: (found.start, -found.end)):
        if not kept or one.start >= kept[-1].end:
            kept.append(one)
    return _inherited(text, _with_later_days(text, kept))


def _japanese(text: str) -> Iterator[DetailMatch]:
    for match in _JAPANESE.finditer(text):
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
    for pattern in (_MONTH_FIRST, _MONTH_ALONE, _ORDINAL, _YEAR_ALONE):
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
        return _ERAS[match["era"].rstrip(".")] + reign if reign else None
    return _number(match["year"]) if match["year"] else None


def _reading(year: int | None, month: str | None, day: str | None) -> CalendarDate | None:
    """A date that exists; None for the 13th month."""
    date = CalendarDate(year, _month(month) if month else None, _number(day) if day else None)
    if date == CalendarDate() or (month and not date.month) or (day and not date.day):
        return None
    is_real = (date.month or 1) <= 12 and (date.day or 1) <= 31 and (date.year or 1900) < 2200
    return date if is_real else None


def _month(written: str) -> int | None:
    names = [name[:3] for name in MONTHS]
    return names.index(written[:3]) + 1 if written[:3] in names else _number(written)


def _with_later_days(text: str, found: Sequence[DetailMatch]) -> list[DetailMatch]:
    """With the days that lean on the date before them: 5月1日から31日まで, May 1 to 31."""
    every: list[DetailMatch] = []
    for one in found:
        every.append(one)
        reading = _only(one)
        later = _LATER.match(text, one.end) if reading and reading.day and reading.month else None
        if later and reading and (day := _number(later["d"] or later["dd"])) and day <= 31:
            start = later.start("d") if later["d"] else later.start("dd")
            every.append(DetailMatch(start, later.end(), "date", Date((reading._replace(day=day),))))
    return [one for one, after in zip_longest(every, every[1:]) if not after or one.end <= after.start]


def _inherited(text: str, found: Sequence[DetailMatch]) -> list[DetailMatch]:
    """With the year stated once for both ends of a range: 2026年5月1日～6月30日, 1 May to 30 June 2026."""
    every = list(found)
    for number, (one, other) in enumerate(pairwise(found)):
        first, second = _only(every[number]), _only(other)
        if not (first and second and first.month and second.month):
            continue
        if other.start - one.end > 20 or not _BETWEEN.fullmatch(text, one.end, other.start):
            continue
        if first.year and not second.year:
            year = first.year + (second.month < first.month)
            every[number + 1] = other._replace(meaning=Date((second._replace(year=year),)))
        elif second.year and not first.year and first.month <= second.month:
            every[number] = every[number]._replace(meaning=Date((first._replace(year=second.year),)))
    return every


def _only(found: DetailMatch) -> CalendarDate | None:
    meaning = found.meaning
    return meaning.readings[0] if isinstance(meaning, Date) and len(meaning.readings) == 1 else None
