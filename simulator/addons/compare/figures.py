"""What the outcomes of a comparison say: wins and losses, bias of the judge, ratings."""

import math
from collections.abc import Iterable, Mapping, Sequence
from math import comb, log
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.addons.compare.grade import Outcome, Side
from simulator.core.types import Value
from simulator.stats.agreement import Floats, spearman
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


class PersonaShare(Value):
    """The verdicts on the turns of one persona; `share` is what `b` has, ties as halves."""

    name: str
    wins_a: int
    ties: int
    wins_b: int
    share: Share


class Duel(Value):
    """Two runs: the verdicts, what `b` has of them, and how many turns could not be compared.

    `p_value` is that of the two-sided sign test over cases, by which side has more of the case.
    """

    a: str
    b: str
    wins_a: int
    ties: int
    wins_b: int
    failed: int
    by_rule: int
    differing: int
    alone: int
    unjudged: int
    share: Share
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


class Uncompared(NamedTuple):
    """How many turns of two runs could not be compared; `unjudged`: without a model, for want of evidence."""

    differing: int
    alone: int
    unjudged: int = 0


def compared(
    runs: Sequence[str],
    outcomes: Sequence[Outcome],
    uncompared: Mapping[tuple[str, str], Uncompared],
    seed: int,
) -> PairwiseFigures:
    """The figures of all outcomes; `uncompared` names the pairs of runs in the order of the report."""
    decided = [outcome for outcome in outcomes if outcome.verdict is not None]
    failed = [outcome for outcome in outcomes if outcome.verdict is None]
    return PairwiseFigures(
        runs=tuple(runs),
        pairs=len(outcomes),
        asked=sum(outcome.how != "rule" for outcome in outcomes),
        failed=len(failed),
        problem=failed[0].problem if failed else "",
        duels=tuple(_duel(outcomes, names, turns, seed) for names, turns in uncompared.items()),
        ratings=_ratings(runs, decided, seed),
        position=_position(decided, seed),
        length=_length(decided, seed, two=len(runs) == 2),
    )


def _duel(outcomes: Sequence[Outcome], names: tuple[str, str], uncompared: Uncompared, seed: int) -> Duel:
    of_both = [outcome for outcome in outcomes if (outcome.a, outcome.b) == names]
    decided = [outcome for outcome in of_both if outcome.verdict is not None]
    personas = sorted({outcome.persona for outcome in decided})
    verdicts = [outcome.verdict for outcome in decided]
    return Duel(
        a=names[0],
        b=names[1],
        wins_a=verdicts.count("a"),
        ties=verdicts.count("tie"),
        wins_b=verdicts.count("b"),
        failed=len(of_both) - len(decided),
        by_rule=sum(outcome.how == "rule" for outcome in decided),
        differing=uncompared.differing,
        alone=uncompared.alone,
        unjudged=uncompared.unjudged,
        share=_share_of_b(decided, seed),
        cases=len({outcome.case for outcome in decided}),
        p_value=_sign_test(decided),
        personas=tuple(_persona_share(name, decided, seed) for name in personas if len(personas) > 1),
    )


def _persona_share(name: str, decided: Sequence[Outcome], seed: int) -> PersonaShare:
    outcomes = [outcome for outcome in decided if outcome.persona == name]
    verdicts = [outcome.verdict for outcome in outcomes]
    return PersonaShare(
        name=name,
        wins_a=verdicts.count("a"),
        ties=verdicts.count("tie"),
        wins_b=verdicts.count("b"),
        share=_share_of_b(outcomes, seed),
    )


def _share_of_b(outcomes: Sequence[Outcome], seed: int) -> Share:
    return _share([outcome.share for outcome in outcomes], [outcome.case for outcome in outcomes], seed)


def _share(values: Sequence[float], clusters: Sequence[str], seed: int) -> Share:
    if not values:
        return Share()
    low, high = interval_of_mean(values, clusters, seed=seed) or (None, None)
    return Share(value=sum(values) / len(values), low=low, high=high, n=len(values))


def _sign_test(outcomes: Sequence[Outcome]) -> float:
    """How likely (0..1) so one-sided a division of the cases would be, were both runs equally good."""
    lean: dict[str, float] = {}
    for outcome in outcomes:
        lean[outcome.case] = lean.get(outcome.case, 0.0) + outcome.share - 0.5
    signs = [total > 0 for total in lean.values() if total]
    fewer = min(sum(signs), len(signs) - sum(signs))
    tail = sum(comb(len(signs), k) for k in range(fewer + 1))
    return min(1.0, 2 * tail / (1 << len(signs)))


# --- bias of the judge ---


