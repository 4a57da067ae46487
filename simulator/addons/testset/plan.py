"""Which questions are made: of which articles and kinds, in which wordings; the same for the same seed."""

import hashlib
import math
import random
import re
from collections import Counter, defaultdict, deque
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from simulator.core.errors import InputError, UnknownName, gone
from simulator.core.messages import _
from simulator.core.templates import read_toml, stable_int
from simulator.core.types import Language, Passage
from simulator.data.files import language_of
from simulator.data.knowledge import read_knowledge
from simulator.text.evidence import topic_units
from simulator.text.numerals import quantities
from simulator.text.segments import normalise, sentences

Kind = Literal[
    "simple", "number", "procedure", "two-passages", "comparison", "follow-up", "complaint",
    "false-fact", "neighbour", "competitor", "private", "small-talk",
]  # fmt: skip
Wording = Literal["plain", "keigo", "casual", "keywords"]
KINDS: tuple[Kind, ...] = get_args(Kind)
WORDINGS: tuple[Wording, ...] = get_args(Wording)
OUT_OF_SCOPE: frozenset[Kind] = frozenset({"false-fact", "neighbour", "competitor", "private", "small-talk"})
PAIRED: frozenset[Kind] = frozenset({"two-passages", "comparison"})
# What a rule can make without a model.
BY_RULE: frozenset[Kind] = frozenset(
    {"simple", "number", "procedure", "neighbour", "competitor", "private", "small-talk"}
)
# How many of twenty questions are of each kind, unless kinds are named.
SHARES: dict[Kind, int] = {
    "simple": 4, "number": 2, "procedure": 2, "two-passages": 2, "comparison": 1, "follow-up": 2,
    "complaint": 1, "false-fact": 2, "neighbour": 1, "competitor": 1, "private": 1, "small-talk": 1,
}  # fmt: skip
# The tag of every made question, by which people find them.
MADE = "made"
# What can be asked with a few words in a search box.
_IN_KEYWORDS: frozenset[Kind] = frozenset({"simple", "number", "procedure", "neighbour", "competitor"})
# Shorter texts hold no fact to ask about: a heading, a link. In characters.
SHORTEST = {"ja": 25, "en": 60}
# So many characters of an article are shown to a model, and looked at by rules.
LONGEST = 6000
# A term in more articles than this says little of any two of them, and would make the work quadratic.
MOST_SHARED = 40
# So many neighbours of each article are offered as pairs.
NEIGHBOURS = 3
USUAL_SEED = 42
OUTSIDE = Path(__file__).with_name("outside.toml")
_LONGEST_NAME = 36
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+(.+?)\s*#*\s*$", re.MULTILINE)
_STEP = re.compile(
    r"^\s{0,4}(?:[(（]?(\d{1,2})[.)）．、]|([①-⑳])|手順\s?(\d{1,2})[:：]?)\s*(.+)$", re.MULTILINE
)
_ITEM = re.compile(r"^\s{0,4}[-*・•●]\s*(.+)$", re.MULTILINE)
# A path or an address tells where a text comes from; it is no title.
_PLACE = re.compile(r"://|[/\\]|\.[A-Za-z0-9]{1,5}(?:#.*)?$")
_MARKUP = re.compile(r"<[^>]{0,200}>|\*\*|__|`|\[[^\]]{0,80}\]\([^)]{0,200}\)")
_LABEL = re.compile(r"^\s*(?:Internal|FAQ|Q|社内|【[^】]{0,12}】)\s*[:：]?\s+|^【[^】]{0,12}】")


def chosen_kinds(options: Sequence[str], *, by_rule: bool) -> tuple[Kind, ...]:
    """The kinds of questions to make, from options like `simple,number`; without any, all possible ones.

    Raises UnknownName, and InputError for a kind that only a model can make.
    """
    names = [name.strip() for item in options for name in item.split(",") if name.strip()]
    for name in names:
        if name not in KINDS:
            raise UnknownName(_("kind of question"), name, KINDS)
    kinds = tuple(kind for kind in KINDS if not names or kind in names)
    if not by_rule:
        return kinds
    if names and (beyond := [kind for kind in kinds if kind not in BY_RULE]):
        msg = _(
            "--kinds {kinds}: only a model can make these; without one: {others}.",
            kinds=beyond[0],
            others=", ".join(sorted(BY_RULE)),
        )
        raise InputError(msg)
    return tuple(kind for kind in kinds if kind in BY_RULE)


