"""Did it get better? The verdict over paired runs, and what must hold whatever the runs are."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.core.types import Answer, Failure
from simulator.results.agreement import Floats
from simulator.results.comparison import (
    JudgeDifference,
    PairedRuns,
    RunComparison,
    compare_runs,
    differences,
    is_guarded,
    more_needed,
)
from tests.diff_runs import Key, a_result, a_side, grades_of, side_of
from tests.properties import examples

Values = Mapping[str, float] | Sequence[float]
GRADE = st.sampled_from([0.2, 0.4, 0.6, 0.8, 1.0])
GRADES = st.dictionaries(
    st.tuples(st.sampled_from("abcdefgh"), st.sampled_from(["calm", "angry"]), st.integers(1, 2)),
    st.lists(GRADE, min_size=1, max_size=3),
    min_size=1,
    max_size=14,
)


def compared(before: Values, after: Values, **more: object) -> RunComparison:
    return compare_runs(a_side(grades_of(before)), a_side(grades_of(after), "after", **more), seed=1)


def row(found: RunComparison, judge: str = "turn") -> JudgeDifference:
    return next(each for each in found.judges if each.judge == judge)


@settings(max_examples=examples(25), deadline=None)
@given(GRADES)
def test_a_run_against_itself_is_no_change(grades: dict[Key, list[float]]) -> None:
    """All differences are zero, nothing turned, and it is never a regression."""
    side = a_side(grades)
    found = compare_runs(side, side, seed=1)

    assert row(found).difference == 0
    assert row(found).interval in (None, (0, 0))
    assert found.verdict in ("no_difference", "not_enough")
    assert not found.regression
    assert found.same_lines == found.lines
    assert (found.turned_red, found.turned_green) == ((), ())


@settings(max_examples=examples(25), deadline=None)
@given(GRADES, GRADES)
def test_swapping_the_runs_negates(one: dict[Key, list[float]], other: dict[Key, list[float]]) -> None:
    """Differences, intervals and verdicts turn round; p stays."""
    a, b = a_side(one), a_side(other, "after")
    there, back = compare_runs(a, b, seed=1), compare_runs(b, a, seed=1)
    first, second = row(there), row(back)
    other_way = {"better": "worse", "worse": "better"}

    assert second.verdict == other_way.get(first.verdict, first.verdict)
    assert (first.p, first.pairs, first.more) == (second.p, second.pairs, second.more)
    assert (there.reds.turned_red, there.reds.p) == (back.reds.turned_green, back.reds.p)
    if first.difference is not None and second.difference is not None:
        assert first.difference == pytest.approx(-second.difference)
    if first.interval and second.interval:
        assert first.interval == pytest.approx((-second.interval[1], -second.interval[0]))


def test_clearly_better_and_clearly_worse() -> None:
    """Twelve cases that all rose, then the same the other way."""
    low, high = [0.4, 0.6] * 6, [0.8, 1.0] * 6
    up, down = compared(low, high), compared(high, low)

    assert (up.verdict, up.regression) == ("better", False)
    assert (down.verdict, down.regression) == ("worse", True)
    assert row(up).interval == pytest.approx((0.4, 0.4))
    assert row(up).p == pytest.approx(2 / 2**12)


def test_little_data_says_nothing() -> None:
    """Five cases, however much they fell; and how many more it takes."""
    found = compared([1, 1, 0.8, 1, 1], [0.2, 0.4, 0.4, 0.2, 0.2])

    assert found.verdict == "not_enough"
    assert not found.regression
    assert row(found).interval is None
    assert (row(found).more or 0) >= 1


def test_how_many_more_by_hand() -> None:
    """(1.96 + 0.84)^2 x 0.1^2 / 0.05^2 is 32 cases; where nothing differs nobody can tell."""
    spread = [0.1, -0.1] * 8  # standard deviation 0.1033

    assert more_needed(spread) == 34 - 16
    assert more_needed(spread * 20) == 0
    assert more_needed([0.1, -0.1]) == 61
    assert more_needed([0.1]) is more_needed([0.0] * 3) is None


def test_repeats_are_averaged() -> None:
    """Three repeats before and one after make one pair."""
    before: dict[Key, list[float]] = {("a", "calm", n): [v] for n, v in enumerate((0.2, 0.4, 0.6), 1)}
    found = row(compare_runs(a_side(before), a_side({("a", "calm", 1): [1.0]}, "after"), seed=1))

    assert (found.pairs, found.after) == (1, 1.0)
    assert found.before == pytest.approx(0.4)


def test_the_score_is_tested_first_and_the_others_after_it() -> None:
    """Its p is not corrected, however many judges there are; the others follow by Holm's method.

    While it has not changed theirs is doubled: looking at them must not make false alarms twice as frequent.
    Judges that could not be significant cost nothing.
    """
    found = _differences(turn=[0.2] * 6, relevance=[0.2] * 6 + [-0.2], fluency=[0.2] * 6 + [-0.2])

    assert found["turn"].p_holm == found["turn"].p == pytest.approx(2 / 2**6)
    assert found["turn"].verdict == "better"
    assert found["relevance"].p_holm == pytest.approx(2 * (found["relevance"].p or 0))
    found = _differences(turn=[0.2, -0.2] * 4, relevance=[-0.2] * 8)

    assert found["turn"].verdict == "no_difference"
    assert found["relevance"].p_holm == pytest.approx(2 * 2 / 2**8)
    assert found["relevance"].verdict == "worse"
    found = _differences(turn=[0.0] * 8, relevance=[-0.2] * 8, fluency=[0.2, -0.2] + [0.0] * 6)

    assert found["relevance"].p_holm == found["relevance"].p
    assert found["fluency"].p_holm == found["fluency"].p


def _differences(**by: list[float]) -> dict[str, JudgeDifference]:
    """The rows of judges whose cases changed by so much; `turn` decides."""
    pairs = {
        judge: [(f"case-{at}", 0.6, 0.6 + change) for at, change in enumerate(found)]
        for judge, found in by.items()
    }
    return {row.judge: row for row in differences(pairs, primary="turn", seed=1)}


def test_an_interval_without_zero_that_chance_still_explains_leans() -> None:
    """Five cases rose and nothing fell: the interval leaves out 0, the exact test cannot be below 5 %."""
    up = _differences(turn=[0.4] * 5 + [0.0] * 7)["turn"]
    down = _differences(turn=[-0.4] * 5 + [0.0] * 7)["turn"]

    assert (up.interval or (0, 0))[0] > 0
    assert up.p == pytest.approx(2 / 2**5)
    assert (up.verdict, up.leaning, up.moved) == ("no_difference", "up", 5)
    assert down.leaning == "down"
    assert _differences(turn=[0.2, -0.2] * 6)["turn"].leaning is None
    assert _differences(turn=[0.2] * 12)["turn"].leaning is None


@pytest.mark.parametrize("tag", ["must-not-break", "壊さない", "必須", "Must Not Break", "must_not_break"])
def test_a_case_that_must_not_break_is_a_regression_of_its_own(tag: str) -> None:
    """Green before and red now, however much better the rest became."""
    before = dict.fromkeys("abcdefghijkl", 0.2) | {"z": 0.8}
    after = dict.fromkeys("abcdefghijkl", 1.0) | {"z": 0.6}
    found = compared(before, after, tags={"z": (tag,)})

    assert (found.verdict, found.regression) == ("better", True)
    assert [(b.case, b.turns) for b in found.broken] == [("z", (("calm/z#1", 1),))]
    assert found.turned_red[0].guarded


def test_a_guarded_case_that_was_red_before_did_not_break() -> None:
    """Nor does one that the other run lacks, but that is said."""
    tags = {"z": ("必須",), "y": ("必須",)}
    before, after = {"a": 0.8, "z": 0.4}, {"a": 0.8, "z": 0.2, "y": 0.2}
    found = compared(before, after, tags=tags)

    assert (found.broken, found.regression) == ((), False)
    assert (found.guarded, found.unchecked) == (2, ("y",))
    assert not is_guarded(("必須項目",))


@pytest.mark.parametrize(
    ("before", "after", "verdict", "regression"),
    [
        ([0.8] * 12, [1.0] * 12, "better", False),
        ([0.6] * 6 + [0.8] * 6, [1.0] * 11 + [0.6], "better", False),
        ([0.8] * 12, [0.8] * 12, "no_difference", False),
        ([0.8] * 12, [0.6] + [0.8] * 11, "no_difference", True),
        ([0.8] * 12, [0.6] + [1.0] * 11, "better", True),
        ([0.6] + [0.8] * 11, [0.8, 0.6] + [0.8] * 10, "no_difference", False),
    ],
)
def test_another_judge_has_a_veto_only_where_more_turned_red(
    before: list[float], after: list[float], verdict: str, regression: bool
) -> None:
    """Relevance falls in every case, which makes no turn red: what the deciding judge says is what counts."""
    both = ("turn", "relevance")
    one = a_result(grades_of([1.0] * 12), judges=("relevance",)).scores
    other = a_result(grades_of([0.6] * 12), "after", judges=("relevance",)).scores
    sides = [
        side_of(run.model_copy(update={"scores": (*run.scores, *more)}))
        for run, more in ((a_result(grades_of(before)), one), (a_result(grades_of(after), "after"), other))
    ]
    found = compare_runs(*sides, seed=1)

    assert tuple(each.judge for each in found.judges) == both
    assert found.verdict == verdict
    assert found.fallen == ("relevance",)
    assert found.regression is regression


def test_another_rubric_is_not_comparable() -> None:
    """A fall is no regression then; a case that must not break still is."""
    high, low = [1.0] * 10, [0.4] * 10
    plain = compared(high, low, rubric="r2")
    guarded = compared(high, low, rubric="r2", tags={"case-3": ("必須",)})

    assert (plain.verdict, plain.regression) == ("not_comparable", False)
    assert plain.cautions[0].kind == "rubrics"
    assert row(plain).p is None
    assert guarded.regression


def test_turns_are_paired_by_line() -> None:
    """Free conversations: the first turn and equal lines; of a replay all."""
    grades: dict[Key, list[float]] = {(case, "calm", 1): [0.8, 0.8, 0.8] for case in "abc"}
    fallen = {key: [0.8, 0.4, 0.8] for key in grades}
    free = compare_runs(a_side(grades), a_side(fallen, "after", lines="別の質問"), seed=1)
    same = compare_runs(a_side(grades), a_side(fallen, "after", replay="runs/before/run.sqlite"), seed=1)

    assert (free.same_lines, free.lines, free.reds.turned_red) == (3, 9, 0)
    assert (same.same_lines, same.lines, same.reds.turned_red) == (9, 9, 3)
    assert same.replayed
    assert same.after.replay_of == "before"


def test_what_turned_has_both_answers_and_reasons() -> None:
    """As excerpts, what fell most first."""
    found = compared([1.0, 0.8, 0.4], [0.2, 0.6, 0.8])
    first, second = found.turned_red

    assert (first.case, first.was, first.became) == ("case-0", 1.0, 0.2)
    assert (first.before, first.after) == ("case-0は1です", "case-0は0.2です")
    assert (first.why_before, first.why_after) == ("before 1", "after 0.2")
    assert second.case == "case-1"
    assert [each.case for each in found.turned_green] == ["case-2"]


def test_the_same_question_with_the_same_answers_counts_once() -> None:
    """However many customers open with it; other answers and later turns count for themselves."""
    keys = [("a", persona, repeat) for persona in ("calm", "angry") for repeat in (1, 2)]

    def changes(before: Mapping[Key, list[float]], after: Mapping[Key, list[float]]) -> RunComparison:
        return compare_runs(a_side(before), a_side(after, "after"), seed=1)

    same = changes({key: [0.8] for key in keys}, {key: [0.2] for key in keys})
    other = changes({key: [0.8] for key in keys}, {key: [0.1 + key[2] / 10] for key in keys})
    later = changes({key: [0.8, 0.8] for key in keys}, {key: [0.8, 0.2] for key in keys})

    assert (same.reds.turned_red, len(same.turned_red)) == (1, 1)
    assert (same.turned_red[0].persona, same.turned_red[0].others) == ("calm", ("angry",))
    assert (other.reds.turned_red, later.reds.turned_red) == (2, 4)


def test_conversations_are_paired_by_who_plays() -> None:
    """Each of several models with itself; beside a run with one model, those of that or of the first."""
    grades: dict[Key, list[float]] = {(f"c{n}", "calm", 1): [0.8] for n in range(6)}
    one = a_result(grades)
    several = one.model_copy(
        update={
            "run": one.run.model_copy(update={"id": "after", "models": {"user": "x, m", "judge": "m"}}),
            "conversations": [
                c.model_copy(update={"id": f"{model}/{c.id}", "user_model": model, "ended": None})
                for c in one.conversations
                for model in ("m", "x")
            ],
        }
    )
    alone, both = (PairedRuns(side_of(first), side_of(several)) for first in (one, several))

    assert len(alone.both) == len(alone.turns) == 6
    assert {turn.later.user_model for turn in alone.turns} == {"m"}
    assert len(both.both) == 12


def test_of_equal_turns_any_red_one_counts() -> None:
    """A judge that grades the same answer now so, now otherwise turned nothing red."""
    keys = [("a", "calm", 1), ("a", "angry", 1)]
    after = a_result({key: [0.2] for key in keys}, "after")
    first, second = after.scores
    scores = (first.model_copy(update={"value": 0.8, "raw": 4.0}), second)
    before = after.model_copy(update={"scores": scores})

    for one, two in ((before, after), (after, before)):
        reds = compare_runs(side_of(one), side_of(two), seed=1).reds
        assert (reds.still_red, reds.turned_red, reds.turned_green) == (1, 0, 0)


def test_an_unanswered_turn_turns_red() -> None:
    """The bot's failure is its own."""
    one = a_result(grades_of([0.8, 0.8]))
    conversation = one.conversations[0]
    silent = Answer(text="", error=Failure(kind="timeout", message="late"))
    failed = conversation.turns[0].model_copy(update={"answer": silent})
    conversations = (conversation.model_copy(update={"turns": (failed,)}), one.conversations[1])
    other = one.model_copy(update={"conversations": conversations, "scores": one.scores[1:]})

    assert compare_runs(side_of(one), side_of(other), seed=1).reds.turned_red == 1


