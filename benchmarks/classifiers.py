"""Classifiers without a model, as bots: what a prompt and a model have to beat.

`TRAINED_ON` holds the rows they learn from; each answers with a label alone.
"""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from math import log
from typing import NamedTuple

SIZES = (1, 2, 3)


class Example(NamedTuple):
    """A text and its label."""

    text: str
    label: str


TRAINED_ON: list[Example] = []


def learn(examples: Sequence[Example]) -> None:
    """From now on the bots know these examples and no others."""
    TRAINED_ON[:] = examples
    for made in (_counts, _grams_of_examples):
        made.cache_clear()


def majority(text: str) -> str:
    """The most frequent label, whatever the text."""
    return Counter(each.label for each in TRAINED_ON).most_common(1)[0][0]


def neighbour(text: str) -> str:
    """The label of the example that shares most character n-grams with the text (Jaccard)."""
    own = grams(text)
    examples = _grams_of_examples()
    best = max(range(len(examples)), key=lambda at: len(own & examples[at]) / len(own | examples[at]))
    return TRAINED_ON[best].label


def bayes(text: str) -> str:
    """Naive Bayes over character n-grams, with add-one smoothing (Manning et al., 2008, chapter 13)."""
    counts, frequent = _counts()
    words = len(set().union(*counts.values()))

    def score(label: str) -> float:
        seen = counts[label]
        total = seen.total() + words
        return log(frequent[label]) + sum(log((seen[gram] + 1) / total) for gram in grams(text))

    return max(sorted(counts), key=score)


def grams(text: str) -> frozenset[str]:
    """The runs of one to three characters."""
    return frozenset(text[at : at + n] for n in SIZES for at in range(len(text) - n + 1))


@lru_cache(maxsize=1)
def _grams_of_examples() -> list[frozenset[str]]:
    return [grams(each.text) for each in TRAINED_ON]


@lru_cache(maxsize=1)
def _counts() -> tuple[dict[str, Counter[str]], Counter[str]]:
    counts: dict[str, Counter[str]] = {}
    for each in TRAINED_ON:
        counts.setdefault(each.label, Counter()).update(grams(each.text))
    return counts, Counter(each.label for each in TRAINED_ON)