def chosen_wordings(options: Sequence[str]) -> tuple[Wording, ...]:
    """The wordings that questions take in turn, from options like `plain,keigo`; without any, all."""
    names = [name.strip() for item in options for name in item.split(",") if name.strip()]
    for name in names:
        if name == "typed":
            raise InputError(gone("--wordings typed", "typos"))
        if name not in WORDINGS:
            raise UnknownName(_("wording"), name, WORDINGS)
    return tuple(wording for wording in WORDINGS if not names or wording in names)


def quotas(kinds: Sequence[Kind], number: int) -> dict[Kind, int]:
    """How many questions of each kind make up `number`: by their shares, the largest remainders first."""
    whole = sum(SHARES[kind] for kind in kinds)
    exact = {kind: number * SHARES[kind] / whole for kind in kinds}
    counts = {kind: int(share) for kind, share in exact.items()}
    by_remainder = sorted(kinds, key=lambda kind: (counts[kind] - exact[kind], KINDS.index(kind)))
    for kind in by_remainder[: number - sum(counts.values())]:
        counts[kind] += 1
    return counts


def fitting(kind: Kind, wordings: Sequence[Wording], number: int) -> Wording:
    """The wording of the question of this number: in turn, keywords only for kinds that need no sentence."""
    fit = [wording for wording in wordings if wording != "keywords" or kind in _IN_KEYWORDS]
    return fit[number % len(fit)] if fit else "plain"


def tags(kind: Kind, wording: Wording, *more: str) -> tuple[str, ...]:
    """The tags of a made question."""
    return (MADE, kind, wording, *more)


class Article:
    """One passage of the knowledge base, as questions are made of it."""

    def __init__(self, passage: Passage) -> None:
        """Its parts are found when they are asked for."""
        self.id, self.text = passage.id, passage.text[:LONGEST]
        self.language: Language = language_of(passage.text)
        self._source = passage.source or ""

    @cached_property
    def title(self) -> str:
        """Its heading, or the name that its row has; empty where there is neither."""
        match = _HEADING.search(self.text)
        heading = match[1] if match and not self.text[: match.start()].strip() else ""
        source = "" if _PLACE.search(self._source) else self._source
        if self._source and source and heading:
            heading = source  # the row has a name; its first heading is one of many
        return _LABEL.sub("", _plain(heading or source))

    @cached_property
    def steps(self) -> tuple[str, ...]:
        """The items of its first list that counts 1, 2, 3; empty with fewer than two."""
        steps: list[str] = []
        for match in _STEP.finditer(self.text):
            number = int(match[1] or match[3] or ord(match[2] or "①") - ord("①") + 1)
            if number != len(steps) + 1:
                if len(steps) > 1:
                    break
                steps = []
                if number != 1:
                    continue
            steps.append(_plain(match[4]))
        return tuple(steps) if len(steps) > 1 else ()

    @cached_property
    def items(self) -> tuple[str, ...]:
        """The items of its lists that do not count."""
        return tuple(_plain(match[1]) for match in _ITEM.finditer(self.text))

    @cached_property
    def statements(self) -> tuple[str, ...]:
        """Its whole sentences, items of lists among them; no headings, no steps, no tables."""
        text = "\n".join(line for line in self.text.splitlines() if not _is_apart(line))
        return tuple(_plain(sentence) for sentence in sentences(text) if _is_whole(sentence))


def _plain(text: str) -> str:
    """The text without markup; a link keeps its name."""
    return " ".join(
        _MARKUP.sub(lambda mark: mark[0][1 : mark[0].index("]")] if mark[0][0] == "[" else "", text).split()
    )


def _is_apart(line: str) -> bool:
    """Whether a line is a heading, a step, a row of a table or code."""
    plain = line.strip()
    return plain.startswith(("#", "|", "<", "```", ">")) or bool(_STEP.match(line)) or "\t" in plain


