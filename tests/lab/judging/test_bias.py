"""Probes are graded and compared: what moves a judge that should not is flagged."""

import pytest

from simulator.core.types import GradingContext, Score, State
from simulator.lab.judging.bias import Bias, is_bound, measure_bias
from simulator.lab.judging.plan import bundled, probes
from simulator.lab.judging.stored import BiasRow

CASES, KNOWLEDGE = bundled()
MADE = probes(CASES[:6], KNOWLEDGE[:2] + KNOWLEDGE[44:50], language="ja")


def score(context: GradingContext, raw: float, judge: str = "turn", **more: object) -> Score:
    known = {
        "judge": judge, "conversation": context.conversation, "turn": 1, "state": "scored", "raw": raw,
        "value": raw / 5, "detail": {"correctness": int(raw)} if judge == "turn" else {},
    }  # fmt: skip
    return Score.model_validate(known | more)


def row(bias: Bias, kind: str, judge: str) -> BiasRow:
    return next(row for row in bias.rows if (row.kind, row.judge) == (kind, judge))


FLIPPED = {probe.changed.conversation for probe in MADE if probe.kind == "flipped_fact"}


async def perfect(context: GradingContext) -> list[Score]:
    return [score(context, 1 if context.conversation in FLIPPED else 5)]


async def test_a_perfect_judge_holds_every_bound() -> None:
    """Flipped facts fall to 1 and are red; nothing else moves."""
    bias = await measure_bias(MADE, perfect)

    assert bias.broken == ()
    flipped = row(bias, "flipped_fact", "turn")
    assert (flipped.before, flipped.after, flipped.difference) == (5, 1, -4)
    assert (flipped.fell, flipped.turned, flipped.red_before, flipped.held) == (1, 1, 0, True)
    assert row(bias, "padding", "turn.correctness").difference == 0


@pytest.mark.parametrize(("good", "bad", "fell", "red_before", "turned"), [(4, 3, 0, 0, 1), (3, 1, 1, 1, 0)])
async def test_a_flipped_fact_has_to_fall_and_to_turn_red(
    good: int, bad: int, fell: int, red_before: int, turned: int
) -> None:
    """Who sees it as one grade worse has not seen it; who sees red everywhere catches nothing."""

    async def grade(context: GradingContext) -> list[Score]:
        return [score(context, bad if context.conversation in FLIPPED else good)]

    bias = await measure_bias(MADE, grade)
    flipped = row(bias, "flipped_fact", "turn")

    assert (flipped.fell, flipped.red_before, flipped.turned) == (fell, red_before, turned)
    assert flipped.held is False


async def test_a_judge_that_likes_thanks_is_flagged() -> None:
    """Correctness that rises by more than 0.2 for courtesy breaks its bound; missed flips break theirs."""

    async def flattered(context: GradingContext) -> list[Score]:
        return [score(context, 5 if "ありがとう" in context.turn.answer.text else 4)]

    bias = await measure_bias(MADE, flattered)
    padded = row(bias, "padding", "turn.correctness")

    assert (padded.difference or 0) > 0.2
    assert padded.interval is None  # of three questions
    assert {(broken.kind, broken.judge) for broken in bias.broken} == {
        ("flipped_fact", "turn"), ("flipped_fact", "turn.correctness"), ("padding", "turn.correctness"),
    }  # fmt: skip


async def test_every_exhibit_is_graded_once() -> None:
    """One right answer is the base of many pairs and costs one grade."""
    graded: list[str] = []

    async def grade(context: GradingContext) -> list[Score]:
        graded.append(context.conversation)
        return await perfect(context)

    bias = await measure_bias(MADE, grade, at_once=3)

    assert len(graded) == len(set(graded)) == bias.contexts
    assert bias.contexts < 2 * bias.probes


@pytest.mark.parametrize("state", ["failed", "skipped"])
async def test_what_has_no_grade_is_left_out_and_counted(state: State) -> None:
    """A failed score is no low grade."""

    async def grade(context: GradingContext) -> list[Score]:
        if context.conversation.endswith("padding"):
            return [score(context, 5).model_copy(update={"state": state, "raw": None, "value": None})]
        return await perfect(context)

    bias = await measure_bias(MADE, grade)
    padded = row(bias, "padding", "turn")

    assert padded.n == 0
    assert (padded.failed > 0, padded.skipped > 0) == (state == "failed", state == "skipped")
    assert (padded.before, padded.difference, padded.held) == (None, None, None)


@pytest.mark.parametrize(
    ("kind", "judge", "bound"),
    [
        ("flipped_fact", "turn", True),
        ("flipped_fact", "turn.correctness", True),
        ("flipped_fact", "similarity", True),
        ("flipped_fact", "fluency", False),
        ("flipped_fact", "language_match", False),
        ("padding", "turn", False),
        ("padding", "turn.correctness", True),
        ("padding", "groundedness", True),
        ("shuffled", "turn", True),
        ("shuffled", "context_precision", False),
        ("flipped_fact", "my_own", True),
        ("padding", "groundedness@2", True),
    ],
)
def test_bounds_are_set_where_they_mean_something(kind: str, judge: str, bound: bool) -> None:
    """Judges of manner are reported; judges of truth, and one's own, are bound."""
    assert is_bound(kind, judge) is bound  # type: ignore[arg-type]
