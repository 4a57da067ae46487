"""Edits of a right answer: a figure changed, or a statement turned into its opposite.

Figures are amounts, dates, durations, opening times and telephone numbers. The rules for statements are in
flips.toml.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from simulator.core.templates import read_toml
from simulator.core.types import Language
from simulator.text.numerals import quantities
from simulator.text.segments import normalise

_FULL = str.maketrans("0123456789,:-", "０１２３４５６７８９，：－")
_PLAIN = str.maketrans("０１２３４５６７８９，：－", "0123456789,:-")
_DIGIT = "[0-9０-９]"
_NUMBER = f"(?<![0-9０-９,，.．A-Za-z-])({_DIGIT}[0-9０-９,，]*)(?![.．]?{_DIGIT})"
_PHONE = r"(?<![\w-])(0\d{1,4}[-‐－ー]\d{1,4}[-‐－ー]\d{3,4})(?![\d-])"
_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
# Quoted labels of buttons, addresses and codes are no figures.
_UNTOUCHED = re.compile(r"「[^」]*」|\"[^\"]*\"|https?://\S+|\S+@\S+|\b[A-Z]+-\d+")
# What follows a figure that is denied or changes into another one.
_DENIED = re.compile(
    r"(?:は|が|も)(?:かかり|いただき|請求し)?(?:ません|不要)|から(?=[0-9０-９])"
    r"|[^.,;]{0,40}\b(?:does|do) not apply| to (?=\d)"
)
# What stands before one that is a condition, and what says "always" after it.
_CONDITION = re.compile(r"\bIf the $")
_ALWAYS = r"(?:いつでも|(?<=open 24 hours)(?! a day)|(?<= 24 hours)(?=[.,]))"
# Labels of buttons and questions that are quoted keep their words.
_QUOTED = re.compile(r"「[^」]*」|\"[^\"]*\"")
_ENDED = re.compile(r"[。！？\n]|[.!?](?=\s|$)")
# Nothing, or one sentence with a telephone number.
_ONLY_CONTACT = re.compile(r"|[^。\n]*\d{3}-\d{3,4}[^。\n]*。?")


class Flip(NamedTuple):
    """An answer with one thing put wrong: `text` is it, `old` became `new` in it."""

    sort: str
    old: str
    new: str
    text: str


class _Figure(NamedTuple):
    """A kind of figure: where it stands, and what could stand there instead."""

    sort: str
    pattern: str
    others: Callable[[re.Match[str], Random], list[str]]


@cache
def table(name: str) -> dict[str, Any]:
    """A file of words and rules beside this one."""
    return read_toml(Path(__file__).with_name(name))


# --- Figures ---


def figure_flips(answer: str, evidence: str, material: str, language: Language, draw: Random) -> list[Flip]:
    """Every figure of the answer that `evidence` has, put wrong once: by a value nowhere in `material`.

    It is put wrong wherever it stands in the answer, so that the answer does not contradict itself.
    """
    known, taken = normalise(evidence), normalise(f"{material}\n{answer}")
    values = {quantity.value for quantity in quantities(taken)}

    def is_new(new: str) -> bool:
        stated = {quantity.value for quantity in quantities(new)}
        return normalise(new) not in taken and (not stated or not stated <= values)

    flips: dict[str, Flip] = {}
    for figure, match in _matches(answer, language):
        old = match[0]
        if old in flips or normalise(old) not in known or _is_idle(answer, match):
            continue
        if others := [new for new in figure.others(match, draw) if is_new(new)]:
            new = others[0]
            whole = re.compile(rf"(?<![0-9０-９,，.]){re.escape(old)}(?![0-9０-９])")
            text = new.join(whole.split(answer))
            if language == "en" and figure.sort == "date":
                text = _same_day(text, old, new)
            flips[old] = Flip(figure.sort, old, new, text)
    return list(flips.values())


def _matches(answer: str, language: Language) -> Iterator[tuple[_Figure, re.Match[str]]]:
    """The figures in order of their kinds; what an earlier kind has matched is no other figure."""
    spans = [match.span() for match in _UNTOUCHED.finditer(answer)]
    for figure in _FIGURES[language]:
        for match in re.finditer(figure.pattern, answer):
            if all(match.end() <= start or end <= match.start() for start, end in spans):
                spans.append(match.span())
                yield figure, match


def _is_idle(answer: str, match: re.Match[str]) -> bool:
    """Whether another figure there misleads nobody or makes no sense: `the 3,300 yen fee does not apply`."""
    return bool(
        _DENIED.match(answer[match.end() :])
        or _CONDITION.search(answer[: match.start()])
        or re.search(re.escape(match[0]) + _ALWAYS, answer)
    )


def _same_day(text: str, old: str, new: str) -> str:
    """27 June and the 27th are one day: both change."""
    before, after = (int(re.sub(r"\D", "", words)) for words in (old, new))
    text = re.sub(rf"\b{before}(?:st|nd|rd|th)\b", _ordinal(after), text)
    return re.sub(rf"\b{before}(?= (?:{_MONTHS})\b)", str(after), text)


def _shown(value: int, like: str) -> str:
    """A number written as another one is: full width or not, thousands set off or not."""
    plain = like.translate(_PLAIN)
    bare = "," not in plain and len(plain) > 3
    text = str(value) if bare else f"{value:,}"
    return text.translate(_FULL) if plain != like else text


def _value(text: str) -> int:
    return int(text.translate(_PLAIN).replace(",", ""))


def _rewritten(match: re.Match[str], values: list[int]) -> list[str]:
    """The matched words with other values for their number."""
    whole, at = match[0], match.start(1) - match.start()
    rest = whole[at + len(match[1]) :]
    return [whole[:at] + _shown(value, match[1]) + rest for value in values if value > 0]


def _amounts(match: re.Match[str], draw: Random) -> list[str]:
    value = _value(match[1])
    if not value:
        return _rewritten(match, draw.sample([550, 1_100, 3_300, 5_500], 4))
    values = [value * 2, value * 3 // 20 * 10, value // 2 // 10 * 10]
    values += [value // 10] if value >= 10_000 and not value % 100 else []
    values += [value * 10] if value < 5_000 else []
    return _rewritten(match, draw.sample(values, len(values)))


def _days_of_month(match: re.Match[str], draw: Random) -> list[str]:
    value = _value(match[1])
    days = [day for day in (5, 8, 10, 12, 15, 18, 22, 25) if abs(day - value) >= 3]
    return _rewritten(match, draw.sample(days, len(days)))


def _ordinals(match: re.Match[str], draw: Random) -> list[str]:
    """20th as 12th; `day month` keeps its month."""
    return [
        re.sub(r"^(\d+)(?:st|nd|rd|th)", lambda found: _ordinal(int(found[1])), text)
        for text in _days_of_month(match, draw)
    ]


def _ordinal(day: int) -> str:
    ending = "th" if 10 < day < 20 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{ending}"


def _durations(match: re.Match[str], draw: Random) -> list[str]:
    value, unit = _value(match[1]), match[2]
    if value <= 2 and unit in {"分", "分間", "秒", "秒間", "minute", "minutes", "second", "seconds"}:
        return []  # a detail of a step: who waits three minutes instead of one is not misled
    if value > 1900:
        return []  # a year
    values = [value * 3, value * 4, value * 2] if value < 20 else [value // 2, value * 2, value * 3]
    if value == 24 and unit in {"時間", "hours"}:
        values = [12, 10, 8]
    texts = _rewritten(match, draw.sample(values, len(values)))
    plural = r"^(\d+)([ -])((?:business |working )?)(day|week|month|year|hour)$"
    return [re.sub(plural, r"\1\2\3\4s", text) for text in texts]


def _counts(match: re.Match[str], draw: Random) -> list[str]:
    value = _value(match[1])
    values = [value * 2, value * 3] if value < 10 else [value // 2, value * 2, value + value // 2]
    return _rewritten(match, draw.sample(values, len(values))) if value > 1 else []


def _ranges(match: re.Match[str], draw: Random) -> list[str]:
    """2〜4日 as 7〜9日: both ends move."""
    low, high = _value(match[1]), _value(match[2])
    steps = draw.sample([5, 7, 10], 3)
    ends = [(_shown(low + step, match[1]), _shown(high + step, match[2])) for step in steps]
    between = match[0][len(match[1]) : match.start(2) - match.start()]
    rest = match[0][match.end(2) - match.start() :]
    return [f"{start}{between}{end}{rest}" for start, end in ends]


def _hours(match: re.Match[str], draw: Random) -> list[str]:
    between = re.search(r"[^\d:：０-９]+", match[0])
    ends = draw.sample([("10:00", "20:00"), ("8:00", "22:00"), ("11:00", "17:00"), ("10:00", "16:00")], 4)
    return [f"{start}{between[0] if between else '-'}{end}" for start, end in ends]


def _phones(match: re.Match[str], draw: Random) -> list[str]:
    """Another number of the same length: its last block is not the same."""
    block = re.split(r"[-‐－ー]", match[0])[-1]
    head = match[0][: -len(block)]
    values = [(int(block) + step) % 10 ** len(block) for step in draw.sample([146, 254, 371, 482], 4)]
    return [f"{head}{value:0{len(block)}}" for value in values]


_JA_SPAN = (
    "営業日|日間|週間|[かヶカヵ]月|年間|年|時間|分間|分(?![割の])|秒間|秒|日(?=以内|後|前|以上|ほど|を)"
)
_EN_SPAN = "(?:business |working )?days?|weeks?|months?|years?|hours?|minutes?|seconds?"
_HOURS = _Figure("hours", r"(?<!\d)\d{1,2}[:：]\d{2}\s?[〜～~–-]\s?\d{1,2}[:：]\d{2}(?!\d)", _hours)
_FIGURES: dict[Language, tuple[_Figure, ...]] = {
    "ja": (
        _Figure("phone", _PHONE, _phones),
        _HOURS,
        _Figure("amount", rf"{_NUMBER}(?:万|千)?円", _amounts),
        _Figure("days", rf"{_NUMBER}[〜～~-]({_DIGIT}+)(?:{_JA_SPAN}|日)", _ranges),
        _Figure("date", rf"(?<=月){_NUMBER}日(?!間|目|以内)", _days_of_month),
        _Figure("date", r"(?<![0-9０-９])([1-3１-３][0-9０-９])日(?=以降|まで|が|に|から)", _days_of_month),
        _Figure("days", rf"{_NUMBER}({_JA_SPAN})", _durations),
        _Figure("count", rf"{_NUMBER}(?:回(?!線)|個|台|枚|歳|人|[%％]|[Mk]bps)", _counts),
    ),
    "en": (
        _Figure("phone", _PHONE, _phones),
        _HOURS,
        _Figure("amount", rf"{_NUMBER} (?:yen|dollars|euros|pounds)", _amounts),
        _Figure("amount", r"[$€£¥] ?(\d[\d,]*)(?![\d.])", _amounts),
        _Figure("days", rf"{_NUMBER} (?:to|or) (\d+) (?:{_EN_SPAN})\b", _ranges),
        _Figure("date", r"(?<![\d.,-])(\d{1,2})(?:st|nd|rd|th)\b", _ordinals),
        _Figure("date", rf"(?<![\d.,-])(\d{{1,2}}) (?:{_MONTHS})\b", _days_of_month),
        _Figure("date", rf"\b(?:{_MONTHS}) (\d{{1,2}})\b(?!,? \d{{4}})", _days_of_month),
        _Figure("days", rf"{_NUMBER}[ -]({_EN_SPAN})\b", _durations),
        _Figure(
            "count", rf"{_NUMBER} (?:(?:wrong |monthly )?(?:instalments|times|passwords|characters)|[Mk]bps)",
            _counts,
        ),
        _Figure("count", rf"{_NUMBER}%", _counts),
    ),
}  # fmt: skip


# --- Statements ---


def opposite_flips(answer: str, language: Language) -> list[Flip]:
    """Every turnable sentence of the answer, turned once, each in an answer of its own."""
    rules = table("flips.toml")[language]
    # What no longer fits: "no" before a yes, "yes" before a no.
    openings = {"yes": rules["opening_of_no"], "no": rules["opening_of_yes"]}
    spans = [match.span() for match in _QUOTED.finditer(answer)]
    flips: list[Flip] = []
    for rule in rules["rules"]:
        for match in re.finditer(rule["find"], answer):
            if any(start < match.end() and match.start() < end for start, end in spans):
                continue
            spans.append(match.span())
            if _is_kept(rule, answer, match):
                continue
            new = _agreeing(match.expand(rule["put"]))
            text = answer[: match.start()] + new + answer[match.end() :]
            opening = re.search(openings[rule["turns"]], answer) if rule["turns"] in openings else None
            if opening and not _ENDED.search(answer[: match.start()]):
                text = text[opening.end() :]
                text = text[:1].upper() + text[1:]
            flips.append(Flip(rule["sort"], match[0].strip(), new.strip(), text))
    return flips


def _is_kept(rule: Mapping[str, str], answer: str, match: re.Match[str]) -> bool:
    """Whether the sentence must stay: a condition states nothing, and what follows may presuppose a "yes"."""
    opening = _ENDED.split(answer[: match.start()])[-1]
    rest, *following = _ENDED.split(answer[match.end() :], maxsplit=1)
    if rule["turns"] == "no" and following and not _ONLY_CONTACT.fullmatch(following[0].strip()):
        return True
    searched = {"unless": opening, "beside": opening + match[0] + rest}
    return any(key in rule and re.search(rule[key], text) for key, text in searched.items())


def _agreeing(text: str) -> str:
    """`a(n) early` as an early, `a(n) fee` as a fee; `apply+s` as applies, `roll+s` as rolls."""
    text = re.sub(r"\ba\(n\) +(?=[aeiou])", "an ", text)
    text = re.sub(r"\ba\(n\) *", "a ", text)
    text = re.sub(r"(?<=[^aeiou])y\+s\b", "ies", text)
    return re.sub(r"\+s\b", "s", text)
