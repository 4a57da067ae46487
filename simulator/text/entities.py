"""The checkable details of a text: addresses, telephone numbers, dates, times, amounts, codes.

What a detail means, and when two are the same, is in entity_meaning.py; dates and times are read in dates.py.
Last, which details of a right answer an answer has to say, and which follow from others.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import combinations, product
from pathlib import Path
from typing import NamedTuple

from simulator.core.templates import read_toml
from simulator.text.dates import dates, times
from simulator.text.entity_meaning import (
    DAY_OR_DAYS,
    SECONDS,
    CalendarDate,
    Clock,
    Date,
    DetailIndex,
    DetailMatch,
    Hours,
    Kind,
    Meaning,
    Measure,
    Token,
)
from simulator.text.numerals import KANJI, NUMERAL, digits_of, value_of
from simulator.text.segments import CJK, MaskedText, normalise

_TOP = (
    r"(?:jp|com|net|org|info|biz|io|me|tv|app|dev|shop|site|online|cloud|example|test|gov|edu|uk|us|eu|de|fr)"
)
# Signs that end an address in running text, be they its last part or a full-width bracket behind it.
_PATH = r"[a-z0-9\-._~:/?#@$&'*+=%]"
_LAST = ".:?*'~_-&=#$+@"
_URL = re.compile(
    rf"(?:https?|ftp)://{_PATH}++"
    rf"|(?<![a-z0-9.@_%+/\-])(?:[a-z0-9\-]{{1,63}}+\.){{1,8}}{_TOP}(?![a-z0-9\-]|\.[a-z0-9])(?![a-z0-9._%+\-]{{0,64}}@)(?:[/?#]{_PATH}*+)?",
    re.IGNORECASE | re.ASCII,
)
_EMAIL = re.compile(
    r"(?<![a-z0-9._%+\-])[a-z0-9._%+\-]{1,64}+@(?:[a-z0-9\-]{1,63}+\.){1,8}[a-z]{2,24}", re.ASCII
)
_DASH = r"\-ー"
_GAP = rf"[ {_DASH}.・]{{0,2}}"
_PHONE = re.compile(
    rf"(?<![\d.,])(?<!\d[{_DASH}/])(?:\+\d{{1,3}}{_GAP}(?:\(0\){_GAP})?)?\(?\d{{1,5}}\)?{_GAP}\(?\d{{1,4}}\)?"
    rf"(?:{_GAP}\d{{2,4}}){{1,2}}(?![\da-z,]|[{_DASH}]\d)"
)
_FREEPHONE = re.compile(rf"(?:1{_GAP})?\(?([2-9]\d\d)\)?[ {_DASH}.]{{1,2}}(\d{{3}})[ {_DASH}.](\d{{4}})")
_SHORT = re.compile(r"(?<![\d.])(?:#\d{4}|1\d\d(?=番(?![号目地]))|(?<=call )1\d\d|(?<=dial )1\d\d)(?![\d,])")
_CODE = re.compile(
    rf"(?<![a-z0-9{_DASH}_.,#])[a-z0-9]{{1,40}}+(?:[{_DASH}_][a-z0-9]{{1,40}}+){{0,8}}+(?![a-z0-9]|,\d{{3}})"
)
# From as many digits on, a number without unit is a code: an order, a contract, a customer.
_FEWEST, _LONGEST = 5, 40


def urls(text: str) -> Iterator[DetailMatch]:
    """Web addresses, the same with and without scheme and final slash; capitals count in the path."""
    for match in _URL.finditer(text):
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
    """Order numbers and other codes: at least five digits, with or without letters and hyphens."""
    for match in _CODE.finditer(text):
        plain = re.sub(rf"[{_DASH}_]", "", match[0])
        # Letters at the end are rather a unit that nobody listed.
        is_code = sum(map(str.isdigit, plain)) >= _FEWEST and plain[-1].isdigit()
        if not is_code or len(plain) > _LONGEST:
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
_NUMBER = re.compile(
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
_STEP = re.compile(
    r"(?:手順|ステップ|step|no\.?|第|図|表|※|注|問|item|option|section|chapter|page|プラン) ?$"
)
_THIRD = r"(?:翌々月|毎月|翌月|当月|同月|前月|今月|来月|先月|各月|月の|月末) ?の? ?"
_IS_DATE = re.compile(rf"{_THIRD}$")
_IS_DATE_BY = re.compile(
    r"\([月火水木金土日]|締|払|引き?落|付[^き]|頃|ごろ|時点|現在|に(?![0-9]|つき)|発売|開催"
)
_IS_SPAN = re.compile(r"(?:約|およそ|最短|最長|最大|最低|中|過去|直近|残り|通常|各|延べ|丸) ?$")
_IS_SPAN_BY = re.compile(
    r"以内|以上|以下|未満|後|前|目|ほど|程度|くらい|ぐらい|分|経|かか|を要|しか|も(?:かか|あれ)|あたり|当たり|につき|[0-9]|連続|超"
)
_PLURAL = re.compile(r" ?(?:以内|ほど|程度|間|前|後|くらい|ぐらい)")
_IMPLIED = {re.compile(words): said for words, said in _TABLES["implied"].items()}


def measures(text: str) -> Iterator[DetailMatch]:
    """Numbers with a unit, ranges and lists of them as one, and numbers of things without a unit."""
    waiting: list[re.Match[str]] = []
    for match in _NUMBER.finditer(text):
        if waiting and not _is_next(text, waiting, match):
            yield from _things(waiting)
            waiting = []
        if match["unit"] or match["sign"]:
            if found := _measured(text, match, waiting):
                yield found
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


def bare_numbers(text: str, least: int = 100) -> set[str]:
    """The numbers, fractions or at least so large, that stand without unit, as in the cells of a table."""
    numbers = (m["number"] for m in _NUMBER.finditer(text) if not m["unit"] and not m["sign"])
    values = (value_of(number) for number in numbers if number[0].isdecimal())
    return {digits_of(value) for value in values if value is not None and (value >= least or value % 1)}


def implied(text: str) -> Iterator[DetailMatch]:
    """What words say without a figure: 無料 is 0円, 半額 is 50%."""
    for pattern, said in _IMPLIED.items():
        if pattern.search(text):
            yield from measures(said)


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
    values = [value_of(one["number"]) for one in before] + [value + half]
    kind: Kind = "amount" if unit.name in _MONEY else "number"
    start = before[0].start() if before else match.start()
    meaning = Measure(tuple(digits_of(each * unit.size) for each in values if each is not None), unit.base)
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
    """Whether the words around 3日 say that it is three days."""
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
    """One checkable detail: its kind, the words it is written in, and its one canonical spelling."""

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
    plain = MaskedText(text)
    return tuple(
        Specific(found.kind, plain.written(found.start, found.end), found.meaning) for found in _scan(plain)
    )


def located(specific: Specific, texts: Sequence[str]) -> int | None:
    """The index of the first text that holds this detail; None when none does."""
    return next(
        (number for number, text in enumerate(texts) if specific.meaning.is_in(_detail_index(text))), None
    )


@lru_cache(maxsize=1024)
def _detail_index(text: str) -> DetailIndex:
    """What a text says line by line, and what it says where its lines are only wrapped."""
    index = DetailIndex()
    for version in dict.fromkeys((text, _WRAPPED.sub(" ", _WRAPPED_CJK.sub("", text)))):
        plain = MaskedText(version)
        for detail in _scan(plain):
            detail.meaning.add_to(index)
        index.bare |= bare_numbers(plain.lower)
        for detail in implied(plain.lower):
            detail.meaning.add_to(index)
    return index


def _scan(plain: MaskedText) -> list[DetailMatch]:
    """Kind by kind, from the most to the least distinct; what one kind has taken the next does not see."""
    every = list(_taken(plain, urls(plain.text)))
    for finder in (emails, phones, dates, times, measures, codes):
        every += _taken(plain, finder(plain.lower))
    return sorted(every, key=lambda found: found.start)


def _taken(plain: MaskedText, found: Iterable[DetailMatch]) -> list[DetailMatch]:
    """These details without overlaps, masked in the text."""
    kept: list[DetailMatch] = []
    for one in sorted(found, key=lambda each: (each.start, -each.end)):
        if not kept or one.start >= kept[-1].end:
            kept.append(one)
    plain.take([(one.start, one.end) for one in kept])
    return kept


# --- What the details of a right answer ask of an answer ---

# What says "twice" without a number.
_TWICE = re.compile(
    r"往復|両方|2人|二人|ふたり|夫婦|\b(?:both|twice|round trip|each way|two|couple|pair"
    # Sending something back happens once.
    r"|return (?:ticket|trip|journey|fare|flight|crossing|transfer)s?)\b|\d return\b"
)
# Of more amounts of one unit than this nearly any amount would follow; more details of one text are not read.
_MOST_AMOUNTS, _MOST_DETAILS = 12, 60
_LONGEST_COUNTS = 2000
_COUNTS = re.compile(r"(?<![\d.,:])\d{1,2}(?![\d:]|[.,]\d)")
_HALF = re.compile(r"半額|半分|半値|\bhalf\b")
# How often, as passages say it: twelve months, two instalments.
_OFTEN = re.compile(
    r"(?<![\d.,:])(\d{1,2}) ?(?:回|か月|ヶ月|カ月|ヵ月|週|x |× ?|times|months|weeks|instal+ments|payments)"
)
# What counts in days or hours, so that a date or a time may follow from it.
_SPANS = frozenset({SECONDS, "営業日", "か月", "日"})


@lru_cache(maxsize=512)
def details_of(text: str) -> tuple[Specific, ...]:
    """The details of a text, each once; of a text with very many the first ones."""
    return tuple(dict.fromkeys(specifics_of(text)))[:_MOST_DETAILS]


def lacking(text: str, known: Sequence[str]) -> tuple[Specific, ...]:
    """The details of a text that none of the known texts has."""
    return tuple(each for each in details_of(text) if located(each, known) is None)


def required(reference: str, known: Sequence[str]) -> tuple[Specific, ...]:
    """The details of a reference that an answer has to say, if it is to say the same.

    Of "6,800 and 1,200, so 8,000 in all" that is the 8,000, unless a known text (a passage, the question) has
    it: what a sum is made of need not be repeated.
    """
    every = details_of(reference)
    new_dates = [
        e for e in every if isinstance(e.meaning, (Date, Clock, Hours)) and located(e, known) is None
    ]
    if new_dates:  # counted forward: the span need not be said again
        every = tuple(each for each in every if each in new_dates or located(each, known) is None)
    for unit in {_unit(each) for each in every} - {""}:
        of_unit = [each for each in every if _unit(each) == unit]
        new = [each for each in of_unit if located(each, known) is None]
        steps = [each for each in new if follows(each, known, reference, sums=False)]
        last = [each for each in new if each not in steps]
        if result := last[0] if steps and len(last) == 1 else _result(new, of_unit):
            # What it was worked out from, be it a share, need not be said again.
            return tuple(e for e in every if e == result or (e not in of_unit and located(e, known) is None))
    return every


def _result(new: Sequence[Specific], of_unit: Sequence[Specific]) -> Specific | None:
    """The one of some amounts that the others lead to: the only new one, their sum, or what is left."""
    if len(new) < 2 or len(of_unit) > _MOST_AMOUNTS:
        return new[0] if len(new) == 1 < len(of_unit) else None
    for operation in (sum, lambda pair: abs(pair[0] - pair[1])):
        for each in new:
            others = [_value(other) for other in of_unit if other != each]
            if any(operation(pair) == _value(each) for pair in combinations(others, 2)):
                return each
    return None


def is_alike(one: Specific, other: Specific) -> bool:
    """Whether two details could stand in each other's place: amounts of one unit, two dates, two times."""
    kinds = {one.kind, other.kind}
    if isinstance(one.meaning, Measure) and isinstance(other.meaning, Measure):
        return bool(one.meaning.unit) and one.meaning.unit == other.meaning.unit
    return len(kinds) == 1 or kinds == {"time", "hours"}


