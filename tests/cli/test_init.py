"""A start of one's own: three files that work as they are, and never over files that are there."""

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from simulator.cli.app import main

FILES = {"bot.py", "questions.csv", "rehearsal.toml"}


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs a command and gives exit code, output and errors."""

    def command(*arguments: str) -> tuple[int, str, str]:
        return (main(arguments), *capsys.readouterr())

    return command


def here() -> set[str]:
    """The files where the test stands."""
    return {path.name for path in Path().iterdir()}


def test_it_writes_a_start_and_says_how_to_go_on(run: Any) -> None:
    """Settings, a bot and questions, writable by the user; the last line is the command to type."""
    code, out, err = run("init")

    assert (code, err) == (0, "")
    assert here() == FILES
    assert out.startswith("Written: bot.py, questions.csv, rehearsal.toml.\n")
    assert all(stat.S_IMODE(Path(name).stat().st_mode) & 0o600 == 0o600 for name in FILES)


@pytest.mark.parametrize("name", sorted(FILES))
def test_nothing_is_overwritten(run: Any, name: str) -> None:
    """One of the files is there: it stays as it is, and none is written."""
    Path(name).write_text("mine", encoding="utf-8")
    code, out, err = run("init")

    assert (code, out) == (2, "")
    assert (
        err
        == f"error: {name} is already here; nothing was written. Start in an empty folder, or rename it.\n"
    )
    assert here() == {name}
    assert Path(name).read_text("utf-8") == "mine"


def test_a_folder_that_cannot_be_written_is_one_line(run: Any, tmp_path: Path) -> None:
    """Where nothing can be written, it says so."""
    gone = tmp_path / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    code, out, err = run("init")

    assert (code, out, err) == (2, "", "error: bot.py: cannot be written (No such file or directory).\n")
