"""A stationery shop's help desk over a folder of articles; its versions differ in nothing but data.

A version names its articles, how they are cut into passages, and its prompt. No model is behind it: what a
model would be told in words stands in the prompt as text, and beside it as the switch that this bot obeys.
"""

import re
import tomllib
from collections.abc import Iterator
from math import log
from pathlib import Path
from typing import Any

from simulator import Answer, Bot, Passage, Query
from simulator.extending import read_knowledge

HERE = Path(__file__).parent
WORDS = re.compile(r"[a-z]+|[0-9]+|[ァ-ヶー]+|[一-龥々]+[ぁ-ん]?")
SENTENCES = re.compile(r"[^。\n]+。|[^.\n]+(?:\.(?!\s|$)[^.\n]*)*\.(?=\s|$)")
PARTICLES = "はがをにのでともへやかしさ"
# Words that every question has.
FILLER = frozenset((HERE / "filler.txt").read_text(encoding="utf-8").split())


def connect(*, version: str = "v1") -> Bot:
    """The bot as the file of this version describes it."""
    told = tomllib.loads((HERE / f"{version}.toml").read_text(encoding="utf-8"))
    desks = {language: Desk(told, language) for language in ("ja", "en")}
    return lambda query: desks[query.language].answer(query)


class Desk:
    """The bot in one language."""

    def __init__(self, told: dict[str, Any], language: str) -> None:
        self.prompt = told["prompt"] | told["prompt"][language]
        self.passages = list(_passages(told, language))
        self.terms = [terms(passage.text) for passage in self.passages]
        self.passages_with = {
            term: sum(term in each for each in self.terms) for each in self.terms for term in each
        }

    def answer(self, query: Query) -> Answer:
        """The sentences of the passage that takes up most of the question, as far as the prompt allows."""
        first = next((line.content for line in query.history if line.role == "user"), query.text)
        # A line that only presses on ("get to the point!") is about the first question.
        found, passage, asked = max((*self.search(text), text) for text in (first, query.text))
        if found < self.prompt["answers_from"]:
            return Answer(text=self.prompt["refusal"], passages=(self.passages[passage],))
        said = SENTENCES.findall(self.passages[passage].text)
        if re.search(self.prompt["asks_when"], asked.lower()) and self.prompt["promises"]:
            said.append(self.prompt["promise"])
        joint = "" if query.language == "ja" else " "
        text = joint.join([self.prompt["opening"], *(each.strip() for each in said)])
        return Answer(text=text, passages=(self.passages[passage],))

    def search(self, text: str) -> tuple[float, int]:
        """Which share (0..1) of the question the best passage takes up, by the weight of its words; where."""
        asked = {term: self.rarity(term) for term in terms(text)}
        whole = sum(asked.values()) or 1.0
        shares = [sum(asked[term] for term in asked.keys() & each) / whole for each in self.terms]
        best = max(range(len(shares)), key=lambda at: (shares[at], -len(self.terms[at])))
        return shares[best], best

    def rarity(self, term: str) -> float:
        """How much a word of the question counts: the fewer passages have it, the more."""
        return log(1 + len(self.passages) / (0.5 + self.passages_with.get(term, 0)))


def terms(text: str) -> frozenset[str]:
    """Japanese in pairs of characters, English by the first letters of each word; no filler."""
    found: set[str] = set()
    for run in WORDS.findall(text.lower()):
        if run.isascii():
            found.add((run.rstrip("s") or run)[:5])
        else:
            found |= {run[at : at + 2] for at in range(len(run) - 1) if run[at] != "何"}
    return frozenset(each for each in found if each[-1] not in PARTICLES) - FILLER


def _passages(told: dict[str, Any], language: str) -> Iterator[Passage]:
    for folder in told["articles"]:
        for article in read_knowledge(HERE / folder / language):
            for number, text in enumerate(_cut(article.text, told["cut"], language), 1):
                part = f"#{number}" if number > 1 else ""
                yield Passage(id=f"{language}/{article.id}{part}", text=text, source=article.source)


def _cut(text: str, told: dict[str, Any], language: str) -> list[str]:
    """An article in pieces of so many characters, or at its headings, each with the article's title."""
    if told["at"] == "characters":
        length = told["characters"][language]
        return [text[start : start + length] for start in range(0, len(text), length)]
    title, *sections = re.split(r"(?m)^## ", text)
    return [f"{title.strip()}: {section.strip()}" for section in sections] or [text]
