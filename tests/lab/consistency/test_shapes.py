"""What a model says beside its verdict on two claims may have any shape."""

from typing import Any

import pytest

from simulator.lab.consistency.grade import ClaimComparison
from tests.grading.test_shapes import SHAPES


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: type(shape).__name__)
def test_a_verdict_on_two_claims_does_not_hang_on_the_shape_of_a_text(shape: Any) -> None:
    """Whether one contradicts the other is read whatever stands beside it."""
    verdict = {"verdict": "contradicts"}

    assert ClaimComparison.model_validate(dict.fromkeys(ClaimComparison.model_fields, shape) | verdict)
