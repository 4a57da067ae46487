"""Edits of a right answer: a figure changed, or a statement turned into its opposite.

Figures are amounts, dates and durations. The rules for statements are in flips.toml.
"""

import re
from collections.abc import Iterator, Mapping
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
_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
# Quoted labels of buttons, addresses and codes are no figures, and "24 hours" says always.
_UNTOUCHED = re.compile(r"「[^」]*」|\"[^\"]*\"|https?://\S+|\S+@\S+|\b[A-Z]+-\d+|24時間|24 hours")
# What follows a figure that is denied or changes into another one.
_DENIED = re.compile(
    r"(?:は|が|も)(?:かかり|いただき|請求し)?(?:ません|不要)|から(?=[0-9０-９])"
    r"|[^.,;]{0,40}\b(?:does|do) not apply| to (?=\d)"
)
# What stands before one that is a condition.
_CONDITION = re.compile(r"\bIf the $")
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
    for sort, match in _matches(answer, language):
        old = match[0]
        # Another figure misleads nobody where it is denied, and makes no sense in a condition.
        is_idle = _DENIED.match(answer[match.end() :]) or _CONDITION.search(answer[: match.start()])
        if old in flips or normalise(old) not in known or is_idle:
            continue
        if others := [new for new in _others(sort, match, draw) if is_new(new)]:
            whole = re.compile(rf"(?<![0-9０-９,，.]){re.escape(old)}(?![0-9０-９])")
            flips[old] = Flip(sort, old, others[0], others[0].join(whole.split(answer)))
    return list(flips.values())


def _matches(answer: str, language: Language) -> Iterator[tuple[str, re.Match[str]]]:
    """The figures by their kinds; what an earlier kind has matched is no other figure."""
    spans = [match.span() for match in _UNTOUCHED.finditer(answer)]
    for sort, pattern in _FIGURES[language]:
        for match in re.finditer(pattern, answer):
            if all(match.end() <= start or end <= match.start() for start, end in spans):
                spans.append(match.span())
                yield sort, match


def _others(sort: str, match: re.Match[str], draw: Random) -> list[str]:
    """The matched words with other values for their number, in its width and with its commas."""
    plain = match[1].translate(_PLAIN)
    value = int(plain.replace(",", ""))
    values = [value * 2, value * 3, *([value // 2] if value > 3 else [])]
    if sort == "date":
        values = [day for day in (5, 8, 10, 12, 15, 18, 22, 25) if abs(day - value) >= 3]
    elif not value:
        values = [550, 1_100, 3_300, 5_500]
    head, rest = match[0].split(match[1], 1)
    texts = []
    for other in draw.sample(values, len(values)):
        text = str(other) if len(plain) > 3 and "," not in plain else f"{other:,}"
        text = text.translate(_FULL) if plain != match[1] else text
        texts.append(head + text + _ONE.sub(r"\1s", rest))
    return texts


# What has no s in English where there is but one of it.
_ONE = re.compile(r"^([ -](?:business |working )?(?:day|week|month|year|hour))$")
_JA_SPAN = "営業日|日間|週間|[かヶカヵ]月|年間|年|時間|日(?=以内|後|前|以上|ほど|を)"
_EN_SPAN = "(?:business |working )?days?|weeks?|months?|years?|hours?"
# Kinds of figures, each with where it stands; the first group is the number.
_FIGURES: dict[Language, tuple[tuple[str, str], ...]] = {
    "ja": (
        ("amount", rf"{_NUMBER}(?:万|千)?円"),
        ("date", rf"(?<=月){_NUMBER}日(?!間|目|以内)"),
        ("date", r"(?<![0-9０-９])([1-3１-３][0-9０-９])日(?=以降|まで|が|に|から)"),
        ("days", rf"(?!(?:19|20)\d\d){_NUMBER}(?:{_JA_SPAN})"),
    ),
    "en": (
        ("amount", rf"{_NUMBER} (?:yen|dollars|euros|pounds)"),
        ("amount", r"[$€£¥] ?(\d[\d,]*)(?![\d.])"),
        ("date", rf"(?<![\d.,-])(\d{{1,2}}) (?:{_MONTHS})\b"),
        ("date", rf"\b(?:{_MONTHS}) (\d{{1,2}})\b(?!,? \d{{4}})"),
        ("days", rf"{_NUMBER}[ -](?:{_EN_SPAN})\b"),
    ),
}


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
