"""What an answer says beside the matter: where else to ask, kind words, advice that any desk could give.

Beyond the courtesies of dialogue_acts.toml, for those who must not take such a sentence for a statement. The
patterns are data: courtesies.toml.
"""

import re
from functools import cache, lru_cache
from pathlib import Path

from simulator.core.templates import read_toml
from simulator.core.types import Language
from simulator.text.acts import LONGEST, Part, is_refusal, parts
from simulator.text.entities import details_of
from simulator.text.segments import CJK, normalise
from simulator.text.typography import straight_pattern

FILE = Path(__file__).with_name("courtesies.toml")
# How somebody can be reached: a sentence with other details says something about the matter.
_REACHED_BY = frozenset({"phone", "email", "url", "hours", "time"})
_CONTACTS = frozenset({"lead", "contact", "referral"})
# What is no statement, unless it has a detail.
_BESIDE = ("page", "kindness", "advice")
_CJK = re.compile(f"[{CJK}]")


@lru_cache(maxsize=1024)
def statements(text: str, language: Language) -> tuple[str, ...]:
    """What an answer states about the matter: neither courtesies nor questions, nor where else to ask."""
    return tuple(part.text for part in parts(text, language) if _states(part, language))


@lru_cache(maxsize=1024)
def declines(text: str, language: Language) -> bool:
    """Whether an answer declines, be it only by sending the customer politely to somebody else.

    What it states about the matter beside may be as long as that, no longer.
    """
    found = parts(text, language)
    if any(part.act == "refusal" for part in found) and is_refusal(text, language):
        return True
    away = [part.text for part in found if part.act in {"refusal", "handover"} or sends_away(part, language)]
    return bool(away) and len("".join(statements(text, language))) <= len("".join(away))


def sends_away(part: Part, language: Language) -> bool:
    """Whether a part of an answer says only where else to ask."""
    kinds = {each.kind for each in details_of(part.text)}
    is_page = _matches("page", part.text, language)
    is_contact = (part.act in _CONTACTS and not is_page) or _matches("elsewhere", part.text, language)
    return is_contact and kinds <= _REACHED_BY


def _states(part: Part, language: Language) -> bool:
    if part.act not in {"claim", "no_handover", *_CONTACTS} or sends_away(part, language):
        return False
    if details_of(part.text):
        return True
    return not any(_matches(kind, part.text, language) for kind in _BESIDE)


def _matches(kind: str, text: str, language: Language) -> bool:
    plain = normalise(text)
    if len(plain) > LONGEST:
        return False
    return bool(_patterns(language if _CJK.search(text) else "en")[kind].search(plain))


@cache
def _patterns(language: Language) -> dict[str, re.Pattern[str]]:
    table = read_toml(FILE)[language]
    return {
        kind: re.compile(straight_pattern("|".join(f"(?:{pattern})" for pattern in patterns)))
        for kind, patterns in table.items()
    }
