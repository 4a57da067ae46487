"""What customers' lines are searched with: the patterns of faults.toml, ready for use."""

import re
from functools import cache
from pathlib import Path
from string import Template
from typing import Any

from simulator.core.templates import read_toml
from simulator.core.types import Conversation, Language, Persona, Turn
from simulator.text.segments import sentences
from simulator.text.typography import straight, straight_pattern

FILE = Path(__file__).with_name("faults.toml")


class Lines:
    """The patterns and sentences of one language."""

    def __init__(self, language: Language, table: dict[str, Any]) -> None:
        """`table` is the language's part of the file."""
        self.language = language
        self.question, self.supposing, self.talk, self._thanks, self._no_thanks = (
            re.compile(straight_pattern(table[name]), re.IGNORECASE)
            for name in ("question", "supposing", "talk", "thanks", "no_thanks")
        )
        self._names = [re.compile(straight_pattern(each)) for each in table["names"]]
        self.own_counts = frozenset(table["own_counts"])
        self._reasons: dict[str, str] = table["reasons"]

    def asks(self, line: str) -> bool:
        """Whether a line holds a question."""
        return any(self.question.search(sentence) for sentence in sentences(straight(line)))

    def thanks(self, line: str) -> bool:
        """Whether a line thanks; "no, thank you" and "thanks for nothing" do not."""
        return bool(self._thanks.search(self._no_thanks.sub(" ", straight(line))))

    def stated(self, line: str) -> list[str]:
        """The sentences that state something: not what is asked, supposed or to be confirmed."""
        return [
            sentence
            for sentence in sentences(line)
            if not self.question.search(plain := straight(sentence)) and not self.supposing.search(plain)
        ]

    def names(self, line: str) -> list[str]:
        """The names of people that a line gives."""
        return [
            line[slice(*found.span(1))] for each in self._names for found in each.finditer(straight(line))
        ]

    def reason(self, kind: str, **values: str) -> str:
        """What is said of a fault."""
        return Template(self._reasons[kind]).safe_substitute(values)


@cache
def lines_of(language: Language) -> Lines:
    """The patterns of a language."""
    return Lines(language, _file()[language])


@cache
def is_exempt(kind: str, persona: str) -> bool:
    """Whether this persona may do it: it is how they are."""
    return persona in _file()["exempt"].get(kind, ())


@cache
def _file() -> dict[str, Any]:
    return read_toml(FILE)


def told_to(talk: Conversation, persona: Persona | None, turn: Turn) -> tuple[str, ...]:
    """All that the customer knew before a turn, or had said: whatever else they state is made up."""
    case, earlier = talk.case, [each for each in talk.turns if each.index < turn.index]
    voice = persona.speaks(case.language) if persona else None
    phrases = [phrase for lines in voice.phrases.values() for phrase in lines] if voice else []
    return (
        case.question,
        case.goal or "",
        *case.facts.knows,
        *case.facts.unknown,
        *case.choices,
        *(message.content for message in case.history),
        *(voice.knows if voice else ()),
        *phrases,
        *(text for each in earlier for text in (each.meant, each.user, each.answer.text)),
    )
