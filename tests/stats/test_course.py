"""How a run goes from turn to turn."""

import pytest

from simulator.stats.summary import LAST_TURN, course
from tests.sample_pages import full
from tests.sample_runs import rehearsed


def test_each_turn_has_its_mean_with_n() -> None:
    """Over all conversations that came so far, and by persona."""
    found = course(rehearsed(), "turn")

    assert found
    assert [mean.n for mean in found.overall] == [6, 5, 2]
    assert found.overall[0].mean == pytest.approx((5 + 2 + 5 + 5 + 5 + 2) / 30)
    assert [mean.n for mean in found.personas["beginner"]] == [2, 1, 0]
    assert found.personas["beginner"][2].mean is None


def test_feelings_keep_their_own_scale() -> None:
    """From -2 to 2."""
    found = course(full(), "tone", raw=True)

    assert found
    assert found.personas["angry"][1].mean == -2


def test_there_is_none_where_nothing_goes_on() -> None:
    """A judge that graded nothing, or single turns only; long conversations end at the last that is shown."""
    single = rehearsed().model_copy(
        update={"conversations": tuple(c for c in rehearsed().conversations if len(c.turns) == 1)}
    )

    assert course(rehearsed(), "nobody") is None
    assert course(single, "turn") is None
    assert LAST_TURN >= 3
