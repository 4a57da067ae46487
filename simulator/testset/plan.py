"""Which questions are made: of which articles and kinds, in which wordings; the same for the same seed.

Kinds come by fixed shares (`SHARES`, of twenty): seven simple ones, three about two articles, and so on, and
six that must be refused: a false fact built on an article, a neighbouring topic, small talk.

Articles take turns within each kind, in an order drawn by the seed. From the second time on an article is
asked about another of its sentences, so that a small knowledge base does not give one question forty times.
Pairs of articles are those that share the rarest terms: what customers mix up is near.
"""

import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, cycle, zip_longest
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from simulator.cases.knowledge import read_knowledge
from simulator.core.errors import InputError, UnknownName
from simulator.core.messages import _
from simulator.core.templates import stable_int
from simulator.core.types import Language, Passage
from simulator.results.articles import article_of
from simulator.text.overlap import content
from simulator.text.segments import sentences
from simulator.text.typography import language_of

# The last three are out of scope: the right answer is to decline.
Kind = Literal[
    "simple", "two-passages", "follow-up", "complaint", "false-fact", "neighbour", "small-talk"
]  # fmt: skip
Wording = Literal["plain", "keigo", "casual", "keywords"]
KINDS: tuple[Kind, ...] = get_args(Kind)
WORDINGS: tuple[Wording, ...] = get_args(Wording)
OUT_OF_SCOPE: frozenset[Kind] = frozenset({"false-fact", "neighbour", "small-talk"})
# How many of twenty questions are of each kind, unless kinds are named.
SHARES: dict[Kind, int] = {
    "simple": 7, "two-passages": 3, "follow-up": 2, "complaint": 2, "false-fact": 2, "neighbour": 2,
    "small-talk": 2,
}  # fmt: skip
# The tag of every made question, by which people find them.
MADE = "made"
# What can be asked with a few words in a search box.
_IN_KEYWORDS: frozenset[Kind] = frozenset({"simple", "neighbour"})
# Shorter texts hold no fact to ask about: a heading, a link. In characters.
SHORTEST = {"ja": 25, "en": 60}
# So many characters of an article are shown to a model.
LONGEST = 6000
# A term in more articles than this says little of any two of them, and would make the work quadratic.
MOST_SHARED = 40
# So many neighbours of each article are offered as pairs.
NEIGHBOURS = 3
USUAL_SEED = 42
_LONGEST_NAME = 36
# Lines that number steps: 1. , (2), ③, 手順4:.
_STEP = re.compile(r"^\s{0,4}(?:[(（]?\d{1,2}[.)）．、]|[①-⑳]|手順\s?\d{1,2}[:：]?)\s*.")
# Tags, emphasis, code, and links, of which the text is kept.
_MARKUP = re.compile(r"<[^>]{0,200}>|\*\*|__|`|\[([^\]]{0,80})\]\([^)]{0,200}\)")


def chosen(options: Sequence[str]) -> tuple[Kind, ...]:
    """The kinds of options like `simple,false-fact`; without any, all. Raises UnknownName."""
    names = [name.strip() for option in options for name in option.split(",") if name.strip()]
    if unknown := [name for name in names if name not in KINDS]:
        raise UnknownName(_("kind of question"), unknown[0], KINDS)
    return tuple(kind for kind in KINDS if not names or kind in names)


def quotas(kinds: Sequence[Kind], number: int) -> dict[Kind, int]:
    """How many questions of each kind make up `number`: by their shares, the largest remainders first.

    The method of Hamilton, as seats are dealt out: the sum is exact, and of equal remainders the kind that
    stands first in `KINDS` gets one.
    """
    whole = sum(SHARES[kind] for kind in kinds)
    exact = {kind: number * SHARES[kind] / whole for kind in kinds}
    counts = {kind: int(share) for kind, share in exact.items()}
    by_remainder = sorted(kinds, key=lambda kind: (counts[kind] - exact[kind], KINDS.index(kind)))
    for kind in by_remainder[: number - sum(counts.values())]:
        counts[kind] += 1
    return counts


