"""What the outcomes say: wins and losses of every two runs, biases of the judge, ratings of all runs."""

from collections.abc import Iterable, Mapping, Sequence
from math import comb, log
from typing import Literal, NamedTuple

import numpy as np

from simulator.core.types import Value
from simulator.pairwise.bradley_terry import elo, log_strengths
from simulator.pairwise.outcome import Outcome, Side
from simulator.stats.agreement import Floats, spearman
from simulator.stats.intervals import Draws, interval, interval_of_mean

# Bootstrap draws of the ratings.
DRAWS = 1000
# Under so many decided pairs nothing is said about what length would explain.
ENOUGH = 20
# What is less likely than this by chance is taken for a difference.
LEVEL = 0.05
# Keeps the two slopes finite where longer answers always win.
_RIDGE = 0.01

Lead = Literal["a", "b", "level"]


class Share(Value):
    """A share (0..1) of `n`, with its 95 % interval where there is one (clusters: cases)."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0


class Part(Value):
    """The verdicts of one part of the turns (a persona); `share` is what `b` has, ties as halves."""

    name: str
    wins_a: int
    ties: int
    wins_b: int
    share: Share


class Duel(Value):
    """Two runs: the verdicts, what `b` has of them, and how many turns could not be compared.

    `p_value` is of the two-sided sign test over cases, by which side has more of the case.
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
    share: Share
    cases: int
    p_value: float
    personas: tuple[Part, ...] = ()

    @property
    def lead(self) -> Lead:
        """Who is better beyond chance: the interval leaves out one half, and the sign test agrees."""
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


class Position(Value):
    """Whether order decided: the share of preferences for what stood first, and of orders that disagree."""

    first: Share
    disagreed: Share


class Length(Value):
    """Whether length decided: how often the longer of two answers won, and what length explains.

    `correlation` is Spearman's of the log ratio of lengths and the outcome; `even` is the share of `b` that a
    logistic regression on that ratio leaves at equal length (as in length-controlled AlpacaEval; Dubois et
    al., 2024), for two runs only.
    """

    longer: Share
    correlation: float | None
    even: float | None


class Compared(Value):
    """Everything that is shown of a comparison."""

    runs: tuple[str, ...]
    pairs: int
    asked: int
    failed: int
    problem: str
    duels: tuple[Duel, ...]
    ratings: tuple[Rating, ...]
    position: Position | None
    length: Length


class Apart(NamedTuple):
    """How many turns of two runs could not be compared."""

    differing: int
    alone: int


def compared(
    runs: Sequence[str], outcomes: Sequence[Outcome], apart: Mapping[tuple[str, str], Apart], seed: int
) -> Compared:
    """The figures of all outcomes; `apart` names the pairs of runs in the order of the report."""
    decided = [each for each in outcomes if each.verdict is not None]
    failed = [each for each in outcomes if each.verdict is None]
    return Compared(
        runs=tuple(runs),
        pairs=len(outcomes),
        asked=sum(each.how != "rule" for each in outcomes),
        failed=len(failed),
        problem=failed[0].problem if failed else "",
        duels=tuple(_duel(outcomes, names, left, seed) for names, left in apart.items()),
        ratings=_ratings(runs, decided, seed),
        position=_position(decided, seed),
        length=_length(decided, seed, two=len(runs) == 2),
    )


def _duel(outcomes: Sequence[Outcome], names: tuple[str, str], apart: Apart, seed: int) -> Duel:
    mine = [each for each in outcomes if (each.a, each.b) == names]
    found = [each for each in mine if each.verdict is not None]
    personas = sorted({each.persona for each in found})
    shown = personas if len(personas) > 1 else []
    parts = [_part(name, [o for o in found if o.persona == name], seed) for name in shown]
    whole = _part("", found, seed)
    return Duel(
        a=names[0],
        b=names[1],
        wins_a=whole.wins_a,
        ties=whole.ties,
        wins_b=whole.wins_b,
        failed=len(mine) - len(found),
        by_rule=sum(each.how == "rule" for each in found),
        differing=apart.differing,
        alone=apart.alone,
        share=whole.share,
        cases=len({each.case for each in found}),
        p_value=_sign_test(found),
        personas=tuple(parts),
    )


def _part(name: str, outcomes: Sequence[Outcome], seed: int) -> Part:
    verdicts = [each.verdict for each in outcomes]
    share = _share([each.share for each in outcomes], [each.case for each in outcomes], seed)
    counts = {verdict: verdicts.count(verdict) for verdict in ("a", "tie", "b")}
    return Part(name=name, wins_a=counts["a"], ties=counts["tie"], wins_b=counts["b"], share=share)


def _share(values: Sequence[float], clusters: Sequence[str], seed: int) -> Share:
    if not values:
        return Share()
    low, high = interval_of_mean(values, clusters, seed=seed) or (None, None)
    return Share(value=sum(values) / len(values), low=low, high=high, n=len(values))


