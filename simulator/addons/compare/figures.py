"""What the outcomes of a comparison say: wins and losses, bias of the judge, ratings."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from simulator.addons.compare.grade import Outcome
from simulator.addons.compare.plan import TurnPairs
from simulator.core.types import Value
from simulator.stats.agreement import Floats, spearman
from simulator.stats.comparison import mcnemar
from simulator.stats.intervals import Draws, interval, interval_of_mean

# Bootstrap draws of the ratings.
DRAWS = 1000
# With fewer decided pairs nothing is said about what length would explain.
ENOUGH = 20
# What is less likely than this by chance counts as a difference.
LEVEL = 0.05
# Keeps the two slopes finite where longer answers always win.
_RIDGE = 0.01
# Virtual wins of each side of every pair that met, together one tie: a run that won everything stays finite.
PRIOR = 0.5
# Where the mean of all runs lies, and how much is ten times the odds: the scale of Elo (1978).
MIDDLE, DECADE = 1000.0, 400.0
_ITERATIONS, _ENOUGH = 5000, 1e-10

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


class Rating(Value):
    """One run among all: Bradley-Terry on Elo's scale (mean 1000), and its record."""

    run: str
    rating: float | None
    low: float | None
    high: float | None
    wins: int
    ties: int
    losses: int


class PositionBias(Value):
    """Whether order decided: the share of preferences for what stood first, and of orders that disagree."""

    first: Share
    disagreed: Share


class LengthBias(Value):
    """Whether length decided: how often the longer of two answers won, and what length explains.

    `correlation` is Spearman's of the log ratio of lengths and the outcome; `even` is the share of `b` that a
    logistic regression on that ratio leaves at equal length (as in length-controlled AlpacaEval; Dubois et
    al., 2024), for two runs only.
    """

    longer: Share
    correlation: float | None
    even: float | None


class PairwiseFigures(Value):
    """Everything that is shown of a comparison."""

    runs: tuple[str, ...]
    pairs: int
    asked: int
    failed: int
    problem: str
    duels: tuple[Duel, ...]
    ratings: tuple[Rating, ...]
    position: PositionBias | None
    length: LengthBias


def compared(
    runs: Sequence[str],
    outcomes: Sequence[Outcome],
    matches: Mapping[tuple[str, str], TurnPairs],
    seed: int,
) -> PairwiseFigures:
    """The figures of all outcomes; `matches` has the pairs of runs in the order of the report."""
    decided = [outcome for outcome in outcomes if outcome.verdict is not None]
    problems = [outcome.problem for outcome in outcomes if outcome.verdict is None]
    return PairwiseFigures(
        runs=tuple(runs),
        pairs=len(outcomes),
        asked=sum(outcome.how != "rule" for outcome in outcomes),
        failed=len(problems),
        problem=next(iter(problems), ""),
        duels=tuple(_duel(outcomes, names, match, seed) for names, match in matches.items()),
        ratings=_ratings(runs, decided, seed),
        position=_position(decided, seed),
        length=_length(decided, seed, two=len(runs) == 2),
    )


def _duel(outcomes: Sequence[Outcome], runs: tuple[str, str], match: TurnPairs, seed: int) -> Duel:
    of_both = [outcome for outcome in outcomes if (outcome.a, outcome.b) == runs]
    decided = [outcome for outcome in of_both if outcome.verdict is not None]
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
        failed=len(of_both) - len(decided),
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


def _length(outcomes: Sequence[Outcome], seed: int, *, two: bool) -> LengthBias:
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
        even=_share_at_equal_length(ratios, shares) if two and longer.n >= ENOUGH else None,
    )


def _share_at_equal_length(ratios: Sequence[float], shares: Sequence[float]) -> float:
    """The intercept, as a share, of a logistic regression on the ratio of lengths (Newton's method)."""
    spread = float(np.std(ratios)) or 1.0
    rows = np.column_stack([np.ones(len(ratios)), np.asarray(ratios) / spread])
    observed, weights = np.asarray(shares), np.zeros(2)
    for _ in range(50):
        predicted = 1 / (1 + np.exp(-rows @ weights))
        slope = rows.T @ (observed - predicted) - _RIDGE * weights
        step = np.linalg.solve((rows.T * (predicted * (1 - predicted))) @ rows + _RIDGE * np.eye(2), slope)
        weights = weights + np.clip(step, -2, 2)
        if float(np.abs(step).max()) < 1e-9:
            break
    return float(1 / (1 + np.exp(-weights[0])))


