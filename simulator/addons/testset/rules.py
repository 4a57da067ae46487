"""Test questions by rule, without a model: from sentences and headings of the articles, in several wordings.

The rules are in rules.toml, the wordings in wordings.toml.
"""

import random
import re
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

from simulator.addons.testset.checks import Acceptance, RejectedQuestion, TestSet, fault_of_form
from simulator.addons.testset.plan import (
    OUT_OF_SCOPE,
    Article,
    Index,
    Kind,
    Plan,
    Wording,
    company,
    fitting,
    outside,
    quotas,
    tags,
)
from simulator.core.templates import read_toml, stable_int
from simulator.core.types import Case, Language
from simulator.text.evidence import STOP_WORDS, topic_units

FILE = Path(__file__).with_name("rules.toml")
WORDING_FILE = Path(__file__).with_name("wordings.toml")
# Longer questions are not natural any more.
LONGEST_QUESTION = {"ja": 60, "en": 110}
# A longer question says by itself what it is about.
STANDS_ALONE = {"ja": 16, "en": 32}
LONGEST_KEYWORDS = 24
# Longer headings are sentences or lists.
LONGEST_HEADING = {"ja": 28, "en": 70}
# With fewer keywords it is no question any more.
FEWEST_WORDS = 2
# A language of less than this share of the articles gets no out-of-scope questions.
LEAST_LANGUAGE_SHARE = 0.1
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
    """A question by rule: its kind, the same as keywords (may be empty), and what answers it."""

    kind: Kind
    question: str
    keywords: str
    reference: str


