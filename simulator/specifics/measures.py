"""Amounts of money, percentages, durations and other numbers with a unit."""

import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

from simulator.core.templates import read_toml
from simulator.counting.numerals import KANJI, NUMERAL, digits_of, value_of
from simulator.specifics.meanings import DAY_OR_DAYS, DAYS, Date, Found, Kind, Measure, Reading

_TABLES = read_toml(Path(__file__).with_name("units.toml"))
_MONEY: dict[str, list[str]] = _TABLES["money"]
_CANONICAL: dict[str, str] = {"日": DAY_OR_DAYS} | {
    spelling: unit for unit, spellings in (_MONEY | _TABLES["units"]).items() for spelling in spellings
}
_SIGNS = {"¥": "円", "$": "ドル", "€": "ユーロ", "£": "ポンド"}
_COUNTED, _ONE_WITH = frozenset(_TABLES["counted"]), frozenset(_TABLES["one_with"])


def _spelling(spelling: str) -> str:
    if spelling[-1].isascii() and spelling[-1].isalnum():
        return re.escape(spelling) + "(?![a-z0-9])"
    barred = _TABLES["barred"].get(spelling)
    return re.escape(spelling) + (f"(?![{barred}])" if barred else "")


_SPELLINGS = "|".join(_spelling(s) for s in sorted(_CANONICAL, key=len, reverse=True))
_NUMBER = re.compile(
    rf"(?P<sign>(?:(?:us|au|ca|hk)?[¥$€£]|(?<![a-z])(?:jpy|usd|eur|gbp)) ?)?(?P<number>{NUMERAL})"
    rf"(?:(?<=\d)(?:st|nd|rd|th)(?= ))?(?:(?P<gap> ?|-(?=[a-z]))(?P<unit>{_SPELLINGS}))?"
)
_TO = re.compile(r" ?(?:~|〜|-|ー|から|または|\bor\b|\bto\b) ?")
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
# What says a number without figures; only looked for in what an answer is held against.
_IMPLIED = (
    (
        re.compile(r"無料|無償|(?<![a-z])free(?![a-z])|no (?:extra )?charge"),
        tuple(("0", unit) for unit in _MONEY),
    ),
    (re.compile(r"半年|half a year"), (("6", "か月"),)),
    (re.compile(r"半額|half[- ]price"), (("50", "%"),)),
    (re.compile(r"年中無休|every day of the year"), (("365", DAYS), ("365", DAY_OR_DAYS))),
)


def measures(text: str) -> Iterator[Found]:
    """Numbers with a unit, ranges of them as one, and large numbers without a unit."""
    waiting: re.Match[str] | None = None
    for match in _NUMBER.finditer(text):
        found = _measured(text, match)
        if found and waiting and _TO.fullmatch(text, waiting.end(), match.start()):
            found = _ranged(waiting, found)
        elif waiting and (bare := _large(waiting)):
            yield bare
        waiting = None
        if found:
            yield found
        elif not match["unit"] and not match["sign"]:
            waiting = match
    if waiting and (bare := _large(waiting)):
        yield bare


def bare_numbers(text: str) -> set[str]:
    """The numbers of three digits and more that stand without unit, as in the cells of a table."""
    numbers = (m["number"] for m in _NUMBER.finditer(text) if not m["unit"] and not m["sign"])
    values = (value_of(number) for number in numbers if number[0].isdecimal())
    return {digits_of(value) for value in values if value is not None and (value >= 100 or value % 1)}


def implied(text: str) -> set[tuple[str, str]]:
    """What words say without a figure: 無料 is 0円, 半額 is 50%."""
    return {measure for pattern, known in _IMPLIED if pattern.search(text) for measure in known}


def _measured(text: str, match: re.Match[str]) -> Found | None:
    """The number with its unit or currency; None when it has neither, or is part of a phrase."""
    unit = _currency(match["sign"].strip()) if match["sign"] else _CANONICAL.get(match["unit"] or "", "")
    value = value_of(match["number"])
    if not unit or value is None or _is_phrase(text, match, unit, value):
        return None
    if unit == "割":
        unit, value = "%", value * 10
    if unit == DAY_OR_DAYS:
        is_span = _is_span(text, match)
        if not is_span and (day := _day(text, match, value)):
            return day
        unit = DAYS if is_span else DAY_OR_DAYS
    kind: Kind = "amount" if unit in _MONEY else "number"
    return Found(*match.span(), kind, Measure((digits_of(value),), unit))


def _currency(sign: str) -> str:
    """The currency of a sign: $, US$, JPY."""
    return _SIGNS.get(sign[-1]) or _CANONICAL[sign]


def _is_phrase(text: str, match: re.Match[str], unit: str, value: Decimal) -> bool:
    """A step, a few of something, or a word that only looks like a number: 一人, 十分, one day."""
    number = match["number"]
    if (
        match["gap"] == " "
        and number.isdecimal()
        and _STEP.search(text, max(0, match.start() - 10), match.start())
    ):
        return True
    if unit in _COUNTED and (value <= 1 or (unit == "番" and value < 100)):
        return True
    if number in {"一", "one"} and unit not in _ONE_WITH:
        return True
    if number[0] in KANJI and unit == "分" and not _PLURAL.match(text, match.end()):
        return True
    is_few = number[0] in KANJI and value < 10 and unit in _COUNTED - {"回", "泊"}
    # 5G is a network, not a weight.
    return (is_few and match["unit"] != "名様") or (unit == "g" and value < 10)


def _day(text: str, match: re.Match[str], value: Decimal) -> Found | None:
    """The day of a month, where the words around 27日 tell that it is one."""
    is_date = _IS_DATE.search(text, max(0, match.start() - 8), match.start())
    if value > 31 or value < 1 or value % 1 or not (is_date or _IS_DATE_BY.match(text, match.end())):
        return None
    start = is_date.start() if is_date else match.start()
    return Found(start, match.end(), "date", Date((Reading(day=int(value)),)))


def _is_span(text: str, match: re.Match[str]) -> bool:
    """Whether the words around 3日 tell that it is three days."""
    before = _IS_SPAN.search(text, max(0, match.start() - 4), match.start())
    return bool(before or _IS_SPAN_BY.match(text, match.end()))


def _ranged(first: re.Match[str], last: Found) -> Found:
    value, meaning = value_of(first["number"]), last.meaning
    if value is None or not isinstance(meaning, Measure):
        return last
    if meaning.unit == "%" and first.string[last.end - 1] == "割":
        value *= 10
    return Found(
        first.start(), last.end, last.kind, Measure((digits_of(value), *meaning.values), meaning.unit)
    )


def _large(match: re.Match[str]) -> Found | None:
    """A number with commas between its thousands tells something without a unit, too."""
    value = value_of(match["number"])
    if value is None or value < 1000 or "," not in match["number"]:
        return None
    return Found(*match.span(), "number", Measure((digits_of(value),), ""))
