"""Turns in which the simulated customer, not the bot, was at fault.

Rather one fault missed than one too many: a false accusation of the customer hides a fault of the bot.
"""

from collections.abc import Iterator, Sequence
from typing import Literal

from simulator.core.types import Conversation, Persona, Results, Turn, Value
from simulator.customers.inventions import inventions
from simulator.customers.leaving import (
    TOLERATED,
    ScoresByTurn,
    answered_by,
    gave_up_early,
    is_scripted,
    left_early,
)
from simulator.customers.lines import is_exempt, lines_of, told_to
from simulator.guard import Guard
from simulator.text.evidence import coverage, mass, topic_units
from simulator.text.segments import sentences
from simulator.text.typography import straight

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
        for talk in results.conversations
        if not is_scripted(talk, settings)
        for fault in _of(talk, people.get(talk.persona), scores, turns)
    )


def spoilt_turns(results: Results) -> dict[tuple[str, int], CustomerFault]:
    """Of `customer_faults` those that make a grade doubtful, by talk and turn; the last of several."""
    people = {persona.id: persona for persona in results.personas}
    return {
        (talk.id, turn.index): fault
        for talk in results.conversations
        if not is_scripted(talk, results.run.settings)
        for turn in talk.turns
        for fault in _said(talk, people.get(talk.persona), turn)
        if fault.spoils
    }


def _of(
    talk: Conversation, persona: Persona | None, scores: ScoresByTurn, turns: int
) -> Iterator[CustomerFault]:
    for turn in talk.turns:
        yield from _said(talk, persona, turn)
    yield from _left(talk, persona, scores, turns)


def _said(talk: Conversation, persona: Persona | None, turn: Turn) -> Iterator[CustomerFault]:
    """What is wrong with a line; the case's own question is none of the customer's making."""
    if turn.meant == talk.case.question:
        return
    lines, told = lines_of(talk.case.language), told_to(talk, persona, turn)
    if found := inventions(turn.meant, told, lines):
        yield _fault(talk, turn.index, "invented", what=found[0])
    if turn.index == 1:
        return
    if strange := _strange(talk, told, turn):
        yield _fault(talk, turn.index, "off_goal", what=strange[:QUOTED])
    rule = Guard(talk.case.language).broken_rule(turn.meant, _own_lines(talk, turn))
    if rule == "repeat":
        yield _fault(talk, turn.index, "repeated")
    elif rule in ROLE_RULES:
        yield _fault(talk, turn.index, "broke_role", what=rule)


def _strange(talk: Conversation, told: Sequence[str], turn: Turn) -> str:
    """A question about something that was never a matter here; empty when there is none."""
    if is_exempt("off_goal", talk.persona):
        return ""
    lines = lines_of(talk.case.language)
    known = (*told, *(text for answers in talk.case.references for text in answers))
    for sentence in sentences(turn.meant):
        plain = straight(sentence)
        if not lines.question.search(plain) or lines.talk.search(plain):
            continue
        if mass(topic_units(sentence)) >= OTHER_MATTER and coverage(sentence, known) <= STRANGE:
            return sentence
    return ""


def _own_lines(talk: Conversation, turn: Turn) -> list[str]:
    said = [line.content for line in talk.case.history if line.role == "user"]
    return [*said, talk.case.question, *(each.meant for each in talk.turns if each.index < turn.index)]


def _left(
    talk: Conversation, persona: Persona | None, scores: ScoresByTurn, turns: int
) -> Iterator[CustomerFault]:
    """What is wrong with when the customer left, filed under the turn after which they should not have."""
    if left_early(talk, scores):
        yield _fault(talk, len(talk.turns), "left_early")
    patience = persona.patience if persona and not is_exempt("impatient", persona.id) else 0
    if gave_up_early(talk, scores, patience, turns):
        yield _fault(talk, len(talk.turns), "impatient")
    done = answered_by(talk, scores) if len(talk.turns) > TOLERATED + 1 else None
    if done is not None:
        for late in range(done + TOLERATED + 1, len(talk.turns) + 1):
            yield _fault(talk, late, "left_late", turn=str(done))


def _fault(talk: Conversation, at: int, kind: FaultKind, **values: str) -> CustomerFault:
    reason = lines_of(talk.case.language).reason(kind, **values)
    return CustomerFault(conversation=talk.id, turn=at, kind=kind, reason=reason)
