"""What sentences of a desk do, by short lists of phrases: decline, hand over, ask back, thank.

For runs without a model alone: what a turn did is otherwise said by the judge's model. The lists
(phrases.toml) know the commonest wordings. They take an ordinary line for a refusal in at most one of a
hundred, and miss most refusals in a stranger's own words (`make bench-detectors`).

    申し訳ございませんが、分かりかねます。   -> courtesy, decline
    担当者におつなぎします。                 -> handover
    ご利用いただけません。                   -> statement: "not possible" is an answer
    Please contact our support desk.         -> contact
    It costs $5. Is there anything else?     -> statement, courtesy
"""

import re
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

from simulator.core.patterns import LazyPattern
from simulator.core.templates import read_toml
from simulator.core.types import Language
from simulator.text.segments import CJK, normalise, sentences
from simulator.text.typography import cut, straight_pattern

FILE = Path(__file__).with_name("phrases.toml")

# A piece beyond this many characters states something; it also bounds what a pattern can cost.
LONGEST = 600

Kind = Literal["question", "handover", "decline", "contact", "courtesy", "statement"]

_CJK = LazyPattern(f"[{CJK}]")
# A question mark at the end, or a Japanese ending that asks.
_QUESTION = re.compile(r"[?？][」』）)\"]*$|(?:です|ます|でしょう|ません|ました)か[。.]?$")
_DIGIT = re.compile(r"\d")
_WORD = re.compile(r"\{([a-z]+)\}")


class Piece(NamedTuple):
    """A sentence, or one side of a sentence that turns in the middle, and what it does."""

    text: str
    kind: Kind


@lru_cache(maxsize=1024)
def pieces(text: str, language: Language) -> tuple[Piece, ...]:
    """The pieces of a text in order, as written; without any CJK character it is read as English."""
    lists = _lists_for(text, language)
    parts = (piece.strip() for sentence in sentences(text) for piece in cut(lists.turn, sentence))
    return tuple(Piece(piece, lists.kind(piece)) for piece in parts if piece)


def statements(text: str, language: Language) -> tuple[str, ...]:
    """What a text states about the matter: no courtesies, questions, refusals, handovers and contacts."""
    return tuple(piece.text for piece in pieces(text, language) if piece.kind == "statement")


def declines(text: str, language: Language) -> bool:
    """Whether a text says that it cannot answer, and states no more beside that.

    "That is not possible" is an answer; "I cannot say whether it is possible" declines.
    """
    declined, stated = _size(text, language, "decline", "contact"), _size(text, language, "statement")
    return _size(text, language, "decline") > 0 and stated <= declined


def hands_over(text: str, language: Language) -> bool:
    """Whether the speaker brings in a person. "Please call 0120-000-371" does not."""
    return _size(text, language, "handover") > 0


def names_contact(text: str, language: Language) -> bool:
    """Whether a text brings in a person, or names somebody to turn to."""
    return _size(text, language, "handover", "contact") > 0


def turns_away(text: str, language: Language) -> bool:
    """Whether a text leaves the question to others: it declines, or hands over or names a contact alone.

    What follows a handover is about that ("within two days"); what stands before it is an answer.
    """
    kinds = [piece.kind for piece in pieces(text, language)]
    if "handover" in kinds and "statement" not in kinds[: kinds.index("handover")]:
        return True
    return ("contact" in kinds and "statement" not in kinds) or declines(text, language)


def asks_back(text: str, language: Language) -> bool:
    """Whether the last that a text says about the matter is a question."""
    kinds = [piece.kind for piece in pieces(text, language) if piece.kind != "courtesy"]
    return bool(kinds) and kinds[-1] == "question"


def apologises(text: str, language: Language) -> bool:
    """Whether a text says sorry."""
    return bool(_lists_for(text, language).apology.search(normalise(text)))


def is_courtesy(text: str, language: Language) -> bool:
    """Whether a text is nothing but thanks, a greeting or the like: 「ありがとうございました」."""
    return {piece.kind for piece in pieces(text, language)} == {"courtesy"}


def without_courtesies(text: str, language: Language) -> str:
    """The text without its courtesies; all of it where there is nothing else."""
    return "\n".join(p.text for p in pieces(text, language) if p.kind != "courtesy") or text


def _size(text: str, language: Language, *kinds: Kind) -> int:
    """How many characters the pieces of these kinds have."""
    return sum(len(piece.text) for piece in pieces(text, language) if piece.kind in kinds)


class _Lists:
    """The compiled lists of phrases.toml in one language."""

    def __init__(self, language: Language) -> None:
        table = read_toml(FILE)[language]

        def compiled(pattern: str) -> re.Pattern[str]:
            return re.compile(_WORD.sub(lambda word: table["words"][word[1]], straight_pattern(pattern)))

        self.turn, self.aside, self.negated, self.offer, self.apology = (
            compiled(table[name]) for name in ("turn", "aside", "negated", "offer", "apology")
        )
        self.handover, self.decline, self.contact, self.courtesy = (
            compiled("|".join(f"(?:{pattern})" for pattern in table[kind]))
            for kind in ("handover", "decline", "contact", "courtesy")
        )

    def kind(self, piece: str) -> Kind:
        plain = normalise(piece)
        if len(plain) > LONGEST:
            return "statement"
        is_contact = bool(self.contact.search(plain))
        if _QUESTION.search(plain):
            return "courtesy" if self.offer.search(plain) else "contact" if is_contact else "question"
        main = self.aside.sub("", plain).lstrip(" ,、")
        if self.handover.search(main) and not self.negated.search(main):
            return "handover" if main == plain else "contact"
        if self.decline.search(main):
            return "decline"
        if is_contact:
            return "contact"
        return "courtesy" if self.courtesy.search(plain) and not _DIGIT.search(plain) else "statement"


@cache
def _lists(language: Language) -> _Lists:
    return _Lists(language)


def _lists_for(text: str, language: Language) -> _Lists:
    """The lists of the text's own language: without any CJK character it is English."""
    return _lists(language if _CJK.search(text) else "en")
