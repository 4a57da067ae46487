"""Dates: 2024年4月1日, 令和6年4月1日, R6.4.1, 2024/4/1, April 1, 2024, 1 April 2024, the 27th."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from simulator.counting.numerals import KANJI, value_of
from simulator.specifics.meanings import Date, Found, Reading

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
_MONTHS = (
    "jan(?:uary)?", "feb(?:ruary)?", "mar(?:ch)?", "apr(?:il)?", "may", "june?", "july?", "aug(?:ust)?",
    "sep(?:t(?:ember)?)?", "oct(?:ober)?", "nov(?:ember)?", "dec(?:ember)?",
)  # fmt: skip
_MONTH = rf"(?P<month>\b(?:{'|'.join(_MONTHS)})\b(?:\.(?= \d))?)"
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
    rf"\bthe (?P<d>\d{{1,2}})(?:st|nd|rd|th)\b(?! (?:of )?(?:{'|'.join(_MONTHS)})\b)"
    r"(?! (?!of|to|and|or|is|if|falls|each|every|in|at|until|through|by|for"
    r"|we|you|will|on|with|but|as|when|so)[a-z])"
)
_YEAR_ALONE = re.compile(
    r"\b(?:in|since|until|till|from|by|before|after|during|of|year|fiscal)"
    r" (?P<year>(?:19|20)\d\d)\b(?![-:]?\d)"
)
_BETWEEN = re.compile(rf"(?:\(.{{1,3}}\))? ?(?:から|より) ?|(?:\(.{{1,3}}\))?{_TO}")


def dates(text: str) -> list[Found]:
    """The dates in their order; the second one of a range has month and year of the first."""
    every = [one for finder in (_japanese, _numeric, _english) for one in finder(text)]
    kept: list[Found] = []
    for one in sorted(every, key=lambda found: (found.start, -found.end)):
        if not kept or one.start >= kept[-1].end:
            kept.append(one)
    return _inherited(text, _with_later_days(text, kept))


def _japanese(text: str) -> Iterator[Found]:
    for match in _JAPANESE.finditer(text):
        year = _year(match)
        reading = _reading(year, match["m"] or match["mm"], match["d"] or match["dd"])
        if reading:
            yield Found(*match.span(), "date", Date((reading,)))


def _numeric(text: str) -> Iterator[Found]:
    for match in _NUMERIC.finditer(text):
        reading = _reading(_year(match), match["m"] or match["mm"], match["d"])
        if reading and (match["m"] or not match["era"]):
            yield Found(*match.span(), "date", Date((reading,)))
    for match in _YEAR_LAST.finditer(text):
        yield from _either(match, match[1], match[3], int(match[4]))
    for match in _SLASHED.finditer(text):
        reading = _reading(None, match[1], match[2])
        if reading and match[0] not in ("1/2", "1/3", "2/3", "1/4", "3/4"):
            yield Found(*match.span(), "date", Date((reading,)))


def _either(match: re.Match[str], one: str, other: str, year: int) -> Iterator[Found]:
    """Month first or day first: what the calendar allows."""
    readings = dict.fromkeys(filter(None, (_reading(year, one, other), _reading(year, other, one))))
    if readings:
        yield Found(*match.span(), "date", Date(tuple(readings)))


def _english(text: str) -> Iterator[Found]:
    for match in _DAY_FIRST.finditer(text):
        year = int(match["year"]) if match["year"] else None
        if match["first"] and (first := _reading(year, match["month"], match["first"])):
            yield Found(match.start(), match.end("first"), "date", Date((first,)))
        if reading := _reading(year, match["month"], match["d"]):
            yield Found(match.start("d"), match.end(), "date", Date((reading,)))
    for pattern in (_MONTH_FIRST, _MONTH_ALONE, _ORDINAL, _YEAR_ALONE):
        for match in pattern.finditer(text):
            told = match.groupdict()
            year = int(told["year"]) if told.get("year") else None
            name = "alone" if told.get("alone") else "month" if told.get("month") else ""
            start = match.start(name) if name else match.start("year") if year else match.start()
            if reading := _reading(year, told.get(name), told.get("d")):
                yield Found(start, match.end(), "date", Date((reading,)))


def _year(match: re.Match[str]) -> int | None:
    """The year of our calendar; 元年 is the first of a reign."""
    if match["era"]:
        reign = 1 if match["reign"] == "元" else _number(match["reign"])
        return _ERAS[match["era"].rstrip(".")] + reign if reign else None
    return _number(match["year"]) if match["year"] else None


def _reading(year: int | None, month: str | None, day: str | None) -> Reading | None:
    """A date that exists; None for the 13th month."""
    told = Reading(year, _month(month) if month else None, _number(day) if day else None)
    if told == Reading() or (month and not told.month) or (day and not told.day):
        return None
    is_real = (told.month or 1) <= 12 and (told.day or 1) <= 31 and (told.year or 1900) < 2200
    return told if is_real else None


def _month(written: str) -> int | None:
    for number, name in enumerate(_MONTHS, start=1):
        if written[:3] == name[:3]:
            return number
    return _number(written)


def _number(written: str) -> int | None:
    value = value_of(written)
    return int(value) if value is not None else None


def _with_later_days(text: str, found: Sequence[Found]) -> list[Found]:
    """With the days that lean on the date before them: 5月1日から31日まで, May 1 to 31."""
    every: list[Found] = []
    for one in found:
        every.append(one)
        reading = _only(one)
        later = _LATER.match(text, one.end) if reading and reading.day and reading.month else None
        if later and reading and (day := _number(later["d"] or later["dd"])) and day <= 31:
            start = later.start("d") if later["d"] else later.start("dd")
            every.append(Found(start, later.end(), "date", Date((reading._replace(day=day),))))
    return [
        one
        for one, after in zip(every, [*every[1:], None], strict=False)
        if not after or one.end <= after.start
    ]


def _inherited(text: str, found: Sequence[Found]) -> list[Found]:
    """With the year told once for both ends of a range: 2026年5月1日～6月30日, 1 May to 30 June 2026."""
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


def _only(found: Found) -> Reading | None:
    meaning = found.meaning
    return meaning.readings[0] if isinstance(meaning, Date) and len(meaning.readings) == 1 else None
