"""What a sentence does (claim something, refuse, apologise, hand over), and which side of a matter it takes.

The patterns and the examples that they promise to get right are data: dialogue_acts.toml for what a sentence
does, polarity.toml for the sides of a figure (until, after) and of a fee (charged, free).
"""

import re
from functools import cache, lru_cache
from itertools import zip_longest
from pathlib import Path
from typing import Literal, NamedTuple

from simulator.core.templates import read_toml
from simulator.core.types import Language
from simulator.text.numerals import FIGURE, Quantity, quantities
from simulator.text.segments import CJK, normalise, sentences
from simulator.text.typography import cut, straight_pattern

ACTS_FILE = Path(__file__).with_name("dialogue_acts.toml")
STANCES_FILE = Path(__file__).with_name("polarity.toml")

# A sentence beyond this many characters is no courtesy, and a clause takes no side; it also bounds what a
# pattern can cost.
LONGEST = 600

Act = Literal["courtesy", "question", "no_handover", "handover", "refusal", "referral", "claim"]

_CJK = re.compile(f"[{CJK}]")
_QUESTION = re.compile(r"[?？][」』）)\"]*$|(?:です|ます|でしょう|ません|ました)か[。.]?$")
_DIGIT = re.compile(r"\d")
_ENDS = (".", "!", "?", "。")
_REASONS = ("ので、", "ため、")
_LEADS = (*_REASONS, "が、", "けど、", "けれど、", "けれども、", "ものの、")
_TURNS = re.compile(r"(?:but|however|though|although|nevertheless)\b", re.IGNORECASE)
_WORD = re.compile(r"\{([a-z]+)\}")
_FIGURE = re.compile(FIGURE)
# The pairs of opposites: the list that counts as True, which is also looked for first, and the other one.
_FEE = ("charged", "free")
_PAIRS = (("until", "after"), ("before", "later"))


class Part(NamedTuple):
    """A sentence, or one side of a sentence that turns in the middle, and what it does."""

    text: str
    act: Act


class _ActPatterns:
    """The compiled patterns of dialogue_acts.toml in one language."""

    def __init__(self, language: Language) -> None:
        table = read_toml(ACTS_FILE)[language]
        self.turn, self.aside, self.apology, self.telling = (
            re.compile(straight_pattern(table[name])) for name in ("break", "aside", "apology", "telling")
        )
        self.acts: dict[Act, re.Pattern[str]] = {}
        for act in ("no_handover", "handover", "refusal", "courtesy", "referral"):
            joined = straight_pattern("|".join(f"(?:{pattern})" for pattern in table[act]))
            self.acts[act] = re.compile(_WORD.sub(lambda found: table["words"][found[1]], joined))

    def act(self, text: str) -> Act:
        """What this part of a sentence does."""
        plain = normalise(text)
        if len(plain) > LONGEST:
            return "claim"
        if _QUESTION.search(plain) and not self.telling.search(plain):
            return "question"
        plain = self.aside.sub("", plain).lstrip(" ,、")
        found = (act for act, pattern in self.acts.items() if pattern.search(plain))
        act: Act = next(found, "claim")
        return "claim" if act == "courtesy" and _DIGIT.search(plain) else act


@lru_cache(maxsize=1024)
def parts(text: str, language: Language) -> tuple[Part, ...]:
    """The parts of an answer in order; a text without any CJK character is read as English."""
    language = _language(text, language)
    turn = _patterns(language).turn
    pieces = [piece for sentence in sentences(text) for piece in cut(turn, sentence)]
    return tuple(Part(piece.strip(), _act(piece.strip(), language)) for piece in pieces if piece.strip())


def is_refusal(text: str, language: Language) -> bool:
    """Whether the answer says that it cannot answer, or hands over, and claims hardly anything beside.

    "That is not possible" is an answer; "I cannot say whether it is possible" is a refusal.
    """
    acts = {part.act for part in parts(text, language)}
    if "refusal" not in acts:
        return "handover" in acts and "claim" not in acts
    return _length(text, language, "claim") <= _length(text, language, "refusal")


def is_handover(text: str, language: Language) -> bool:
    """Whether the bot itself passes the customer on to a person; naming a contact does not count."""
    return any(part.act == "handover" for part in parts(text, language))


def apologises(text: str, language: Language) -> bool:
    """Whether the answer says sorry."""
    return bool(_patterns(_language(text, language)).apology.search(normalise(text)))


