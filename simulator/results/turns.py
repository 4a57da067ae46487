"""The turns of a run as figures need them: who asked, how each was graded, and no text."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from simulator.core.types import Ended, State
from simulator.results.figures import Mark

# What became of a second grading; empty where there was none.
Outcome = Literal["", "same", "flipped", "failed"]


@dataclass(frozen=True, slots=True)
class ConversationRow:
    """One conversation that began, without its turns; `broken` are the guard's rules, message by message.

    `ended` is None while it is held. `overruled` counts where the persona's rules decided otherwise than the
    model about staying or leaving. `user_model` is empty where one model plays all customers.
    """

    id: str
    case: str
    question: str
    persona: str
    ended: Ended | None
    broken: tuple[tuple[str, ...], ...]
    overruled: int
    user_model: str = ""


@dataclass(frozen=True, slots=True)
class Grade:
    """What figures need of a score: no text.

    `rubric` is empty where a rule decided, `failure` says how grading failed, `reason` why. `undecided` means
    that the evidence conflicts, `conflicts_ignored` and `lapses_ignored` count findings in words that do not
    stand there, `of_output` means that this grades one output of a row, without a threshold.
    `retest` is what became of a second grading, and `second` the value that it gave. `value` is 0..1, `raw`
    on the judge's own `scale`; both are None unless `state` is scored.
    """

    judge: str
    state: State
    value: float | None
    raw: float | None
    scale: tuple[float, float]
    rubric: str
    failure: str | None
    reason: str
    undecided: bool
    conflicts_ignored: int
    lapses_ignored: int
    of_output: bool
    retest: Outcome = ""
    second: float | None = None


@dataclass(frozen=True, slots=True)
class GradedTurn:
    """One turn with its grades, and what the deciding judge says of it.

    `is_last`: the conversation was held to its end, and this is its last turn. `value` is the deciding
    judge's, None without a grade; `marks` have no reasons; `failure` is the bot's. An `excluded` turn, which
    a customer spoilt, has neither grades nor marks; of an `unrecorded` one a log does not tell, which is no
    loss where the customer only gave thanks (`courtesy`).
    """

    conversation: str
    case: str
    persona: str
    turn: int
    scores: Mapping[str, Grade]
    value: float | None
    marks: tuple[Mark, ...]
    failure: str | None
    excluded: bool = False
    unrecorded: bool = False
    courtesy: bool = False
    is_last: bool = False


@dataclass(slots=True)
class RunTurns:
    """The conversations that began, their turns, how many did not begin, and the judges.

    `repeats` is how often each customer asks a question. `lapses` counts those of the conversations by kind,
    `lapsed` the conversations that have any. The judges in `whole` grade conversations.
    """

    conversations: list[ConversationRow] = field(default_factory=list)
    turns: list[GradedTurn] = field(default_factory=list)
    unbegun: int = 0
    repeats: int = 0
    judges: set[str] = field(default_factory=set)
    lapses: Counter[str] = field(default_factory=Counter)
    lapsed: int = 0
    whole: set[str] = field(default_factory=set)
