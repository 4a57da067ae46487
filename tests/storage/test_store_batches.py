"""While an event loop runs, what happens in one of its turns is committed together, and nothing is lost."""

import asyncio
import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from simulator.core.errors import RunFileError
from simulator.core.types import Answer, Ended, Role, Score, Usage, Utterance
from simulator.storage.run_file import RunFile, read_run
from tests.playing import a_case, a_run, a_talk

PLAN = (a_talk(a_case()), a_talk(a_case(id="fees-2")))
FIRST, SECOND = (conversation.id for conversation in PLAN)
SCORE = Score(judge="turn", conversation=FIRST, turn=1, state="scored", value=0.8, raw=4)
CALL: tuple[Role, Usage, bool, float] = ("judge", Usage(model="m", tokens_in=10, tokens_out=2), False, 0.5)


@pytest.fixture
def file(tmp_path: Path) -> Iterator[RunFile]:
    """A new run of two conversations."""
    with contextlib.closing(a_run(tmp_path / "runs", PLAN, "20261121-090400-angry-0001")) as opened:
        yield opened


@contextlib.contextmanager
def full(path: Path) -> Iterator[None]:
    """As when the disk is full: no row of a score can be written."""
    refuse = "CREATE TRIGGER full BEFORE INSERT ON scores BEGIN SELECT RAISE(ABORT, 'disk is full'); END"
    with contextlib.closing(sqlite3.connect(path)) as beside:
        beside.execute(refuse)
        yield
        beside.execute("DROP TRIGGER full")
        beside.commit()


async def test_a_turn_of_the_loop_is_one_commit(file: RunFile) -> None:
    """A reader sees all that happened in it, or nothing: never a score without what it cost."""
    file.called(*CALL)
    file.graded([SCORE])
    file.ended(SECOND, Ended.BUDGET, "", "")
    before = read_run(file.path)
    await asyncio.sleep(0)
    after = read_run(file.path)

    assert (before.scores, before.spending) == ((), {})
    assert (after.scores, after.spending["judge"].calls) == ((SCORE,), 1)
    assert after.conversations[1].ended is Ended.BUDGET


async def test_a_line_is_there_before_the_bot_hears_it(file: RunFile) -> None:
    """With everything that happened before it; the answer follows at the end of its turn."""
    file.called(*CALL)
    file.said(FIRST, 1, Utterance(text="いくら？"))
    with contextlib.closing(sqlite3.connect(file.path)) as beside:
        assert beside.execute("SELECT count(*) FROM turns").fetchone() == (1,)
        assert beside.execute("SELECT count(*) FROM calls").fetchone() == (1,)
    file.answered(FIRST, 1, Answer(text="月額です。"))
    await asyncio.sleep(0)

    assert read_run(file.path).conversations[0].turns[0].answer.text == "月額です。"


async def test_the_writer_reads_what_it_wrote(file: RunFile) -> None:
    """Also before it is committed for others."""
    file.said(FIRST, 1, Utterance(text="?"))
    file.answered(FIRST, 1, Answer(text="!"))
    assert file.results().conversations[0].turns[0].answer.text == "!"

    file.graded([SCORE])
    assert list(file.scores(FIRST)) == [SCORE]


async def test_what_cannot_be_written_is_told_to_the_next_who_writes(file: RunFile) -> None:
    """And waits: once there is room again, nothing is missing."""
    with full(file.path):
        file.graded([SCORE])
        await asyncio.sleep(0)
        with pytest.raises(RunFileError, match="disk is full"):
            file.called(*CALL)
        assert read_run(file.path).scores == ()
    file.finish("stopped", 1.0)

    done = read_run(file.path)
    assert (done.scores, done.spending["judge"].calls) == ((SCORE,), 1)


async def test_a_failure_that_nobody_was_told_of_is_told_at_the_end(tmp_path: Path) -> None:
    """Once; who knows already is not told again."""
    for told in (False, True):
        file = a_run(tmp_path / str(told), PLAN, "20261121-090400-angry-0001")
        with full(file.path):
            file.graded([SCORE])
            await asyncio.sleep(0)
            if told:
                with pytest.raises(RunFileError):
                    file.settle()
            with contextlib.nullcontext() if told else pytest.raises(RunFileError):
                file.close()


def test_without_a_loop_each_step_is_committed_at_once(file: RunFile) -> None:
    """There is no end of a turn to wait for."""
    file.graded([SCORE])

    assert read_run(file.path).scores == (SCORE,)
