"""Which turns of two runs can be compared: those before which both customers said the same."""

from itertools import takewhile
from typing import NamedTuple

from simulator.core.types import Conversation, GradingContext, Results
from simulator.runner.conversation import grading_context
from simulator.stats.comparison import begun_conversations


class Pair(NamedTuple):
    """One turn of two runs, `a` and `b` (their ids), with what each of them answered."""

    a: str
    b: str
    one: GradingContext
    other: GradingContext
    repeat: int = 1

    @property
    def answers(self) -> tuple[str, str]:
        """The texts of both answers."""
        return self.one.turn.answer.text, self.other.turn.answer.text


class TurnPairs(NamedTuple):
    """The comparable turns of two runs, and how many turns cannot be compared.

    `differing` turns exist in both runs, but the customer said something else; `alone` were answered in one
    run only, because the other one ends before, or is a log without an answer to them; `unjudged` have
    nothing that two answers can be held against without a model.
    """

    pairs: tuple[Pair, ...]
    differing: int = 0
    alone: int = 0
    unjudged: int = 0


def matched(one: Results, other: Results) -> TurnPairs:
    """Pairs by case, persona, repeat, who plays and turn, as long as the customer's lines are the same.

    Both answers are graded by the case of the later run: its references may have been corrected since.
    """
    partners = begun_conversations(other, one)
    pairs: list[Pair] = []
    differing = alone = 0
    for key, conversation in begun_conversations(one, other).items():
        partner = partners.pop(key, None)
        if partner is None:
            alone += len(conversation.turns)
            continue
        same = _turns_after_same_lines(conversation, partner)
        case = {"case": (conversation if one.run.id > other.run.id else partner).case}
        a, b = (held.model_copy(update=case) for held in (conversation, partner))
        answered = [
            Pair(one.run.id, other.run.id, grading_context(a, at), grading_context(b, at), a.repeat)
            for at in range(1, same + 1)
            if not (a.turns[at - 1].unrecorded or b.turns[at - 1].unrecorded)
        ]
        shorter, longer = sorted((len(conversation.turns), len(partner.turns)))
        pairs += answered
        differing += shorter - same
        alone += longer - shorter + same - len(answered)
    alone += sum(len(conversation.turns) for conversation in partners.values())
    return TurnPairs(tuple(pairs), differing, alone)


def _turns_after_same_lines(one: Conversation, other: Conversation) -> int:
    """How many turns come before the customer says something else."""
    if one.case.history != other.case.history:
        return 0
    same = takewhile(
        lambda turns: (turns[0].index, turns[0].user) == (turns[1].index, turns[1].user),
        zip(one.turns, other.turns, strict=False),
    )
    return sum(1 for _ in same)
