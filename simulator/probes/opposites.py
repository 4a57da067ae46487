"""A sentence of an answer turned into its opposite: できます into できません, free into for a fee."""

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from simulator.core.templates import read_toml
from simulator.core.types import Language
from simulator.probes.figures import Flip

FILE = Path(__file__).with_name("flips.toml")
# Labels of buttons and questions that are quoted keep their words.
_QUOTED = re.compile(r"「[^」]*」|\"[^\"]*\"")
_ENDED = re.compile(r"[。！？\n]|[.!?](?=\s|$)")
# Nothing, or one sentence with a telephone number.
_ONLY_CONTACT = re.compile(r"|[^。\n]*\d{3}-\d{3,4}[^。\n]*。?")


class _Rule(NamedTuple):
    """One way to turn a sentence, as flips.toml has it."""

    sort: str
    find: re.Pattern[str]
    put: str
    turns: str
    unless: re.Pattern[str] | None
    beside: re.Pattern[str] | None


class _Rules(NamedTuple):
    rules: tuple[_Rule, ...]
    openings: dict[str, re.Pattern[str]]


def opposite_flips(answer: str, language: Language) -> list[Flip]:
    """Every turnable sentence of the answer, turned once, each in an answer of its own."""
    known, spans = _rules(language), [match.span() for match in _QUOTED.finditer(answer)]
    flips: list[Flip] = []
    for rule in known.rules:
        for match in rule.find.finditer(answer):
            if any(start < match.end() and match.start() < end for start, end in spans):
                continue
            spans.append(match.span())
            if not _is_kept(rule, answer, match):
                flips.append(_flip(rule, answer, match, known.openings))
    return flips


def _is_kept(rule: _Rule, answer: str, match: re.Match[str]) -> bool:
    """Whether the sentence must stay: a condition states nothing, and what follows may presuppose a "yes"."""
    before, after = answer[: match.start()], answer[match.end() :]
    ends = [end.end() for end in _ENDED.finditer(before)]
    opening = before[ends[-1] :] if ends else before
    rest = _ENDED.split(after, maxsplit=1)
    if rule.turns == "no" and len(rest) > 1 and not _ONLY_CONTACT.fullmatch(rest[1].strip()):
        return True
    whole = opening + match[0] + rest[0]
    return bool((rule.unless and rule.unless.search(opening)) or (rule.beside and rule.beside.search(whole)))


def _flip(rule: _Rule, answer: str, match: re.Match[str], openings: dict[str, re.Pattern[str]]) -> Flip:
    new = _agreeing(match.expand(rule.put))
    text = answer[: match.start()] + new + answer[match.end() :]
    opening = openings.get(rule.turns)
    found = opening.search(answer) if opening else None
    if found and not _ENDED.search(answer[: match.start()]):
        text = text[found.end() :]
        text = text[:1].upper() + text[1:]
    return Flip(rule.sort, match[0].strip(), new.strip(), text)


def _agreeing(text: str) -> str:
    """`a(n) early` as an early, `a(n) fee` as a fee; `apply+s` as applies, `roll+s` as rolls."""
    text = re.sub(r"\ba\(n\) +(?=[aeiou])", "an ", text)
    text = re.sub(r"\ba\(n\) *", "a ", text)
    text = re.sub(r"(?<=[^aeiou])y\+s\b", "ies", text)
    return re.sub(r"\+s\b", "s", text)


@cache
def _rules(language: Language) -> _Rules:
    table = read_toml(FILE)[language]
    rules = [
        _Rule(
            row["sort"], re.compile(row["find"]), row["put"], row["turns"],
            *(re.compile(row[key]) if key in row else None for key in ("unless", "beside")),
        )
        for row in table["rules"]
    ]  # fmt: skip
    openings = {"yes": re.compile(table["opening_of_no"]), "no": re.compile(table["opening_of_yes"])}
    return _Rules(tuple(rules), openings)
