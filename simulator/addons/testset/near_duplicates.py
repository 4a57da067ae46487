"""Near duplicates among short texts: character trigrams, found through an inverted index."""

import math
import re
from collections import defaultdict

from simulator.text.segments import normalise

# The share (0..1) of common trigrams (Jaccard) from which two questions are the same.
SAME = 0.75
# The same of questions on different passages: those for two similar products differ in a word only.
SAME_ELSEWHERE = 0.9
_MARKS = re.compile(r"[\W_]+")
_DIGITS = re.compile(r"\d+")


class NearDuplicates:
    """Texts so far; each new one is compared only with those that share rare trigrams with it."""

    def __init__(self, same: float = SAME) -> None:
        """`same` is the Jaccard similarity (0..1) from which two texts count as the same."""
        self.same = same
        self._grams: list[frozenset[str]] = []
        self._numbers: list[list[str]] = []
        self._names: list[tuple[str, tuple[str, ...]]] = []
        self._postings: dict[str, list[int]] = defaultdict(list)

    def add(self, text: str, name: str, about: tuple[str, ...] = ()) -> str | None:
        """The name of an earlier text that says the same; None where there is none, and this one is added.

        `about` names the passages; texts about different passages must be more alike. Texts with different
        numbers never say the same: 1 giga is not 10 giga.
        """
        grams, numbers = _trigrams(text), _DIGITS.findall(normalise(text))
        for at in sorted(self._candidates(grams)):
            (known, passages), other = self._names[at], self._grams[at]
            same = self.same if passages == about else max(self.same, SAME_ELSEWHERE)
            if numbers == self._numbers[at] and _jaccard(grams, other) >= same:
                return known
        for gram in grams:
            self._postings[gram].append(len(self._grams))
        self._grams.append(grams)
        self._numbers.append(numbers)
        self._names.append((name, about))
        return None

    def _candidates(self, grams: frozenset[str]) -> set[int]:
        """Two texts that are the same share one of any (1 - same) n + 1 trigrams: the rarest do."""
        count = len(grams) - math.ceil(self.same * len(grams)) + 1
        rarest = sorted(grams, key=lambda gram: (len(self._postings.get(gram, ())), gram))[:count]
        return {at for gram in rarest for at in self._postings.get(gram, ())}


def _trigrams(text: str) -> frozenset[str]:
    plain = f" {_MARKS.sub('', normalise(text))} "
    return frozenset(plain[at : at + 3] for at in range(max(1, len(plain) - 2)))


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other)
