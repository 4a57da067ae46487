"""What the outcomes of a comparison say: wins and losses, and bias of the judge."""

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Literal

from simulator.addons.compare.grade import Outcome, TurnPairs
from simulator.core.types import Value
from simulator.stats.agreement import spearman
from simulator.stats.comparison import mcnemar
from simulator.stats.intervals import interval_of_mean

# What is less likely than this by chance counts as a difference.
LEVEL = 0.05
Lead = Literal["a", "b", "level"]


class Share(Value):
    """A share (0..1) of `n`, with its 95 % interval where there is one (clusters: cases)."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0


class Wins(Value):
    """Verdicts on the turns of two runs; `share` is what `b` has of them, ties as halves."""

    wins_a: int
    ties: int
    wins_b: int
    share: Share


class PersonaShare(Wins):
    """The verdicts on the turns of one persona."""

    name: str


class Duel(Wins):
    """All verdicts on two runs, and how many turns could not be compared (see `TurnPairs`).

    `p_value` is that of the two-sided sign test over cases, by which side has more of the case.
    """

    a: str
    b: str
    failed: int
    by_rule: int
    differing: int
    alone: int
    unjudged: int
    cases: int
    p_value: float
    personas: tuple[PersonaShare, ...] = ()

    @property
    def lead(self) -> Lead:
        """Which run is better beyond chance: the interval leaves out one half, and the sign test agrees."""
        low, high = self.share.low, self.share.high
        if low is None or high is None or low <= 0.5 <= high or self.p_value >= LEVEL:
            return "level"
        return "b" if low > 0.5 else "a"


class PositionBias(Value):
    """Whether order decided: the share of preferences for what stood first, and of orders that disagree."""

    first: Share
    disagreed: Share


class LengthBias(Value):
    """Whether length decided: how often the longer of two answers won.

    `correlation` is Spearman's of the log ratio of lengths and the outcome.
    """

    longer: Share
    correlation: float | None


class PairwiseFigures(Value):
    """Everything that is shown of a comparison."""

    pairs: int
    asked: int
    failed: int
    problem: str
    duel: Duel
    position: PositionBias | None
    length: LengthBias


def compared(
    runs: tuple[str, str], outcomes: Sequence[Outcome], match: TurnPairs, seed: int
) -> PairwiseFigures:
    """The figures of all outcomes of two runs, by their ids."""
    decided = [outcome for outcome in outcomes if outcome.verdict is not None]
    problems = [outcome.problem for outcome in outcomes if outcome.verdict is None]
    return PairwiseFigures(
        pairs=len(outcomes),
        asked=sum(outcome.how != "rule" for outcome in outcomes),
        failed=len(problems),
        problem=next(iter(problems), ""),
        duel=_duel(decided, len(problems), runs, match, seed),
        position=_position(decided, seed),
        length=_length(decided, seed),
    )


def _duel(
    decided: Sequence[Outcome], failed: int, runs: tuple[str, str], match: TurnPairs, seed: int
) -> Duel:
    lean: dict[str, float] = defaultdict(float)
    by_persona: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in decided:
        lean[outcome.case] += outcome.share - 0.5
        by_persona[outcome.persona].append(outcome)
    personas = sorted(by_persona.items()) if len(by_persona) > 1 else ()
    return Duel(
        a=runs[0],
        b=runs[1],
        **_wins(decided, seed),
        failed=failed,
        by_rule=sum(outcome.how == "rule" for outcome in decided),
        differing=match.differing,
        alone=match.alone,
        unjudged=match.unjudged,
        cases=len(lean),
        # The sign test is McNemar's: both count what leans one way and what leans the other.
        p_value=mcnemar(sum(each < 0 for each in lean.values()), sum(each > 0 for each in lean.values())),
        personas=tuple(PersonaShare(name=name, **_wins(own, seed)) for name, own in personas),
    )


def _wins(decided: Sequence[Outcome], seed: int) -> dict[str, Any]:
    verdicts = [outcome.verdict for outcome in decided]
    share = _share([(outcome.share, outcome.case) for outcome in decided], seed)
    wins = {"wins_a": verdicts.count("a"), "ties": verdicts.count("tie"), "wins_b": verdicts.count("b")}
    return {**wins, "share": share}


def _share(values: Sequence[tuple[float, str]], seed: int) -> Share:
    """The mean of values, each with the case that it belongs to."""
    if not values:
        return Share()
    numbers, cases = zip(*values, strict=True)
    low, high = interval_of_mean(numbers, cases, seed=seed) or (None, None)
    return Share(value=sum(numbers) / len(numbers), low=low, high=high, n=len(numbers))


# --- bias of the judge ---


def _position(outcomes: Sequence[Outcome], seed: int) -> PositionBias | None:
    """None where nobody read in an order: a stand-in, or rules only."""
    ordered = [outcome for outcome in outcomes if outcome.ballots]
    if not ordered:
        return None
    first = [
        (float(ballot.verdict == ballot.first), outcome.case)
        for outcome in ordered
        for ballot in outcome.ballots
        if ballot.verdict != "tie"
    ]
    disagreed = [(float(outcome.disagreed), outcome.case) for outcome in ordered]
    return PositionBias(first=_share(first, seed), disagreed=_share(disagreed, seed))


def _length(outcomes: Sequence[Outcome], seed: int) -> LengthBias:
    """Missing answers have no length, and what rules decide is no judgement."""
    judged = [outcome for outcome in outcomes if outcome.how != "rule"]
    ratios, won = [], []
    for outcome in judged:
        one, other = (len("".join(text.split())) for text in outcome.answers)
        ratio = math.log((other + 1) / (one + 1))
        ratios.append(ratio)
        if outcome.verdict != "tie" and ratio:
            won.append((float((ratio > 0) == (outcome.verdict == "b")), outcome.case))
    longer, shares = _share(won, seed), [outcome.share for outcome in judged]
    return LengthBias(
        longer=longer,
        correlation=spearman(ratios, shares) if len(judged) > 1 else None,
    )
