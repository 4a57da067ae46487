"""Further models of the panel beside the judge's own."""

from collections.abc import Sequence
from typing import Any

from simulator.core.types import Score
from simulator.lab.judging.panel import panel_agreement


def graded(judge: str, grades: Sequence[int], **more: Any) -> list[Score]:
    """One grade for each turn."""
    return [
        Score(judge=judge, conversation="c", turn=turn, state="scored", value=grade / 5, raw=grade, **more)
        for turn, grade in enumerate(grades, start=1)
    ]


def test_models_are_compared_on_the_turns_both_have_graded() -> None:
    """The same grades agree fully; a model that gives a grade more everywhere is shifted by a fifth."""
    alike, milder = graded("turn@a", [1, 3, 4, 2, 5]), graded("turn@b", [2, 4, 5, 3])
    same, kinder = panel_agreement([*graded("turn", [1, 3, 4, 2]), *alike, *milder])

    assert (same.judge, same.model, same.n, same.kappa, same.shift) == ("turn", "a", 4, 1, 0)
    assert (kinder.model, round(kinder.shift, 6)) == ("b", 0.2)
    assert 0 < (kinder.kappa or 0) < 1
