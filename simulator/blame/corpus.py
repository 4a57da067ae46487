"""The bot's own articles, searched by words: what they hold, and what a question would find."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from math import log
from typing import Literal

from simulator.core.types import Language, Passage
from simulator.text.acts import claims
from simulator.text.evidence import content_units, finding, known_of, mass, share, topic_units
from simulator.text.numerals import quantities, unmatched
from simulator.text.segments import sentences

# Saturation and length of BM25 (Robertson and Zaragoza, 2009), at their usual values.
SATURATION, LENGTH = 1.2, 0.75
# From this share of its content on, what a reference states is held by a text.
HELD = 0.6
# The same, where it is known which article is the right one, and this is another.
ELSEWHERE = 0.85
# From this share of what a reference states on, rare words weighing more, an article is taken to say it;
# below the other one, and with less than that of the question, no article is taken to.
SAID, NOWHERE, ASKED = 0.75, 0.4, 0.5
# Articles that are looked at closely for one text.
CLOSE = 5
TITLE = 30


def article_of(passage: str) -> str:
    """The article that a passage is a piece of: `ja/01-plans#2` is of `ja/01-plans`."""
    return passage.partition("#")[0]


def title_of(text: str) -> str:
    """What an article calls itself: its first line, shortened."""
    first = next((line.strip("# ").strip() for line in text.splitlines() if line.strip("# ")), "")
    return first if len(first) <= TITLE else first[: TITLE - 1] + "…"


Extent = Literal["said", "doubtful", "nowhere"]


class Corpus:
    """A knowledge base that can be searched; its passages are gathered by article."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        """Nothing is counted before the first search."""
        self.passages = tuple(passages)
        self.by_article: dict[str, list[Passage]] = {}
        for passage in passages:
            self.by_article.setdefault(article_of(passage.id), []).append(passage)

        self.ids = frozenset(passage.id for passage in passages)

    def knows(self, articles: Iterable[str]) -> bool:
        """Whether all of these articles are there."""
        return all(article_of(article) in self.by_article for article in articles)

    def shares_ids(self, articles: Iterable[str]) -> bool:
        """Whether these ids are of the same making: from a folder that the knowledge base has, too."""
        folders = {article.rpartition("/")[0] for article in self.by_article}
        return any(article.rpartition("/")[0] in folders for article in map(article_of, articles))

    def texts(self, articles: Iterable[str]) -> tuple[str, ...]:
        """The texts of all passages of these articles."""
        return tuple(p.text for article in articles for p in self.by_article.get(article_of(article), ()))

    def title(self, article: str) -> str:
        """The title of an article, empty when it is not there."""
        return title_of(next(iter(self.texts([article])), ""))

    def ranked(self, text: str, most: int = CLOSE) -> list[Passage]:
        """The passages that have most of the words of a text, best first (BM25)."""
        scores: Counter[int] = Counter()
        for unit in topic_units(text):
            places = self._postings.get(unit, ())
            rarity = log(1 + (len(self.passages) - len(places) + 0.5) / (len(places) + 0.5))
            for place, count in places:
                norm = SATURATION * (1 - LENGTH + LENGTH * self._lengths[place] / self._mean)
                scores[place] += rarity * count * (SATURATION + 1) / (count + norm)  # type: ignore[assignment]
        return [self.passages[place] for place, _ in scores.most_common(most)]

    def finds(self, text: str, articles: Collection[str], most: int) -> bool:
        """Whether the words of a text bring a passage of these articles among the first `most`."""
        wanted = set(map(article_of, articles))
        return any(article_of(passage.id) in wanted for passage in self.ranked(text, most))

    def holding(self, references: Iterable[str], language: Language, least: float = HELD) -> tuple[str, ...]:
        """The articles that hold what one of these references states, the best one of each; often one."""
        found: list[str] = []
        for reference in references:
            near = self.ranked(reference)
            best = max(near, key=lambda p: held(reference, [p.text], language), default=None)
            if best and held(reference, [best.text], language) >= least:
                found.append(article_of(best.id))
        return tuple(dict.fromkeys(found))

    def extent(
        self, references: Sequence[str], question: str, language: Language
    ) -> tuple[Extent, tuple[str, ...]]:
        """Whether any article says what a reference states, by search over all of them, and the nearest one.

        What is only partly there, is there without its amounts, or takes up the question, is doubtful: it may
        be said in other words, or follow from what is there.
        """
        near = (passage for text in (*references, question) for passage in self.ranked(text))
        found = [
            (max((self._said(each, article, language) for each in references), default=0.0), article)
            for article in dict.fromkeys(article_of(passage.id) for passage in near)
        ]
        said, nearest = max(found, default=(0.0, ""))
        asked = max((self._share(question, article) for _, article in found), default=0.0)
        amounts = quantities("\n".join(self.texts([nearest])))
        whole = any(not unmatched(quantities(each), amounts) for each in references)
        told: Extent = "said" if said >= SAID and whole else "doubtful"
        return "nowhere" if said < NOWHERE and asked < ASKED else told, (nearest,) if nearest else ()

    def _said(self, reference: str, article: str, language: Language) -> float:
        stated = claims(reference, language) or sentences(reference)
        weights = [(mass(topic_units(each)), self._share(each, article)) for each in stated]
        whole = sum(weight for weight, _ in weights)
        return sum(weight * found for weight, found in weights) / whole if whole else 0.0

    def _share(self, text: str, article: str) -> float:
        """The share of a text's content, by rarity, in the passage of an article that has most of it."""
        weights = {unit: self._rarity(unit) * count for unit, count in topic_units(text).items()}
        whole = sum(weights.values())
        found = (
            sum(weights[unit] for unit in weights.keys() & content_units(passage.text).keys())
            for passage in self.by_article[article]
        )
        return max(found, default=0.0) / whole if whole else 0.0

    def _rarity(self, unit: str) -> float:
        return log(1 + len(self.passages) / (1 + len(self._postings.get(unit, ()))))

    def bears_out(self, sentence: str) -> bool:
        """Whether one of the articles says this."""
        for passage in self.ranked(sentence):
            found = finding(sentence, known_of((passage.text,)))
            if found.share >= HELD and not found.numbers and not found.contradicted:
                return True
        return False

    @cached_property
    def _postings(self) -> dict[str, list[tuple[int, int]]]:
        """By unit, the passages that have it and how often."""
        found: dict[str, list[tuple[int, int]]] = {}
        for place, passage in enumerate(self.passages):
            for unit, count in content_units(passage.text).items():
                found.setdefault(unit, []).append((place, count))
        return found

    @cached_property
    def _lengths(self) -> list[int]:
        return [content_units(passage.text).total() for passage in self.passages]

    @property
    def _mean(self) -> float:
        return max(1.0, sum(self._lengths) / max(1, len(self._lengths)))


def held(reference: str, texts: Sequence[str], language: Language) -> float:
    """The share (0..1) of what a reference states that these texts hold.

    Each statement has to be in one of them: many texts together have most words of anything. A number
    that is missing halves it.
    """
    stated = claims(reference, language) or sentences(reference)
    weights = [(mass(topic_units(each)), _best(each, texts)) for each in stated]
    whole = sum(weight for weight, _ in weights)
    return sum(weight * found for weight, found in weights) / whole if whole else 0.0


def _best(statement: str, texts: Sequence[str]) -> float:
    """How much of a statement the text holds that has most of it."""
    wanted, numbers = topic_units(statement), quantities(statement)
    return max(
        (
            share(wanted, content_units(text)) * (0.5 if unmatched(numbers, quantities(text)) else 1)
            for text in texts
        ),
        default=0.0,
    )


def holds(references: Iterable[str], texts: Sequence[str], language: Language, least: float = HELD) -> bool:
    """Whether these texts hold one of the references."""
    return bool(texts) and any(held(reference, texts, language) >= least for reference in references)
