"""Labelled answers before a judge."""

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from simulator.core.errors import UnknownName
from simulator.core.settings import Settings
from simulator.lab.judging.rows import grade_rows, row_grades
from simulator.lab.judging.stored import JudgeName
from simulator.runner.context import RunContext
from simulator.runner.labelled_answers import LabelFile, judge_settings, read_labels, sample_rows
from tests.grading.test_whole_conversations import verdict
from tests.labelled_answers import labelled, written
from tests.run_helpers import a_stage
from tests.servers.openai import OpenAIServer

Staged = Callable[..., RunContext]


@pytest.fixture
def file(tmp_path: Path) -> LabelFile:
    """The labelled answers."""
    return read_labels(written(tmp_path / "labels.jsonl", labelled()))


@pytest.fixture
async def staged() -> AsyncIterator[Staged]:
    """Makes stages, and closes their connections at the end."""
    made: list[RunContext] = []

    def make(*arguments: Any, **settings: Any) -> RunContext:
        made.append(a_stage(*arguments, **settings))
        return made[-1]

    yield make
    for context in made:
        await context.close(None)


@pytest.mark.parametrize(
    ("given", "judge", "field"),
    [
        ("turn.completeness", "turn", "completeness"),
        ("turn", "turn", ""),
        ("./strict.toml", "./strict.toml", ""),
        ("mine.py:strict", "mine.py:strict", ""),
    ],
)
def test_a_part_of_a_verdict_has_a_name(given: str, judge: str, field: str) -> None:
    """Behind a dot; the dots of files are their own."""
    assert JudgeName.of(given) == (judge, field)


async def test_a_stand_in_grades_every_row_in_order(staged: Staged, file: LabelFile) -> None:
    """The right answer above the wrong one, each beside its row."""
    graded = await grade_rows(staged(judges=("groundedness",)), "groundedness", file.rows)
    grades = {grade.row.case.id: grade.value for grade in row_grades(graded)}

    assert [each.row.case.id for each in graded] == [row.case.id for row in file.rows]
    assert all(grades[f"shop/{n:02}/right"] > grades[f"shop/{n:02}/wrong"] for n in range(12))
    assert {grade.scale for grade in row_grades(graded, "score")} == {(0, 1)}
    with pytest.raises(UnknownName, match=r"part of this judge's verdict: 'scor'. Did you mean score"):
        row_grades(graded, "scor")


def test_a_calibration_grades_once() -> None:
    """Although rehearsal.toml has every run grade some turns twice."""
    assert judge_settings(Settings(retest=0.5), "turn", by_model=True).retest == 0


def test_a_sample_is_drawn_by_lot(file: LabelFile) -> None:
    """The same for the same seed, in the order of the file; all rows where there are no more."""
    first, again, other = (sample_rows(file.rows, 10, seed) for seed in (1, 1, 2))

    assert first == again != other
    assert first == [row for row in file.rows if row in first]
    assert len(sample_rows(file.rows, 99, 1)) == len(sample_rows(file.rows, None, 1)) == 36


async def test_a_dialogue_is_graded_as_a_whole(tmp_path: Path) -> None:
    """By a judge of conversations, whose score belongs to the last turn."""
    history = [{"role": "user", "content": "q1"}, {"role": "assistant", "content": "a1"}]
    row = {"id": "a", "question": "q2", "answer": "a2", "history": history, "labels": {"resolved": 1}}
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row), encoding="utf-8")
    async with OpenAIServer(lambda _request: verdict(1)) as server:
        stage = a_stage(server, judges=("conversation",))
        [graded_row] = await grade_rows(stage, "conversation", read_labels(path).rows)
        await stage.close(None)

    assert (graded_row.score.value, graded_row.score.turn) == (1, 2)