def follows(detail: Specific, texts: Sequence[str], counts: str = "", *, sums: bool = True) -> bool:
    """Whether a detail can be worked out from what these texts say; `counts` may say how often.

    An amount is a multiple or a share of another one of its unit. With `sums` it may also be a sum or a
    difference of two, and a date or a time follows wherever there is a span.
    """
    known = [each for text in texts for each in details_of(text)]
    meaning = detail.meaning
    if isinstance(meaning, (Date, Clock, Hours)):
        return sums and any(_unit(each) in _SPANS for each in known)
    if not (isinstance(meaning, Measure) and meaning.unit and len(meaning.values) == 1):
        return False
    amounts = {_value(each) for each in known if _unit(each) == meaning.unit}
    if not amounts or len(amounts) > _MOST_AMOUNTS:
        return False
    shares = {_value(each) / 100 for each in known if _unit(each) == "%"}
    if any(_HALF.search(normalise(text)) for text in texts):
        shares.add(Decimal("0.5"))
    plain = counts[:_LONGEST_COUNTS]
    for each in details_of(plain):  # an amount is no count
        plain = plain.replace(each.text, " ")
    plain = normalise(plain)
    times = {Decimal(1), *map(Decimal, _COUNTS.findall(plain)[:_MOST_AMOUNTS])}
    times.update(
        Decimal(often) for text in texts for often in _OFTEN.findall(normalise(text))[:_MOST_AMOUNTS]
    )
    if _TWICE.search(plain):
        times.add(Decimal(2))
    wanted, pairs = Decimal(meaning.values[0]), tuple(product(amounts, times))
    multiples = {each * often for each, often in pairs} | {each / often for each, often in pairs if often}
    parts = {each * part for each, share in product(multiples, shares) for part in (share, 1 - share)}
    if wanted in multiples | parts:
        return True
    # Nobody takes days off days.
    takes = meaning.unit not in _SPANS
    both = combinations(multiples, 2) if sums else ()
    return any(wanted == one + other or (takes and wanted == abs(one - other)) for one, other in both)


def _unit(detail: Specific) -> str:
    """The unit of an amount; empty for what is none, or is several."""
    meaning = detail.meaning
    return meaning.unit if isinstance(meaning, Measure) and len(meaning.values) == 1 else ""


def _value(detail: Specific) -> Decimal:
    return Decimal(detail.meaning.values[0]) if isinstance(detail.meaning, Measure) else Decimal(0)
