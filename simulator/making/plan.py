"""What is to be made: of which articles, of which kinds, in which wordings; the same for the same seed."""

import hashlib
import random
import re
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from simulator.core.templates import read_toml, stable_int
from simulator.core.types import Language
from simulator.making.articles import Article
from simulator.making.index import Index
from simulator.making.kinds import PAIRED, Kind, Wording, quotas
from simulator.text.numerals import quantities

OUTSIDE = Path(__file__).with_name("outside.toml")
_LONGEST_NAME = 36
USUAL_SEED = 42
# What can be asked with a few words in a search box.
_IN_KEYWORDS: frozenset[Kind] = frozenset({"simple", "number", "procedure", "neighbour", "competitor"})


class Task(NamedTuple):
    """One question to be made; `name` is an invented company, `sentence` what to ask about this time."""

    id: str
    kind: Kind
    wording: Wording
    language: Language
    articles: tuple[Article, ...] = ()
    name: str = ""
    sentence: str = ""


class Plan:
    """Tasks in their order; each call goes on where the last one stopped."""

    def __init__(
        self, articles: Sequence[Article], index: Index, wordings: Sequence[Wording], seed: int
    ) -> None:
        """`seed` decides which articles come first."""
        self.index, self.wordings, self.seed = index, wordings, seed
        self._articles = tuple(articles)
        self._waiting: dict[Kind, deque[tuple[Article, ...]]] = {}
        self._used: Counter[tuple[str, ...]] = Counter()
        self._made: Counter[str] = Counter()
        self._number = 0

    def take(self, kinds: Sequence[Kind], number: int) -> list[Task]:
        """So many further tasks, of these kinds by their shares; fewer where no pair of articles is there."""
        wanted = quotas(kinds, number)
        return self.take_each({kind: wanted[kind] for kind in kinds})

    def take_each(self, wanted: Mapping[Kind, int]) -> list[Task]:
        """So many further tasks of each kind, the kinds in turn."""
        rows = [[self._task(kind) for _ in range(count)] for kind, count in wanted.items()]
        longest = max(map(len, rows), default=0)
        mixed = (row[at] for at in range(longest) for row in rows if at < len(row))
        return [task for task in mixed if task is not None]

    def _task(self, kind: Kind) -> Task | None:
        if kind not in self._waiting:
            self._waiting[kind] = deque(self._material(kind))
        if not self._waiting[kind]:
            return None
        articles = self._waiting[kind][0]
        self._waiting[kind].rotate(-1)
        key = (kind, *(article.id for article in articles))
        before, self._used[key] = self._used[key], self._used[key] + 1
        self._number += 1
        language = articles[0].language
        return Task(
            id=self.name(articles, kind),
            kind=kind,
            wording=fitting(kind, self.wordings, self._number - 1),
            language=language,
            articles=articles,
            name=company(language, self._number + self.seed),
            sentence=_sentence(articles, before),
        )

    def name(self, articles: Sequence[Article], kind: Kind) -> str:
        """An id that is the same whenever the same is made of the same articles."""
        stem = "-".join([*(readable(article.id) for article in articles[:1]), kind])
        self._made[stem] += 1
        # Of another seed it is another question, and people keep both.
        drawn = "" if self.seed == USUAL_SEED else f"-s{self.seed}"
        return f"{stem}-{self._made[stem]}{drawn}"

    def _material(self, kind: Kind) -> list[tuple[Article, ...]]:
        draw = random.Random(stable_int(self.seed, kind))  # noqa: S311 - an order, no secret
        if kind in PAIRED:
            near = self.index.pairs()
            first, rest = near[: max(20, len(near) // 3)], near[max(20, len(near) // 3) :]
            return [*draw.sample(first, len(first)), *rest]
        fitting = [article for article in self._articles if _fits(article, kind)] or list(self._articles)
        return [(article,) for article in draw.sample(fitting, len(fitting))]


def fitting(kind: Kind, wordings: Sequence[Wording], number: int) -> Wording:
    """The wordings in turn, without keywords for what takes sentences to say."""
    fit = [each for each in wordings if each != "keywords" or kind in _IN_KEYWORDS] or list[Wording](
        ["plain"]
    )
    return fit[number % len(fit)]


def readable(id_: str) -> str:
    """An article's id as a part of a case's: without signs that stand between parts elsewhere."""
    plain = re.sub(r"[^\w.]+", "-", id_).strip("-.")
    if len(plain) <= _LONGEST_NAME:
        return plain or "article"
    end = re.sub(r"^[^-_.]*[-_.]+", "", plain[-_LONGEST_NAME:]) or plain[-_LONGEST_NAME:]
    return f"{end}-{hashlib.sha256(id_.encode()).hexdigest()[:4]}"


def company(language: Language, number: int) -> str:
    """The name of a company that does not exist."""
    pairs: list[list[str]] = outside()["names"]
    return pairs[number % len(pairs)][language == "en"]


@cache
def outside() -> dict[str, Any]:
    """The questions that no article answers."""
    return read_toml(OUTSIDE)


def _fits(article: Article, kind: Kind) -> bool:
    if kind == "number":
        return any(quantity.unit for quantity in quantities(article.text))
    return bool(article.steps) if kind == "procedure" else True


def _sentence(articles: Sequence[Article], before: int) -> str:
    """From the second time on an article is asked about another of its sentences."""
    told = list(chain.from_iterable(article.statements for article in articles))
    return told[before % len(told)] if before and told and len(articles) == 1 else ""
