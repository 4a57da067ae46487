"""METEOR: aligned words, and a penalty for how scattered they are (Lavie and Agarwal, 2007).

There are several METEORs, and their values differ. This is the one that NLTK computes, with
alpha 0.9, beta 3 and gamma 0.5. It is not METEOR 1.5, which knows paraphrases and function words.
Words are paired when they are the same, have the same stem (Porter, 1980, as NLTK has it), or are
synonyms in WordNet where that is installed.
"""

import os
import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

Synonyms = Callable[[str], Collection[str]]
Pair = tuple[int, int]

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
    """Porter's stem of a lower-case word; words of other scripts and of two letters are their own."""
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
            return _restored(base)
    return word


def _restored(base: str) -> str:
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


class PairingStage(NamedTuple):
    """One way to pair words: any of what the answer's word `offers` with what the reference's `takes`."""

    name: str
    offers: Callable[[str], Collection[str]]
    takes: Callable[[str], str]


class Meteor(NamedTuple):
    """The score, and what it is made of; all but the two counts are 0..1."""

    value: float
    precision: float
    recall: float
    mean: float
    penalty: float
    matched: int
    chunks: int


EXACT = PairingStage("exact", lambda word: (word,), str)
STEM = PairingStage("stem", lambda word: (stem(word),), stem)
STAGES = (EXACT, STEM)


def by_synonyms(name: str, synonyms: Synonyms, *, of_stems: bool = False) -> PairingStage:
    """The stage that pairs synonyms. `of_stems`: those of the stems, as NLTK does.

    NLTK looks the stems up, which are often no words: `automobil` has no synonym, so its METEOR does
    not know that an automobile is a car.
    """
    form = stem if of_stems else str
    return PairingStage(name, lambda word: {form(word), *synonyms(form(word))}, form)


def variant(stages: Iterable[PairingStage]) -> str:
    """What a result says of the METEOR it is from: `exact+stem`."""
    return "+".join(stage.name for stage in stages)


def alignment(
    answer: Sequence[str], reference: Sequence[str], stages: Iterable[PairingStage] = STAGES
) -> list[Pair]:
    """Pairs of positions, in the order of the answer; each stage pairs what the ones before left over.

    From the end, each word takes the last free partner: identical texts align one to one. It is not
    always the alignment with the fewest crossings, which the paper asks for and NLTK does not seek.
    """
    pairs: list[Pair] = []
    answer_words, reference_words = dict(enumerate(answer)), dict(enumerate(reference))
    for stage in stages:
        new_pairs = _paired(stage, answer_words, reference_words)
        pairs += new_pairs
        for at, partner in new_pairs:
            del answer_words[at], reference_words[partner]
    return sorted(pairs)


def _paired(stage: PairingStage, answer: dict[int, str], reference: dict[int, str]) -> list[Pair]:
    free: dict[str, list[int]] = defaultdict(list)
    for place, word in reference.items():
        free[stage.takes(word)].append(place)
    pairs = []
    for place, word in reversed(answer.items()):
        partners = [places for form in stage.offers(word) if (places := free.get(form))]
        if partners:
            last = partners[0] if len(partners) == 1 else max(partners, key=lambda places: places[-1])
            pairs.append((place, last.pop()))
    return pairs


def chunks_of(pairs: Iterable[Pair]) -> int:
    """In how few pieces the paired words stand, each piece without a gap in both texts."""
    pieces, expected = 0, (-1, -1)
    for pair in pairs:
        pieces += pair != expected
        expected = pair[0] + 1, pair[1] + 1
    return pieces


def meteor_score(
    answer: Sequence[str],
    reference: Sequence[str],
    stages: Iterable[PairingStage] = STAGES,
    *,
    alpha: float = 0.9,
    beta: float = 3.0,
    gamma: float = 0.5,
) -> Meteor:
    """METEOR, 0..1: PR / (alpha P + (1 - alpha) R), less gamma (chunks / matches)^beta of it.

    n words that are all alike are one chunk, so a perfect match has 1 - gamma / n^beta, which is below 1:
    0.5 for one word, 0.992 for four.
    """
    pairs = alignment(answer, reference, stages)
    if not pairs:
        return Meteor(0.0, 0.0, 0.0, 0.0, 0.0, 0, 0)
    matched, chunks = len(pairs), chunks_of(pairs)
    precision, recall = matched / len(answer), matched / len(reference)
    mean = precision * recall / (alpha * precision + (1 - alpha) * recall)
    penalty = gamma * (chunks / matched) ** beta
    return Meteor((1 - penalty) * mean, precision, recall, mean, penalty, matched, chunks)


_SHARED = ("/usr/share", "/usr/local/share", "/usr/lib", "/usr/local/lib")


@lru_cache(maxsize=1)
def wordnet() -> tuple[str, Synonyms] | None:
    """Name with version, and the synonyms of a word; None where there is no NLTK or no WordNet."""
    if "nltk.corpus" not in sys.modules and not data_at_hand():
        return None
    try:
        corpus: Any = import_module("nltk.corpus").wordnet
        name = f"wordnet-{corpus.get_version()}"
    except (ImportError, LookupError, OSError):  # not installed, without data, or data that it may not read
        return None

    @lru_cache(maxsize=65536)
    def synonyms(word: str) -> Collection[str]:
        lemmas = (lemma.name() for synset in corpus.synsets(word) for lemma in synset.lemmas())
        return frozenset(lemma for lemma in lemmas if "_" not in lemma)

    return name, synonyms


def data_at_hand() -> bool:
    """Whether NLTK would find WordNet: to import it for nothing takes up to two seconds and 200 MB."""
    if sys.platform == "win32":  # where it may be on any drive
        return True
    own = [f"{sys.prefix}/{part}".rstrip("/") for part in ("", "share", "lib")]
    folders = [f"{folder}/nltk_data" for folder in ("~", *own, *_SHARED)]
    folders += filter(None, os.environ.get("NLTK_DATA", "").split(os.pathsep))
    # Not Path.expanduser, which fails where a user has no home.
    homes = [Path(os.path.expanduser(folder)) for folder in folders]  # noqa: PTH111
    return any((home / "corpora" / name).exists() for home in homes for name in ("wordnet", "wordnet.zip"))
