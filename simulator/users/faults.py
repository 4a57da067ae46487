"""Turns in which the simulated customer, not the bot, was at fault.

Rather one fault missed than one too many: a false accusation of the customer hides a fault of the bot.
"""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation
from functools import cache
from itertools import combinations
from pathlib import Path
from string import Template
from typing import Any, Literal

from simulator.core.templates import read_toml
from simulator.core.types import Conversation, Language, Persona, Results, Turn, Value
from simulator.text.entities import Specific, located, specifics_of
from simulator.text.entity_meaning import Date, Measure
from simulator.text.evidence import coverage, mass, topic_units
from simulator.text.segments import sentences
from simulator.text.typography import straight, straight_pattern
from simulator.users.guard import Guard
from simulator.users.leaving import (
    TOLERATED,
    ScoresByTurn,
    answered_by,
    gave_up_early,
    is_scripted,
    left_early,
)

FILE = Path(__file__).with_name("faults.toml")


class FaultPatterns:
    """The patterns and sentences of one language."""

    def __init__(self, language: Language, table: dict[str, Any]) -> None:
        """`table` is the language's part of the file."""
        self.language = language
        self.question, self.supposing, self.conversation, self._thanks, self._no_thanks = (
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
def lines_of(language: Language) -> FaultPatterns:
    """The patterns of a language."""
    return FaultPatterns(language, _file()[language])


@cache
def is_exempt(kind: str, persona: str) -> bool:
    """Whether this persona may do it: it is how they are."""
    return persona in _file()["exempt"].get(kind, ())


@cache
def _file() -> dict[str, Any]:
    return read_toml(FILE)


def told_to(conversation: Conversation, persona: Persona | None, turn: Turn) -> tuple[str, ...]:
    """All that the customer knew before a turn, or had said: whatever else they state is made up."""
    case, earlier = conversation.case, [each for each in conversation.turns if each.index < turn.index]
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


# Months of a year, and both ways of a price: what anyone works out in their head.
_IN_THE_HEAD = (Decimal(12), Decimal(2))


def inventions(line: str, told: Sequence[str], lines: FaultPatterns) -> list[str]:
    """The details that a line states and no text of `told` holds, as the line writes them.

    What is asked, supposed or to be confirmed is no statement, counts of what happens in the talk itself
    (the third time, ten minutes) are nothing made up, and what follows from two known numbers is known.
    """
    stated = "\n".join(lines.stated(line))
    found = [each.text for each in specifics_of(stated) if not _is_known(each, told, lines)]
    everything = straight("\n".join(told)).lower()
    return found + [name for name in lines.names(stated) if straight(name).lower() not in everything]


def _is_known(one: Specific, told: Sequence[str], lines: FaultPatterns) -> bool:
    if located(one, told) is not None or straight(one.text).lower() in straight("\n".join(told)).lower():
        return True
    if not isinstance(one.meaning, Measure):
        return isinstance(one.meaning, Date) and _is_day_of(one.meaning, told)
    if one.meaning.unit in lines.own_counts:
        return True
    return all(_follows(value, told) for value in one.meaning.values)


def _is_day_of(date: Date, told: Sequence[str]) -> bool:
    """Whether a told text has the same day or month, only said less fully."""
    known = [
        reading
        for text in told
        for each in specifics_of(text)
        if isinstance(each.meaning, Date)
        for reading in each.meaning.readings
    ]
    return any(told_of.is_part_of(own) for told_of in known for own in date.readings)


def _follows(value: str, told: Sequence[str]) -> bool:
    """Whether a number is one of the known ones, whatever it counts, or made of two of them."""
    wanted, known = _number(value), set(_numbers(told))
    if wanted is None or wanted in known:
        return wanted is not None
    known |= set(_IN_THE_HEAD)
    return any(wanted in _made_of(one, other) for one, other in combinations(sorted(known), 2))


def _made_of(one: Decimal, other: Decimal) -> Iterator[Decimal]:
    yield from (one + other, other - one, one * other)
    if one:
        yield other / one


def _numbers(told: Sequence[str]) -> Iterator[Decimal]:
    for text in told:
        for each in specifics_of(text):
            if isinstance(each.meaning, Measure):
                yield from (number for value in each.meaning.values if (number := _number(value)) is not None)


def _number(value: str) -> Decimal | None:
    try:
        return Decimal(value)
    except InvalidOperation:
        return None


FaultKind = Literal["invented", "off_goal", "left_early", "left_late", "repeated", "broke_role", "impatient"]
KINDS: tuple[FaultKind, ...] = (
    "invented", "off_goal", "left_early", "left_late", "repeated", "broke_role", "impatient",
)  # fmt: skip
# What makes the grade of that very turn doubtful. The others are about when the customer left: the answer
# of that turn is as good or bad as it is.
SPOILING: frozenset[FaultKind] = frozenset({"invented", "off_goal", "repeated", "broke_role"})
# The guard's rules that a customer breaks who is no customer any more.
ROLE_RULES = frozenset({"reasoning", "both_sides", "stage", "desk", "flip", "language"})
# A question of this much content, of which this share at most was ever a matter here, is another matter.
OTHER_MATTER, STRANGE = 10, 0.05
# As much of a line as a reason quotes.
QUOTED = 40


class CustomerFault(Value):
    """One turn that the simulated customer spoilt; `reason` says how, in the language of the case."""

    conversation: str
    turn: int
    kind: FaultKind
    reason: str

    @property
    def spoils(self) -> bool:
        """Whether the grade of this turn is doubtful for it; leaving too early or late changes no grade."""
        return self.kind in SPOILING


def customer_faults(results: Results, scores: ScoresByTurn | None = None) -> tuple[CustomerFault, ...]:
    """The turns in which the simulated customer, not the bot, was at fault; one fault of a kind per turn.

    Lines that a script or a replayed run gave are nobody's fault. `scores` are the run's own, where they are
    at hand by turn.
    """
    people = {persona.id: persona for persona in results.personas}
    settings = results.run.settings
    scores = ScoresByTurn(results.scores) if scores is None else scores
    limit = settings.get("turns")
    turns = limit if isinstance(limit, int) else 0
    return tuple(
        fault
        for conversation in results.conversations
        if not is_scripted(conversation, settings)
        for fault in _of(conversation, people.get(conversation.persona), scores, turns)
    )


def spoilt_turns(results: Results) -> dict[tuple[str, int], CustomerFault]:
    """Of `customer_faults` those that make a grade doubtful, by talk and turn; the last of several."""
    people = {persona.id: persona for persona in results.personas}
    return {
        (conversation.id, turn.index): fault
        for conversation in results.conversations
        if not is_scripted(conversation, results.run.settings)
        for turn in conversation.turns
        for fault in _said(conversation, people.get(conversation.persona), turn)
        if fault.spoils
    }


def _of(
    conversation: Conversation, persona: Persona | None, scores: ScoresByTurn, turns: int
) -> Iterator[CustomerFault]:
    for turn in conversation.turns:
        yield from _said(conversation, persona, turn)
    yield from _left(conversation, persona, scores, turns)


def _said(conversation: Conversation, persona: Persona | None, turn: Turn) -> Iterator[CustomerFault]:
    """What is wrong with a line; the case's own question is none of the customer's making."""
    if turn.meant == conversation.case.question:
        return
    lines, told = lines_of(conversation.case.language), told_to(conversation, persona, turn)
    if found := inventions(turn.meant, told, lines):
        yield _fault(conversation, turn.index, "invented", what=found[0])
    if turn.index == 1:
        return
    if strange := _strange(conversation, told, turn):
        yield _fault(conversation, turn.index, "off_goal", what=strange[:QUOTED])
    rule = Guard(conversation.case.language).broken_rule(turn.meant, _own_lines(conversation, turn))
    if rule == "repeat":
        yield _fault(conversation, turn.index, "repeated")
    elif rule in ROLE_RULES:
        yield _fault(conversation, turn.index, "broke_role", what=rule)


def _strange(conversation: Conversation, told: Sequence[str], turn: Turn) -> str:
    """A question about something that was never a matter here; empty when there is none."""
    if is_exempt("off_goal", conversation.persona):
        return ""
    lines = lines_of(conversation.case.language)
    known = (*told, *(text for answers in conversation.case.references for text in answers))
    for sentence in sentences(turn.meant):
        plain = straight(sentence)
        if not lines.question.search(plain) or lines.conversation.search(plain):
            continue
        if mass(topic_units(sentence)) >= OTHER_MATTER and coverage(sentence, known) <= STRANGE:
            return sentence
    return ""


def _own_lines(conversation: Conversation, turn: Turn) -> list[str]:
    said = [line.content for line in conversation.case.history if line.role == "user"]
    return [
        *said,
        conversation.case.question,
        *(each.meant for each in conversation.turns if each.index < turn.index),
    ]


def _left(
    conversation: Conversation, persona: Persona | None, scores: ScoresByTurn, turns: int
) -> Iterator[CustomerFault]:
    """What is wrong with when the customer left, filed under the turn after which they should not have."""
    if left_early(conversation, scores):
        yield _fault(conversation, len(conversation.turns), "left_early")
    patience = persona.patience if persona and not is_exempt("impatient", persona.id) else 0
    if gave_up_early(conversation, scores, patience, turns):
        yield _fault(conversation, len(conversation.turns), "impatient")
    done = answered_by(conversation, scores) if len(conversation.turns) > TOLERATED + 1 else None
    if done is not None:
        for late in range(done + TOLERATED + 1, len(conversation.turns) + 1):
            yield _fault(conversation, late, "left_late", turn=str(done))


def _fault(conversation: Conversation, at: int, kind: FaultKind, **values: str) -> CustomerFault:
    reason = lines_of(conversation.case.language).reason(kind, **values)
    return CustomerFault(conversation=conversation.id, turn=at, kind=kind, reason=reason)
