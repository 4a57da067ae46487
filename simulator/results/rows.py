"""The conversations of a run as figures need them: who asked, how each turn was graded, and no text.

Memory: a run can have 100,000 conversations. What is kept of a turn is its grades without their texts
(`Grade`), each different set of grades once, and its marks without their reasons. They are read by
results/turns.py, and part of a run's `Summary`, so that no figure has to open the run file again.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from simulator.core.messages import Message
from simulator.core.replies import LapseKind
from simulator.core.types import PASSED, TURN, Ended, Handover, Response, Severity, State

# Conversation and turn.
Key = tuple[str, int]
# By which rule a turn is red; the rules and their severities: results/red.py.
MarkKind = Literal[
    "no_answer", "overall", "groundedness", "correctness", "claims", "facts", "risk", "tools",
    "expectations", "conversation", LapseKind,
]  # fmt: skip
# Beside the kinds of failures: the run stopped before this grade was asked for.
UNREACHED = "unreached"
# What became of a second grading; empty where there was none.
Outcome = Literal["", "same", "flipped", "failed"]


@dataclass(frozen=True, slots=True)
class Mark:
    """One reason why a turn is red; `reason` is the judge's own sentence.

    `judge` is named where another one than `turn` decides: its grade is the low one.
    """

    kind: MarkKind
    severity: Severity
    reason: str = ""
    judge: str = ""


@dataclass(frozen=True, slots=True)
class Grade:
    """What figures need of a score: no text.

    `rubric` is empty where a rule decided, `failure` says how grading failed, `reason` why. `undecided` means
    that the evidence conflicts, `ignored` counts findings in words that do not stand there, and expected
    sentences without a verdict; `of_output` means that this grades one output of a row, without a threshold.
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
    ignored: int
    of_output: bool
    retest: Outcome
    second: float | None

    @property
    def is_scored(self) -> bool:
        """Whether there is a value."""
        return self.state == "scored"


@dataclass(frozen=True, slots=True)
class GradedTurn:
    """One turn with its grades, and what the deciding judge says of it.

    `is_last`: the conversation was held to its end, and this is its last turn. `value` is the deciding
    judge's, None without a grade; `marks` have no reasons; `failure` is the bot's, and `response` what the
    judge of turns says that its answer does. Of an `unrecorded` one a log does not tell, which is
    no loss where the customer only gave thanks (`courtesy`). `retrieved` has ids and sources of the passages
    that came, in their order. `seconds` and `first_token_seconds` are how long the bot took, None where
    nobody took the time.
    """

    conversation: str
    case: str
    persona: str
    turn: int
    scores: Mapping[str, Grade]
    value: float | None
    marks: tuple[Mark, ...]
    failure: str | None
    response: Response | None
    seconds: float | None
    first_token_seconds: float | None
    unrecorded: bool
    courtesy: bool
    is_last: bool
    retrieved: tuple[tuple[str, str], ...]

    @property
    def key(self) -> Key:
        """Conversation and turn."""
        return self.conversation, self.turn

    def lacks_grade_of(self, judge: str) -> str | None:
        """How the grading failed; `UNREACHED` when its score was never written although it was due.

        Of a data set with outputs a judge named `path.em` grades the rows whose reference has a `path`: in
        other rows its score is absent, not missing.
        """
        if (grade := self.scores.get(judge)) is not None:
            return grade.failure
        grades = self.scores.values()
        of_another = "." in judge and (PASSED in self.scores or any(grade.of_output for grade in grades))
        return None if of_another else UNREACHED


@dataclass(frozen=True, slots=True)
class ConversationRow:
    """One conversation that began, or ended before; `broken` are the guard's rules, message by message.

    `ended` is None while it is held, `ending` is that in the words of reports (`red.ending_of`). `overruled`
    counts where the persona's rules decided otherwise than the model about staying or leaving. `feeling` is
    the customer's own at the end, from -2 (angry) to 2 (glad), None where nobody said it. `user_model` is
    empty where one model plays all customers. `answerable` and `handover` are what its case says is right,
    `needed` the articles that it names.
    """

    id: str
    case: str
    question: str
    persona: str
    ended: Ended | None
    turns: tuple[GradedTurn, ...]
    broken: tuple[tuple[str, ...], ...]
    overruled: int
    user_model: str
    answerable: bool | None
    handover: Handover
    needed: tuple[str, ...]
    tags: tuple[str, ...]
    feeling: int | None
    ending: str


@dataclass(slots=True)
class RunTurns:
    """The conversations that began with their turns, how many did not begin, and the judges.

    `repeats` is how often each customer asks a question. `lapses` counts those of the conversations by kind,
    each kind once a conversation was graded, `lapsed` the conversations that have any; `expectations` counts
    the sentences of cases by what became of them. The judges in `whole` grade conversations. `primary` is the
    judge that decides. `evidence` says whether judges had anything to hold an answer against, `references`
    whether any case says what is right, `answers` whether there was an answer. `unsourced` counts answers
    without the place for passages that settings name, by what is there instead.
    """

    primary: str
    conversations: list[ConversationRow] = field(default_factory=list)
    evidence: bool = False
    references: bool = False
    answers: bool = False
    unsourced: Counter[Message | str] = field(default_factory=Counter)
    unbegun: int = 0
    repeats: int = 0
    lapses: Counter[str] = field(default_factory=Counter)
    lapsed: int = 0
    expectations: Counter[str] = field(default_factory=Counter)
    whole: set[str] = field(default_factory=set)

    @property
    def turns(self) -> Iterator[GradedTurn]:
        """Every turn; those of a conversation follow one another."""
        return (turn for row in self.conversations for turn in row.turns)

    @property
    def asks_responses(self) -> bool:
        """Whether a judge was asked that says what an answer does: that of turns, by a model or without."""
        return any(TURN in turn.scores or turn.response for turn in self.turns)
