"""Which articles speak of the same things: an inverted index of what carries content, weighed by rarity."""

import math
from collections import defaultdict
from collections.abc import Sequence

from simulator.making.articles import Article
from simulator.text.evidence import topic_units
from simulator.text.segments import normalise

# A term in more articles than this says little of any two of them, and would make the work quadratic.
MOST_SHARED = 40
# How many neighbours of each article are offered as pairs.
NEIGHBOURS = 3


class Index:
    """Terms (pairs of characters, stems of words) to articles, and back."""

    def __init__(self, articles: Sequence[Article]) -> None:
        """Reads every article once."""
        self.articles = tuple(articles)
        self._terms = [frozenset(topic_units(f"{a.title}\n{a.text}")) for a in self.articles]
        self._postings: dict[str, list[int]] = defaultdict(list)
        for number, terms in enumerate(self._terms):
            for term in terms:
                self._postings[term].append(number)
        self._texts = [normalise(article.text) for article in self.articles]

    def nearest(self, text: str, most: int) -> list[Article]:
        """The articles that share the rarest terms with a text, the nearest first; none without any."""
        scores: defaultdict[int, float] = defaultdict(float)
        for term in topic_units(text):
            weight = self._rarity(term)
            for number in self._postings.get(term, ()):
                scores[number] += weight
        best = sorted(scores, key=lambda number: (-scores[number], number))[:most]
        return [self.articles[number] for number in best if scores[number] > 0]

    def pairs(self) -> list[tuple[Article, Article]]:
        """Pairs of articles in one language that share rare terms, the nearest pairs first."""
        found: dict[tuple[int, int], float] = {}
        for number in range(len(self.articles)):
            for other, score in self._neighbours(number):
                pair = (min(number, other), max(number, other))
                found[pair] = max(score, found.get(pair, 0.0))
        ranked = sorted(found, key=lambda pair: (-found[pair], pair))
        return [(self.articles[one], self.articles[other]) for one, other in ranked]

    def holds(self, word: str) -> bool:
        """Whether any article has this word in its text."""
        wanted = normalise(word)
        return any(wanted in text for text in self._texts)

    def _rarity(self, term: str) -> float:
        shared = len(self._postings.get(term, ()))
        return math.log(1 + len(self.articles) / shared) - math.log(2) if shared else 0.0

    def _neighbours(self, number: int) -> list[tuple[int, float]]:
        scores: defaultdict[int, float] = defaultdict(float)
        for term in self._terms[number]:
            shared = self._postings[term]
            if 1 < len(shared) <= MOST_SHARED:
                weight = self._rarity(term)
                for other in shared:
                    scores[other] += weight
        own = self.articles[number]
        near = [
            (other, score / math.sqrt(len(self._terms[number]) * len(self._terms[other])))
            for other, score in scores.items()
            if other != number and self.articles[other].language == own.language
            and self.articles[other].text != own.text
        ]  # fmt: skip
        return sorted(near, key=lambda pair: (-pair[1], pair[0]))[:NEIGHBOURS]
