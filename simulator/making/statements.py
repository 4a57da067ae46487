"""Questions made by rule from the sentences and headings of an article. Patterns are data, in rules.toml."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

from simulator.core.templates import read_toml
from simulator.core.types import Language
from simulator.making.articles import Article
from simulator.making.kinds import Kind
from simulator.text.evidence import topic_units

FILE = Path(__file__).with_name("rules.toml")
# Longer questions are no longer asked in one breath; longer headings are sentences or lists.
LONGEST = {"ja": 60, "en": 110}
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


class Asked(NamedTuple):
    """A question by rule: its kind, its wording as keywords (may be empty), and what answers it."""

    kind: Kind
    question: str
    keywords: str
    reference: str


def asked_of(article: Article) -> Iterator[Asked]:
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


def _of_sentence(sentence: str, rules: _Rules, *, is_first: bool) -> Asked | None:
    if rules.lead_out.search(sentence):
        return None
    for rule in rules.sentences:
        match = rule["pattern"].fullmatch(sentence)
        if match and (is_first or "first" not in rule) and _holds(rule, match, sentence, rules):
            question, keywords = _filled(rule, match, rules)
            if len(question) <= LONGEST[rules.language]:
                return Asked(rule["kind"], question, keywords, sentence)
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


def in_context(asked: Asked, article: Article) -> Asked:
    """With the article's title before it, where that can stand in a sentence."""
    title, rules = _name(article), _rules(article.language)
    if not title or rules.without_context.search(title):
        return asked
    named = {"title": title} if rules.language == "ja" else _english({"x": title})
    before = rules.context.substitute(named | {"title": named.get("x", title)})
    return asked if asked.question.startswith(before) else asked._replace(question=before + asked.question)


def _says_its_matter(asked: Asked, article: Article, rules: _Rules) -> bool:
    """Whether a question can do without the title: it has a word of it, or is long enough."""
    long = len(asked.question) > STANDS_ALONE[rules.language]
    return long or bool(set(topic_units(asked.question)) & set(topic_units(_name(article))))


def _name(article: Article) -> str:
    """The title where it can stand within a question."""
    title = article.title.rstrip("。. ")
    fits = 3 <= len(title) <= LONGEST_HEADING[article.language] and not _is_odd(title, article.language)
    return title if fits else ""


def _of_heading(article: Article, rules: _Rules) -> Asked | None:
    """Of an article with steps how it is done, of any other what it says in its first sentences."""
    title = _name(article)
    shelves: list[tuple[Kind, list[dict[str, Any]], str]] = [("simple", rules.headings, _beginning(article))]
    if article.steps:
        shelves.insert(0, ("procedure", rules.steps, _steps(article)))
    for kind, shelf, reference in shelves:
        for rule in shelf if reference else ():
            match = rule["pattern"].fullmatch(title)
            if match and ("only" not in rule or rule["only"].search(title)):
                return Asked(kind, *_filled(rule, match, rules), reference)
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
