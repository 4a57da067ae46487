"""What a model says beside a verdict of the lab may have any shape."""

from typing import Any

import pytest

from simulator.lab.compare.grade import Preference
from simulator.lab.consistency.grade import ClaimComparison
from tests.grading.test_shapes import SHAPES


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: type(shape).__name__)
@pytest.mark.parametrize(("form", "verdict"), [(Preference, "1"), (ClaimComparison, "contradicts")])
def test_a_verdict_does_not_hang_on_the_shape_of_a_text(
    form: type[Preference | ClaimComparison], verdict: str, shape: Any
) -> None:
    """Which of two answers is better, and whether a claim contradicts another, is read all the same."""
    read = form.model_validate(dict.fromkeys(form.model_fields, shape) | {"verdict": verdict})

    assert str(read.verdict) == verdict
