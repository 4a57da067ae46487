"""The map from counted shares to grades is data: checked, monotone, and in the name of every grade."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.core.errors import PromptError
from simulator.core.templates import read_toml
from simulator.grading.lexical import DECISIVE, FILE, STAND_INS, GradeScale, capped, grade_of, rubric_of

LIMITS = sorted(read_toml(FILE)["limits"])


@pytest.mark.parametrize("judge", LIMITS)
def test_every_grade_can_be_reached(judge: str) -> None:
    """Nothing is a 1, everything a 5, each limit adds one, and half-way to it is half a grade."""
    limits = read_toml(FILE)["limits"][judge]

    assert grade_of(0, judge) == 1
    assert grade_of(1, judge) == 5
    assert [grade_of(limit, judge) for limit in limits] == [2, 3, 4, 5]
    assert grade_of((limits[1] + limits[2]) / 2, judge) == pytest.approx(3.5, abs=0.01)


@given(st.sampled_from(LIMITS), st.floats(0, 1), st.floats(0, 1))
def test_more_is_never_graded_lower(judge: str, one: float, other: float) -> None:
    """The map is monotone."""
    low, high = sorted((one, other))

    assert 1 <= grade_of(low, judge) <= grade_of(high, judge) <= 5


@given(st.sampled_from(LIMITS), st.floats(0, 1), st.floats(0, 1), st.sampled_from([2, 3, 4.5]))
def test_a_cap_narrows_the_range_and_keeps_the_order(
    judge: str, one: float, other: float, most: float
) -> None:
    """What is capped at 2 still differs: the better half of it is still the better half."""
    low, high = sorted((one, other))

    assert 1 <= grade_of(low, judge, most) <= grade_of(high, judge, most) <= most
    assert grade_of(high, judge, most) <= grade_of(high, judge)
    assert capped(5, most) == most


@pytest.mark.parametrize(
    "broken",
    [
        "formula = 2",
        "[limits]\n[thresholds]",
        "formula = 2\n[limits]\nx = [0.1, 0.3, 0.2, 0.4]\n[thresholds]",
        "formula = 2\n[limits]\nx = [0.1, 0.2, 0.3]\n[thresholds]",
        "formula = 2\n[limits]\nx = [0.1, 0.2, 0.3, 1.4]\n[thresholds]",
        "formula = 2\n[limits]\nx = 'high'\n[thresholds]",
        "formula = 2\n[limits]\n[thresholds]\nfound = true",
    ],
)
def test_a_broken_map_is_refused(tmp_path: Path, broken: str) -> None:
    """It names the file and what is wrong."""
    path = tmp_path / "grades.toml"
    path.write_text(broken, encoding="utf-8")

    with pytest.raises(PromptError, match=r"grades\.toml"):
        GradeScale(path)


def test_each_judge_has_its_own_rubric() -> None:
    """The formula's version, and a hash that no other judge has."""
    rubrics = {rubric_of(name) for name in STAND_INS}

    assert len(rubrics) == len(STAND_INS)
    assert all(rubric.startswith(f"lexical-{GradeScale().formula}-") for rubric in rubrics)


@pytest.mark.parametrize("at", range(len(DECISIVE)))
def test_what_decides_grades_changes_the_rubric(tmp_path: Path, at: int) -> None:
    """So that grades of two maps are never mixed: limits, patterns, words of feeling and of opposites."""
    changed = list(DECISIVE)
    changed[at] = tmp_path / "changed.toml"
    changed[at].write_text(f"{DECISIVE[at].read_text(encoding='utf-8')}\n# another line\n", encoding="utf-8")

    assert rubric_of("similarity", DECISIVE) == rubric_of("similarity")
    assert rubric_of("similarity", tuple(changed)) != rubric_of("similarity")


def test_a_new_formula_changes_the_rubric(tmp_path: Path) -> None:
    """Its version is in the name."""
    file = tmp_path / "grades.toml"
    text = FILE.read_text(encoding="utf-8")
    file.write_text(text.replace("formula = 3", "formula = 4"), encoding="utf-8")

    assert rubric_of("turn", (file, *DECISIVE[1:])).startswith("lexical-4-")
