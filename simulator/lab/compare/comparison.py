"""One comparison of two runs, from their names to outcomes, wins and losses, and bias of the judge.

    comparison = Comparison(["RUN-A", "RUN-B"], settings)     reads both, raises whatever is wrong
    comparison.forecast()                                     calls and dollars at most (`--dry-run`)
    outcomes = await comparison.judged(on_outcome)            one for each pair, in their order
    comparison.result(outcomes)                               what reports and `--json` are made from

A run is better beyond chance where two things agree: the 95 % interval of its share of wins leaves out one
half, and the sign test over cases is below 5 %. Both count cases, not turns: thirty turns about one question
are one observation, and six cases, all the same way, are the fewest that can show anything.

Whether the judge can be believed is said by how often it chose what stood first (half is fair).
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from simulator.core import shelves
from simulator.core.errors import InputError
from simulator.core.messages import _, language_of_most
from simulator.core.roles import JUDGE_TEMPERATURE, endpoints, judge_endpoint
from simulator.core.settings import Settings
from simulator.core.types import Language, Spending, Value
from simulator.lab.compare.grade import (
    ORDERS,
    PairModelJudge,
    PairOutcome,
    PairPrompt,
    TurnPairs,
    by_rule,
    distinct,
    judge_pairs,
    matched,
)
from simulator.models.by_role import Models
from simulator.models.limiter import GRADING
from simulator.models.pricing import Ledger
from simulator.results.figures import rounded
from simulator.results.intervals import interval_of_mean
from simulator.results.significance import mcnemar
from simulator.runner.estimate import prompt_tokens
from simulator.storage.run_file import find_run, read_run

# What is less likely than this by chance counts as a difference.
LEVEL = 0.05
Lead = Literal["a", "b", "level"]


class ShareOfPairs(Value):
    """A share (0..1) of `n`, with its 95 % interval where there is one (clusters: cases).

    None of nothing; under five cases there is no interval.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0


class Duel(Value):
    """All verdicts on two runs, and how many turns could not be compared (see `TurnPairs`).

    `share` is what `b` has of the verdicts, ties as halves. `p_value` is that of the two-sided sign test over
    cases, by which side has more of the case. `failed` verdicts are in neither; `by_rule` counts those that
    needed no judge.
    """

    a: str
    b: str
    wins_a: int
    ties: int
    wins_b: int
    share: ShareOfPairs
    failed: int
    by_rule: int
    differing: int
    alone: int
    cases: int
    p_value: float

    @property
    def lead(self) -> Lead:
        """Which run is better beyond chance: the interval leaves out one half, and the sign test agrees."""
        low, high = self.share.low, self.share.high
        if low is None or high is None or low <= 0.5 <= high or self.p_value >= LEVEL:
            return "level"
        return "b" if low > 0.5 else "a"


class PositionBias(Value):
    """Whether order decided: the share of preferences for what stood first, and of orders that disagree."""

    first: ShareOfPairs
    disagreed: ShareOfPairs


class PairwiseFigures(Value):
    """Everything that is shown of a comparison.

    `pairs` were compared, of which `asked` needed a judge and `failed` got no verdict; `problem` is the first
    reason. `position` is None where nothing was read in an order.
    """

    pairs: int
    asked: int
    failed: int
    problem: str
    duel: Duel
    position: PositionBias | None


def compared(
    runs: tuple[str, str], outcomes: Sequence[PairOutcome], match: TurnPairs, seed: int
) -> PairwiseFigures:
    """The figures of all outcomes of two runs, by their ids."""
    # What failed is neither a tie nor a loss: it is counted, and in no share.
    decided = [outcome for outcome in outcomes if outcome.verdict is not None]
    problems = [outcome.problem for outcome in outcomes if outcome.verdict is None]
    return PairwiseFigures(
        pairs=len(outcomes),
        asked=sum(outcome.how != "rule" for outcome in outcomes),
        failed=len(problems),
        problem=next(iter(problems), ""),
        duel=_duel(decided, len(problems), runs, match, seed),
        position=_position(decided, seed),
    )


def _duel(
    decided: Sequence[PairOutcome], failed: int, runs: tuple[str, str], match: TurnPairs, seed: int
) -> Duel:
    # By how much each case leans to one side: a case with as many wins as losses leans to none.
    lean: dict[str, float] = defaultdict(float)
    for outcome in decided:
        lean[outcome.case] += outcome.share - 0.5
    verdicts = [outcome.verdict for outcome in decided]
    return Duel(
        a=runs[0],
        b=runs[1],
        wins_a=verdicts.count("a"),
        ties=verdicts.count("tie"),
        wins_b=verdicts.count("b"),
        share=_share([(outcome.share, outcome.case) for outcome in decided], seed),
        failed=failed,
        by_rule=sum(outcome.how == "rule" for outcome in decided),
        differing=match.differing,
        alone=match.alone,
        cases=len(lean),
        # The sign test is McNemar's: both count what leans one way and what leans the other.
        p_value=mcnemar(
            sum(difference < 0 for difference in lean.values()),
            sum(difference > 0 for difference in lean.values()),
        ),
    )


def _share(values: Sequence[tuple[float, str]], seed: int) -> ShareOfPairs:
    """The mean of values, each with the case that it belongs to."""
    if not values:
        return ShareOfPairs()
    numbers, cases = zip(*values, strict=True)
    low, high = interval_of_mean(numbers, cases, seed=seed) or (None, None)
    return ShareOfPairs(value=sum(numbers) / len(numbers), low=low, high=high, n=len(numbers))