class RuleBasedTestSet:
    """One set of questions by rule; the same for the same articles and seed."""

    def __init__(
        self, articles: Sequence[Article], index: Index, wordings: Sequence[Wording], seed: int
    ) -> None:
        """Collects every question that a rule makes of an article."""
        self.index, self.wordings, self.seed = index, wordings, seed
        self.names = Plan(articles, index, wordings, seed)
        languages = Counter(article.language for article in articles)
        least = LEAST_LANGUAGE_SHARE * len(articles)
        self.languages = sorted((name for name, count in languages.items() if count >= least), reverse=True)
        draw = random.Random(stable_int(seed, "rules"))  # noqa: S311 - an order, no secret
        self._questions = {
            article.id: (article, list(questions_of(article)))
            for article in draw.sample(list(articles), len(articles))
        }
        self._add_titles()
        self.without_questions = sum(not questions for _, questions in self._questions.values())
        self._number = 0

    def _add_titles(self) -> None:
        """Asks with titles what several articles answer differently; what is then left is ambiguous."""
        for is_first in (True, False):
            self._answers: dict[str, set[str]] = {}
            for _, questions in self._questions.values():
                for asked in questions:
                    self._answers.setdefault(asked.question, set()).add(asked.reference)
            for article, questions in self._questions.values() if is_first else ():
                questions[:] = [
                    in_context(asked, article) if len(self._answers[asked.question]) > 1 else asked
                    for asked in questions
                ]

    def make(self, kinds: Sequence[Kind], number: int) -> TestSet:
        """At most so many questions of these kinds; what one kind lacks, the simple ones make up for."""
        acceptance = Acceptance()
        counts = quotas(kinds, number)
        waiting = {kind: self._of_kind(kind) for kind in kinds}
        for kind in kinds:
            self._take(acceptance, kind, waiting[kind], counts[kind])
        for kind in (kind for kind in kinds if kind not in OUT_OF_SCOPE):
            self._take(acceptance, kind, waiting[kind], number - len(acceptance.cases))
        return acceptance.test_set()

    def _take(
        self,
        acceptance: Acceptance,
        kind: Kind,
        waiting: Iterator[tuple[Article | None, StatedQuestion, Language]],
        most: int,
    ) -> None:
        count = 0
        while count < most and (candidate := next(waiting, None)) is not None:
            count += self._is_accepted(acceptance, kind, *candidate)

    def _is_accepted(
        self,
        acceptance: Acceptance,
        kind: Kind,
        article: Article | None,
        asked: StatedQuestion,
        language: Language,
    ) -> bool:
        wording = fitting(kind, self.wordings, self._number)
        self._number += 1
        draw = random.Random(stable_int(self.seed, asked.question))  # noqa: S311 - a choice, no secret
        question, wording = worded(asked, wording, language, draw)
        case = Case(
            id=self.names.name([article] if article else (), kind),
            question=question,
            language=language,
            references=((asked.reference,),),
            passages=(article.id,) if article else (),
            answerable=article is not None,
            tags=tags(kind, wording, "rule-made"),
        )
        articles = [article] if article else []
        fault = fault_of_form(case, kind, articles, by_rule=True)
        if fault is None and article and len(self._answers[asked.question]) > 1:
            fault = RejectedQuestion(case=case, why="ambiguous")
        return acceptance.consider(case, fault)

    def _of_kind(self, kind: Kind) -> Iterator[tuple[Article | None, StatedQuestion, Language]]:
        if kind in OUT_OF_SCOPE:
            yield from self._outside(kind)
            return
        # One question of each article first, then a second of each.
        of_kind = (
            (article, deque(asked for asked in questions if asked.kind == kind))
            for article, questions in self._questions.values()
        )
        rows = deque(of_kind)
        while rows:
            article, questions = rows.popleft()
            if questions:
                yield article, questions.popleft(), article.language
                rows.append((article, questions))

    def _outside(self, kind: Kind) -> Iterator[tuple[None, StatedQuestion, Language]]:
        rows = [deque(self._out_of_scope(kind, language)) for language in self.languages]
        while any(rows):
            for row, language in zip(rows, self.languages, strict=True):
                if row:
                    yield None, row.popleft(), language

    def _out_of_scope(self, kind: Kind, language: Language) -> list[StatedQuestion]:
        table = outside()[language]
        draw = random.Random(stable_int(self.seed, kind, language))  # noqa: S311 - an order, no secret
        if kind == "neighbour":
            pairs = [
                (row["question"], row["matter"])
                for row in table["neighbours"]
                if not any(map(self.index.holds, row["words"]))
            ]
        else:
            pairs = [(question, matter) for question, matter in table[kind]]
        refusal = Template(table.get(f"refusal_{kind}", table["refusal"]))
        shuffled = draw.sample(pairs, len(pairs))
        return [
            StatedQuestion(
                kind,
                Template(question).substitute(name=company(language, number + self.seed)),
                "",
                refusal.substitute(matter=matter),
            )
            for number, (question, matter) in enumerate(shuffled)
        ]


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


def questions_of(article: Article) -> Iterator[StatedQuestion]:
    """Every question that a rule makes of an article: those of sentences first, that of its heading last."""
    rules = _rules(article.language)
    for number, sentence in enumerate(article.statements):
        if (asked := _of_sentence(sentence, rules, is_first=not number)) is not None:
            yield asked if _needs_no_title(asked, article, rules) else in_context(asked, article)
    if (heading := _of_heading(article, rules)) is not None:
        yield heading


def _of_sentence(sentence: str, rules: _Rules, *, is_first: bool) -> StatedQuestion | None:
    if rules.lead_out.search(sentence):
        return None
    for rule in rules.sentences:
        match = rule["pattern"].fullmatch(sentence)
        if match and (is_first or "first" not in rule) and _holds(rule, match, sentence, rules):
            question, keywords = _filled(rule, match, rules)
            if len(question) <= LONGEST_QUESTION[rules.language]:
                return StatedQuestion(rule["kind"], question, keywords, sentence)
    return None


