"""Telling texts apart by their characters: multinomial naive Bayes, as offline readers do without a model."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from simulator.text.segments import normalise

SIZES = (1, 2, 3)
# How much a label's own texts count, beside those of all labels.
OWN = 0.5


@lru_cache(maxsize=4096)
def grams(text: str, sizes: tuple[int, ...] = SIZES) -> tuple[str, ...]:
    """The runs of characters of a text, case and spacing aside."""
    plain = f" {' '.join(normalise(text).lower().split())} "
    return tuple(plain[at : at + size] for size in sizes for at in range(len(plain) - size + 1))


class NaiveBayes:
    """Learns which runs of characters each label's texts are made of; every label is as likely as another.

    What a label has never seen is as likely as in all texts together (Jelinek and Mercer, 1980), so that a
    label with few texts is neither preferred nor passed over.
    """

    def __init__(self, texts: Mapping[str, Iterable[str]], sizes: tuple[int, ...] = SIZES) -> None:
        """`texts` by label."""
        self.sizes = sizes
        self._counts = {
            label: Counter(gram for text in found for gram in grams(text, sizes))
            for label, found in texts.items()
        }
        self._totals = {label: counts.total() for label, counts in self._counts.items()}
        self._all = sum(self._counts.values(), Counter[str]())
        self._whole = self._all.total() + len(self._all) + 1

    def scores(self, text: str, without: Sequence[str] = (), own: str = "") -> dict[str, float]:
        """The log-likelihood of a text under each label, per run of characters.

        `without` are texts of the label `own` that are to be forgotten for this once.
        """
        asked = grams(text, self.sizes)
        forgotten = Counter(gram for each in without for gram in grams(each, self.sizes))
        return {
            label: self._likelihood(asked, label, forgotten if label == own else _NOTHING)
            for label in self._counts
        }

    def guess(self, text: str, without: Sequence[str] = (), own: str = "") -> str:
        """The most likely label."""
        scores = self.scores(text, without, own)
        return max(scores, key=scores.__getitem__)

    def _likelihood(self, asked: Sequence[str], label: str, forgotten: Counter[str]) -> float:
        counts, total = self._counts[label], self._totals[label] - forgotten.total()
        own = OWN / total if total > 0 else 0.0
        anyone = (1 - OWN) / self._whole
        found = (
            math.log(own * (counts[gram] - forgotten[gram]) + anyone * (self._all[gram] + 1))
            for gram in asked
        )
        return math.fsum(found) / max(1, len(asked))


_NOTHING: Counter[str] = Counter()
