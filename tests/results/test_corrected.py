"""The score corrected by people's blind grades."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

from simulator.results.figures import CorrectedScore
from simulator.results.findings import Gate
from simulator.results.gate import as_json
from simulator.results.intervals import interval_of_mean
from simulator.results.review import BlindGrade, StratifiedTurn, blind_grades, correct, shortage
from tests.blind_grades import JUDGE, graded, verdict
from tests.sample_runs import changed, decide, summed

RUNS = 300


class World(NamedTuple):
    """How a judge errs: too much by `bias` on average, give or take `noise`; on a fifth of the scale."""

    bias: float
    noise: float
    cases: int = 60
    labels: int = 75


def held(world: World, random_: np.random.Generator) -> list[StratifiedTurn]:
    """A run of two conversations per case, with red turns sampled twice as often as the others."""
    shape = (world.cases, 2, 3)
    people = 0.7 + random_.normal(0, 0.12, (world.cases, 1, 1)) + random_.normal(0, 0.15, shape)
    people = np.clip(np.round(5 * people) / 5, 0.2, 1)
    judge = people + world.bias + random_.normal(0, world.noise, shape)
    judge = np.clip(np.round(5 * judge) / 5, 0.2, 1)
    red = judge < 0.7 - 1e-9
    sampled = np.zeros(shape)
    for stratum, wanted in ((red, 2 * world.labels // 3), (~red, world.labels // 3)):
        places = np.flatnonzero(stratum)
        size = min(wanted, len(places))
        sampled.flat[random_.choice(places, size, replace=False)] = size / len(places)
    return [
        StratifiedTurn(
            case=f"case-{case}",
            conversation=f"case-{case}/{conversation}",
            value=float(judge[at]),
            stratum="red" if red[at] else "not_red",
            human=BlindGrade(float(people[at]), float(sampled[at])) if sampled[at] else None,
        )
        for at in np.ndindex(*shape)
        for case, conversation, _ in (at,)
    ]


def truth(world: World) -> float:
    """What people would give on average, over many runs."""
    random_ = np.random.default_rng(7)
    shape = (400 * world.cases, 2, 3)
    people = 0.7 + random_.normal(0, 0.12, (shape[0], 1, 1)) + random_.normal(0, 0.15, shape)
    return float(np.clip(np.round(5 * people) / 5, 0.2, 1).mean())


def uncorrected(turns: list[StratifiedTurn]) -> tuple[float, float]:
    """The interval of the judge's own score."""
    conversations: dict[str, list[StratifiedTurn]] = {}
    for turn in turns:
        conversations.setdefault(turn.conversation, []).append(turn)
    means = [sum(turn.value for turn in talk) / len(talk) for talk in conversations.values()]
    cases = [talk[0].case for talk in conversations.values()]
    found = interval_of_mean(means, cases, seed=1, ends=(0.2, 1.0), draws=300)
    assert found
    return found


@pytest.mark.parametrize("world", [World(-0.12, 0.25), World(0.08, 0.12, cases=30)])
def test_the_interval_holds_the_truth_as_often_as_it_says(world: World) -> None:
    """95 of 100 times, with red turns sampled twice as often, where the judge's own interval misses."""
    random_, true = np.random.default_rng(3), truth(world)
    hits, missed = 0, 0
    for seed in range(RUNS):
        turns = held(world, random_)
        found = correct(turns, seed=seed, resamples=400)
        assert found
        hits += found.interval[0] <= true <= found.interval[1]
        low, high = uncorrected(turns)
        missed += not low <= true <= high

    assert 0.92 <= hits / RUNS <= 0.98
    assert missed / RUNS > 0.5


