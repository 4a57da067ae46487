"""The words of a cross-examination: a follow-up question, the bot's answer to it, and how the two agree."""

from typing import Literal

from simulator.core.types import Conversation, Language, Turn, Value

# `unproven`: a disagreement was named whose quotes do not stand in the answers. `no_answer`: the bot failed.
Outcome = Literal["consistent", "contradicts", "corrects", "evades", "unproven", "no_answer"]
OUTCOMES: tuple[Outcome, ...] = ("contradicts", "corrects", "evades", "unproven", "no_answer", "consistent")


class FollowUp(Value):
    """A question about a part of an answer; `claim` is that part, word for word."""

    claim: str
    question: str


class Verdict(Value):
    """How a later answer goes with an earlier one; the quotes are word for word, or empty."""

    outcome: Outcome
    first_quote: str = ""
    later_quote: str = ""
    reason: str = ""


class Crossing(Value):
    """One follow-up question about a turn, the bot's answer to it, and the verdict on both answers."""

    conversation: str
    turn: int
    number: int
    language: Language
    asked: FollowUp
    answer: str
    verdict: Verdict


class Examined(Value):
    """What is kept of an examined turn: its crossings, and who asked and compared: models, or a stand-in."""

    conversation: str
    turn: int
    by: str
    crossings: tuple[Crossing, ...] = ()


class Target(Value):
    """A turn to be examined, within its conversation."""

    talk: Conversation
    turn: Turn

    @property
    def key(self) -> tuple[str, int]:
        """What the turn is known by."""
        return self.talk.id, self.turn.index

    @property
    def earlier(self) -> tuple[Turn, ...]:
        """The turns before it."""
        return self.talk.turns[: self.turn.index - 1]