class Article:
    """One passage of the knowledge base, as questions are made of it."""

    def __init__(self, passage: Passage) -> None:
        self.id, self.text = passage.id, passage.text[:LONGEST]
        self.language: Language = language_of(passage.text)

    @cached_property
    def statements(self) -> tuple[str, ...]:
        """Its whole sentences without markup, items of lists among them; no headings, steps or tables.

        A sentence that a question is to be about has to say something alone, which a cell or a step does not.
        """
        text = "\n".join(
            line
            for line in self.text.splitlines()
            if not (_STEP.match(line) or line.strip().startswith(("#", "|", "<", "```", ">")))
            and "\t" not in line.strip()
        )
        return tuple(
            " ".join(_MARKUP.sub(r"\1", sentence).split())  # a link keeps its text
            for sentence in sentences(text)
            if sentence.endswith(("。", ".", "です", "ます")) and len(sentence) < 300
        )


def read_articles(path: str | Path, language: Language | None = None) -> tuple[Article, ...]:
    """The passages of a knowledge base with enough text to ask about, in its order.

    Raises InputError where nothing is left.
    """
    articles = [Article(passage) for passage in read_knowledge(path)]
    in_language = [article for article in articles if language in (None, article.language)]
    long = [a for a in in_language if len(a.text.strip()) >= SHORTEST[a.language]]
    if not long:
        why = _("its passages are too short")
        if articles and not in_language:
            why = _(
                "none of its {n} passages is in --language {language}", n=len(articles), language=language
            )
        raise InputError(_("{path}: nothing to ask about in it ({why}).", path=path, why=why))
    return tuple(long)


class Index:
    """Terms (pairs of characters, stems of words) to articles, and back.

    Terms are weighed by how rare they are, log((n + h) / 2h) of n articles with h that hold one, so that a
    term in all of them weighs nothing.
    """

    def __init__(self, articles: Sequence[Article]) -> None:
        self.articles = tuple(articles)
        self._terms = [content(article.text) for article in self.articles]
        self._postings: dict[str, list[int]] = defaultdict(list)
        for number, terms in enumerate(self._terms):
            for term in terms:
                self._postings[term].append(number)

    def nearest(self, text: str, most: int) -> list[Article]:
        """The articles that share the rarest terms with a text, the nearest first; none without any."""
        scores = self._shared(content(text))
        best = sorted(scores, key=lambda number: (-scores[number], number))[:most]
        return [self.articles[number] for number in best if scores[number] > 0]

    def pairs(self) -> list[tuple[Article, Article]]:
        """Pairs of articles in one language that share rare terms, the nearest pairs first."""
        scores: dict[tuple[int, int], float] = {}
        for number, article in enumerate(self.articles):
            # Terms of many articles are left out, or every article would be near every other one.
            rare = [term for term in self._terms[number] if len(self._postings[term]) <= MOST_SHARED]
            near = {
                other: score
                for other, score in self._shared(rare).items()
                if self.articles[other].language == article.language
                and self.articles[other].text != article.text
            }
            for other in sorted(near, key=lambda other: (-near[other], other))[:NEIGHBOURS]:
                scores[min(number, other), max(number, other)] = near[other]
        ranked = sorted(scores, key=lambda pair: (-scores[pair], pair))
        return [(self.articles[first], self.articles[other]) for first, other in ranked]

    def _shared(self, terms: Collection[str]) -> dict[int, float]:
        """By the number of the article, how rare the terms are that it shares."""
        scores: defaultdict[int, float] = defaultdict(float)
        for term in terms:
            if holders := self._postings.get(term):
                rarity = math.log(1 + len(self.articles) / len(holders)) - math.log(2)
                for number in holders:
                    scores[number] += rarity
        return scores


