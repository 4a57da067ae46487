"""What outcomes say: shares, biases of the judge."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.lab.compare.comparison import PairwiseFigures, compared
from simulator.lab.compare.grade import PairOutcome, TurnPairs, Verdict
from tests.lab.compare.compare_runs import an_outcome
from tests.properties import examples

NOTHING = TurnPairs(())
VERDICTS: tuple[Verdict, ...] = ("a", "b", "tie")


def figures(outcomes: list[PairOutcome]) -> PairwiseFigures:
    """Of two runs."""
    return compared(("run-a", "run-b"), outcomes, NOTHING, 42)


def of(*verdicts: Verdict | None, **changes: Any) -> list[PairOutcome]:
    """One outcome a question."""
    return [an_outcome(verdict, at, **changes) for at, verdict in enumerate(verdicts)]


def won(side: Verdict, times: int) -> list[Verdict]:
    """So many wins."""
    return [side] * times


def test_a_clear_lead_is_one_whose_interval_leaves_out_one_half() -> None:
    """Many questions, and nearly all of them the same way."""
    assert figures(of(*won("b", 18), "a", "tie")).duel.lead == "b"
    assert figures(of(*won("a", 18), "b", "tie")).duel.lead == "a"


def test_a_few_questions_prove_nothing() -> None:
    """All alike is no certainty, and five of five may be chance."""
    two, five, six = (figures(of(*won("b", times))).duel for times in (2, 5, 6))

    assert (two.lead, five.lead, six.lead) == ("level", "level", "b")
    assert two.share.low is None
    assert five.share.low == pytest.approx(0.05 ** (1 / 5), abs=0.01)
    assert five.p_value == 2 / 2**5
    assert figures(of("b", "b", "b", "b", "tie")).duel.lead == "level"
    assert figures(of("tie", "tie", "tie")).duel.share.low is None
    assert 0 <= figures(of(*won("a", 600), *won("b", 600))).duel.p_value <= 1


def test_many_turns_of_one_question_prove_nothing() -> None:
    """Cases are drawn, not turns: with one case there is no interval and no lead."""
    duel = figures([an_outcome("b", 0, turn=turn) for turn in range(1, 31)]).duel

    assert (duel.share.low, duel.lead) == (None, "level")


@settings(max_examples=examples(30))
@given(st.lists(st.sampled_from(VERDICTS), min_size=2, max_size=12))
def test_swapping_the_runs_turns_everything_round(verdicts: list[Verdict]) -> None:
    """Wins become losses, shares their complement."""
    turned: dict[Verdict, Verdict] = {"a": "b", "b": "a", "tie": "tie"}
    there = figures(of(*verdicts))
    back = compared(
        ("run-b", "run-a"), of(*(turned[verdict] for verdict in verdicts), a="run-b", b="run-a"), NOTHING, 42
    )
    one, other = there.duel, back.duel

    assert (one.wins_a, one.ties, one.wins_b) == (other.wins_b, other.ties, other.wins_a)
    assert (one.share.value or 0) + (other.share.value or 0) == pytest.approx(1)
