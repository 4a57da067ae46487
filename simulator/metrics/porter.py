"""Porter's stemmer (Porter, 1980, "An algorithm for suffix stripping"), with the changes NLTK made to it.

The published values of METEOR and of ROUGE with stems were computed with NLTK's, so this one gives the
same stem for every word. It departs from the paper in: a table of irregular words; -ies and -ied of four
letters keep their e; y becomes i after a consonant only; words of two letters stay; -alli, -fulli, -bli
and -logi have rules of their own; two letters, vowel and consonant, count as a short syllable.
"""

from collections.abc import Callable
from functools import lru_cache

_IRREGULAR = {
    "skies": "sky", "sky": "sky", "dying": "die", "lying": "lie", "tying": "tie", "news": "news",
    "innings": "inning", "inning": "inning", "outings": "outing", "outing": "outing",
    "cannings": "canning", "canning": "canning", "howe": "howe",
    "proceed": "proceed", "exceed": "exceed", "succeed": "succeed",
}  # fmt: skip
_PLURALS = {"sses": "ss", "ies": "i", "ss": "ss", "s": ""}
_STEP_2 = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "bli": "ble",
    "alli": "al", "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate",
    "ator": "ate", "alism": "al", "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al",
    "iviti": "ive", "biliti": "ble", "fulli": "ful",
}  # fmt: skip
_STEP_3 = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_STEP_4 = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism",
    "ate", "iti", "ous", "ive", "ize",
)  # fmt: skip


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """The stem of a lower-case word; words of other scripts and of two letters are their own."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 2:
        return word
    for step in (_plural, _past, _final_y, _double_suffix, _suffix, _ending, _final_e, _final_l):
        word = step(word)
    return word


def _plural(word: str) -> str:
    """Step 1a: caresses, ponies, cats."""
    if len(word) == 4 and word.endswith("ies"):
        return word[:-1]
    return _replaced(word, _PLURALS, lambda _: True)


def _past(word: str) -> str:
    """Step 1b: agreed, plastered, motoring."""
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) else word
    for suffix in ("ed", "ing"):
        base = word.removesuffix(suffix)
        if base != word and "v" in _shape(base):
            return _mended(base)
    return word


def _mended(base: str) -> str:
    """What is left of a past form, as a word: conflat(e), hop(p), fil(e)."""
    if base.endswith(("at", "bl", "iz")):
        return base + "e"
    if len(base) > 1 and base[-1] == base[-2] and _shape(base)[-1] == "c":
        return base if base[-1] in "lsz" else base[:-1]
    return base + "e" if _measure(base) == 1 and _is_short(base) else base


def _final_y(word: str) -> str:
    """Step 1c: happy, but not enjoy."""
    consonant = word.endswith("y") and len(word) > 2 and _shape(word[:-1])[-1] == "c"
    return word[:-1] + "i" if consonant else word


def _double_suffix(word: str) -> str:
    """Step 2: relational, hopefulness."""
    if word.endswith("alli") and _measure(word[:-4]):
        return _double_suffix(word[:-2])
    if word.endswith("logi"):
        return word[:-1] if _measure(word[:-3]) else word
    return _replaced(word, _STEP_2, lambda base: _measure(base) > 0)


def _suffix(word: str) -> str:
    """Step 3: electrical, goodness."""
    return _replaced(word, _STEP_3, lambda base: _measure(base) > 0)


def _ending(word: str) -> str:
    """Step 4: allowance, adoption."""
    for suffix in _STEP_4:
        if word.endswith(suffix):
            base = word[: -len(suffix)]
            return base if _measure(base) > 1 and (suffix != "ion" or base[-1] in "st") else word
    return word


def _final_e(word: str) -> str:
    """Step 5a: probate, cease, but not rate."""
    base = word.removesuffix("e")
    measure = _measure(base) if base != word else 0
    return base if measure > 1 or (measure == 1 and not _is_short(base)) else word


def _final_l(word: str) -> str:
    """Step 5b: controll."""
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word


def _replaced(word: str, rules: dict[str, str], allowed: Callable[[str], bool]) -> str:
    """The word by the first rule whose suffix it has; unchanged where what is left is too short."""
    for suffix, replacement in rules.items():
        if word.endswith(suffix):
            base = word[: -len(suffix)]
            return base + replacement if allowed(base) else word
    return word


def _measure(base: str) -> int:
    """How often a vowel is followed by a consonant: the m of the paper."""
    return _shape(base).count("vc")


def _is_short(base: str) -> bool:
    """Whether it ends consonant, vowel, consonant other than w, x, y: *o of the paper; or is just `vc`."""
    shape = _shape(base)
    return (shape.endswith("cvc") and base[-1] not in "wxy") or shape == "vc"


def _shape(base: str) -> str:
    """The word as v and c; y after a consonant is a vowel."""
    shape = ""
    for letter in base:
        vowel = letter in "aeiou" or (letter == "y" and shape[-1:] == "c")
        shape += "v" if vowel else "c"
    return shape