# --- ratings (Bradley-Terry) ---


def _ratings(runs: Sequence[str], outcomes: Sequence[Outcome], seed: int) -> tuple[Rating, ...]:
    """All runs, the best first; runs without a comparison last."""
    if not outcomes:
        return ()
    place, k = {run: at for at, run in enumerate(runs)}, len(runs)
    wins = np.zeros((len(outcomes), k, k))
    for row, outcome in enumerate(outcomes):
        a, b = place[outcome.a], place[outcome.b]
        wins[row, b, a], wins[row, a, b] = outcome.share, 1 - outcome.share
    draws = Draws([outcome.case for outcome in outcomes], seed=seed, resamples=DRAWS)
    drawn = elo(log_strengths(draws.sums(list(wins.reshape(-1, k * k).T)).reshape(DRAWS, k, k)))
    ratings = []
    for at, (run, points) in enumerate(zip(runs, elo(log_strengths(wins.sum(axis=0))), strict=True)):
        of_run = [outcome for outcome in outcomes if run in (outcome.a, outcome.b)]
        is_rated, several = not np.isnan(points), len({outcome.case for outcome in of_run}) > 1
        low, high = (interval(drawn[:, at]) if is_rated and several else None) or (None, None)
        won = sum(outcome.verdict == ("a" if outcome.a == run else "b") for outcome in of_run)
        ties = sum(outcome.verdict == "tie" for outcome in of_run)
        ratings.append(
            Rating(
                run=run,
                rating=float(points) if is_rated else None,
                low=low,
                high=high,
                wins=won,
                ties=ties,
                losses=len(of_run) - won - ties,
            )
        )
    return tuple(sorted(ratings, key=lambda rating: (rating.rating is None, -(rating.rating or 0.0))))


def elo(strengths: Floats) -> Floats:
    """Log-odds strengths on Elo's scale, mean 1000."""
    scaled: Floats = MIDDLE + strengths * DECADE / math.log(10)
    return scaled


def log_strengths(wins: Floats, *, prior: float = PRIOR) -> Floats:
    """The log-odds strengths of k runs, with mean 0; NaN for runs that no comparison links with the first.

    `wins[..., i, j]` is how often i was preferred to j, ties as halves; leading axes are draws.
    """
    any_draw = wins.reshape(-1, *wins.shape[-2:]).sum(axis=0)
    met: NDArray[np.bool_] = (any_draw + any_draw.T) > 0
    reached, fresh = {0}, {0}
    while fresh:
        fresh = {int(j) for i in fresh for j in np.flatnonzero(met[i])} - reached
        reached |= fresh
    linked = sorted(reached)
    strengths = np.full(wins.shape[:-1], np.nan)
    strengths[..., linked] = _fit(np.where(met, wins + prior, 0.0)[..., linked, :][..., :, linked])
    return strengths


def _fit(wins: Floats) -> Floats:
    """Maximum likelihood by the MM iteration (Hunter, 2004); every step raises the likelihood."""
    totals, met = wins.sum(axis=-1), wins + np.swapaxes(wins, -1, -2)
    logs = np.zeros(totals.shape)
    for _ in range(_ITERATIONS):
        strengths = np.exp(logs)
        with np.errstate(divide="ignore", invalid="ignore"):
            expected = met / (strengths[..., :, None] + strengths[..., None, :])
            new = np.log(totals) - np.log(expected.sum(axis=-1))
        new = np.nan_to_num(new, nan=0.0, neginf=-50.0, posinf=50.0)
        new -= new.mean(axis=-1, keepdims=True)
        moved, logs = float(np.abs(new - logs).max(initial=0.0)), new
        if moved < _ENOUGH:
            break
    return logs
