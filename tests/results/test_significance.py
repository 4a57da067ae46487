"""Paired tests against scipy's figures (kept in a file), by counting, and by what must hold of any data."""

import json
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.results.draws import student
from simulator.results.significance import average_ranks, mcnemar, wilcoxon
from tests.paths import FIXTURES

KEPT: dict[str, Any] = json.loads((FIXTURES / "paired_tests.json").read_text(encoding="utf-8"))
SMALL = st.lists(st.sampled_from([-0.4, -0.2, -0.1, 0.0, 0.0, 0.1, 0.2]), max_size=8)


FOUND: dict[str, Callable[[dict[str, Any]], float]] = {
    # Exact without ties up to 25 differences, normal with ties and Pratt's zeros above.
    "wilcoxon": lambda row: wilcoxon(row["x"]),
    # The binomial test with a half.
    "mcnemar": lambda row: mcnemar(row["worse"], row["better"]),
    # To nine places up to 400 degrees of freedom.
    "student": lambda row: student(row["share"], row["df"]),
}


@pytest.mark.parametrize(("name", "row"), [(name, row) for name in FOUND for row in KEPT[name]])
def test_they_are_scipys(name: str, row: dict[str, Any]) -> None:
    """The p of each test, and Student's quantiles."""
    assert FOUND[name](row) == pytest.approx(row["t" if name == "student" else "p"], rel=1e-9, abs=1e-9)


@given(SMALL)
def test_wilcoxon_counts_every_assignment_of_signs(differences: list[float]) -> None:
    """Ties and zeros included: brute force over all signs gives the same p."""
    signed = [x for x in differences if x]
    ranks = [r for r, x in zip(average_ranks([abs(x) for x in differences]), differences, strict=True) if x]
    ways = product((0, 1), repeat=len(ranks))
    sums = [sum(r for r, plus in zip(ranks, way, strict=True) if plus) for way in ways]
    found = sum(r for r, x in zip(ranks, signed, strict=True) if x > 0)
    low, high = (sum(s <= found + 1e-9 for s in sums), sum(s >= found - 1e-9 for s in sums))

    assert wilcoxon(differences) == pytest.approx(min(1, 2 * min(low, high) / len(sums)))


def test_equal_differences_of_floats_are_ties() -> None:
    """0.8 - 0.6 and 0.6 - 0.4 are the same on paper."""
    assert wilcoxon([0.8 - 0.6, 0.4 - 0.6, 0.2]) == wilcoxon([0.2, -0.2, 0.2])