# --- bias of the judge ---


def _position(outcomes: Sequence[PairOutcome], seed: int) -> PositionBias | None:
    """None where nobody read in an order: rules decided all."""
    ordered = [outcome for outcome in outcomes if outcome.ballots]
    if not ordered:
        return None
    # Of both readings of a pair, ties aside: by a fair judge each side is first as often as second.
    first = [
        (float(ballot.verdict == ballot.first), outcome.case)
        for outcome in ordered
        for ballot in outcome.ballots
        if ballot.verdict != "tie"
    ]
    disagreed = [(float(outcome.disagreed), outcome.case) for outcome in ordered]
    return PositionBias(first=_share(first, seed), disagreed=_share(disagreed, seed))


# Tokens of a reply, for the forecast.
REPLY_TOKENS = 320


class PairwiseResult(NamedTuple):
    """All that a report is made from; `names` are the titles of personas."""

    figures: PairwiseFigures
    outcomes: Sequence[PairOutcome]
    model: str
    language: Language
    names: Mapping[str, str]


def as_json(result: PairwiseResult) -> dict[str, Any]:
    """The figures, then every pair that was compared; numbers with four decimals."""
    figures = result.figures
    return {
        "runs": [figures.duel.a, figures.duel.b],
        "judge": result.model,
        **rounded(figures.model_dump(mode="json", exclude={"problem", "duel"})),
        "duels": [{**rounded(figures.duel.model_dump(mode="json")), "lead": figures.duel.lead}],
        "outcomes": [
            {
                **rounded(outcome.model_dump(mode="json", exclude={"question", "answers"})),
                "disagreed": outcome.disagreed,
            }
            for outcome in result.outcomes
        ],
    }


class Comparison:
    """One comparison; whatever is wrong with the input is raised when it is made."""

    def __init__(self, names: Sequence[str], settings: Settings) -> None:
        """Reads both runs, and pairs their turns.

        Raises InputError for another number of runs than two, the same one twice, runs of which no turn can
        be compared, or where there is no judge's model.
        """
        self.settings = settings
        if len(names) != 2:
            n = len(names)
            raise InputError(_("compare takes two runs, and was given {n}: compare A B.", n=n))
        # Everything that can be wrong is found before a call is made.
        first, other = (read_run(find_run(name, settings.runs)) for name in names)
        if first.run.id == other.run.id:
            raise InputError(_("run {run} is named twice; compare different runs.", run=first.run.id))
        self.runs = first, other
        self.match = matched(first, other)
        if not self.match.pairs:
            msg = _(
                "{one} and {other} have no answers to compare: other questions, other customers, or "
                "customers who said something else. Run the second with --replay {one}.",
                one=first.run.id,
                other=other.run.id,
            )
            raise InputError(msg)
        ends = endpoints(settings)
        self.model = judge_endpoint(ends, "compare").model
        self.ledger = Ledger.of(settings)
        self._models = Models(ends, settings, self.ledger)
        self.pairs = self.match.pairs
        # The desk's own guidelines, as the judges of turns have them: what is better depends on the desk.
        guidelines = Path(settings.guidelines or shelves.JUDGES / "_guidelines.toml")
        self.prompt = PairPrompt(shelves.JUDGES / "_pairwise.toml", guidelines)

    @property
    def rubric(self) -> str:
        """The fingerprint of the prompt, the reply's form and the model."""
        return self.prompt.fingerprint(self.model)

    @property
    def language(self) -> Language:
        """The language most turns are in; Japanese on a tie."""
        return language_of_most(pair.one.case.language for pair in self.pairs)

    def forecast(self) -> Spending:
        """Calls, tokens and dollars at most: what the response cache has costs nothing."""
        # Each pair that no rule decides, in both orders; pairs that are alike once.
        judged = [pair for pair in distinct(self.pairs).values() if by_rule(pair) is None]
        calls = [self.prompt.messages(pair, first) for pair in judged for first in ORDERS]
        tokens_in, tokens_out = sum(map(prompt_tokens, calls)), REPLY_TOKENS * len(calls)
        return self.ledger.prices.spending(self.model, len(calls), tokens_in, tokens_out)

    async def judged(self, on_outcome: Callable[[PairOutcome], None]) -> list[PairOutcome]:
        """The outcome of every pair; `on_outcome` gets each as soon as it is there."""
        model = self._models.role("judge", temperature=JUDGE_TEMPERATURE, priority=GRADING)
        assert model is not None  # noqa: S101 - checked when this was made
        judge = PairModelJudge(self.prompt, model, self.settings.seed)
        try:
            return await judge_pairs(self.pairs, judge, self.settings.calls, on_outcome)
        finally:
            await self._models.close()

    def result(self, outcomes: Sequence[PairOutcome]) -> PairwiseResult:
        """What the outcomes say."""
        personas = [persona for run in self.runs for persona in run.personas]
        first, other = (run.run.id for run in self.runs)
        return PairwiseResult(
            compared((first, other), outcomes, self.match, self.settings.seed),
            outcomes,
            self.model,
            self.language,
            {persona.id: persona.speaks(self.language).name for persona in personas},
        )
