"""What came out of one pair of answers: two ballots, one for each order, and what they settle."""

from collections.abc import Sequence
from typing import Literal

from simulator.core.types import Value
from simulator.pairwise.pairs import Pair

Side = Literal["a", "b"]
Verdict = Literal["a", "b", "tie"]
How = Literal["model", "stand_in", "rule"]


class Ballot(Value):
    """One reading of a pair: which answer stood first, and which was found better."""

    first: Side
    verdict: Verdict
    reason: str = ""

    @property
    def position(self) -> Literal["first", "second", "tie"]:
        """The place of the answer that was preferred."""
        return "tie" if self.verdict == "tie" else "first" if self.verdict == self.first else "second"


class Read(Value):
    """What a model said of two answers in the order shown, whichever runs they are from."""

    verdict: Literal["1", "2", "tie"]
    reason: str = ""

    def ballot(self, first: Side) -> Ballot:
        """The verdict by run, where the answer of `first` was answer 1."""
        second: Side = "b" if first == "a" else "a"
        meant: dict[str, Verdict] = {"1": first, "2": second, "tie": "tie"}
        return Ballot(first=first, verdict=meant[self.verdict], reason=self.reason)


class Outcome(Value):
    """One compared turn. `verdict` is None where the judging failed; `problem` then says why.

    `margin` is how clear it is, as far as that is known: by a stand-in the difference of its measures.
    """

    a: str
    b: str
    conversation: str
    case: str
    persona: str
    repeat: int
    turn: int
    question: str
    answers: tuple[str, str]
    how: How
    verdict: Verdict | None
    reason: str = ""
    ballots: tuple[Ballot, ...] = ()
    margin: float = 0.0
    problem: str = ""

    @property
    def share(self) -> float:
        """What `b` has of this pair: 1 for a win, 0.5 for a tie."""
        return {"b": 1.0, "a": 0.0}.get(self.verdict or "tie", 0.5)

    @property
    def disagreed(self) -> bool:
        """Whether the two orders led to different verdicts."""
        return len({ballot.verdict for ballot in self.ballots}) > 1


def settled(ballots: Sequence[Ballot]) -> Verdict:
    """The verdict that both orders share; a tie when they differ."""
    verdicts = {ballot.verdict for ballot in ballots}
    return verdicts.pop() if len(verdicts) == 1 else "tie"


def outcome(pair: Pair, how: How, verdict: Verdict | None, **more: object) -> Outcome:
    """The outcome of a pair, with what is known of the turn."""
    known = {
        "a": pair.a,
        "b": pair.b,
        "conversation": pair.one.conversation,
        "case": pair.one.case.id,
        "persona": pair.one.persona,
        "repeat": pair.repeat,
        "turn": pair.one.turn.index,
        "question": pair.one.turn.user,
        "answers": pair.answers,
        "how": how,
        "verdict": verdict,
    }
    return Outcome.model_validate(known | more)