class Task(NamedTuple):
    """One question to be made; `sentence` is what to ask about, which may be empty."""

    id: str
    kind: Kind
    wording: Wording
    language: Language
    articles: tuple[Article, ...]
    sentence: str


class QuestionPlan:
    """Deals out tasks; each call continues where the last one stopped.

    So a second round makes up for rejected questions with other articles, and never repeats a task.
    """

    def __init__(self, index: Index, seed: int, only: Collection[str] | None = None) -> None:
        """`seed` decides which articles come first; of `only` some the shortest, which cost least."""
        self.index, self.seed, self.only = index, seed, only
        # By kind the articles in their turn; the first ones come again when all had one.
        self._turns: dict[Kind, Iterator[tuple[Article, ...]]] = {}
        self._used: Counter[tuple[str, ...]] = Counter()
        self._made: Counter[str] = Counter()
        self._number = 0

    def take(self, counts: Mapping[Kind, int]) -> list[Task]:
        """So many further tasks of each kind, the kinds in turn; fewer where there is no pair of articles."""
        # Row by row of the kinds, so that a set that is cut short has some of each.
        rows = [[self._task(kind) for _unused in range(count)] for kind, count in counts.items()]
        return [task for mixed in zip_longest(*rows) for task in mixed if task is not None]

    def _task(self, kind: Kind) -> Task | None:
        if kind not in self._turns:
            self._turns[kind] = cycle(self._material(kind))
        articles = next(self._turns[kind], None)
        if articles is None:
            return None
        key = (kind, *(article.id for article in articles))
        # From the second time on an article is asked about another of its sentences.
        times, self._used[key] = self._used[key], self._used[key] + 1
        statements = list(chain.from_iterable(article.statements for article in articles))
        is_again = times and statements and len(articles) == 1
        # The wordings take turns; keywords are for kinds that need no sentence.
        fitting = [wording for wording in WORDINGS if wording != "keywords" or kind in _IN_KEYWORDS]
        wording = fitting[self._number % len(fitting)]
        self._number += 1
        return Task(
            id=self._id(articles, kind),
            kind=kind,
            wording=wording,
            language=articles[0].language,
            articles=articles,
            sentence=statements[times % len(statements)] if is_again else "",
        )

    def _id(self, articles: Sequence[Article], kind: Kind) -> str:
        """An id that is the same whenever the same is made of the same articles."""
        stem = f"{readable(articles[0].id)}-{kind}"
        self._made[stem] += 1
        # Of another seed it is another question, and people keep both.
        seed = "" if self.seed == USUAL_SEED else f"-s{self.seed}"
        return f"{stem}-{self._made[stem]}{seed}"

    def _is_asked(self, article: Article) -> bool:
        return self.only is None or bool({article.id, article_of(article.id)} & {*self.only})

    def _material(self, kind: Kind) -> list[tuple[Article, ...]]:
        draw = random.Random(stable_int(self.seed, kind))  # noqa: S311 - an order, no secret
        if kind == "two-passages":
            # The nearest third is drawn from in any order, the rest follows as it is: far pairs make forced
            # questions.
            near = [pair for pair in self.index.pairs() if any(map(self._is_asked, pair))]
            first, rest = near[: max(20, len(near) // 3)], near[max(20, len(near) // 3) :]
            return [*draw.sample(first, len(first)), *rest]
        articles = list(filter(self._is_asked, self.index.articles))
        if self.only is not None:
            return [(article,) for article in sorted(articles, key=lambda article: len(article.text))]
        return [(article,) for article in draw.sample(articles, len(articles))]


def readable(id_: str) -> str:
    """An article's id as a part of a case's: without signs that stand between parts elsewhere.

        ja/01-plans.md -> ja-01-plans.md

    Of a long one the end, which tells articles apart.
    """
    return re.sub(r"[^\w.]+", "-", id_)[-_LONGEST_NAME:].strip("-.") or "article"
