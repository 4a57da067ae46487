"""A plain question in other words, by rule: polite, casual, keywords, or mistyped."""

import random
import re
from functools import cache
from pathlib import Path
from typing import Any

from simulator.core.templates import read_toml
from simulator.core.types import Language
from simulator.making.kinds import Wording
from simulator.making.statements import Asked
from simulator.text.evidence import STOP_WORDS
from simulator.users.typing_variation import vary

FILE = Path(__file__).with_name("wordings.toml")
# Keywords that say less than this are no question any more.
FEWEST_WORDS = 2


def worded(asked: Asked, wording: Wording, language: Language, rng: random.Random) -> tuple[str, Wording]:
    """The question in this wording; where it cannot be put so, as it is, and then it is `plain`."""
    said = ""
    if wording == "keywords":
        said = _keywords(asked, language)
    elif wording == "typed":
        said = mistyped(asked.question, language, rng)
    elif wording in ("keigo", "casual"):
        said = _reworded(asked.question, _tables(language)[wording], rng)
        if language == "en" and wording == "casual":
            said = _small(said)
    return (said, wording) if said and said != asked.question else (asked.question, "plain")


def mistyped(question: str, language: Language, rng: random.Random) -> str:
    """The question as somebody in a hurry types it; as it is where nothing can be changed."""
    return vary(question, language, rng, share=1.0).text


def _reworded(question: str, table: dict[str, Any], rng: random.Random) -> str:
    """With another ending, and words before it; empty where no ending fits and it would sound mixed."""
    for pattern, replacement in table["ends"]:
        said, count = re.subn(pattern, replacement, question)
        if count:
            break
    else:
        if table["strict"]:
            return ""
        said = question
    before = rng.choice(table["before"])
    # Two openings in one question would be one too many.
    return said if "質問です。" in said or said.startswith("I am writing") else before + said


def _keywords(asked: Asked, language: Language) -> str:
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


def _small(said: str) -> str:
    """As people type to a chat: small, without the last mark; names in the middle keep their letters."""
    said = re.sub(r"(?<=[.,?!] )[A-Z](?=[a-z']+ )", lambda found: found[0].lower(), said.removesuffix("?"))
    said = re.sub(r"\bI\b", "i", said)
    first = said.split(" ", 1)[0]
    return said[:1].lower() + said[1:] if first[1:] == first[1:].lower() else said


@cache
def _tables(language: Language) -> dict[str, Any]:
    tables: dict[str, Any] = read_toml(FILE)[language]
    return {name: {**table, "strict": language == "ja"} for name, table in tables.items()}
