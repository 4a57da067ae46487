"""What a model says beside a verdict of the lab may have any shape."""

from typing import Any

import pytest

from simulator.lab.compare.grade import Preference
from tests.grading.test_shapes import SHAPES


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: type(shape).__name__)
def test_a_verdict_does_not_hang_on_the_shape_of_a_text(shape: Any) -> None:
    """Which of two answers is better is read all the same."""
    read = Preference.model_validate(dict.fromkeys(Preference.model_fields, shape) | {"verdict": "1"})

    assert str(read.verdict) == "1"
