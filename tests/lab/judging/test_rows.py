"""Labelled answers before a judge."""

import json
from pathlib import Path

import pytest

from simulator.core.settings import Settings
from simulator.lab.judging.rows import grade_rows
from simulator.runner.labelled_answers import LabelFile, judging_context, read_labels, sample_rows
from tests.grading.test_whole_conversations import verdict
from tests.labelled_answers import labelled, written
from tests.run_helpers import a_stage
from tests.servers.openai import OpenAIServer


@pytest.fixture
def file(tmp_path: Path) -> LabelFile:
    """The labelled answers."""
    return read_labels(written(tmp_path / "labels.jsonl", labelled()))


def test_a_calibration_grades_once() -> None:
    """Although rehearsal.toml has every run grade some turns twice."""
    assert judging_context(Settings(retest=0.5, offline=True), "turn").settings.retest == 0


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