def test_what_makes_runs_hard_to_compare_is_said() -> None:
    """Settings, wording, what only one run has; what was changed in the bot is no caution."""
    one = a_side(grades_of([0.8] * 4), turns=3, set={"top": "1"})
    grades = grades_of([0.8] * 6)
    result = a_result(grades, "after", turns=5, set={"top": "4"})
    conversation = result.conversations[0]
    asked = conversation.case.model_copy(update={"question": "別の質問"})
    talks = (conversation.model_copy(update={"case": asked}), *result.conversations[1:])
    stopped = result.run.model_copy(update={"status": "stopped"})
    other = result.model_copy(update={"conversations": talks, "run": stopped})
    found = compare_runs(one, side_of(other), seed=1)

    assert {c.kind: c.names or (c.before, c.after) for c in found.cautions} == {
        "settings": ("turns",), "questions": (0, 1), "unpaired": (0, 2), "unfinished": ("after",),
    }  # fmt: skip
    assert [(c.name, c.before, c.after) for c in found.changed] == [("top", "1", "4")]


def test_bots_without_a_change_seldom_raise_an_alarm() -> None:
    """At most 5 % of 200 comparisons of equal bots, by three judges over cases of their own difficulty."""
    random, alarms = np.random.default_rng(7), 0
    for _ in range(200):
        hard = random.uniform(0.3, 0.9, size=12)
        pairs = {
            judge: [(f"case-{at}", *each) for at, each in enumerate(_graded_twice(random, hard))]
            for judge in ("turn", "relevance", "groundedness")
        }
        alarms += any(found.verdict == "worse" for found in differences(pairs, primary="turn", seed=1))

    assert alarms <= 10


def _graded_twice(random: np.random.Generator, hard: Floats) -> list[tuple[float, float]]:
    """The grades that one bot gets in two runs, in fifths."""
    runs = [np.clip(np.round((hard + random.normal(0, 0.2, len(hard))) * 5) / 5, 0.2, 1) for _ in range(2)]
    return [(float(a), float(b)) for a, b in zip(*runs, strict=True)]
