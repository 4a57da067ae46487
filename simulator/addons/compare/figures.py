"""What the outcomes say: wins and losses of every two runs, biases of the judge, ratings of all runs."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import comb, log
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.core.templates import Texts
from simulator.core.types import Case, Conversation, GradingContext, Results, Value
from simulator.stats.agreement import Floats, spearman
from simulator.stats.intervals import Draws, interval, interval_of_mean

# Virtual wins of each side of every pair that met, together one tie: a run that won everything stays finite.
PRIOR = 0.5
# Where the mean of all runs lies, and how much is ten times the odds: the scale of Elo (1978).
MIDDLE, DECADE = 1000.0, 400.0
_ITERATIONS, _ENOUGH = 5000, 1e-10


def log_strengths(wins: Floats, *, prior: float = PRIOR) -> Floats:
    """The log-odds strengths of k runs, with mean 0; NaN for runs that never met the first one's circle.

    `wins[..., i, j]` is how often i was preferred to j, ties as halves; leading axes are draws.
    """
    met = _met(wins)
    mine = _circle(met)
    counted = np.where(met, wins + prior, 0.0)[..., mine, :][..., :, mine]
    found = np.full(wins.shape[:-1], np.nan)
    found[..., mine] = _fitted(counted)
    return found


def elo(strengths: Floats) -> Floats:
    """Log-odds strengths on Elo's scale, mean 1000."""
    scaled: Floats = MIDDLE + strengths * DECADE / math.log(10)
    return scaled


def _met(wins: Floats) -> NDArray[np.bool_]:
    """Which runs were compared in any draw: (k, k), symmetric."""
    any_draw = wins.reshape(-1, *wins.shape[-2:]).sum(axis=0)
    found: NDArray[np.bool_] = (any_draw + any_draw.T) > 0
    return found


def _circle(met: NDArray[np.bool_]) -> NDArray[np.intp]:
    """The runs that are linked by comparisons with the first one."""
    reached, fresh = {0}, {0}
    while fresh:
        fresh = {int(j) for i in fresh for j in np.flatnonzero(met[i])} - reached
        reached |= fresh
    return np.array(sorted(reached), dtype=np.intp)


def _fitted(wins: Floats) -> Floats:
    """The MM iteration; every step raises the likelihood."""
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


Key = tuple[str, str, int]


class Pair(NamedTuple):
    """One turn of two runs, `a` and `b` (their ids), with what each of them answered."""

    a: str
    b: str
    one: GradingContext
    other: GradingContext
    repeat: int = 1

    @property
    def answers(self) -> tuple[str, str]:
        """What both said."""
        return self.one.turn.answer.text, self.other.turn.answer.text


class TurnPairs(NamedTuple):
    """The comparable turns of two runs, and how many turns are not.

    `differing` turns exist in both, but the customer said something else; `alone` were answered in one run
    only, for the other one ends before, or is a log without an answer to them.
    """

    pairs: tuple[Pair, ...]
    differing: int
    alone: int


def matched(one: Results, other: Results) -> TurnPairs:
    """Pairs by case, persona, repeat and turn, as long as the customer's lines are the same."""
    theirs = {_key(conversation): conversation for conversation in other.conversations}
    pairs: list[Pair] = []
    differing = alone = 0
    for conversation in one.conversations:
        beside = theirs.pop(_key(conversation), None)
        if beside is None:
            alone += len(conversation.turns)
            continue
        case = (conversation if one.run.id > other.run.id else beside).case
        same = list(_same(conversation, beside, case))
        found = [
            Pair(one.run.id, other.run.id, *both, conversation.repeat)
            for both in same
            if not any(each.turn.unrecorded for each in both)
        ]
        shorter, longer = sorted((len(conversation.turns), len(beside.turns)))
        pairs += found
        differing += shorter - len(same)
        alone += longer - shorter + len(same) - len(found)
    alone += sum(len(conversation.turns) for conversation in theirs.values())
    return TurnPairs(tuple(pairs), differing, alone)


def _key(conversation: Conversation) -> Key:
    return conversation.case.id, conversation.persona, conversation.repeat


def _same(
    one: Conversation, other: Conversation, case: Case
) -> Iterator[tuple[GradingContext, GradingContext]]:
    """The turns of two conversations up to the first at which the customer says something else.

    Both are held against one `case`, the later run's: its references may have been mended since.
    """
    if one.case.history != other.case.history:
        return
    for at, (mine, theirs) in enumerate(zip(one.turns, other.turns, strict=False)):
        if (mine.index, mine.user) != (theirs.index, theirs.user):
            return
        yield _exhibit(one, case, at), _exhibit(other, case, at)


def _exhibit(conversation: Conversation, case: Case, at: int) -> GradingContext:
    return GradingContext(
        conversation=conversation.id,
        case=case,
        persona=conversation.persona,
        turn=conversation.turns[at],
        earlier=conversation.turns[:at],
    )


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


class PairwiseFigures(Value):
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
) -> PairwiseFigures:
    """The figures of all outcomes; `apart` names the pairs of runs in the order of the report."""
    decided = [each for each in outcomes if each.verdict is not None]
    failed = [each for each in outcomes if each.verdict is None]
    return PairwiseFigures(
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


WORDS = Texts(Path(__file__).with_name("pairwise.toml"))
