"""Which cell is best: only where chance does not explain the difference, row by row."""

import numpy as np
import pytest
from pandas import Series

from simulator.lab.matrix.figures import CellScores, against_best


def graded(*values: float, rubrics: tuple[str, ...] = ()) -> CellScores:
    """What a judge gave the rows of one cell."""
    return CellScores(Series(values, dtype=float).dropna(), rubrics)


def verdicts(**cells: CellScores) -> dict[str, str]:
    """The verdict on each cell."""
    return {key: each.verdict for key, each in against_best(cells, {}).items()}


def test_best_is_who_beats_every_other_beyond_chance() -> None:
    """Eight rows right against none: p = 2 / 2^8 for two cells, three times that for three."""
    right, wrong = graded(*[1.0] * 12), graded(*[0.0] * 12)
    assert verdicts(a=right, b=wrong) == {"a": "best", "b": "worse"}

    found = against_best({"a": graded(*[1.0] * 8), "b": graded(*[0.0] * 8), "c": graded(*[0.0] * 8)}, {})
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


def test_of_labels_the_highest_f1_leads() -> None:
    """Rare labels found go before more rows right, and only rows right can call another one worse."""
    keen, lazy, blind = graded(*[1] * 18, *[0] * 2), graded(*[1] * 19, 0), graded(*[0] * 20)
    found = against_best(
        {"lazy": lazy, "keen": keen, "blind": blind}, {"keen": 0.6, "lazy": 0.1, "blind": 0.0}
    )

    assert {key: each.verdict for key, each in found.items()} == {
        "keen": "highest", "lazy": "no_difference", "blind": "worse",
    }  # fmt: skip
    assert found["keen"].open == 1


def test_one_cell_and_few_rows_are_not_told_apart() -> None:
    """Nothing is said of one cell alone; of five rows only that they are too few."""
    assert verdicts(a=graded(1.0)) == {}
    assert verdicts(a=graded(*[1] * 5), b=graded(*[0] * 5)) == {"a": "not_enough", "b": "not_enough"}