def _position(outcomes: Sequence[Outcome], seed: int) -> PositionBias | None:
    """None where nobody read in an order: a stand-in, or rules only."""
    ordered = [outcome for outcome in outcomes if outcome.ballots]
    if not ordered:
        return None
    preferring = [
        (float(ballot.position == "first"), outcome.case)
        for outcome in ordered
        for ballot in outcome.ballots
        if ballot.position != "tie"
    ]
    return PositionBias(
        first=_share([first for first, _ in preferring], [case for _, case in preferring], seed),
        disagreed=_share(
            [float(outcome.disagreed) for outcome in ordered], [outcome.case for outcome in ordered], seed
        ),
    )


def _length(outcomes: Sequence[Outcome], seed: int, *, two: bool) -> LengthBias:
    """Missing answers have no length, and what rules decide is no judgement."""
    judged = [outcome for outcome in outcomes if outcome.how != "rule"]
    ratios = [_log_ratio(outcome.answers) for outcome in judged]
    won = [
        (float((ratio > 0) == (outcome.verdict == "b")), outcome.case)
        for outcome, ratio in zip(judged, ratios, strict=True)
        if outcome.verdict != "tie" and ratio
    ]
    longer = _share([value for value, _ in won], [case for _, case in won], seed)
    shares = [outcome.share for outcome in judged]
    return LengthBias(
        longer=longer,
        correlation=spearman(ratios, shares) if len(judged) > 1 else None,
        even=_share_at_equal_length(ratios, shares) if two and longer.n >= ENOUGH else None,
    )


def _log_ratio(answers: tuple[str, str]) -> float:
    """The logarithm of how much longer the second answer is, blanks left out."""
    one, other = (len("".join(text.split())) for text in answers)
    return log((other + 1) / (one + 1))


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
    points = elo(log_strengths(_wins(runs, outcomes)))
    drawn = elo(log_strengths(_drawn_wins(runs, outcomes, seed)))
    ratings = [_rating(run, float(points[at]), drawn[:, at], outcomes) for at, run in enumerate(runs)]
    return tuple(sorted(ratings, key=lambda rating: (rating.rating is None, -(rating.rating or 0.0))))


def _rating(run: str, points: float, drawn: Floats, outcomes: Iterable[Outcome]) -> Rating:
    of_run: list[tuple[Outcome, Side]] = [
        (outcome, "a" if outcome.a == run else "b") for outcome in outcomes if run in (outcome.a, outcome.b)
    ]
    is_rated = not np.isnan(points)
    cases = {outcome.case for outcome, _ in of_run}
    low, high = (interval(drawn) if is_rated and len(cases) > 1 else None) or (None, None)
    return Rating(
        run=run,
        rating=points if is_rated else None,
        low=low,
        high=high,
        wins=sum(outcome.verdict == side for outcome, side in of_run),
        ties=sum(outcome.verdict == "tie" for outcome, _ in of_run),
        losses=sum(outcome.verdict not in (side, "tie") for outcome, side in of_run),
    )


def _wins(runs: Sequence[str], outcomes: Sequence[Outcome]) -> Floats:
    """How often each run was preferred to each other one: (k, k), ties as halves."""
    place = {run: at for at, run in enumerate(runs)}
    wins = np.zeros((len(runs), len(runs)))
    for outcome in outcomes:
        wins[place[outcome.b], place[outcome.a]] += outcome.share
        wins[place[outcome.a], place[outcome.b]] += 1 - outcome.share
    return wins


def _drawn_wins(runs: Sequence[str], outcomes: Sequence[Outcome], seed: int) -> Floats:
    """The same for cases drawn with replacement: (draws, k, k)."""
    place, size = {run: at for at, run in enumerate(runs)}, len(runs)
    columns = np.zeros((len(outcomes), size * size))
    for row, outcome in enumerate(outcomes):
        i, j = place[outcome.b], place[outcome.a]
        columns[row, i * size + j] += outcome.share
        columns[row, j * size + i] += 1 - outcome.share
    draws = Draws([outcome.case for outcome in outcomes], seed=seed, resamples=DRAWS)
    return draws.sums(list(columns.T)).reshape(DRAWS, size, size)


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
    linked = _linked_with_first(met)
    strengths = np.full(wins.shape[:-1], np.nan)
    strengths[..., linked] = _fit(np.where(met, wins + prior, 0.0)[..., linked, :][..., :, linked])
    return strengths


def _linked_with_first(met: NDArray[np.bool_]) -> NDArray[np.intp]:
    """The runs that are linked by comparisons with the first one, itself included."""
    reached, fresh = {0}, {0}
    while fresh:
        fresh = {int(j) for i in fresh for j in np.flatnonzero(met[i])} - reached
        reached |= fresh
    return np.array(sorted(reached), dtype=np.intp)


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