def claims(text: str, language: Language) -> tuple[str, ...]:
    """What the answer states about the matter: not its courtesies, questions, refusals and handovers.

    A contact is a claim too (its number may be wrong), except beside a refusal, whose reason is none.
    """
    stated = ("claim",) if is_refusal(text, language) else ("claim", "referral", "no_handover")
    found = parts(text, language)
    pairs = zip_longest(found, found[1:])
    return tuple(part.text for part, following in pairs if part.act in stated and _standing(part, following))


def _length(text: str, language: Language, act: Act) -> float:
    """How many characters do this.

    What only leads up to the rest of its sentence counts half, and not at all where that refuses: then it
    says why.
    """
    aside, found = _patterns(_language(text, language)).aside, parts(text, language)
    return sum(
        len(aside.sub("", normalise(part.text))) * _standing(part, following)
        for part, following in zip_longest(found, found[1:])
        if part.act == act
    )


def _standing(part: Part, following: Part | None) -> float:
    """How much (0..1) of what a part says is said for its own sake."""
    if following is None:
        return 1.0
    turns, both = bool(_TURNS.match(following.text)), (part.act, following.act)
    if part.text.endswith(_REASONS) and both == ("claim", "refusal"):
        return 0.0
    if part.text.endswith(_ENDS):
        return 0.5 if turns and both == ("refusal", "claim") else 1.0
    return 0.5 if turns or part.text.endswith(_LEADS) else 1.0


def _language(text: str, language: Language) -> Language:
    """English for a text without any CJK character, else `language`."""
    return language if _CJK.search(text) else "en"


@lru_cache(maxsize=4096)
def _act(piece: str, language: Language) -> Act:
    """What a piece does; the same sentence stands in many answers, and in all that was said so far."""
    return _patterns(language).act(piece)


@cache
def _patterns(language: Language) -> _ActPatterns:
    return _ActPatterns(language)


class FigureBound(NamedTuple):
    """A figure and the side of it that is meant: `pair` names what is on both sides."""

    pair: str
    figures: frozenset[Quantity]
    first: bool

    @property
    def opposite(self) -> "FigureBound":
        """The other side of the same figure."""
        return self._replace(first=not self.first)


class Stance(NamedTuple):
    """The sides that a text takes, and the text without the words that show it.

    `charged` says whether something costs money: None when nothing is said of it, or both.
    """

    charged: bool | None
    bounds: frozenset[FigureBound]
    rest: str


class _StancePatterns:
    """The compiled lists of polarity.toml in one language."""

    def __init__(self, language: Language) -> None:
        table = read_toml(STANCES_FILE)[language]
        self.condition = re.compile(straight_pattern(table["condition"]))
        self.lists = {
            name: re.compile(
                straight_pattern("|".join(f"(?:{each})" for each in table[name])).replace("{n}", FIGURE)
            )
            for name in (*_FEE, *(name for pair in _PAIRS for name in pair))
        }


@lru_cache(maxsize=4096)
def stance(text: str) -> Stance:
    """The sides that a clause or sentence takes."""
    plain = normalise(text)
    if len(plain) > LONGEST:
        return Stance(None, frozenset(), plain)
    patterns = _stance_patterns(_language(plain, "ja"))
    bounds: set[FigureBound] = set()
    for pair in _PAIRS:
        for name in pair:
            found = patterns.lists[name].findall(plain)
            bounds |= {FigureBound(pair[0], quantities(each), name == pair[0]) for each in found}
            plain = patterns.lists[name].sub(_figure, plain) if found else plain
    sides: set[bool] = set()
    for name in _FEE:
        plain, count = patterns.lists[name].subn(" ", plain)
        sides |= {name == _FEE[0]} if count else set()
    charged = sides.pop() if len(sides) == 1 else None
    return Stance(charged, frozenset(bound for bound in bounds if bound.figures), plain)


def without_conditions(plain: str) -> str:
    """A normalised clause without what it only supposes."""
    return (
        _stance_patterns(_language(plain, "ja")).condition.sub(" ", plain) if len(plain) <= LONGEST else plain
    )


def _figure(found: re.Match[str]) -> str:
    """The figure alone, without the word that says on which side."""
    figure = _FIGURE.search(found[0])
    return f" {figure[0]} " if figure else " "


@cache
def _stance_patterns(language: Language) -> _StancePatterns:
    return _StancePatterns(language)
