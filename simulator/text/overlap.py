"""How much of what a text is about other texts take up, as a share of words: for trials without a model.

    content("The plans charge 990 yen.")   -> plan, charg, 990, yen
    content("解約金はいくらですか")           -> 解約, 約金
    coverage("解約金はいくらですか", ["解約には費用がかかります。"])   -> 0.5

Japanese has no spaces: a run of kanji or katakana counts by its pairs, and hiragana, mostly grammar, not at
all. It is a count and understands nothing: "free" and "not free" share all.
"""

from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise

from simulator.core.patterns import LazyPattern
from simulator.text.segments import CJK, normalise, tokens

# Words that nearly every English text has; contractions stand with their straight apostrophe.
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
_RUN = LazyPattern("[一-龥々ァ-ヺー]+")
_SPACELESS = LazyPattern(f"[{CJK}]")


@lru_cache(maxsize=16384)
def stem(word: str) -> str:
    """A word without the commonest English endings: charge, charges, charged, charging give charg.

    Far less than Porter's stemmer, and enough for an overlap: cities and city meet, classes become clas.
    Words of other scripts pass unchanged.
    """
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


@lru_cache(maxsize=2048)
def content(text: str) -> frozenset[str]:
    """What a text is about: stems of words, and pairs of kanji and katakana; empty for grammar alone."""
    runs = _RUN.findall(normalise(text))
    pairs = {"".join(pair) for run in runs for pair in (pairwise(run) if len(run) > 1 else [run])}
    spaced = {word for word in tokens(text) if word not in STOP_WORDS and not _SPACELESS.match(word)}
    stems = {word if word.isdecimal() else stem(word) for word in spaced}
    return frozenset(pairs | stems)


def coverage(wanted: str, texts: Iterable[str]) -> float:
    """The share (0..1) of a text's content that these texts take up; 1 where it has none."""
    units = content(wanted)
    return len(units & frozenset().union(*map(content, texts))) / len(units) if units else 1.0
