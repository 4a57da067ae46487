"""How the customer sounds: words and marks of feeling in what they say, in feelings.toml."""

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from pydantic import JsonValue

from simulator.core.templates import read_toml
from simulator.core.types import Language
from simulator.counting.verdicts import Verdict
from simulator.text.evidence import Reading
from simulator.text.segments import normalise
from simulator.text.typography import straight_pattern
from simulator.text.wording import quoted

FILE = Path(__file__).with_name("feelings.toml")
ANGRY = -2.0
# What each list adds; what is said before a turn ("thank you, but ...") counts half.
WORTH = {"furious": -2.0, "unhappy": -1.0, "glad": 1.0, "delighted": 2.0}
BEFORE_A_TURN = 0.5
# A text longer than this is cut.
LONGEST = 4000


class Felt(NamedTuple):
    """The feeling (-2..2, not rounded) and the words that show it."""

    strength: float
    words: tuple[str, ...]


class _Words:
    """The compiled lists of one language."""

    def __init__(self, language: Language) -> None:
        table = read_toml(FILE)[language]
        self.lists = {
            name: re.compile(straight_pattern("|".join(f"(?:{word})" for word in table[name])))
            for name in WORTH
        }
        self.cancels, self.turn, self.louder = (
            re.compile(straight_pattern(table[name])) for name in ("cancels", "turn", "louder")
        )


def felt(text: str, language: Language) -> Felt:
    """What feeling the words show: angry words outweigh thanks, and what follows a "but" what precedes it."""
    words = _words(language)
    plain = words.cancels.sub(" ", normalise(text[:LONGEST]))
    parts = [part for part in words.turn.split(plain) if part.strip()]
    found: list[str] = []
    worst = best = 0.0
    for at, part in enumerate(parts):
        kept = 1.0 if at == len(parts) - 1 else BEFORE_A_TURN
        for name, worth in WORTH.items():
            said = [match[0] for match in words.lists[name].finditer(part)]
            found += said
            if said:
                worst, best = min(worst, worth * kept), max(best, worth * kept)
    strength = worst + best if worst > ANGRY else worst
    if strength and words.louder.search(plain):
        strength += 1 if strength > 0 else -1
    return Felt(max(-2.0, min(2.0, strength)), tuple(dict.fromkeys(found)))


def tone(reading: Reading) -> Verdict:
    """The customer's feeling in this turn, from -2 (angry) over 0 (even) to 2 (delighted)."""
    found, say = felt(reading.exhibit.turn.user, reading.language), reading.say
    raw = _whole(found.strength)
    detail: dict[str, JsonValue] = {
        "feeling": raw,
        "words": list(found.words),
        "score": round((found.strength + 2) / 4, 4),
    }
    if not found.words:
        return Verdict(raw, say("even"), detail, (-2, 2))
    side = "unhappy" if raw < 0 else "glad" if raw > 0 else "mixed"
    items = say.listed([quoted(word) for word in found.words])
    return Verdict(raw, say(side, items=items), detail, (-2, 2))


def _whole(strength: float) -> int:
    """Rounded away from 0: half a feeling is one."""
    return int(strength + (0.5 if strength > 0 else -0.5))


@cache
def _words(language: Language) -> _Words:
    return _Words(language)
