"""What is to be made: of which articles, of which kinds, in which wordings; the same for the same seed."""

import hashlib
import json
import math
import random
import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import chain
from pathlib import Path
from string import Template
from typing import Annotated, Any, Literal, NamedTuple, get_args

from pydantic import BeforeValidator, Field

from simulator.addons.testset.near import NearDuplicates
from simulator.core.errors import InputError, UnknownName
from simulator.core.replies import Reply
from simulator.core.templates import read_toml, stable_int
from simulator.core.types import Case, Language, Passage, Persona, Value
from simulator.data.files import language_of
from simulator.data.knowledge import read_knowledge
from simulator.text.evidence import topic_units
from simulator.text.numerals import quantities
from simulator.text.segments import normalise, sentences

Kind = Literal[
    "simple", "number", "procedure", "two-passages", "comparison", "follow-up", "complaint",
    "false-fact", "neighbour", "competitor", "private", "small-talk",
]  # fmt: skip
Wording = Literal["plain", "keigo", "casual", "keywords", "typed"]
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
# The tag of every made question: people find them by it.
MADE = "made"
Why = Literal[
    "empty", "long", "language", "document", "copied", "unanswerable", "differs", "one_passage", "alone",
    "no_number", "unsupported", "answered", "no_name", "ambiguous", "duplicate",
]  # fmt: skip
WHYS: tuple[Why, ...] = get_args(Why)


class RejectedQuestion(Value):
    """A question that was made and is not proposed; `detail` says more than the word of `why`."""

    case: Case
    why: Why
    detail: str = ""


class TestSet(NamedTuple):
    """What came of it: cases, what was rejected, and the failures of models by their kind."""

    cases: tuple[Case, ...]
    rejected: tuple[RejectedQuestion, ...] = ()
    failures: tuple[tuple[str, str], ...] = ()


def chosen_kinds(given: Sequence[str], *, by_rule: bool) -> tuple[Kind, ...]:
    """The kinds that are made; without any named, all that there can be.

    Raises UnknownName, and InputError for a kind that only a model can make.
    """
    names = [name.strip() for item in given for name in item.split(",") if name.strip()]
    for name in names:
        if name not in KINDS:
            raise UnknownName("kind of question", name, KINDS)
    wanted = tuple(kind for kind in KINDS if not names or kind in names)
    if not by_rule:
        return wanted
    if names and (beyond := [kind for kind in wanted if kind not in BY_RULE]):
        msg = f"--kinds {beyond[0]}: only a model can make these; without one: {', '.join(sorted(BY_RULE))}."
        raise InputError(msg)
    return tuple(kind for kind in wanted if kind in BY_RULE)


def chosen_wordings(given: Sequence[str]) -> tuple[Wording, ...]:
    """The wordings that questions take in turn; without any named, all of them."""
    names = [name.strip() for item in given for name in item.split(",") if name.strip()]
    for name in names:
        if name not in WORDINGS:
            raise UnknownName("wording", name, WORDINGS)
    return tuple(wording for wording in WORDINGS if not names or wording in names)


def quotas(kinds: Sequence[Kind], number: int) -> dict[Kind, int]:
    """How many questions of each kind make up `number`: by their shares, the largest remainders first."""
    whole = sum(SHARES[kind] for kind in kinds)
    exact = {kind: number * SHARES[kind] / whole for kind in kinds}
    found = {kind: int(share) for kind, share in exact.items()}
    rest = sorted(kinds, key=lambda kind: (found[kind] - exact[kind], KINDS.index(kind)))
    for kind in rest[: number - sum(found.values())]:
        found[kind] += 1
    return found