def test_a_good_judge_makes_it_narrower_than_labels_alone() -> None:
    """By a quarter where the judge knows most; a judge that knows nothing costs next to nothing."""
    random_ = np.random.default_rng(5)
    widths = {}
    for noise in (0.05, 2.0):
        runs = [held(World(0.05, noise, cases=100, labels=60), random_) for _ in range(40)]
        corrected = [correct(turns, seed=1, resamples=400) for turns in runs]
        # Without a judge there are no strata either, only the rates at which turns were sampled.
        bare = [[t._replace(value=0.5, stratum="red") for t in turns] for turns in runs]
        alone = [correct(turns, seed=1, resamples=400) for turns in bare]
        widths[noise] = [sum(c.interval[1] - c.interval[0] for c in s if c) for s in (corrected, alone)]

    assert widths[0.05][0] < 0.8 * widths[0.05][1]
    assert widths[2.0][0] < 1.04 * widths[2.0][1]


A_TURN = ("t", 1.0, "not_red", None)


@pytest.mark.parametrize(("cases", "of_case", "score", "n", "bias"), [
    # Every turn labelled: what people gave, over conversations of unequal length.
    (30, [("a", 1.0, "not_red", BlindGrade(0.8)), ("b", 0.4, "red", BlindGrade(0.6)),
          ("b", 0.6, "red", BlindGrade(0.2))], (0.8 + (0.6 + 0.2) / 2) / 2, 90, {"red": 0.1, "not_red": 0.2}),
    # Red turns are 2 of 10 but half of the labels: each bias counts as its stratum does in the run.
    (60, [("t", 0.5, "red", BlindGrade(0.4)), ("t", 0.5, "red", None), ("t", 1.0, "not_red", BlindGrade(0.8)),
          *[A_TURN] * 7], 0.2 * 0.4 + 0.8 * 0.8, 120, {"red": 0.1, "not_red": 0.2}),
    # Where the sample was drawn by other strata than today's, its rates even that out.
    (60, [*[("t", 0.6, "not_red", BlindGrade(0.4, 0.8))] * 4, ("t", 0.6, "not_red", None),
          ("t", 0.7, "not_red", BlindGrade(0.8, 0.2)), *[("t", 0.7, "not_red", None)] * 4],
     0.6, 300, {"not_red": 0.14}),
    # A turn without an answer keeps its grade, and a label of it counts for nothing.
    (60, [("a", 1.0, "not_red", BlindGrade(0.8)), ("a", 0.2, None, BlindGrade(1.0))], 0.5, 60,
     {"not_red": 0.2}),
])  # fmt: skip
def test_the_estimate_by_hand(
    cases: int, of_case: Sequence[Any], score: float, n: int, bias: dict[str, float]
) -> None:
    """Score, labels and bias; where all cases are alike, the interval has no width."""
    named = [(f"c{case}", talk, told) for case in range(cases) for talk, *told in of_case]
    turns = [StratifiedTurn(case, f"{case}/{talk}", *told) for case, talk, told in named]
    found = correct(turns, seed=1)

    assert found
    assert (found.score, found.n) == pytest.approx((score, n))
    assert found.bias == pytest.approx(bias)
    assert found.interval == pytest.approx((score, score))


def test_few_cases_make_the_interval_wider() -> None:
    """By 36 % of what the bootstrap says where six were labelled."""
    turns = [
        StratifiedTurn(f"c{case}", f"c{case}", 0.6, "not_red", BlindGrade(0.8 if case % 2 else 0.4))
        for case in range(6)
        for _ in range(10)
    ]
    found = correct(turns, seed=1)

    assert found
    assert found.score == pytest.approx(0.6)
    assert found.interval[1] - found.score == pytest.approx(1.36 * 0.2 * 4 / 6, abs=0.005)


