"""Which side a text takes where there are two: free or for a fee, until or after a date.

The words are data, in polarity.toml.
"""

import re
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from simulator.core.templates import read_toml
from simulator.core.types import Language
from simulator.counting.quantities import FIGURE, Quantity, quantities
from simulator.counting.segments import CJK, normalise
from simulator.typography import straight_pattern

FILE = Path(__file__).with_name("polarity.toml")
# A clause beyond this many characters takes no side; it also bounds what a pattern can cost.
LONGEST = 600

_CJK = re.compile(f"[{CJK}]")
_FIGURE = re.compile(FIGURE)
# The pairs of opposites: the list that counts as True, which is also looked for first, and the other one.
_FEE = ("charged", "free")
_PAIRS = (("until", "after"), ("before", "later"))


class Bound(NamedTuple):
    """A figure and the side of it that is meant: `pair` names what is on both sides."""

    pair: str
    figures: frozenset[Quantity]
    first: bool

    @property
    def opposite(self) -> "Bound":
        """The other side of the same figure."""
        return self._replace(first=not self.first)


class Stance(NamedTuple):
    """The sides that a text takes, and the text without the words that show it.

    `charged` says whether something costs money: None when nothing is said of it, or both.
    """

    charged: bool | None
    bounds: frozenset[Bound]
    rest: str


class _Words:
    """The compiled lists of one language."""

    def __init__(self, language: Language) -> None:
        table = read_toml(FILE)[language]
        self.condition = re.compile(straight_pattern(table["condition"]))
        self.lists = {
            name: re.compile(
                straight_pattern("|".join(f"(?:{each})" for each in table[name])).replace("{n}", FIGURE)
            )
            for name in (*_FEE, *(name for pair in _PAIRS for name in pair))
        }


@lru_cache(maxsize=4096)
def stance(text: str) -> Stance:
    """The sides that a clause or sentence takes."""
    plain = normalise(text)
    if len(plain) > LONGEST:
        return Stance(None, frozenset(), plain)
    words = _words(_spoken(plain))
    bounds: set[Bound] = set()
    for pair in _PAIRS:
        for name in pair:
            found = words.lists[name].findall(plain)
            bounds |= {Bound(pair[0], quantities(each), name == pair[0]) for each in found}
            plain = words.lists[name].sub(_figure, plain) if found else plain
    sides: set[bool] = set()
    for name in _FEE:
        plain, count = words.lists[name].subn(" ", plain)
        sides |= {name == _FEE[0]} if count else set()
    charged = sides.pop() if len(sides) == 1 else None
    return Stance(charged, frozenset(bound for bound in bounds if bound.figures), plain)


def without_conditions(plain: str) -> str:
    """A normalised clause without what it only supposes."""
    return _words(_spoken(plain)).condition.sub(" ", plain) if len(plain) <= LONGEST else plain


def _figure(found: re.Match[str]) -> str:
    """The figure alone, without the word that says on which side."""
    figure = _FIGURE.search(found[0])
    return f" {figure[0]} " if figure else " "


def _spoken(plain: str) -> Language:
    return "ja" if _CJK.search(plain) else "en"


@cache
def _words(language: Language) -> _Words:
    return _Words(language)