class Acceptance:
    """Questions one after the other; the first of several that say the same stays."""

    def __init__(self) -> None:
        """Nothing has been proposed yet."""
        self.cases: list[Case] = []
        self.rejected: list[RejectedQuestion] = []
        self.failures: list[tuple[str, str]] = []
        self._near = NearDuplicates()

    def consider(self, case: Case, fault: RejectedQuestion | None = None) -> bool:
        """Whether this question is proposed; `fault` is what is wrong with it already."""
        if fault is None and (other := self._near.add(_said(case), case.id, case.passages)) is not None:
            fault = RejectedQuestion(case=case, why="duplicate", detail=other)
        if fault is not None:
            self.rejected.append(fault)
            return False
        self.cases.append(case)
        return True

    def failed(self, id_: str, kind: str) -> None:
        """A model's failure: nothing was made."""
        self.failures.append((id_, kind))

    def made(self) -> TestSet:
        """What came of all."""
        return TestSet(tuple(self.cases), tuple(self.rejected), tuple(self.failures))


def tags(kind: Kind, wording: Wording, *more: str) -> tuple[str, ...]:
    """What the tags of a made question say."""
    return (MADE, kind, wording, *more)


def _said(case: Case) -> str:
    """A follow-up is another question after another turn."""
    return "\n".join([*(line.content for line in case.history if line.role == "user"), case.question])


# Shorter texts hold no fact to ask about: a heading, a link.
SHORTEST = {"ja": 25, "en": 60}
# What of an article a model is shown, and a rule looks at.
LONGEST = 6000
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+(.+?)\s*#*\s*$", re.MULTILINE)
_STEP = re.compile(
    r"^\s{0,4}(?:[(（]?(\d{1,2})[.)）．、]|([①-⑳])|手順\s?(\d{1,2})[:：]?)\s*(.+)$", re.MULTILINE
)
_ITEM = re.compile(r"^\s{0,4}[-*・•●]\s*(.+)$", re.MULTILINE)
# A path or an address is where a text comes from, and no title of it.
_PLACE = re.compile(r"://|[/\\]|\.[A-Za-z0-9]{1,5}(?:#.*)?$")
_MARKUP = re.compile(r"<[^>]{0,200}>|\*\*|__|`|\[[^\]]{0,80}\]\([^)]{0,200}\)")
_LABEL = re.compile(r"^\s*(?:Internal|FAQ|Q|社内|【[^】]{0,12}】)\s*[:：]?\s+|^【[^】]{0,12}】")


class Article:
    """One passage of the knowledge base, as questions are made of it."""

    def __init__(self, passage: Passage) -> None:
        """Nothing is looked up yet."""
        self.id, self.text = passage.id, passage.text[:LONGEST]
        self.language: Language = language_of(passage.text)
        self._source = passage.source or ""

    @cached_property
    def title(self) -> str:
        """Its heading, or the name that its row has; empty where there is neither."""
        found = _HEADING.search(self.text)
        heading = found[1] if found and not self.text[: found.start()].strip() else ""
        source = "" if _PLACE.search(self._source) else self._source
        if self._source and source and heading:
            heading = source  # the row has a name; its first heading is one of many
        return _LABEL.sub("", _plain(heading or source))

    @cached_property
    def steps(self) -> tuple[str, ...]:
        """The items of its first list that counts 1, 2, 3; empty with fewer than two."""
        found: list[str] = []
        for match in _STEP.finditer(self.text):
            number = int(match[1] or match[3] or ord(match[2] or "①") - ord("①") + 1)
            if number != len(found) + 1:
                if len(found) > 1:
                    break
                found = []
                if number != 1:
                    continue
            found.append(_plain(match[4]))
        return tuple(found) if len(found) > 1 else ()

    @cached_property
    def items(self) -> tuple[str, ...]:
        """The items of its lists that do not count."""
        return tuple(_plain(match[1]) for match in _ITEM.finditer(self.text))

    @cached_property
    def statements(self) -> tuple[str, ...]:
        """Its whole sentences, items of lists among them; no headings, no steps, no tables."""
        kept = [line for line in self.text.splitlines() if not _is_apart(line)]
        return tuple(_plain(each) for each in sentences("\n".join(kept)) if _is_whole(each))


def read_articles(path: str | Path, language: Language | None = None) -> tuple[Article, ...]:
    """What of a knowledge base holds enough text to ask about, in its order.

    Raises InputError where nothing is left.
    """
    read = [Article(passage) for passage in read_knowledge(path)]
    found = [each for each in read if language in (None, each.language)]
    long = [each for each in found if len(each.text.strip()) >= SHORTEST[each.language]]
    if not long:
        why = f"none of its {len(read)} passages is in --language {language}" if read and not found else ""
        msg = f"{path}: nothing to ask about in it ({why or 'its passages are too short'})."
        raise InputError(msg)
    return tuple(long)


