"""While an event loop runs, the rows of one iteration are committed together, and nothing is lost."""

import asyncio
import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from simulator.core.errors import RunFileError
from simulator.core.types import Answer, Ended, Role, Score, Usage, Utterance
from simulator.storage.run_file import RunFile, read_run
from tests.run_helpers import a_case, a_run, a_talk

PLAN = (a_talk(a_case()), a_talk(a_case(id="fees-2")))
FIRST, SECOND = (conversation.id for conversation in PLAN)
SCORE = Score(judge="turn", conversation=FIRST, turn=1, state="scored", value=0.8, raw=4)
CALL: tuple[Role, Usage, bool, float] = ("judge", Usage(model="m", tokens_in=10, tokens_out=2), False, 0.5)


@pytest.fixture
def file(tmp_path: Path) -> Iterator[RunFile]:
    """A new run of two conversations."""
    with contextlib.closing(a_run(tmp_path / "runs", PLAN, "20261121-090400-angry-0001")) as run_file:
        yield run_file


@contextlib.contextmanager
def full(path: Path) -> Iterator[None]:
    """As when the disk is full: no row of a score can be written."""
    refuse = "CREATE TRIGGER full BEFORE INSERT ON scores BEGIN SELECT RAISE(ABORT, 'disk is full'); END"
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute(refuse)
        yield
        database.execute("DROP TRIGGER full")
        database.commit()


async def test_a_turn_of_the_loop_is_one_commit(file: RunFile) -> None:
    """A reader sees all that happened in it, or nothing: never a score without what it cost."""
    file.save_call(*CALL)
    file.save_scores([SCORE])
    file.save_ending(SECOND, Ended.BUDGET, "", "")
    before = read_run(file.path)
    await asyncio.sleep(0)
    after = read_run(file.path)

    assert (tuple(before.scores), before.spending) == ((), {})
    assert (tuple(after.scores), after.spending["judge"].calls) == ((SCORE,), 1)
    assert after.conversations[1].ended is Ended.BUDGET


async def test_a_line_is_there_before_the_bot_hears_it(file: RunFile) -> None:
    """With everything that happened before it; the answer follows at the end of its turn."""
    file.save_call(*CALL)
    file.save_utterance(FIRST, 1, Utterance(text="いくら？"))
    with contextlib.closing(sqlite3.connect(file.path)) as database:
        assert database.execute("SELECT count(*) FROM turns").fetchone() == (1,)
        assert database.execute("SELECT count(*) FROM calls").fetchone() == (1,)
    file.save_answer(FIRST, 1, Answer(text="月額です。"))
    await asyncio.sleep(0)

    assert read_run(file.path).conversations[0].turns[0].answer.text == "月額です。"


async def test_the_writer_reads_what_it_wrote(file: RunFile) -> None:
    """Also before it is committed for others."""
    file.save_utterance(FIRST, 1, Utterance(text="?"))
    file.save_answer(FIRST, 1, Answer(text="!"))
    assert file.results().conversations[0].turns[0].answer.text == "!"

    file.save_scores([SCORE])
    assert list(file.scores(FIRST)) == [SCORE]


async def test_a_failed_write_is_raised_by_the_next_one(file: RunFile) -> None:
    """And waits: once there is room again, nothing is missing."""
    with full(file.path):
        file.save_scores([SCORE])
        await asyncio.sleep(0)
        with pytest.raises(RunFileError, match="disk is full"):
            file.save_call(*CALL)
        assert not read_run(file.path).scores
    file.finish("stopped", 1.0)

    done = read_run(file.path)
    assert (tuple(done.scores), done.spending["judge"].calls) == ((SCORE,), 1)


async def test_an_unreported_failure_is_raised_at_the_end(tmp_path: Path) -> None:
    """Once; what was reported before is not raised again."""
    for reported in (False, True):
        file = a_run(tmp_path / str(reported), PLAN, "20261121-090400-angry-0001")
        with full(file.path):
            file.save_scores([SCORE])
            await asyncio.sleep(0)
            if reported:
                with pytest.raises(RunFileError):
                    file.commit()
            with contextlib.nullcontext() if reported else pytest.raises(RunFileError):
                file.close()


async def test_what_cannot_be_written_at_the_end_is_raised_though_all_before_was(tmp_path: Path) -> None:
    """Nobody has said so yet."""
    file = a_run(tmp_path / "runs", PLAN, "20261121-090400-angry-0001")
    file.save_call(*CALL)
    await asyncio.sleep(0)
    with full(file.path):
        file.save_scores([SCORE])
        with pytest.raises(RunFileError, match="disk is full"):
            file.close()


def test_without_a_loop_each_step_is_committed_at_once(file: RunFile) -> None:
    """There is no end of a turn to wait for."""
    file.save_scores([SCORE])

    assert tuple(read_run(file.path).scores) == (SCORE,)
