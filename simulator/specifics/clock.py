"""Times of day and opening hours: 午後6時, 18:00, 6 p.m., 平日9時～18時, Monday to Friday 9:00-18:00."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from simulator.counting.numerals import KANJI, value_of
from simulator.specifics.meanings import EVERY_DAY, HOLIDAY, WEEK, Clock, Found, Hours

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
_TO = r"(?:から|より|~|〜|-|ー|\bto\b|\buntil\b|\btill\b|\bthrough\b)"
_BETWEEN = re.compile(rf" ?(?:まで)?{_TO} ?(?:翌日?の?)? ?")
_AND = re.compile(r" ?(?:and|と) ?")
_BARE = re.compile(rf"(?:(?<![\d.,:/$¥\w])|(?<=[^\x00-\x7f]))(?P<h>\d{{1,2}})(?::(?P<m>[0-5]\d))? ?{_TO} ?$")

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


@dataclass(frozen=True)
class _Time:
    """A time in a text, before it is known whether it is one end of opening hours."""

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


def times(text: str) -> Iterator[Found]:
    """Opening hours with the days beside them, and times of day that stand alone."""
    every = list(_times(text))
    number = 0
    while number < len(every):
        one = every[number]
        after = every[number + 1] if number + 1 < len(every) else None
        if after and _is_range(text, one, after):
            yield _hours(text, one, after)
            number += 2
            continue
        bare = _bare(text, one)
        yield _hours(text, bare, one) if bare else Found(one.start, one.end, "time", Clock(one.clock))
        number += 1


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
            end = match.end() - text[: match.end()].endswith(".") if False else match.end()
            yield _Time(match.start(), end, hour, minute, half)


def _number(written: str) -> int | None:
    value = value_of(written)
    return None if value is None else int(value)


def _is_range(text: str, one: _Time, after: _Time) -> bool:
    if after.start - one.end > 12:
        return False
    if _BETWEEN.fullmatch(text, one.end, after.start):
        return True
    return bool(_AND.fullmatch(text, one.end, after.start)) and text[
        max(0, one.start - 10) : one.start
    ].rstrip().endswith("between")


def _bare(text: str, last: _Time) -> _Time | None:
    """The start of hours whose unit is told only at the end: 9-18時, 2 to 5:30 pm."""
    match = _BARE.search(text, max(0, last.start - 16), last.start)
    if not match or int(match["h"]) > 24:
        return None
    return _Time(match.start("h"), match.end("h"), int(match["h"]), int(match["m"] or 0), "")


def _hours(text: str, one: _Time, after: _Time) -> Found:
    start, end = _clocks(one, after)
    left, right, days = _days_beside(text, one.start, after.end)
    return Found(left, right, "hours", Hours(start, end, days))


def _clocks(one: _Time, after: _Time) -> tuple[int, int]:
    """Both ends in minutes: a half of the day told once holds for the other end where it can."""
    start, end = one.clock, after.clock
    if not after.half and one.half and end <= start and after.hour < 12:
        end += 720
    if not one.half and after.half in _AFTER_NOON and one.hour < 12 and start + 720 < end:
        start += 720
    return start, end % 1440


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
        told = (days or EVERY_DAY) - named if is_off else days | named
        return left, behind.end(), told
    return left, right, days


def days_of(written: str) -> frozenset[str]:
    """The days that a phrase names: 平日, 土日祝, 月～金, Monday to Friday, weekends, daily."""
    days: list[str] = []
    found: set[str] = set()
    reached = 0
    for match in _NAMED.finditer(written):
        named = _named(match[0])
        if (
            len(days) == 1
            and len(named) == 1
            and _SPAN.search(written, reached, match.start())
            and {*days, *named} <= set(WEEK)
        ):
            first, last = WEEK.index(days[0]), WEEK.index(named[0])
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