def by_id(articles: Sequence[Article]) -> dict[str, Article]:
    """The articles by the ids of their passages."""
    return {article.id: article for article in articles}


def _plain(text: str) -> str:
    return " ".join(_MARKUP.sub(lambda found: _named(found[0]), text).split())


def _named(mark: str) -> str:
    """A link keeps its name."""
    return mark[1 : mark.index("]")] if mark.startswith("[") else ""


def _is_apart(line: str) -> bool:
    """Headings, steps, rows of tables, marks of code."""
    plain = line.strip()
    return plain.startswith(("#", "|", "<", "```", ">")) or bool(_STEP.match(line)) or "\t" in plain


def _is_whole(sentence: str) -> bool:
    return sentence.endswith(("。", ".", "です", "ます")) and len(sentence) < 300


_ANSWERS = {
    "はい": "yes", "true": "yes", "可": "yes", "いいえ": "no", "false": "no", "不可": "no",
    "partial": "partly", "partially": "partly", "一部": "partly",
}  # fmt: skip
_TRUE = frozenset({"true", "yes", "はい", "1"})


def _answer(value: Any) -> Any:
    """`Yes`, `true` and `はい` are yes."""
    said = str(value).strip().casefold() if isinstance(value, (str, bool)) else value
    return _ANSWERS.get(said, said)


def _truth(value: Any) -> Any:
    return value.strip().casefold() in _TRUE if isinstance(value, str) else value


def _texts(value: Any) -> Any:
    """One text where a list is asked for is a list of one; an empty one is none."""
    if isinstance(value, str):
        return [value] if value.strip() else []
    return [] if value is None else value


def _count(value: Any) -> Any:
    return int(value) if isinstance(value, str) and value.strip().isdigit() else value


Texts = Annotated[tuple[str, ...], BeforeValidator(_texts)]
Truth = Annotated[bool, BeforeValidator(_truth)]
Settled = Annotated[Literal["yes", "partly", "no"], BeforeValidator(_answer)]
# The bounds stand within: an endpoint's strict schemas know no others.
Patience = Annotated[Literal[1, 2, 3, 4, 5], BeforeValidator(_count)]


class Draft(Reply):
    """A question with its right answer; the fact it rests on is named first."""

    fact: str
    question: str
    reference: str
    goal: str
    knows: Texts = ()


class FollowUpDraft(Reply):
    """A question that needs the turn before it."""

    fact: str
    earlier_question: str
    earlier_answer: str
    question: str
    reference: str
    goal: str
    knows: Texts = ()


class Check(Reply):
    """Whether the gold passages answer a question, and how, without sight of the right answer."""

    reason: str
    answer: str
    answerable: Settled
    names_document: Truth = False


class Comparison(Reply):
    """Whether two answers to a question say the same."""

    differs: str
    same: Truth


class PairCheck(Check):
    """The same where two passages should be needed."""

    needed: Annotated[int, BeforeValidator(_count)] = 2


class FollowUpCheck(Check):
    """The same where the turn before should be needed."""

    clear_alone: Truth = False


class OutsideCheck(Reply):
    """Whether the knowledge base settles what should be out of its scope."""

    reason: str
    settled: Settled
    names_document: Truth = False


class DialogueSummary(Reply):
    """What a recorded dialogue was about, and how the customer spoke."""

    goal: str
    knows: Texts = ()
    unknown: Texts = ()
    wording: Annotated[Literal["keigo", "plain", "casual", "keywords", "typed"], BeforeValidator(_answer)] = (
        "plain"
    )
    manner: str = ""


class Speaker(Reply):
    """One kind of customer, in both languages; `like` is the shelf's persona that lends its phrases."""

    id: str
    like: str = ""
    patience: Patience = 2
    name_ja: str
    voice_ja: str
    name_en: str
    voice_en: str


