"""A mistake of the program's own: exit code 4, one line, the traceback in a file, and a run that goes on."""

import html
import re
import stat
from pathlib import Path
from typing import Any

import pytest

from simulator.cli.app import main
from simulator.core.types import Conversation
from simulator.models.cache import cache_folder
from simulator.runner import run
from simulator.storage.run_file import find_run, read_run

SECRET = "sk-hunter2-4711-secret"
GIVEN = ["--persona", "angry", "--offline", "--limit", "3", "--turns", "1", "--concurrency", "1"]


class Faulty(run.Runner):
    """A sitting with a mistake in it: it cannot hold its third conversation."""

    held = 0

    async def _play(self, start: Conversation, tasks: Any) -> Conversation:
        self.held += 1
        if self.held == 3:
            msg = f"no place for {SECRET}"
            raise ZeroDivisionError(msg)
        return await super()._play(start, tasks)


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The next rehearsal meets it."""
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setattr(run, "Runner", Faulty)
    return monkeypatch


def test_a_mistake_of_a_users_own_judge_is_shown_with_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    """In the score, in the terminal and on the page: the line of their code, not of ours."""
    Path("own.py").write_text(
        "from pathlib import Path\n\ndef strict(context):\n    return Path(context.turn.answer)\n",
        encoding="utf-8",
    )
    assert main([*GIVEN[:-2], "--judges", "own.py:strict"]) == 0
    told, path = capsys.readouterr(), find_run("latest", Path("runs"))
    page = (path.parent / "report.html").read_text(encoding="utf-8")

    for text in (" ".join(told.out.split()), html.unescape(page)):
        assert re.search(r"TypeError: [^(]+\(own\.py, line 4\)", text)
    assert {score.state for score in read_run(path).scores} == {"failed"}
    assert all(score.reason.endswith("(own.py, line 4).") for score in read_run(path).scores)


def test_a_run_that_it_ended_goes_on(broken: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """One line names the way on and a file, its owner's alone, with the traceback and no secret."""
    assert main(GIVEN) == 4
    told = capsys.readouterr()
    path = find_run("latest", Path("runs"))
    before = read_run(path)
    last = told.err.splitlines()[-1]

    assert "Traceback" not in told.out + told.err
    assert last.startswith(
        "error: an error in this program, not in your files or options (ZeroDivisionError: no place for ***)."
    )
    assert f"Details: {path.parent}/error.txt" in last
    assert last.endswith(f"Continue the run with: python run.py --resume {path.parent.name}")
    assert before.run.status == "interrupted"
    assert sum(bool(conversation.turns) for conversation in before.conversations) == 2

    file = path.with_name("error.txt")
    text = file.read_text(encoding="utf-8")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert SECRET not in text
    for words in ("ZeroDivisionError: no place for ***", "in _play", "python run.py --persona angry"):
        assert words in text

    broken.setattr(run, "Runner", Faulty.__base__)
    assert main(["--resume", path.parent.name]) == 0
    after = read_run(path)
    assert after.run.status == "finished"
    assert [conversation.turns for conversation in after.conversations[:2]] == [
        conversation.turns for conversation in before.conversations[:2]
    ]


def test_a_report_that_cannot_be_painted_is_painted_later(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run is over and kept; the same command shows it."""

    def gone(*_: object) -> int:
        msg = "painter"
        raise LookupError(msg)

    with monkeypatch.context() as there:
        there.setattr("simulator.cli.publish.publish", gone)
        assert main(GIVEN) == 4
    last = capsys.readouterr().err.splitlines()[-1]

    assert "LookupError: painter" in last
    assert main(last.partition("python run.py ")[2].split()) == 0


def test_elsewhere_it_is_told_as_well(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a run the file is in the user's cache; in Japanese for whoever reads Japanese."""
    monkeypatch.setenv("LC_ALL", "ja_JP.UTF-8")
    monkeypatch.setattr("simulator.core.settings.Settings.model_validate", lambda _: 1 / 0)
    assert main(GIVEN) == 4
    last = capsys.readouterr().err.splitlines()[-1]

    assert last.startswith("エラー：このプログラムのエラーです。")
    assert str(cache_folder() / "error.txt") in last
    assert "division by zero" in (cache_folder() / "error.txt").read_text(encoding="utf-8")
