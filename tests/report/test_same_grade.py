"""A judge that gives every answer the same grade is warned about beside the score."""

from pathlib import Path

import pytest

from simulator.core.types import Results
from tests.commands import Command
from tests.diff_runs import a_result, grades_of, stored

ALIKE = [0.8] * 30


def warned(results: Results, command: Command) -> str:
    """The warning on the terminal, empty without one; the page and Markdown have the same."""
    stored(results)
    shown = command("report", results.run.id, "--to", "markdown").out
    folder = Path("runs", results.run.id)
    page, text = ((folder / name).read_text(encoding="utf-8") for name in ("report.html", "report.md"))
    lines = [line for line in shown.splitlines() if "どの回答にも同じ点" in line]
    assert bool(lines) == ("どの回答にも同じ点" in page) == ("どの回答にも同じ点" in text)
    return lines[0] if lines else ""


@pytest.mark.parametrize(("grades", "expected"), [(ALIKE, True), (ALIKE[1:], False), ([*ALIKE, 1.0], False)])
def test_thirty_answers_with_one_grade_are_told(
    grades: list[float], expected: bool, command: Command
) -> None:
    """One other grade is enough to say that the judge tells answers apart."""
    line = warned(a_result(grades_of(grades), "1-run"), command)

    assert line.startswith("! ") is expected
    assert ("（4）" in line) is expected


def test_what_a_rule_decided_is_none_of_the_judges_own(command: Command) -> None:
    """A turn without an answer is the lowest by rule: the judge gave all others the same grade."""
    results = a_result(grades_of([*ALIKE, 0.2]), "1-run")
    *scores, last = results.scores
    ruled = last.model_copy(update={"by_rule": True})

    assert warned(results.model_copy(update={"scores": (*scores, ruled)}), command)
    assert command("report", "1-run", "--json").json["judges"]["turn"]["same_grade"] == 4


def test_who_counts_by_rule_may_find_all_alike(command: Command) -> None:
    """Thirty exact matches are thirty right answers; a trial is none to be relied on anyway."""
    assert not warned(a_result(grades_of([1.0] * 30), "1-run", judges=("exact_match",)), command)
    trial = a_result(grades_of(ALIKE), "2-run")
    run = trial.run.model_copy(update={"offline": True})
    assert not warned(trial.model_copy(update={"run": run}), command)