class Speakers(Reply):
    """The kinds of customers that were found in recorded dialogues."""

    personas: Annotated[list[Speaker], Field(min_length=1, max_length=6)]


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


NOTE = "# Made from recorded dialogues: how such customers speak. Read it over before it is used."


def save_personas(
    speakers: Sequence[Speaker], folder: Path, shelf: Mapping[str, Persona], usual: str = "calm"
) -> list[Path]:
    """One file for each, never over another; the nearest persona lends its phrases for offline play."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return [_save(each, folder, shelf.get(each.like.strip(), shelf[usual])) for each in speakers]
    except OSError as error:
        msg = f"{folder}: personas cannot be written ({error.strerror})."
        raise InputError(msg) from None


def _save(speaker: Speaker, folder: Path, like: Persona) -> Path:
    stem = re.sub(r"[^a-z0-9]+", "-", speaker.id.lower()).strip("-")[:40] or "customer"
    names = (stem, *(f"{stem}-{number}" for number in range(2, 1000)))
    for name in names:
        path = folder / f"{name}.toml"
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(toml_of(speaker, like))
        except FileExistsError:
            if path.read_text(encoding="utf-8") == toml_of(speaker, like):
                return path
            continue
        return path
    raise FileExistsError(0, "too many personas of that name", str(folder))


def toml_of(speaker: Speaker, like: Persona) -> str:
    """The persona file's text."""
    lines = [NOTE, f"patience = {speaker.patience}"]
    told: tuple[tuple[Language, str, str], ...] = (
        ("ja", speaker.name_ja, speaker.voice_ja),
        ("en", speaker.name_en, speaker.voice_en),
    )
    for language, name, voice in told:
        own = like.speaks(language)
        lines += ["", f"[{language}]", f"name = {_text(name)}", f"voice = {_text(voice)}"]
        lines += [f"knows = {_list(own.knows)}", f"unknown = {_list(own.unknown)}"]
        lines += ["", f"[{language}.phrases]"]
        lines += [f"{situation} = {_list(said)}" for situation, said in own.phrases.items()]
    return "\n".join(lines) + "\n"


def _text(text: str) -> str:
    """A TOML string: JSON's form of it is one, but for DEL."""
    return json.dumps(text.strip() or "-", ensure_ascii=False).replace("\x7f", "\\u007f")


def _list(texts: Sequence[str]) -> str:
    return "[" + ", ".join(map(_text, texts)) + "]"


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


FILE = Path(__file__).with_name("rules.toml")
# Longer questions are no longer asked in one breath; longer headings are sentences or lists.
STATEMENTS_LONGEST = {"ja": 60, "en": 110}
# A longer question says by itself what it is about.
STANDS_ALONE = {"ja": 16, "en": 32}
LONGEST_KEYWORDS = 24
LONGEST_HEADING = {"ja": 28, "en": 70}
_TO_ME = (("you are", "I am"), ("yourself", "myself"), ("yours", "mine"), ("your", "my"), ("you", "I"))
_PERSON = re.compile(r"\b(?:" + "|".join(words for words, _ in _TO_ME) + r")\b", re.IGNORECASE)
# Where the head of a noun phrase ends: voice calls | within Japan.
_HEAD_END = re.compile(
    r" (?:within|for|of|in|on|to|from|per|with|at|by|under|between|when|and how|I|that|which) "
)
_NO_ARTICLE = re.compile(
    r"^(?:the|an?|my|how|what|why|when|where|which|(?!billing|pric|book|shipp|park|bank|rout)[a-z]+ing)\b",
    re.IGNORECASE,
)
_SMALL = frozenset(["the", "a", "an", "all", "any", "no", "how", "what", "why", "when", "where", "which"])
_AS_OBJECT = re.compile(
    r"\b(to|for|with|from|at|by|of|send|give|tell|call|contact|charge|bill|let|helps?) I\b"
)


class StatedQuestion(NamedTuple):
    """A question by rule: its kind, its wording as keywords (may be empty), and what answers it."""

    kind: Kind
    question: str
    keywords: str
    reference: str


