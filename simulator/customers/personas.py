"""Whether a persona can be told by what its customers say: a blind guess without a model."""

import re
from collections.abc import Sequence
from functools import lru_cache, reduce

from simulator.analysis.figures import Figure
from simulator.core.types import Conversation, Language, Persona
from simulator.customers.guessing import NaiveBayes

# A reader who knows the personas should tell them at least this often.
GOAL = 0.8
_VARIABLE = re.compile(r"\$\{?[a-z]+\}?")
_ENDS = "。．.？?！!、, 　"
# A quoted question is cut somewhere: as much of its beginning tells it.
_BEGINNING = 12


def guessed(talks: Sequence[Conversation], personas: Sequence[Persona]) -> Figure:
    """The share of conversations whose persona is guessed from the customer's lines after the first.

    The guess knows the personas' phrases and what their customers said in other conversations, but no line
    that was said in this one, and nothing of question and facts, which are the same whoever asks.
    """
    hits: list[bool] = []
    for language in ("ja", "en"):
        mine = [talk for talk in talks if talk.case.language == language and _lines(talk)]
        if len({talk.persona for talk in mine}) > 1:
            hits += _hits(mine, personas, language)
    return Figure(value=sum(hits) / len(hits) if hits else None, n=sum(hits), of=len(hits), goal=GOAL)


def _hits(talks: Sequence[Conversation], personas: Sequence[Persona], language: Language) -> list[bool]:
    """Whether each conversation's persona is guessed."""
    known: dict[str, dict[str, None]] = {talk.persona: {} for talk in talks}
    for persona in personas:
        if persona.id in known:
            known[persona.id] |= dict.fromkeys(_phrases(persona, language))
    for talk in talks:
        known[talk.persona] |= dict.fromkeys(_lines(talk))
    model = NaiveBayes(known)
    return [
        model.guess("\n".join(own), [line for line in own if line in known[talk.persona]], talk.persona)
        == talk.persona
        for talk in talks
        if (own := list(dict.fromkeys(_lines(talk))))
    ]


def _phrases(persona: Persona, language: Language) -> list[str]:
    """The persona's phrases without what is filled in."""
    found = (phrase for lines in persona.speaks(language).phrases.values() for phrase in lines)
    return [_VARIABLE.sub("", phrase) for phrase in found]


def _lines(talk: Conversation) -> tuple[str, ...]:
    """What the customer said after the first line, without the question and the facts that it takes up."""
    said = [*(turn.meant for turn in talk.turns[1:]), *([talk.closing] if talk.closing else [])]
    taken = (talk.case.question, *talk.case.facts.knows)
    return tuple(reduce(_without, taken, line) for line in said)


@lru_cache(maxsize=4096)
def _without(line: str, question: str) -> str:
    """The line without a question or a fact that it quotes, whole or cut."""
    bare = question.strip().rstrip(_ENDS)
    for cut in (question.strip(), bare):
        if cut and cut in line:
            return line.replace(cut, "")
    at = line.find(bare[:_BEGINNING]) if len(bare) > _BEGINNING else -1
    if at < 0:
        return line
    end = at
    while end < len(line) and end - at < len(bare) and line[end] == bare[end - at]:
        end += 1
    return line[:at] + line[end:].removeprefix("…")
