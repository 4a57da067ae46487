"""What texts say, counted without a model or a dictionary, for Japanese and English alike.

Japanese has no spaces, so characters and pairs of characters stand in for words; kanji and katakana carry
the content, hiragana mostly the grammar. Everything here is a pure function of its texts and remembers what
it has seen: the same passages come back turn after turn.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from sys import intern

from simulator.counting.segments import CJK, tokens

# Weights of a single token; a pair of neighbours weighs half the mean of its two. Hiragana and stop words are
# not worthless: a copied sentence shares them too, an invented one does not.
CONTENT, HIRAGANA, STOP, PAIR = 1.0, 0.5, 0.2, 0.5

_FUNCTION_WORDS = """
    a about above after again all also am an and any are as at be because been before being below between
    both but by can could did do does doing down during each few for from further had has have having he
    her here hers him his how i if in into is it its itself just may me might more most must my no nor not
    now of off on once one only or other our ours out over own please shall she should so some such than
    that the their theirs them then there these they this those through to too under until up upon us very
    was we were what when where which while who whom why will with would yes you your yours it's i'm i'd
    i'll i've we're we've we'll you're you'll you've that's there's they're let's don't doesn't didn't
    can't cannot couldn't won't wouldn't isn't aren't wasn't weren't shouldn't haven't hasn't
"""
STOP_WORDS = frozenset(_FUNCTION_WORDS.split())
CJK_TEXT = re.compile(f"[{CJK}]")
_HIRAGANA = re.compile("[\u3041-\u309f\u30fc]")
_BETWEEN = "\t"


@lru_cache(maxsize=16384)
def stem(word: str) -> str:
    """A word without the commonest English endings: charge, charges, charged, charging give charg."""
    plain = word.removesuffix("'s")
    for ending in ("ing", "ed", "es", "s", "ly"):
        if plain.endswith(ending) and len(plain) - len(ending) >= 3 and not plain.endswith("ss"):
            plain = plain.removesuffix(ending)
            break
    if len(plain) > 3 and plain[-1] == plain[-2]:
        plain = plain[:-1]
    if len(plain) > 2 and plain.endswith("i"):
        plain = plain[:-1] + "y"
    return plain.removesuffix("e") if len(plain) > 3 else plain


def count_units(text: str) -> Counter[str]:
    """How often a text has each unit: its characters (CJK) or word stems, and their neighbouring pairs."""
    found = [token if token in STOP_WORDS else stem(token) for token in tokens(text)]
    # Interned: thousands of passages share most of their pairs.
    return Counter(map(intern, [*found, *map(_BETWEEN.join, pairwise(found))]))


@lru_cache(maxsize=1024)
def content_units(text: str) -> Counter[str]:
    """The units of a text, remembered. The counter is shared between callers and must not be changed."""
    return count_units(text)


@lru_cache(maxsize=512)
def topic_units(text: str) -> Counter[str]:
    """The units that carry content: those with a kanji, a katakana or a word that is no stop word.

    A text of grammar alone keeps all its units. The counter is shared and must not be changed.
    """
    units = content_units(text)
    topical = {unit: count for unit, count in units.items() if _is_topical(unit)}
    return Counter(topical) or units


@lru_cache(maxsize=65536)
def unit_weight(unit: str) -> float:
    """How much a unit says: content 1, hiragana 0.5, stop words 0.2, a pair half the mean of its two."""
    if _BETWEEN in unit:
        return PAIR * sum(map(unit_weight, unit.split(_BETWEEN))) / 2
    if unit in STOP_WORDS:
        return STOP
    return HIRAGANA if _HIRAGANA.match(unit) else CONTENT


def mass(units: Mapping[str, int]) -> float:
    """The summed weight of some units."""
    return sum(unit_weight(unit) * count for unit, count in units.items())


def share(units: Mapping[str, int], within: Collection[str]) -> float:
    """The share (0..1), by weight, of `units` that are also in `within`; 1 for no units at all.

    Of an answer in its passages this is precision, of a reference in an answer it is recall.
    """
    whole = mass(units)
    if not whole:
        return 1.0
    return sum(unit_weight(unit) * count for unit, count in units.items() if unit in within) / whole


@lru_cache(maxsize=1024)
def runs(text: str) -> frozenset[str]:
    """The runs of three tokens of a text in CJK characters, where a shorter match may be chance."""
    found = tokens(text)
    return frozenset(map("".join, _triples(found))) if _is_cjk(found) else frozenset()


def in_runs(text: str, known: Collection[str]) -> float:
    """The share (0..1) of a text's tokens that lie in a run of three which is also in `known`."""
    found, covered = tokens(text), set[int]()
    for at, triple in enumerate(_triples(found)):
        if "".join(triple) in known:
            covered.update((at, at + 1, at + 2))
    return len(covered) / len(found) if found else 1.0


def _triples(found: list[str]) -> Iterator[tuple[str, str, str]]:
    return zip(found, found[1:], found[2:], strict=False)


def _is_cjk(found: list[str]) -> bool:
    return 2 * sum(bool(CJK_TEXT.match(token)) for token in found) > len(found)


def _is_topical(unit: str) -> bool:
    return any(part not in STOP_WORDS and not _HIRAGANA.match(part) for part in unit.split(_BETWEEN))
