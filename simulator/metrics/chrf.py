"""chrF: common character n-grams, which need no word boundaries (Popović, 2015 and 2017)."""

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from simulator.metrics.overlap import NOTHING, Overlap, f_measure

_MARKS = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


def char_ngram_overlap(
    answer: str, reference: str, *, char_order: int = 6, word_order: int = 0, beta: float = 2.0
) -> Overlap:
    """chrF, 0..1: mean precision and recall of character 1..6-grams, recall weighing `beta` times as much.

    White space is left out; upper and lower case differ. Orders that one of the texts is too short for
    are left out. A `word_order` of 2 gives chrF++. A hundredth of what sacrebleu shows.
    """
    precisions, recalls, matched = [], [], 0
    ours, theirs = (_ngrams(text, char_order, word_order) for text in (answer, reference))
    for mine, right in zip(ours, theirs, strict=True):
        if mine and right:
            common = _common(mine, right)
            precisions.append(common / mine.total())
            recalls.append(common / right.total())
            matched += common
    if not matched:
        return NOTHING
    precision, recall = sum(precisions) / len(precisions), sum(recalls) / len(recalls)
    return Overlap(precision, recall, f_measure(precision, recall, beta), matched)


def _common(mine: Counter[str], right: Counter[str]) -> int:
    """How many both have: each once, and those that come again as often as in both."""
    again = (min(count, right[each]) - 1 for each, count in mine.items() if count > 1 and each in right)
    return len(mine.keys() & right.keys()) + sum(again)


@lru_cache(maxsize=64)
def _ngrams(text: str, char_order: int, word_order: int) -> tuple[Counter[str], ...]:
    """The n-grams of each order; a reference is met again with each answer, so they are kept a while."""
    characters, words = "".join(text.split()), list(_words(text)) if word_order else []
    return (
        *(
            Counter(characters[at : at + n] for at in range(len(characters) - n + 1))
            for n in _upto(char_order)
        ),
        *(
            Counter(" ".join(words[at : at + n]) for at in range(len(words) - n + 1))
            for n in _upto(word_order)
        ),
    )


def _upto(order: int) -> range:
    return range(1, order + 1)


def _words(text: str) -> Iterator[str]:
    """The words, with one punctuation mark of theirs cut off: the last, or else the first."""
    for word in text.split():
        if len(word) > 1 and word[-1] in _MARKS:
            yield from (word[:-1], word[-1])
        elif len(word) > 1 and word[0] in _MARKS:
            yield from (word[0], word[1:])
        else:
            yield word