def test_what_is_missing_is_counted() -> None:
    """In all, and in each stratum that has turns; nobody's grades leave nothing to say."""
    turns = held(World(0.1, 0.1), np.random.default_rng(1))
    bare = [turn._replace(human=None) for turn in turns]
    red_only = [t if t.stratum == "red" else t._replace(human=None) for t in held(
        World(0.0, 0.1, labels=90), np.random.default_rng(1))]  # fmt: skip
    some = [turn if int(turn.case[5:]) < 10 else turn._replace(human=None) for turn in turns]

    assert (shortage(turns), shortage(bare), correct(bare, seed=1)) == (None, None, None)
    few, lacking = shortage(some), shortage(red_only)
    assert few
    assert (few.labels + few.more, correct(some, seed=1)) == (50, None)
    assert lacking
    assert (lacking.more, lacking.red, lacking.not_red) == (2, 0, 2)
    assert correct(red_only, seed=1) is None


def test_one_case_is_not_enough() -> None:
    """There is nothing to draw, so there is no interval, however many labels there are."""
    turns = [StratifiedTurn("c", f"c/{n}", 0.8, "not_red", BlindGrade(0.6)) for n in range(60)]
    found = shortage(turns)

    assert correct(turns, seed=1) is None
    assert found
    assert (found.labels, found.more) == (60, 0)


def test_only_blind_grades_count_and_reviewers_are_averaged() -> None:
    """A verdict given on sight of the score is never used."""
    of_two = [verdict("a", 1, 4, sampled=0.5), verdict("a", 1, 3, reviewer="B")]
    neither = [verdict("a", 2, None), verdict("a", 3, 5, source="review")]

    assert blind_grades([*of_two, *neither]) == {("a", 1): BlindGrade(0.7, 0.5, 2)}


def test_the_summary_has_it() -> None:
    """People give every turn of every other conversation one grade less than the judge, give or take one."""

    def grade(conversation: int, turn: int) -> int | None:
        return JUDGE[turn] - 1 + (conversation % 4 == 1) if conversation % 2 else None

    plain, figures = summed(graded(lambda *_: None)), summed(graded(grade))

    assert (plain.scores.corrected, plain.scores.labels, plain.scores.shortage) == (None, 0, None)
    assert figures.scores.labels == 60
    assert figures.scores.score == plain.scores.score
    assert figures.scores.corrected
    assert (
        figures.scores.corrected.interval[0]
        < figures.scores.corrected.score
        < figures.scores.corrected.interval[1]
    )
    assert figures.scores.corrected.score == pytest.approx((figures.scores.score or 0) - 0.1)
    assert figures.scores.corrected.bias == pytest.approx({"red": 0.1, "not_red": 0.1})


def gate_of(low: float, score: float, high: float, target: float) -> Gate:
    """The gate of a run whose automatic score is far above everything."""
    corrected = CorrectedScore(score=score, interval=(low, high), n=60, bias={})
    figures = changed(summed(graded(lambda *_: None)), score=0.99, corrected=corrected)
    return decide(figures, target, 1.0)


def test_the_gate_asks_the_lower_end_of_the_corrected_interval() -> None:
    """Reached, missed by all of it, or not settled: the automatic score has no say."""
    intervals = (0.8, 0.85, 0.9), (0.7, 0.74, 0.79), (0.74, 0.78, 0.86)
    passed, below, open_ = (gate_of(*interval, target=0.8) for interval in intervals)

    assert (passed.passed, passed.reasons) == (True, ())
    assert (below.passed, below.decision) == (False, "missed")
    assert below.reasons == ("Score ≥ 80 does not hold: the result is 74.",)
    assert (open_.passed, open_.incomplete, open_.decision) == (False, False, "undecided")
    assert "the result is 78 and may lie between 74 and 86" in open_.reasons[0]


def test_json_has_the_corrected_score() -> None:
    """Score, interval, how many labels and the bias by stratum; null without labels."""
    figures = summed(graded(lambda conversation, turn: 1 + (conversation + turn) % 3))
    shown = as_json(figures, decide(figures, None))["corrected"]

    assert list(shown) == ["score", "interval", "n", "bias"]
    assert shown["n"] == 120
    assert set(shown["bias"]) == {"red", "not_red"}
    assert figures.scores.corrected
    assert shown["score"] == round(figures.scores.corrected.score, 4)
