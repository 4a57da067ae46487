"""What a function judge may return, short or long, and what is told of everything else."""

from typing import Any

import numpy as np
import pytest

from simulator.core.errors import ModelFailure
from simulator.core.replies import score_of
from simulator.core.types import Score, Usage

SHARE, FIFTHS = (0.0, 1.0), (1.0, 5.0)


@pytest.mark.parametrize(
    ("verdict", "scale", "raw", "value", "reason"),
    [
        (True, SHARE, 1, 1, ""),
        (False, SHARE, 0, 0, ""),
        (True, FIFTHS, 5, 1, ""),
        (False, FIFTHS, 1, 0.2, ""),
        (4, FIFTHS, 4, 0.8, ""),
        (0.25, SHARE, 0.25, 0.25, ""),
        (-2, (-2.0, 2.0), -2, 0, ""),
        ((True, "短い"), SHARE, 1, 1, "短い"),
        ((3.5, "fair"), FIFTHS, 3.5, 0.7, "fair"),
        (np.float32(0.5), SHARE, 0.5, 0.5, ""),
        (np.bool_(True), SHARE, 1, 1, ""),
        (np.int64(2), FIFTHS, 2, 0.4, ""),
    ],
)
def test_short_verdicts_are_scores(
    verdict: Any, scale: tuple[float, float], raw: float, value: float, reason: str
) -> None:
    """Yes and no are the ends of the scale, a number lies on it; either may have a reason."""
    score = score_of(verdict, scale)

    assert (score.state, score.raw, score.value, score.scale) == ("scored", raw, value, scale)
    assert score.reason == reason


def test_a_score_needs_no_boilerplate() -> None:
    """Judge, conversation, turn and scale may be left out; the scale is then the module's."""
    short = score_of(Score(state="scored", value=1, raw=1, severity="minor"), SHARE)
    skipped = score_of(Score(state="skipped", reason="nothing to see"), SHARE)

    assert (short.scale, short.severity) == (SHARE, "minor")
    assert (skipped.state, skipped.value) == ("skipped", None)


def test_a_score_may_have_a_scale_of_its_own() -> None:
    """Whatever that of its module is."""
    own = Score(state="scored", value=1, raw=1, scale=(0, 1))

    assert score_of(own, FIFTHS) == own


@pytest.mark.parametrize(
    ("verdict", "kind", "told"),
    [
        (6, "off_scale", "the judge returned 6, which is not on 1 to 5"),
        (0, "off_scale", "the judge returned 0, which is not on 1 to 5"),
        (float("nan"), "off_scale", "the judge returned nan, which is not on 1 to 5"),
        ("good", "malformed", "the judge returned str, not a Score, a number"),
        ((4, 5), "malformed", "the judge returned tuple, not a Score"),
        (None, "malformed", "the judge returned NoneType, not a Score"),
        (Usage(model="m"), "malformed", "the judge returned Usage, not a Score"),
        (
            Score(state="scored"),
            "malformed",
            "the judge returned a Score that is scored and has the value None",
        ),
        (
            Score(state="skipped", value=0.5),
            "malformed",
            "the judge returned a Score that is skipped and has the value 0.5",
        ),
    ],
)
def test_everything_else_is_refused_in_one_line(verdict: Any, kind: str, told: str) -> None:
    """A grade that would be stored wrongly is a failed one, which says why."""
    with pytest.raises(ModelFailure) as met:
        score_of(verdict, FIFTHS)

    assert met.value.failure.kind == kind
    assert str(met.value).startswith(told)
    assert "\n" not in str(met.value)
