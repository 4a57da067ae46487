"""Runs of earlier versions stay readable, and become today's when they are written to."""

import contextlib
import shutil
import sqlite3
from pathlib import Path

import pytest

from simulator.core.types import HumanVerdict
from simulator.storage import schema
from simulator.storage.run_file import RunFile, read_run
from tests.paths import FIXTURES

# One file as every earlier version wrote it; none is ever made anew.
EARLIER = sorted((FIXTURES).glob("run_v*.sqlite"))


@pytest.fixture(params=EARLIER, ids=lambda path: path.stem)
def earlier(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A run that an earlier version left behind."""
    folder = tmp_path / "runs" / "20261121-123100000-mixed-0001"
    folder.mkdir(parents=True)
    return Path(shutil.copy(request.param, folder / "run.sqlite"))


def test_every_version_before_this_one_has_a_file() -> None:
    """Whoever raises the version adds a file of the one before."""
    assert [path.stem for path in EARLIER] == [f"run_v{n}" for n in range(1, schema.VERSION)]


def test_an_earlier_run_is_read_as_it_is(earlier: Path) -> None:
    """Reading changes nothing in the file."""
    before = earlier.read_bytes()
    results = read_run(earlier)

    assert len(results.conversations) == results.planned == 4
    assert all(conversation.turns for conversation in results.conversations)
    assert {score.judge for score in results.scores} >= {"turn", "groundedness"}
    assert results.verdicts == ()
    assert earlier.read_bytes() == before


def test_an_earlier_run_takes_what_is_new(earlier: Path) -> None:
    """Opened to be written, it is today's version; all that was in it is still there."""
    before = read_run(earlier)
    said = HumanVerdict(conversation=before.conversations[0].id, turn=1, source="blind", grade=4)
    with contextlib.closing(RunFile.reopen(earlier)) as file:
        assert file.save_verdicts([said]) == 1
    after = read_run(earlier)

    assert after.verdicts == (said,)
    assert after.model_copy(update={"verdicts": ()}) == before
    with contextlib.closing(sqlite3.connect(earlier)) as file:
        assert schema.version_of(file) == schema.VERSION
        assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
