"""What each sentence of an answer does: claims something, refuses, apologises, hands over.

The patterns and the examples that they promise to get right are data, in dialogue_acts.toml.
"""

import re
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

from simulator.counting.segments import CJK, normalise, sentences
from simulator.prompts import read_toml
from simulator.types import Language

FILE = Path(__file__).with_name("dialogue_acts.toml")

# A sentence beyond this many characters is no courtesy; it also bounds what a pattern can cost.
LONGEST = 600

Act = Literal["courtesy", "question", "no_handover", "handover", "refusal", "referral", "claim"]

_CJK = re.compile(f"[{CJK}]")
_QUESTION = re.compile(r"[?？][」』）)\"]*$|(?:です|ます|でしょう|ません|ました)か[。.]?$")
_DIGIT = re.compile(r"\d")


class Part(NamedTuple):
    """A sentence, or one side of a sentence that turns in the middle, and what it does."""

    text: str
    act: Act


class _Patterns:
    """The compiled patterns of one language."""

    def __init__(self, language: Language) -> None:
        table = read_toml(FILE)[language]
        self.turn, self.aside = re.compile(table["break"]), re.compile(table["aside"])
        self.apology = re.compile(table["apology"])
        self.acts: dict[Act, re.Pattern[str]] = {}
        for act in ("no_handover", "handover", "refusal", "courtesy", "referral"):
            self.acts[act] = re.compile("|".join(f"(?:{pattern})" for pattern in table[act]))

    def act(self, text: str) -> Act:
        """What this part of a sentence does."""
        plain = normalise(text)
        if len(plain) > LONGEST:
            return "claim"
        if _QUESTION.search(plain):
            return "question"
        plain = self.aside.sub("", plain)
        found = (act for act, pattern in self.acts.items() if pattern.search(plain))
        act: Act = next(found, "claim")
        return "claim" if act == "courtesy" and _DIGIT.search(plain) else act


@lru_cache(maxsize=1024)
def parts(text: str, language: Language) -> tuple[Part, ...]:
    """The parts of an answer in order; a text without any CJK character is read as English."""
    patterns = _patterns(_spoken(text, language))
    pieces = [piece for sentence in sentences(text) for piece in patterns.turn.split(sentence)]
    return tuple(Part(piece.strip(), patterns.act(piece.strip())) for piece in pieces if piece.strip())


def is_refusal(text: str, language: Language) -> bool:
    """Whether the answer says that it cannot answer, or hands over, and claims hardly anything beside.

    "That is not possible" is an answer; "I cannot say whether it is possible" is a refusal.
    """
    acts = [part.act for part in parts(text, language)]
    refused, claimed = acts.count("refusal"), acts.count("claim")
    return refused >= claimed and refused + acts.count("handover") > 0


def is_handover(text: str, language: Language) -> bool:
    """Whether the desk takes on to pass the customer to a person; naming a contact does not count."""
    return any(part.act == "handover" for part in parts(text, language))


def apologises(text: str, language: Language) -> bool:
    """Whether the answer says sorry."""
    return bool(_patterns(_spoken(text, language)).apology.search(normalise(text)))


def claims(text: str, language: Language) -> tuple[str, ...]:
    """What the answer states about the matter: not its courtesies, questions, refusals and handovers.

    A contact is a claim too (its number may be wrong), except beside a refusal.
    """
    stated = ("claim",) if is_refusal(text, language) else ("claim", "referral", "no_handover")
    return tuple(part.text for part in parts(text, language) if part.act in stated)


def _spoken(text: str, language: Language) -> Language:
    return language if _CJK.search(text) else "en"


@cache
def _patterns(language: Language) -> _Patterns:
    return _Patterns(language)
