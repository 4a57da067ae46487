"""Precision, recall and their mean: what the measures that count common tokens have in common."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple


class Overlap(NamedTuple):
    """What of the answer is right, what of the reference is there, and both in one number; all 0..1."""

    precision: float
    recall: float
    f: float
    matched: int = 0


NOTHING = Overlap(0.0, 0.0, 0.0)


def f_measure(precision: float, recall: float, beta: float = 1.0) -> float:
    """(1 + b²)PR / (b²P + R), 0..1: recall counts b times as much as precision (van Rijsbergen, 1979)."""
    weighed = beta**2 * precision + recall
    return (1 + beta**2) * precision * recall / weighed if weighed else 0.0


def overlap(matched: int, answer: int, reference: int, beta: float = 1.0) -> Overlap:
    """The overlap of `matched` tokens with so many in the answer and so many in the reference."""
    if not matched:
        return NOTHING
    # From the counts, so that 6 of 8 are 0.75 and no rounding leads over 1.
    f = min(1.0, (1 + beta**2) * matched / (beta**2 * reference + answer))
    return Overlap(matched / answer, matched / reference, f, matched)


def ngram_overlap(answer: Sequence[str], reference: Sequence[str], n: int = 1) -> Overlap:
    """Common n-grams, each counted as often as both have it: ROUGE-N of Lin (2004); 0 without any.

    With n = 1 this is the token F1 of SQuAD (Rajpurkar et al., 2016).
    """
    ours, theirs = Counter(_ngrams(answer, n)), Counter(_ngrams(reference, n))
    return overlap((ours & theirs).total(), ours.total(), theirs.total())


def _ngrams(tokens: Sequence[str], n: int) -> Iterable[Hashable]:
    return tokens if n == 1 else zip(*(tokens[start:] for start in range(n)), strict=False)
