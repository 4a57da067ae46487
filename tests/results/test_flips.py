"""Of a question that passes only sometimes: whether the search flipped, or the wording of the answer."""

from collections.abc import Sequence

import pytest

from simulator.core.types import RedRules, Results
from simulator.report.repeats import reliability_section
from simulator.results.flips import flips
from simulator.results.summary import summarise
from tests.diff_runs import a_result, with_passages


def asked(*repeats: tuple[float, Sequence[str]]) -> Results:
    """A question that was asked so many times: its grade, and the passages that came."""
    grades = {("price", "calm", number): [value] for number, (value, _came) in enumerate(repeats, 1)}
    return with_passages(a_result(grades), [came for _value, came in repeats])


@pytest.mark.parametrize(
    ("repeats", "flip"),
    [
        (((1.0, "ab"), (0.2, "ba"), (1.0, "ab")), {"price": "wording"}),
        (((1.0, "ab"), (0.2, "bc"), (1.0, "ab")), {"price": "retrieval"}),
        # Both: what was retrieved is looked at first.
        (((1.0, "ab"), (0.2, "ab"), (0.2, "c")), {"price": "retrieval"}),
        (((1.0, "ab"), (1.0, "cd")), {}),
        (((0.2, "ab"), (0.2, "cd")), {}),
        (((1.0, ""), (0.2, "")), {}),
        (((1.0, ""), (0.2, "a")), {"price": "retrieval"}),
    ],
)
def test_a_flip_is_named_by_what_came(
    repeats: Sequence[tuple[float, Sequence[str]]], flip: dict[str, str]
) -> None:
    """The same passages and another answer, or other passages; nothing where none are shown."""
    summary = summarise(asked(*repeats), rules=RedRules(), judges=("turn",), seed=1)
    assert flips(summary.record) == flip
    section = reliability_section(summary)
    assert section
    assert section.figures["flips"] == flip