def _holds(rule: Mapping[str, Any], match: re.Match[str], sentence: str, rules: _Rules) -> bool:
    """Whether the topic of the sentence is clear in a question by itself."""
    groups = match.groupdict()
    topic = groups.get("x") or groups.get("v") or ""
    if groups.get("x") and rules.vague.search(topic):
        return False
    if "unless" in rule and rule["unless"].search(topic):
        return False
    if "without" in rule and rule["without"].search(groups.get("rest") or groups.get("v") or ""):
        return False
    return "only" not in rule or bool(rule["only"].search(sentence))


def in_context(asked: StatedQuestion, article: Article) -> StatedQuestion:
    """The question with the article's title before it, where the title fits into a sentence."""
    title, rules = _title(article), _rules(article.language)
    if not title or rules.without_context.search(title):
        return asked
    if rules.language == "ja":
        before = rules.context.substitute(title=title)
    else:
        groups = _english({"x": title})
        before = rules.context.substitute(groups | {"title": groups["x"]})
    return asked if asked.question.startswith(before) else asked._replace(question=before + asked.question)


def _needs_no_title(asked: StatedQuestion, article: Article, rules: _Rules) -> bool:
    """Whether a question has a word of the title, or is long enough to be clear without it."""
    long = len(asked.question) > STANDS_ALONE[rules.language]
    return long or bool(set(topic_units(asked.question)) & set(topic_units(_title(article))))


def _of_heading(article: Article, rules: _Rules) -> StatedQuestion | None:
    """How it is done, for an article with steps; else what its first two sentences say of its matter."""
    title = _title(article)
    beginning = ("" if article.language == "ja" else " ").join(article.statements[:2])
    tables: list[tuple[Kind, list[dict[str, Any]], str]] = [("simple", rules.headings, beginning)]
    if article.steps:
        steps = "\n".join(f"{number}. {step}" for number, step in enumerate(article.steps, 1))
        tables.insert(0, ("procedure", rules.steps, steps))
    for kind, table, reference in tables:
        for rule in table if reference else ():
            match = rule["pattern"].fullmatch(title)
            if match and ("only" not in rule or rule["only"].search(title)):
                return StatedQuestion(kind, *_filled(rule, match, rules), reference)
    return None


def _title(article: Article) -> str:
    """The title where it fits into a question; else empty."""
    title = article.title.rstrip("。. ")
    fits = 3 <= len(title) <= LONGEST_HEADING[article.language] and not _is_odd(title, article.language)
    return title if fits else ""


def _is_odd(title: str, language: Language) -> bool:
    """Whether a heading is no name of a matter: a sentence, a list, several things at once."""
    if language == "ja":
        return bool(
            re.search(
                r"[。、：:｜|／/（(「『＜<\d０-９]|(?:ます|です|る|ください|こと|(?:な|し|た|よ|さ|き|良|高|低|多|遅|早|速)い)$",
                title,
            )
        )
    return bool(re.search(r"[:;|/()<>–—\[\]]|\d{4}|[.!]", title))


def _filled(rule: Mapping[str, Any], match: re.Match[str], rules: _Rules) -> tuple[str, str]:
    """The question and its keywords."""
    groups = {key: value or "" for key, value in match.groupdict().items()}
    if rules.language == "ja":
        for desk, own in rules.from_me.items():
            groups = {key: value.replace(desk, own) for key, value in groups.items()}
        groups["end"] = rules.endings.get(groups.get("last", ""), "")
        question = Template(rule["question"]).substitute(groups)
        keywords = _spaced(Template(rule["keywords"]).substitute(groups))
        return question, keywords if len(keywords) <= LONGEST_KEYWORDS else ""
    groups = _english(groups)
    question = Template(rule["question"]).substitute(groups)
    return question[:1].upper() + question[1:], Template(rule["keywords"]).substitute(groups)


def _spaced(keywords: str) -> str:
    """The way people type them: nouns with spaces between."""
    return re.sub(r"(?<=[一-龥ァ-ヶーA-Za-z0-9ー])の(?=[一-龥ァ-ヶーA-Za-z0-9おご])", " ", keywords).strip()