def asked_of(article: Article) -> Iterator[StatedQuestion]:
    """Every question that a rule makes of an article: those of sentences first, that of its heading last."""
    rules = _rules(article.language)
    for number, sentence in enumerate(article.statements):
        if (found := _of_sentence(sentence, rules, is_first=not number)) is not None:
            yield found if _says_its_matter(found, article, rules) else in_context(found, article)
    if (heading := _of_heading(article, rules)) is not None:
        yield heading


class _Rules:
    """The compiled rules of one language."""

    def __init__(self, language: Language) -> None:
        table = read_toml(FILE)[language]
        self.language: Language = language
        self.lead_out, self.vague = re.compile(table["lead_out"]), re.compile(table["vague"])
        self.endings: Mapping[str, str] = table["endings"]
        self.from_me: Mapping[str, str] = table["from_me"]
        self.without_context = re.compile(table["without_context"])
        self.context = Template(table["context"])
        last = "|".join(map(re.escape, sorted(self.endings, key=len, reverse=True))) or "(?!)"
        self.names = {name: table[name] for name in ("x", "money", "sum", "be") if name in table} | {
            "last": last
        }
        self.sentences = [self._compiled(rule) for rule in table["rules"]]
        self.steps = [self._compiled(rule) for rule in table["steps"]]
        self.headings = [self._compiled(rule) for rule in table["headings"]]

    def _compiled(self, rule: Mapping[str, Any]) -> dict[str, Any]:
        pattern = rule["pattern"]
        for name, inside in self.names.items():
            pattern = pattern.replace("{" + name + "}", inside)
        checks = {name: re.compile(rule[name]) for name in ("unless", "only", "without") if name in rule}
        return {**rule, "pattern": re.compile(pattern), **checks}


@cache
def _rules(language: Language) -> _Rules:
    return _Rules(language)


def _of_sentence(sentence: str, rules: _Rules, *, is_first: bool) -> StatedQuestion | None:
    if rules.lead_out.search(sentence):
        return None
    for rule in rules.sentences:
        match = rule["pattern"].fullmatch(sentence)
        if match and (is_first or "first" not in rule) and _holds(rule, match, sentence, rules):
            question, keywords = _filled(rule, match, rules)
            if len(question) <= STATEMENTS_LONGEST[rules.language]:
                return StatedQuestion(rule["kind"], question, keywords, sentence)
    return None


def _holds(rule: Mapping[str, Any], match: re.Match[str], sentence: str, rules: _Rules) -> bool:
    """Whether what the sentence speaks of can stand in a question by itself."""
    named = match.groupdict()
    topic = named.get("x") or named.get("v") or ""
    if named.get("x") and rules.vague.search(topic):
        return False
    if "unless" in rule and rule["unless"].search(topic):
        return False
    if "without" in rule and rule["without"].search(named.get("rest") or named.get("v") or ""):
        return False
    return "only" not in rule or bool(rule["only"].search(sentence))


def in_context(asked: StatedQuestion, article: Article) -> StatedQuestion:
    """With the article's title before it, where that can stand in a sentence."""
    title, rules = _name(article), _rules(article.language)
    if not title or rules.without_context.search(title):
        return asked
    named = {"title": title} if rules.language == "ja" else _english({"x": title})
    before = rules.context.substitute(named | {"title": named.get("x", title)})
    return asked if asked.question.startswith(before) else asked._replace(question=before + asked.question)


def _says_its_matter(asked: StatedQuestion, article: Article, rules: _Rules) -> bool:
    """Whether a question can do without the title: it has a word of it, or is long enough."""
    long = len(asked.question) > STANDS_ALONE[rules.language]
    return long or bool(set(topic_units(asked.question)) & set(topic_units(_name(article))))


def _name(article: Article) -> str:
    """The title where it can stand within a question."""
    title = article.title.rstrip("。. ")
    fits = 3 <= len(title) <= LONGEST_HEADING[article.language] and not _is_odd(title, article.language)
    return title if fits else ""