def _is_whole(sentence: str) -> bool:
    return sentence.endswith(("。", ".", "です", "ます")) and len(sentence) < 300


def read_articles(path: str | Path, language: Language | None = None) -> tuple[Article, ...]:
    """The passages of a knowledge base with enough text to ask about, in its order.

    Raises InputError where nothing is left.
    """
    articles = [Article(passage) for passage in read_knowledge(path)]
    in_language = [article for article in articles if language in (None, article.language)]
    long = [a for a in in_language if len(a.text.strip()) >= SHORTEST[a.language]]
    if not long:
        only_other = bool(articles and not in_language)
        why = (
            _("none of its {n} passages is in --language {language}", n=len(articles), language=language)
            if only_other
            else ""
        )
        msg = _(
            "{path}: nothing to ask about in it ({why}).", path=path, why=why or "its passages are too short"
        )
        raise InputError(msg)
    return tuple(long)


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
        scores: dict[tuple[int, int], float] = {}
        for number in range(len(self.articles)):
            for other, score in self._neighbours(number):
                pair = (min(number, other), max(number, other))
                scores[pair] = max(score, scores.get(pair, 0.0))
        ranked = sorted(scores, key=lambda pair: (-scores[pair], pair))
        return [(self.articles[one], self.articles[other]) for one, other in ranked]

    def holds(self, word: str) -> bool:
        """Whether any article has this word in its text."""
        normalised = normalise(word)
        return any(normalised in text for text in self._texts)

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


class Task(NamedTuple):
    """One question to be made; `name` is an invented company, `sentence` what to ask about (may be empty)."""

    id: str
    kind: Kind
    wording: Wording
    language: Language
    articles: tuple[Article, ...] = ()
    name: str = ""
    sentence: str = ""


class Plan:
    """Deals out tasks; each call continues where the last one stopped."""

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
        """So many further tasks, of these kinds by their shares; fewer where there is no pair of articles."""
        return self.take_each(quotas(kinds, number))

    def take_each(self, counts: Mapping[Kind, int]) -> list[Task]:
        """So many further tasks of each kind, the kinds in turn."""
        rows = [[self._task(kind) for _unused in range(count)] for kind, count in counts.items()]
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
        # From the second time on an article is asked about another of its sentences.
        times, self._used[key] = self._used[key], self._used[key] + 1
        statements = list(chain.from_iterable(article.statements for article in articles))
        is_again = times and statements and len(articles) == 1
        self._number += 1
        language = articles[0].language
        return Task(
            id=self.name(articles, kind),
            kind=kind,
            wording=fitting(kind, self.wordings, self._number - 1),
            language=language,
            articles=articles,
            name=company(language, self._number + self.seed),
            sentence=statements[times % len(statements)] if is_again else "",
        )

    def name(self, articles: Sequence[Article], kind: Kind) -> str:
        """An id that is the same whenever the same is made of the same articles."""
        stem = "-".join([*(readable(article.id) for article in articles[:1]), kind])
        self._made[stem] += 1
        # Of another seed it is another question, and people keep both.
        seed = "" if self.seed == USUAL_SEED else f"-s{self.seed}"
        return f"{stem}-{self._made[stem]}{seed}"

    def _material(self, kind: Kind) -> list[tuple[Article, ...]]:
        draw = random.Random(stable_int(self.seed, kind))  # noqa: S311 - an order, no secret
        if kind in PAIRED:
            near = self.index.pairs()
            first, rest = near[: max(20, len(near) // 3)], near[max(20, len(near) // 3) :]
            return [*draw.sample(first, len(first)), *rest]
        articles = list(self._articles)
        if kind == "number":
            articles = [a for a in articles if any(q.unit for q in quantities(a.text))] or articles
        elif kind == "procedure":
            articles = [a for a in articles if a.steps] or articles
        return [(article,) for article in draw.sample(articles, len(articles))]


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
    """outside.toml: the questions that no article answers, and invented companies."""
    return read_toml(OUTSIDE)