def _english(groups: Mapping[str, str]) -> dict[str, str]:
    """The groups as a customer would say them, with the verb forms that go before the topic."""
    own = {key: _in_first_person(value) for key, value in groups.items()}
    topic = _in_sentence(own.get("x", ""))
    head = _HEAD_END.split(topic)[0]
    many = bool(re.search(r"(?<![su'])s$", head)) or " and " in head
    the = (
        ""
        if head.endswith("s") or (topic.endswith("s") and head == topic) or _NO_ARTICLE.search(topic)
        else "the "
    )
    verb = groups.get("be", "").replace("cannot", "can")
    own |= {
        "x": topic,
        "do": groups.get("do") or ("do" if many else "does"),
        "is": "are" if many else "is",
        "be": verb,
        "the": the,
    }
    return own | {"Do": own["do"].capitalize(), "Be": verb.capitalize()}


def _in_first_person(text: str) -> str:
    """The company's words to a customer, as the customer says them: your bill is my bill."""
    swapped = dict(_TO_ME)
    text = _PERSON.sub(lambda match: swapped[match[0].lower()], text)
    return _AS_OBJECT.sub(r"\1 me", text)


def _in_sentence(topic: str) -> str:
    """A topic after other words: in lower case unless it begins with a name or an abbreviation."""
    first, _, rest = topic.partition(" ")
    small = first.lower() in _SMALL or re.fullmatch(r"[A-Z][a-z]+ing", first)
    is_name = not first[:1].isupper() or first[1:] != first[1:].lower() or rest[:1].isupper() or first == "I"
    return (
        topic if is_name and not small else f"{first[:1].lower()}{first[1:]}" + (f" {rest}" if rest else "")
    )


def worded(
    asked: StatedQuestion, wording: Wording, language: Language, rng: random.Random
) -> tuple[str, Wording]:
    """The question in this wording; where no rule fits, the question as it is, with the wording `plain`."""
    text = ""
    if wording == "keywords":
        text = _keywords(asked, language)
    elif wording in ("keigo", "casual"):
        text = _reworded(asked.question, _tables(language)[wording], rng)
        if language == "en" and wording == "casual":
            text = _lower_case(text)
    return (text, wording) if text and text != asked.question else (asked.question, "plain")


def _reworded(question: str, table: dict[str, Any], rng: random.Random) -> str:
    """The question with another ending and opening; empty where no ending fits and it would sound mixed."""
    for pattern, replacement in table["ends"]:
        text, count = re.subn(pattern, replacement, question)
        if count:
            break
    else:
        if table["strict"]:
            return ""
        text = question
    opening = rng.choice(table["before"])
    # Two openings in one question would be one too many.
    return text if "質問です。" in text or text.startswith("I am writing") else opening + text


def _keywords(asked: StatedQuestion, language: Language) -> str:
    words = asked.keywords.split()
    if language == "en":
        # My Page keeps its My.
        words = [
            word
            for at, word in enumerate(words)
            if (at and word[:1].isupper()) or word.lower() not in STOP_WORDS
        ]
        words = [word.strip('?,."') for word in words]
    return " ".join(words[:7]).strip() if len(words) >= FEWEST_WORDS else ""


def _lower_case(text: str) -> str:
    """As people type in a chat: lower case, no question mark; names in the middle keep their capitals."""
    text = re.sub(r"(?<=[.,?!] )[A-Z](?=[a-z']+ )", lambda match: match[0].lower(), text.removesuffix("?"))
    text = re.sub(r"\bI\b", "i", text)
    first = text.split(" ", 1)[0]
    return text[:1].lower() + text[1:] if first[1:] == first[1:].lower() else text


@cache
def _tables(language: Language) -> dict[str, Any]:
    tables: dict[str, Any] = read_toml(WORDING_FILE)[language]
    return {name: {**table, "strict": language == "ja"} for name, table in tables.items()}
