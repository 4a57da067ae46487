"""Which cell is best: only where chance does not explain the difference, row by row."""

import numpy as np
import pytest
from pandas import Series

from simulator.addons.matrix.figures import CellScores, ClassifiedRows, against_best
from simulator.stats.classification import ClassifiedRow as LabelledRow
from simulator.stats.classification import classify


def graded(*values: float, rubrics: tuple[str, ...] = ()) -> CellScores:
    """What a judge gave the rows of one cell."""
    return CellScores(Series(values, dtype=float).dropna(), rubrics)


def verdicts(**cells: CellScores) -> dict[str, str]:
    """The verdict on each cell."""
    return {key: each.verdict for key, each in against_best(cells).items()}


def test_best_is_who_beats_every_other_beyond_chance() -> None:
    """Eight rows right against none: p = 2 / 2^8 for two cells, three times that for three."""
    right, wrong = graded(*[1.0] * 12), graded(*[0.0] * 12)
    assert verdicts(a=right, b=wrong) == {"a": "best", "b": "worse"}

    found = against_best({"a": graded(*[1.0] * 8), "b": graded(*[0.0] * 8), "c": graded(*[0.0] * 8)})
    assert {key: each.verdict for key, each in found.items()} == {"a": "best", "b": "worse", "c": "worse"}
    assert found["b"].p == pytest.approx(3 * 2 / 2**8)
    assert (found["b"].difference, found["b"].rows, found["b"].to) == (-1, 8, "a")


def test_other_rubrics_are_not_compared() -> None:
    """Grades of a judge that changed between two cells say nothing about the cells."""
    a, b = graded(*[1] * 9, rubrics=("new",)), graded(*[0] * 9, rubrics=("old",))

    assert verdicts(a=a, b=b) == {"a": "not_comparable", "b": "not_comparable"}


def test_of_equal_cells_none_is_called_best() -> None:
    """Among six that differ by chance alone, hardly ever one is called worse than the highest."""
    random = np.random.default_rng(7)
    called = 0
    for _ in range(100):
        row = random.normal(size=60)
        cells = {str(n): graded(*(row + random.normal(size=60) > 0)) for n in range(6)}
        called += "worse" in verdicts(**cells).values()

    assert called <= 5


def read(*predicted: str | None, expected: str = "AAABBB") -> ClassifiedRows:
    """What a cell read from the answers to rows labelled like this."""
    rows = {str(at): ((own, said),) for at, (own, said) in enumerate(zip(expected, predicted, strict=True))}
    found = classify([LabelledRow(own, said) for ((own, said),) in rows.values()], ("A", "B"), positive="A")
    return ClassifiedRows(rows, found.labels, found.positive, found.f1)


def test_labels_are_held_against_each_other_by_f1() -> None:
    """Rare labels found go before more rows right: the same figure leads, sorts and is tested."""
    rare = "A" * 8 + "B" * 92
    found = against_best({
        "lazy": read(*["B"] * 100, expected=rare),
        "keen": read(*["A"] * 18, *["B"] * 82, expected=rare),
    })  # fmt: skip

    assert {key: each.verdict for key, each in found.items()} == {"keen": "best", "lazy": "worse"}
    assert found["lazy"].difference == pytest.approx(-2 * 8 / 26)
    few = {"a": read(*"AAAABB"), "b": read(*"AABBB", None)}
    assert against_best(few)["b"].verdict == "no_difference"
    assert {each.verdict for each in against_best({"a": few["a"], "b": few["a"]}).values()} == {"equal"}
