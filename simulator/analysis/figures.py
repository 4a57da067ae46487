"""The figures of a run, as frozen values: what `summarise` gives and every report shows."""

from simulator.analysis.corrected import Corrected, Shortage
from simulator.analysis.panel import PanelAgreement, VoteAgreement
from simulator.analysis.red import Mark
from simulator.types import Language, RedRules, Spending, Status, Value


class Mean(Value):
    """A mean of values 0..1 with the grades behind it: n of the planned ones."""

    mean: float | None
    n: int
    planned: int


class JudgeSummary(Value):
    """What one judge says of the run: `mean` 0..1, `raw_mean` on the judge's own scale.

    `answered_mean` leaves out the turns in which the bot gave no answer. `planned` is n + skipped +
    failed: every spoken turn; a grade that was never written counts as failed, kind `missing`.
    """

    mean: float | None
    answered_mean: float | None
    raw_mean: float | None
    stderr: float | None
    n: int
    planned: int
    skipped: int
    failed: int
    failures: dict[str, int]
    rubrics: tuple[str, ...]


class PersonaSummary(Value):
    """How one persona fared; `graded` counts the conversations that have a score.

    `names` is what people call the persona, by language; empty when the run does not know it.
    """

    persona: str
    names: dict[Language, str]
    score: float | None
    conversations: int
    graded: int
    turns: int
    red: int
    judges: dict[str, Mean]


class CaseSummary(Value):
    """How the bot did on one question, over all who asked it; `worst` is where to start reading."""

    case: str
    question: str
    score: float | None
    conversations: int
    turns: int
    red: int
    worst: tuple[str, int] | None


class RedTurn(Value):
    """A turn that people should read; `value` is what the deciding judge gave it, 0..1."""

    conversation: str
    turn: int
    persona: str
    case: str
    question: str
    answer: str
    value: float | None
    reason: str
    failure: str | None
    marks: tuple[Mark, ...]


class Total(Value):
    """The sum of the raw means of the RAG metrics that graded anything; `of` is 5 for each."""

    value: float | None
    of: int


class SimulatorSummary(Value):
    """How well the customers were played: messages rewritten by the guard, conversations lost."""

    guarded: int
    failed: int
    rules: dict[str, int]


class Summary(Value):
    """All figures of a run, unrounded; scores are 0..1, personas in order of their first appearance.

    `score` is the mean over the graded conversations, `answered_score` the same without the turns
    that got no answer; `conversation_scores` has those that have one, by id, and `missing` counts
    conversations that were held but have no grade. `labels` are the turns that people graded blind:
    enough of them make `corrected`, too few leave a `shortage`.
    """

    run: str
    status: Status
    offline: bool
    primary: str
    rules: RedRules
    score: float | None
    answered_score: float | None
    interval: tuple[float, float] | None
    conversation_scores: dict[str, float]
    judges: dict[str, JudgeSummary]
    personas: tuple[PersonaSummary, ...]
    cases: tuple[CaseSummary, ...]
    total: Total
    planned: int
    finished: int
    graded: int
    missing: int
    ended: dict[str, int]
    turns: int
    red: int
    red_kinds: dict[str, int]
    red_second: int
    reddest: tuple[RedTurn, ...]
    bot_failures: dict[str, int]
    panel: tuple[PanelAgreement, ...] = ()
    votes: tuple[VoteAgreement, ...] = ()
    corrected: Corrected | None = None
    labels: int = 0
    shortage: Shortage | None = None
    simulator: SimulatorSummary
    spending: dict[str, Spending]
    cost_usd: float | None
    seconds: float
