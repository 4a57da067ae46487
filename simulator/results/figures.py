"""The figures of a run, as frozen values: what `summarise` returns and every report shows.

`Summary` is the whole, made by results/summary.py of four values: scores, red answers, customers and money.
The other classes are their parts. Nothing is computed here but what follows from the figures themselves.
Scores and means are shares (0..1), shown out of 100 by whoever shows them; money is in dollars, None where a
price is not known, time in seconds.

A mean never travels alone. Beside it stand `n`, the grades that made it, and `planned`, the grades that there
should have been; the rest was skipped, failed or left out, each counted by itself.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import comb
from statistics import fmean
from typing import Any

from pydantic import Field

from simulator.core.document import Text
from simulator.core.messages import _
from simulator.core.titles import Titles, title
from simulator.core.types import LEXICAL, Disputed, Language, RedRules, Spending, Status, Turn, Value
from simulator.models.pricing import total_spending
from simulator.results.certificate import Standing
from simulator.results.rows import Key, Mark, RunTurns

# From so many answers with one and the same grade on, a judge is warned about.
ENOUGH_ALIKE = 30


class Mean(Value):
    """A mean of values 0..1 with the grades behind it: n of the planned ones."""

    mean: float | None
    n: int
    planned: int


class RetestFigures(Value):
    """How often a judge said something else when it graded the same turn again: `flips` of `n` times.

    A flip is another grade, or one that is red where the other is not. `failed` second gradings count as
    nothing; `variance` is the `retest_variance` of a grade 0..1.
    """

    n: int
    flips: int
    failed: int
    variance: float


class JudgeSummary(Value):
    """What one judge says of the run: `mean` 0..1, `raw_mean` on the judge's own scale.

    `planned` is n + skipped + failed + unreached: every spoken turn. `unreached` are grades that the run
    stopped before. `undecided` are those skipped turns on which reference and passages contradict each other;
    `ignored` are findings in words that do not stand there, and expected sentences without a verdict.
    `failure_reason` is the most frequent one. A judge of whole conversations counts these instead of turns:
    those that were held to their end. `stderr` allows for what `retest` found; None is a judge that graded
    nothing twice. `unanswered` are the skipped turns to which a log has no answer, but for a customer's
    thanks; `cases` are the questions with a grade, of the `cases_due` in which one was due.
    """

    mean: float | None
    raw_mean: float | None
    stderr: float | None
    n: int
    planned: int
    skipped: int
    failed: int
    # By kind, as `timeout`, `malformed`; then every rubric that graded, by hash: of one run
    # usually one.
    failures: dict[str, int]
    rubrics: tuple[str, ...]
    failure_reason: str
    unreached: int
    undecided: int
    ignored: int
    retest: RetestFigures | None
    unanswered: int
    cases: int
    cases_due: int
    # On the judge's own scale: the grade that each of so many answers got (`ENOUGH_ALIKE`).
    same_grade: float | None

    @property
    def missing(self) -> int:
        """How many grades were due and did not come."""
        return self.failed + self.unreached

    @property
    def due(self) -> int:
        """How many grades there should be: all but those that do not apply."""
        return self.n + self.missing + self.undecided + self.unanswered


class PersonaSummary(Value):
    """How one persona fared; `graded` counts the conversations that have a score.

    `names` is what people call the persona, by language; empty when the run does not know it. `score` is the
    mean over the graded conversations, None without any; `red` counts turns; `judges` has a mean for each
    judge of the run, over turns.
    """

    persona: str
    names: dict[Language, str]
    score: float | None
    conversations: int
    graded: int
    turns: int
    red: int
    # Also of judges that graded none of this persona's turns, with n = 0.
    judges: dict[str, Mean]


@dataclass(frozen=True, slots=True)
class CaseSummary:
    """How the bot did on one question, over all who asked it; `turns` and `red` count turns.

    In a large run `question` is empty where its first conversation has no red turn.
    """

    case: str
    question: str
    score: float | None
    conversations: int
    turns: int
    red: int


@dataclass(frozen=True, slots=True)
class RedTurn:
    """A turn that people should read; `value` is what the deciding judge gave it, 0..1.

    `reason` is that of the gravest mark, `failure` the kind of the bot's failure where it gave no answer,
    `reference` a right answer where somebody wrote one.
    `marks` are in the order of their rules and never empty. Texts are excerpts, and empty for most turns of a
    large run (`MAX_QUOTED` of results/red_answers.py). `dispute` is what people say against it, here or in an
    earlier run.
    """

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
    reference: str = ""
    dispute: Disputed | None = None

    @property
    def key(self) -> Key:
        """Conversation and turn."""
        return self.conversation, self.turn

    @property
    def is_disputed(self) -> bool:
        """Whether people say that it should not be red."""
        return self.dispute is not None and self.dispute.is_same


class Total(Value):
    """The sum of the raw means of the RAG metrics that graded anything; `of` is 5 for each.

    A run with groundedness 4.2 and fluency 4.9 alone has 9.1 of 10; None where none of the five graded.
    """

    value: float | None
    of: int

    @property
    def n(self) -> int:
        """How many metrics these are."""
        return self.of // 5


class CustomerFigures(Value):
    """How the customers were played.

    `guarded` messages were rewritten, `rules` counts them by the rule of the guard that they broke; `failed`
    are conversations that were lost; `overruled` counts where a persona's rules decided otherwise than the
    model about staying or leaving.
    """

    guarded: int
    rules: dict[str, int]
    failed: int
    overruled: int


class SimulatorScore(Value):
    """The score of the bot (0..1) where this model played the customers, in `n` graded conversations."""

    score: float | None
    interval: tuple[float, float] | None
    n: int


def pass_hat(passed: int, finished: int, k: int) -> float:
    """The chance that `k` of the `finished` repeats of a question, drawn without replacement, all passed.

    C(passed, k) / C(finished, k): pass^k of tau-bench (Yao et al., 2024), an unbiased estimate of the chance
    that k repeats all pass. It takes k <= finished.

    2 of 3 passed -> 0.667 for k = 1, 0.333 for k = 2, 0 for k = 3. The plain power (2/3) ** 2 would be 0.444:
    too much, because it draws the same repeat twice.
    """
    return comb(passed, k) / comb(finished, k)


class Reliability(Value):
    """What became of questions that each customer asked `k` times.

    `counts` has of each question how many of its conversations passed, and how many can say so. A
    conversation passes when none of its turns is red. One that was not held to its end, or that the deciding
    judge could not grade, counts as neither, and is one of `lost`.
    """

    k: int
    counts: dict[str, tuple[int, int]]
    lost: int

    @classmethod
    def of(cls, outcomes: Iterable[tuple[str, bool | None]], k: int, unbegun: int) -> "Reliability":
        """From conversations that have begun: their question, and whether they passed (None: neither).

        `unbegun` are conversations that should have been held; they are lost, too.
        """
        # A question whose conversations are all lost stays in, with (0, 0), and is in no mean.
        counts: dict[str, tuple[int, int]] = {}
        lost = unbegun
        for case, passed in outcomes:
            right, of = counts.get(case, (0, 0))
            counts[case] = (right + bool(passed), of + (passed is not None))
            lost += passed is None
        return cls(k=k, counts=counts, lost=lost)

    def passes(self, k: int) -> dict[str, float]:
        """pass^k of each question that has so many finished repeats."""
        # Fewer finished repeats cannot say whether k of them pass.
        return {case: pass_hat(*counted, k) for case, counted in self.counts.items() if counted[1] >= k}

    def mean(self, k: int) -> float | None:
        """pass^k of the run: the mean over the questions with so many finished repeats; None without any."""
        shares = self.passes(k)
        return fmean(shares.values()) if shares else None

    @property
    def enough(self) -> dict[str, tuple[int, int]]:
        """The questions with all their repeats, which can be called always, sometimes or never passed."""
        return {case: counted for case, counted in self.counts.items() if counted[1] >= self.k}

    @property
    def always(self) -> list[str]:
        """The questions that passed every time."""
        return [case for case, (passed, of) in self.enough.items() if passed == of]

    @property
    def sometimes(self) -> list[str]:
        """Those that passed, but not every time; the least reliable first."""
        mixed = {case: passed / of for case, (passed, of) in self.enough.items() if 0 < passed < of}
        return sorted(mixed, key=mixed.__getitem__)

    @property
    def never(self) -> list[str]:
        """Those that never passed."""
        return [case for case, (passed, _of) in self.enough.items() if not passed]

    def as_json(self) -> dict[str, Any]:
        """What `--json` prints of it."""
        return {
            "k": self.k,
            "pass": {str(k): rounded(self.mean(k)) for k in range(1, self.k + 1)},
            "always": len(self.always),
            "sometimes": self.sometimes,
            "never": self.never,
            "lost": self.lost,
        }


class ScoreFigures(Value):
    """What the judges say of a run, unrounded: scores are 0..1, personas in order of their first appearance.

    `primary` names the deciding judge, `judges` has it among the others, in the order in which they were
    named. `score` is the mean over the `graded` conversations; `by_conversation` has those that have one, by
    id, and `missing` counts conversations that were held but have no grade. `noise` is the variance of a
    conversation's score that another grading would bring. `simulators` are the models that played the
    customers; of several the `interval` holds that of each. `reliability` is known where questions were asked
    several times.
    """

    primary: str
    score: float | None
    interval: tuple[float, float] | None
    by_conversation: dict[str, float]
    graded: int
    missing: int
    noise: float
    judges: dict[str, JudgeSummary]
    # Questions with most red turns first.
    personas: tuple[PersonaSummary, ...]
    cases: tuple[CaseSummary, ...]
    total: Total
    # Empty of data sets and logs, which nobody plays; under the name of its model otherwise.
    simulators: dict[str, SimulatorScore]
    reliability: Reliability | None

    @property
    def spread(self) -> float | None:
        """The largest difference between the scores of two simulators; None with fewer than two."""
        # One that graded nothing leaves the others to be compared.
        scores = [mean.score for mean in self.simulators.values() if mean.score is not None]
        return max(scores) - min(scores) if len(scores) > 1 else None

    @property
    def active(self) -> tuple[str, ...]:
        """The judges that graded, or tried to; one that skipped everything has no figures to show."""
        return tuple(name for name, judge in self.judges.items() if judge.n or judge.missing)


class RedFigures(Value):
    """The red answers of a run by its `rules`: every one, gravest first, and what makes them red.

    `kinds` counts their marks by kind. `lapses` counts
    what the judge of whole conversations found between turns, by kind, and `lapsed` the conversations with
    any; where it graded none `lapses` is empty. `expectations` counts the sentences that cases expect by what
    became of them (`OUTCOMES`), empty where none was judged.
    """

    rules: RedRules
    answers: tuple[RedTurn, ...]
    kinds: dict[str, int]
    lapses: dict[str, int]
    lapsed: int
    expectations: dict[str, int]

    @property
    def count(self) -> int:
        """How many turns are red."""
        return len(self.answers)

    @property
    def disputed(self) -> int:
        """How many of them are disputed: they stay in score and gate."""
        return sum(red.is_disputed for red in self.answers)

    @property
    def open_cases(self) -> frozenset[str]:
        """The cases that need review: a turn is red, and nobody disputes it."""
        return frozenset(red.case for red in self.answers if not red.is_disputed)

    @property
    def by_turn(self) -> dict[Key, RedTurn]:
        """The red answers by conversation and turn, in their order."""
        return {red.key: red for red in self.answers}


class MoneyFigures(Value):
    """What a run used: `spending` by role, `usage` by role and model, and `bot` what its answers report.

    `cost_usd` is that of all roles, None where a price is not known; `bot` is by model, no part of it, and
    empty where no answer states its tokens.
    """

    spending: dict[str, Spending]
    usage: dict[str, dict[str, Spending]]
    bot: dict[str, Spending]

    @property
    def spent(self) -> Spending:
        """What all roles have used together."""
        return total_spending(list(self.spending.values()))

    @property
    def cost_usd(self) -> float | None:
        """What all roles have cost together, in dollars; None where that of one is not known."""
        return self.spent.cost_usd


class Summary(Value):
    """All figures of a run: how far it came, and four values, each made in one place.

    `scores` (results/scores.py) is what the judges say, `red` (results/red_answers.py) the answers to read,
    `customers` how these were played, and `money` what it took (both results/summary.py).

    `planned` counts conversations, of which `finished` came to their end (or failed), `ended` how many in
    which way. `turns` are those that were spoken, `unrecorded` those of which a log does not tell what the
    bot said; `bot_failures` counts turns without an answer by kind; `reasoned` answers whose bot thought
    aloud first, which was left out. `rows`: of a single-turn data set, without personas. `standings` say of
    each judge how good it is known to be, where `with_standings` (results/standing.py) looked.
    """

    run: str
    status: Status
    offline: bool
    rows: bool
    planned: int
    finished: int
    ended: dict[str, int]
    turns: int
    unrecorded: int
    reasoned: int
    bot_failures: dict[str, int]
    seconds: float
    # What the values below are made of, without texts; in no file.
    record: RunTurns = Field(exclude=True, repr=False)
    scores: ScoreFigures
    red: RedFigures
    customers: CustomerFigures
    money: MoneyFigures
    standings: dict[str, Standing] = Field(default={})

    @property
    def standing(self) -> Standing | None:
        """What is known of the judge that decides; None where nobody asked, or several rubrics graded."""
        return self.standings.get(self.scores.primary)

    @property
    def trial(self) -> bool:
        """Whether no model judged: none took part at all, or the deciding grades are those of a stand-in."""
        deciding = self.scores.judges.get(self.scores.primary)
        rubrics = deciding.rubrics if deciding else ()
        return self.offline or any(rubric.startswith(f"{LEXICAL}-") for rubric in rubrics)

    def titles(self, language: Language) -> Titles:
        """The titles of ids, with the run's own names of its customers in a language."""
        return Titles({persona.persona: persona.names.get(language, "") for persona in self.scores.personas})


def rounded(value: Any) -> Any:
    """The value as `--json` prints it: every float in it, at any depth, to 4 decimals.

    Tuples become lists, as JSON has them; integers and texts stay what they are.
    """
    # Four decimals: a hundredth of a point of 100, beyond what any of these figures is known to.
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(item) for item in value]
    return value


def turn_failure(turn: Turn) -> str | None:
    """The kind of the bot's failure in a turn; None when it answered, or when a log does not tell.

    An answer of blanks alone is one that was not given, kind `empty`. A log that ends after a customer's line
    says nothing about the bot: the turn is `unrecorded`, and blames nobody.
    """
    if turn.unrecorded:
        return None
    if turn.answer.error:
        return turn.answer.error.kind
    return None if turn.answer.text.strip() else "empty"


def failure_reason(turn: Turn) -> Text:
    """Why the bot gave no answer, as "timeout: no answer within 60 s"; empty where it did."""
    kind, error = turn_failure(turn), turn.answer.error
    if kind and error:
        return _("{name}: {value}", name=title("failure", kind), value=error.message)
    return title("failure", kind) if kind else ""
