"""METEOR: aligned words, and a penalty for how scattered they are (Lavie and Agarwal, 2007).

There are several METEORs, and their values differ. This is the one that NLTK computes, with
alpha 0.9, beta 3 and gamma 0.5. It is not METEOR 1.5, which knows paraphrases and function words.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

from simulator.metrics.porter import stem

Synonyms = Callable[[str], Collection[str]]
Pair = tuple[int, int]


class Stage(NamedTuple):
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


EXACT = Stage("exact", lambda word: (word,), str)
STEM = Stage("stem", lambda word: (stem(word),), stem)
STAGES = (EXACT, STEM)


def by_synonyms(name: str, synonyms: Synonyms, *, of_stems: bool = False) -> Stage:
    """The stage that pairs synonyms. `of_stems`: those of the stems, as NLTK does.

    NLTK looks the stems up, which are often no words: `automobil` has no synonym, so its METEOR does
    not know that an automobile is a car.
    """
    form = stem if of_stems else str
    return Stage(name, lambda word: {form(word), *synonyms(form(word))}, form)


def variant(stages: Iterable[Stage]) -> str:
    """What a result says of the METEOR it is from: `exact+stem`."""
    return "+".join(stage.name for stage in stages)


def alignment(
    answer: Sequence[str], reference: Sequence[str], stages: Iterable[Stage] = STAGES
) -> list[Pair]:
    """Pairs of positions, in the order of the answer; each stage pairs what the ones before left over.

    From the end, each word takes the last free partner: identical texts align one to one. It is not
    always the alignment with the fewest crossings, which the paper asks for and NLTK does not seek.
    """
    pairs: list[Pair] = []
    ours, theirs = dict(enumerate(answer)), dict(enumerate(reference))
    for stage in stages:
        found = _paired(stage, ours, theirs)
        pairs += found
        for mine, right in found:
            del ours[mine], theirs[right]
    return sorted(pairs)


def _paired(stage: Stage, ours: dict[int, str], theirs: dict[int, str]) -> list[Pair]:
    offers, takes = stage.offers, stage.takes
    free: dict[str, list[int]] = defaultdict(list)
    for place, word in theirs.items():
        free[takes(word)].append(place)
    pairs = []
    for place, word in reversed(ours.items()):
        partners = [places for form in offers(word) if (places := free.get(form))]
        if partners:
            last = partners[0] if len(partners) == 1 else max(partners, key=lambda places: places[-1])
            pairs.append((place, last.pop()))
    return pairs


def chunks_of(pairs: Iterable[Pair]) -> int:
    """In how few pieces the paired words stand, each piece without a gap in both texts."""
    pieces, expected = 0, (-1, -1)
    for mine, right in pairs:
        pieces += (mine, right) != expected
        expected = mine + 1, right + 1
    return pieces


def meteor_score(
    answer: Sequence[str],
    reference: Sequence[str],
    stages: Iterable[Stage] = STAGES,
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