def _sign_test(outcomes: Sequence[Outcome]) -> float:
    """How likely (0..1) so one-sided a division of the cases would be, were both runs equally good."""
    lean: dict[str, float] = {}
    for each in outcomes:
        lean[each.case] = lean.get(each.case, 0.0) + each.share - 0.5
    signs = [total > 0 for total in lean.values() if total]
    fewer = min(sum(signs), len(signs) - sum(signs))
    tail = sum(comb(len(signs), k) for k in range(fewer + 1))
    return min(1.0, 2 * tail / (1 << len(signs)))


def _position(outcomes: Sequence[Outcome], seed: int) -> Position | None:
    """None where nobody read in an order: a stand-in, or rules only."""
    read = [each for each in outcomes if each.ballots]
    if not read:
        return None
    preferring = [
        (float(b.position == "first"), o.case) for o in read for b in o.ballots if b.position != "tie"
    ]
    first = _share([value for value, _ in preferring], [case for _, case in preferring], seed)
    disagreed = _share([float(each.disagreed) for each in read], [each.case for each in read], seed)
    return Position(first=first, disagreed=disagreed)


def _length(outcomes: Sequence[Outcome], seed: int, *, two: bool) -> Length:
    """Answers that are missing have no length, and what rules decide is no judgement."""
    judged = [each for each in outcomes if each.how != "rule"]
    ratios = [_ratio(each.answers) for each in judged]
    won = [
        (float((ratio > 0) == (each.verdict == "b")), each.case)
        for each, ratio in zip(judged, ratios, strict=True)
        if each.verdict != "tie" and ratio
    ]
    longer = _share([value for value, _ in won], [case for _, case in won], seed)
    shares = [each.share for each in judged]
    return Length(
        longer=longer,
        correlation=spearman(ratios, shares) if len(judged) > 1 else None,
        even=_even(ratios, shares) if two and longer.n >= ENOUGH else None,
    )


def _ratio(answers: tuple[str, str]) -> float:
    """The logarithm of how much longer the second answer is, blanks left out."""
    one, other = (len("".join(text.split())) for text in answers)
    return log((other + 1) / (one + 1))


def _even(ratios: Sequence[float], shares: Sequence[float]) -> float:
    """The intercept, as a share, of a logistic regression on the ratio of lengths (Newton's method)."""
    spread = float(np.std(ratios)) or 1.0
    rows = np.column_stack([np.ones(len(ratios)), np.asarray(ratios) / spread])
    wanted, found = np.asarray(shares), np.zeros(2)
    for _ in range(50):
        said = 1 / (1 + np.exp(-rows @ found))
        slope = rows.T @ (wanted - said) - _RIDGE * found
        step = np.linalg.solve((rows.T * (said * (1 - said))) @ rows + _RIDGE * np.eye(2), slope)
        found = found + np.clip(step, -2, 2)
        if float(np.abs(step).max()) < 1e-9:
            break
    return float(1 / (1 + np.exp(-found[0])))


def _ratings(runs: Sequence[str], outcomes: Sequence[Outcome], seed: int) -> tuple[Rating, ...]:
    """All runs, the best first; runs without a comparison last."""
    if not outcomes:
        return ()
    points = elo(log_strengths(_wins(runs, outcomes)))
    drawn = elo(log_strengths(_drawn_wins(runs, outcomes, seed)))
    found = [_rating(run, float(points[at]), drawn[:, at], outcomes) for at, run in enumerate(runs)]
    return tuple(sorted(found, key=lambda each: (each.rating is None, -(each.rating or 0.0))))


def _rating(run: str, points: float, drawn: Floats, outcomes: Iterable[Outcome]) -> Rating:
    mine: list[tuple[Outcome, Side]] = [
        (o, "a" if o.a == run else "b") for o in outcomes if run in (o.a, o.b)
    ]
    known = not np.isnan(points)
    clusters = {outcome.case for outcome, _ in mine}
    low, high = (interval(drawn) if known and len(clusters) > 1 else None) or (None, None)
    return Rating(
        run=run,
        rating=points if known else None,
        low=low,
        high=high,
        wins=sum(outcome.verdict == side for outcome, side in mine),
        ties=sum(outcome.verdict == "tie" for outcome, _ in mine),
        losses=sum(outcome.verdict not in (side, "tie") for outcome, side in mine),
    )


def _wins(runs: Sequence[str], outcomes: Sequence[Outcome]) -> Floats:
    """How often each run was preferred to each other one: (k, k), ties as halves."""
    place = {run: at for at, run in enumerate(runs)}
    wins = np.zeros((len(runs), len(runs)))
    for each in outcomes:
        wins[place[each.b], place[each.a]] += each.share
        wins[place[each.a], place[each.b]] += 1 - each.share
    return wins


def _drawn_wins(runs: Sequence[str], outcomes: Sequence[Outcome], seed: int) -> Floats:
    """The same for cases drawn with replacement: (draws, k, k)."""
    place, size = {run: at for at, run in enumerate(runs)}, len(runs)
    cells = [(place[each.b], place[each.a], each.share) for each in outcomes]
    columns = np.zeros((len(outcomes), size * size))
    for row, (i, j, share) in enumerate(cells):
        columns[row, i * size + j] += share
        columns[row, j * size + i] += 1 - share
    draws = Draws([each.case for each in outcomes], seed=seed, resamples=DRAWS)
    return draws.sums(list(columns.T)).reshape(DRAWS, size, size)
