"""The bot's articles, as causes and fixes need them: by id, by title, and those nearest to a question.

A piece of an article has a number: `ja/01-plans#2` is of `ja/01-plans`.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property, lru_cache
from itertools import islice, pairwise
from math import log
from typing import NamedTuple

from simulator.core.document import excerpt
from simulator.core.errors import near_names
from simulator.core.types import Passage
from simulator.text.segments import normalise, tokens

Articles = tuple[Passage, ...]
# A reference of fewer characters stands in many articles.
TELLING = 6
# How like an id has to be to an article's to be a misspelt one; of very many unknown ids, which are of
# another kind than the articles', so many are looked at.
_LIKENESS, _MOST_UNKNOWN = 0.8, 50
_PART = re.compile(r"#\d+\Z")


# A heading of Markdown, "## Fees" or "# Fees #", but not "#fees", which is a tag.
_HEADING = re.compile(r"\s*#{1,6}\s+(\S.*)")
_TITLE, _LONGEST_TITLE = 40, 60  # a longer first line is a sentence rather than a title


def heading_of(text: str) -> str:
    """The heading at the start of a text, or its first line if that is short and more follows; else "".

    A line that stands alone is the text itself, not its title.
    """
    first, _, rest = text.lstrip().partition("\n")
    if heading := _HEADING.match(first):
        return excerpt(heading[1].rstrip("# "), _TITLE)
    return excerpt(first, _TITLE) if rest.strip() and len(first) <= _LONGEST_TITLE else ""


def article_of(passage: str) -> str:
    """The article that a passage is a piece of; an id without a number is an article of one piece."""
    return _PART.sub("", passage)


def is_of(passage: Passage, article: str) -> bool:
    """Whether a retrieved passage is an article or a piece of it, by its id or its source."""
    return article in names_of(passage.id, passage.source or "")


@lru_cache(maxsize=4096)
def names_of(id_: str, source: str) -> tuple[str, ...]:
    """What the article of a retrieved passage may be called, by the passage's id and source; each once.

    "docs/fees.md" is a piece of `docs/fees`, and so is `docs/fees#2`; of `faq.csv#12` only that row is.
    """
    head, dot, tail = source.rpartition(".")
    names = (id_, article_of(id_), source, head if dot and "/" not in tail else source)
    return tuple(dict.fromkeys(filter(None, names)))


class UnknownArticle(NamedTuple):
    """An id that questions name and no article has; `near` are ids of articles that are like it."""

    cases: tuple[str, ...]
    near: tuple[str, ...]


def unknown_articles(
    needed: Iterable[tuple[str, Sequence[str]]], articles: Collection[str], came: Collection[str] = ()
) -> dict[str, UnknownArticle]:
    """The ids that questions name and nothing has, by id.

    `needed` are pairs of a question's id and what it names; `came` is what retrieved passages are called.
    Nothing where the articles are not known.
    """
    cases: dict[str, dict[str, None]] = {}
    for case, names in needed if articles else ():
        for name in names:
            if name not in came and not any(known in articles for known in names_of(name, name)):
                cases.setdefault(name, {})[case] = None
    near = {name: near_names(name, articles, _LIKENESS) for name in islice(cases, _MOST_UNKNOWN)}
    return {name: UnknownArticle(tuple(of), near.get(name, ())) for name, of in cases.items()}


def misnamed_articles(
    needed: Iterable[tuple[str, Sequence[str]]], articles: Collection[str], came: Collection[str] = ()
) -> dict[str, UnknownArticle]:
    """The same where ids are of the articles' kind: some are those of articles, or are like them."""
    pairs = list(needed)
    unknown = unknown_articles(pairs, articles, came)
    are_of_kind = any(name not in unknown for _case, names in pairs for name in names)
    return unknown if are_of_kind or any(article.near for article in unknown.values()) else {}


class Shelf:
    """The articles of a bot that can be looked through; without any, they are not known."""

    def __init__(self, articles: Iterable[Passage]) -> None:
        """Builds no index before the first search."""
        self.passages = tuple(articles)
        self.ids = {id_ for passage in self.passages for id_ in (passage.id, article_of(passage.id))}

    def __bool__(self) -> bool:
        """Whether the bot's articles are known."""
        return bool(self.passages)

    @cached_property
    def articles(self) -> set[str]:
        """The ids of the articles as wholes."""
        return {self.article(passage.id) for passage in self.passages}

    def article(self, passage: str) -> str:
        """The article of one of these passages: a row of a table, `faq#2`, is one by itself."""
        whole = article_of(passage)
        return whole if whole in self._wholes else passage

    def title(self, article: str, retrieved: Iterable[Passage] = ()) -> str:
        """What an article is called here, or among these passages; empty where neither says."""
        texts = (passage.text for passage in retrieved if is_of(passage, article))
        return self._titles.get(article) or next(filter(None, map(heading_of, texts)), "")

    def holding(self, references: Iterable[str]) -> str:
        """The id of the piece that has one of these texts word for word; empty where none has."""
        for reference in references:
            wanted = _plain(reference)
            if len(wanted) >= TELLING:
                for id_, text in self._plain_texts:
                    if wanted in text:
                        return id_
        return ""

    def nearest(
        self, texts: Iterable[str], needed: Collection[str], came: Iterable[Passage], most: int
    ) -> Articles:
        """At most so many pieces that were not retrieved: the needed articles', then by words in common.

        A plain search, which only chooses what a model is shown.
        """
        seen = {passage.text for passage in came}
        first = [passage for passage in self.passages if any(is_of(passage, article) for article in needed)]
        ranked = (passage for text in texts for passage in self._ranked(text, most + len(seen)))
        left = (passage for passage in (*first, *ranked) if passage.text not in seen)
        return tuple({passage.id: passage for passage in left}.values())[:most]

    def _ranked(self, text: str, most: int) -> Sequence[Passage]:
        scores: Counter[int] = Counter()
        for unit in _units(text):
            places = self._postings.get(unit, ())
            for place in places:
                # Rare units weigh more, and long articles have more of them.
                scores[place] += log(1 + len(self.passages) / len(places)) / self._lengths[place]  # type: ignore[assignment]
        return [self.passages[place] for place, _score in scores.most_common(most)]

    @cached_property
    def _titles(self) -> dict[str, str]:
        titles: dict[str, str] = {}
        for passage in self.passages:
            if heading := heading_of(passage.text):
                for name in names_of(passage.id, passage.source or ""):
                    titles.setdefault(name, heading)
        return titles

    @cached_property
    def _wholes(self) -> set[str]:
        return {passage.id for passage in self.passages}

    @cached_property
    def _plain_texts(self) -> list[tuple[str, str]]:
        return [(passage.id, _plain(passage.text)) for passage in self.passages]

    @cached_property
    def _postings(self) -> dict[str, list[int]]:
        places: dict[str, list[int]] = {}
        for place, passage in enumerate(self.passages):
            for unit in _units(passage.text):
                places.setdefault(unit, []).append(place)
        return places

    @cached_property
    def _lengths(self) -> list[float]:
        return [max(1.0, len(_units(passage.text))) ** 0.5 for passage in self.passages]


def _plain(text: str) -> str:
    return "".join(normalise(text).split()).rstrip("。.")


def _units(text: str) -> set[str]:
    """Words, and pairs of characters where words are not parted."""
    words = tokens(text)
    return {word for word in words if len(word) > 1} | {
        first + other for first, other in pairwise(words) if len(first) == len(other) == 1
    }
