"""Checkable details: amounts, dates, times, telephone numbers, addresses, numbers with a unit.

What a customer acts upon, and what a bot that makes things up gets wrong first. They are compared by
what they mean: 1万円 is 10,000 yen, 令和6年4月1日 is April 1, 2024, 午後6時 is 18:00. A 平日 or 土日祝 beside
opening hours belongs to them; days that stand without hours are no details.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from simulator.counting.segments import CJK
from simulator.specifics import addresses, clock, dates, measures
from simulator.specifics.meanings import Found, Kind, Meaning, Stated
from simulator.specifics.plain import Plain

__all__ = ["Kind", "Specific", "located", "specifics_of"]


# A line break within a paragraph: between Japanese characters it stands for nothing, elsewhere for a space.
_WRAPPED_CJK = re.compile(rf"(?<=[{CJK}])\r?\n(?=[{CJK}])")
_WRAPPED = re.compile(r"(?<=\S)\r?\n(?=\S)")


class Specific(NamedTuple):
    """One checkable detail: its kind, the words it is told in, and its one canonical spelling."""

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
    plain = Plain(text)
    return tuple(
        Specific(found.kind, plain.written(found.start, found.end), found.meaning) for found in _scan(plain)
    )


def located(specific: Specific, texts: Sequence[str]) -> int | None:
    """The index of the first text that holds this detail; None when none does."""
    return next((number for number, text in enumerate(texts) if specific.meaning.is_in(_stated(text))), None)


@lru_cache(maxsize=1024)
def _stated(text: str) -> Stated:
    """What a text says line by line, and what it says where its lines are only wrapped."""
    stated = Stated()
    for version in dict.fromkeys((text, _WRAPPED.sub(" ", _WRAPPED_CJK.sub("", text)))):
        plain = Plain(version)
        for found in _scan(plain):
            found.meaning.add_to(stated)
        stated.bare |= measures.bare_numbers(plain.lower)
        stated.measures |= measures.implied(plain.lower)
    return stated


def _scan(plain: Plain) -> list[Found]:
    """Kind by kind, from the most to the least distinct; what one kind has taken the next does not see."""
    every = list(_taken(plain, addresses.urls(plain.text)))
    for finder in (
        addresses.emails,
        addresses.phones,
        dates.dates,
        clock.times,
        measures.measures,
        addresses.codes,
    ):
        every += _taken(plain, finder(plain.lower))
    return sorted(every, key=lambda found: found.start)


def _taken(plain: Plain, found: Iterable[Found]) -> list[Found]:
    """These details without overlaps, masked in the text."""
    kept: list[Found] = []
    for one in sorted(found, key=lambda each: (each.start, -each.end)):
        if not kept or one.start >= kept[-1].end:
            kept.append(one)
    plain.take([(one.start, one.end) for one in kept])
    return kept