def _of_heading(article: Article, rules: _Rules) -> StatedQuestion | None:
    """Of an article with steps how it is done, of any other what it says in its first sentences."""
    title = _name(article)
    shelves: list[tuple[Kind, list[dict[str, Any]], str]] = [("simple", rules.headings, _beginning(article))]
    if article.steps:
        shelves.insert(0, ("procedure", rules.steps, _steps(article)))
    for kind, shelf, reference in shelves:
        for rule in shelf if reference else ():
            match = rule["pattern"].fullmatch(title)
            if match and ("only" not in rule or rule["only"].search(title)):
                return StatedQuestion(kind, *_filled(rule, match, rules), reference)
    return None


def _is_odd(title: str, language: Language) -> bool:
    """Headings that are no name of a matter: sentences, lists, several things at once."""
    if language == "ja":
        return bool(
            re.search(
                r"[。、：:｜|／/（(「『＜<\d０-９]|(?:ます|です|る|ください|こと|(?:な|し|た|よ|さ|き|良|高|低|多|遅|早|速)い)$",
                title,
            )
        )
    return bool(re.search(r"[:;|/()<>–—\[\]]|\d{4}|[.!]", title))


def _steps(article: Article) -> str:
    lines = [f"{number}. {step}" for number, step in enumerate(article.steps, 1)]
    return "\n".join(lines)


def _beginning(article: Article) -> str:
    said = article.statements[:2]
    return ("" if article.language == "ja" else " ").join(said)


def _filled(rule: Mapping[str, Any], match: re.Match[str], rules: _Rules) -> tuple[str, str]:
    named = {key: value or "" for key, value in match.groupdict().items()}
    if rules.language == "ja":
        for desk, own in rules.from_me.items():
            named = {key: value.replace(desk, own) for key, value in named.items()}
        named["end"] = rules.endings.get(named.get("last", ""), "")
        question = Template(rule["question"]).substitute(named)
        keywords = _spaced(Template(rule["keywords"]).substitute(named))
        return question, keywords if len(keywords) <= LONGEST_KEYWORDS else ""
    named = _english(named)
    question = Template(rule["question"]).substitute(named)
    return question[:1].upper() + question[1:], Template(rule["keywords"]).substitute(named)


def _spaced(keywords: str) -> str:
    """The way people type them: nouns with spaces between."""
    return re.sub(r"(?<=[一-龥ァ-ヶーA-Za-z0-9ー])の(?=[一-龥ァ-ヶーA-Za-z0-9おご])", " ", keywords).strip()


def _english(named: Mapping[str, str]) -> dict[str, str]:
    """The groups as they stand within a question: from the customer, and with the verb to go before."""
    own = {key: _from_me(value) for key, value in named.items()}
    topic = _within(own.get("x", ""))
    head = _HEAD_END.split(topic)[0]
    many = bool(re.search(r"(?<![su'])s$", head)) or " and " in head
    the = (
        ""
        if head.endswith("s") or (topic.endswith("s") and head == topic) or _NO_ARTICLE.search(topic)
        else "the "
    )
    verb = named.get("be", "").replace("cannot", "can")
    told = {"x": topic, "do": "do" if many else "does", "is": "are" if many else "is", "be": verb, "the": the}
    own |= told if not named.get("do") else told | {"do": named["do"]}
    return own | {"Do": own["do"].capitalize(), "Be": verb.capitalize()}


def _from_me(text: str) -> str:
    """What the desk says to the customer, said by the customer: your bill is my bill."""
    swapped = dict(_TO_ME)
    mine = _PERSON.sub(lambda found: swapped[found[0].lower()], text)
    return _AS_OBJECT.sub(r"\1 me", mine)


def _within(topic: str) -> str:
    """A topic after other words: small at its beginning unless it is a name or an abbreviation."""
    first, _, rest = topic.partition(" ")
    small = first.lower() in _SMALL or re.fullmatch(r"[A-Z][a-z]+ing", first)
    is_name = not first[:1].isupper() or first[1:] != first[1:].lower() or rest[:1].isupper() or first == "I"
    return (
        topic if is_name and not small else f"{first[:1].lower()}{first[1:]}" + (f" {rest}" if rest else "")
    )
