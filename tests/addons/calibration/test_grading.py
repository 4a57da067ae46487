"""Labelled answers before a judge."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from simulator.core.errors import UnknownName
from simulator.core.settings import Settings
from simulator.grading.rubric import JudgeName
from simulator.models.pricing import BudgetSpent
from simulator.runner.context import RunContext
from simulator.runner.labelled_answers import (
    LabelFile,
    grade_rows,
    judge_settings,
    read_labels,
    row_grades,
    sample_rows,
    score_name,
)
from tests.labelled_answers import labelled, written
from tests.run_helpers import a_stage
from tests.servers.openai import OpenAIServer, serve

Staged = Callable[..., RunContext]


@pytest.fixture
def file(tmp_path: Path) -> LabelFile:
    """The labelled answers."""
    return read_labels(written(tmp_path / "labels.jsonl", labelled()))


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    """The fake endpoint."""
    with serve() as started:
        yield started


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
    with pytest.raises(UnknownName, match=r"part of this judge's verdict 'scor'. Did you mean score"):
        row_grades(graded, "scor")


async def test_judges_that_share_a_call_share_it_here(
    staged: Staged, file: LabelFile, server: OpenAIServer
) -> None:
    """The rubric is that of a combined run; alone it is another one, and no other judge is called."""
    together = staged(server, judges=("turn", "groundedness", "cosine"))
    alone = staged(server, judges=("groundedness",))
    both = [await grade_rows(context, "groundedness", file.rows[:2]) for context in (together, alone)]

    assert both[0][0].score.rubric == together.panel.judge_calls[0].rubric_hash  # type: ignore[attr-defined]
    assert both[0][0].score.rubric != both[1][0].score.rubric
    assert server.counts == {"chat": 4}


def test_a_calibration_grades_once() -> None:
    """Although rehearsal.toml has every run grade some turns twice."""
    assert judge_settings(Settings(retest=0.5), "turn", by_model=True).retest == 0


def test_a_calibration_uses_the_judges_of_the_run() -> None:
    """Its rubrics, because they are one prompt; with stand-ins or one by one each is on its own."""
    usual = Settings()
    together = judge_settings(usual, "groundedness", by_model=True).judges

    assert together == ("turn", "relevance", "groundedness", "similarity", "fluency")
    assert judge_settings(usual, "cosine", by_model=True).judges == (*together, "cosine")
    assert judge_settings(usual, "groundedness", by_model=False).judges == ("groundedness",)
    assert judge_settings(usual, "claims", by_model=True).judges == ("claims",)
    separate = usual.model_copy(update={"judging": "separate"})
    assert judge_settings(separate, "turn", by_model=True).judges == ("turn",)


async def test_a_spent_budget_stops_it(staged: Staged, file: LabelFile, server: OpenAIServer) -> None:
    """Nothing more is asked once the money is gone."""
    context = staged(server, judges=("groundedness",), budget=0.05, judge_model="gpt-4.1", calls=1)
    with pytest.raises(BudgetSpent, match=r"the budget of 0\.05 USD is spent"):
        await grade_rows(context, "groundedness", file.rows)

    assert 0 < server.counts["chat"] < 36


def test_a_sample_is_drawn_by_lot(file: LabelFile) -> None:
    """The same for the same seed, in the order of the file; all rows where there are no more."""
    first, again, other = (sample_rows(file.rows, 10, seed) for seed in (1, 1, 2))

    assert first == again != other
    assert first == [row for row in file.rows if row in first]
    assert len(sample_rows(file.rows, 99, 1)) == len(sample_rows(file.rows, None, 1)) == 36


def test_an_own_judge_is_filed_under_its_function(tmp_path: Path) -> None:
    """As in a run."""
    (tmp_path / "mine.py").write_text(
        "from simulator import Score\n\n\ndef strict(exhibit):\n"
        "    return Score(judge='', conversation='', turn=1, state='scored', value=1, raw=5)\n",
        encoding="utf-8",
    )
    file = read_labels(written(tmp_path / "labels.jsonl", labelled()))
    context = a_stage(judges=("mine.py:strict",))
    graded = asyncio.run(grade_rows(context, score_name(context, "mine.py:strict"), file.rows[:2]))

    assert [each.score.raw for each in graded] == [5, 5]
