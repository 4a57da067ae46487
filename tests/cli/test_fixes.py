"""`fixes RUN` from the command line."""

from functools import partial
from pathlib import Path

import pytest

from simulator.api.outputs import improvements_for
from simulator.cases.cases import read_cases
from simulator.cli.app import main
from simulator.core.settings import stored_settings
from simulator.results.summary import figures_of
from simulator.storage.run_file import read_run
from tests.commands import Command


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one offline run of the bundled bot."""
    folder = tmp_path_factory.mktemp("fixes")
    code = main(
        [
            "--offline",
            "--limit",
            "8",
            "--turns",
            "2",
            "--persona",
            "angry",
            "--language",
            "ja",
            "--runs",
            str(folder),
        ]
    )

    assert code == 0
    return folder


@pytest.fixture
def fixes(runs: Path, command: Command) -> Command:
    """The command on the newest run."""
    return partial(command, "fixes", "latest", "--runs", str(runs))


def test_the_failed_questions_can_be_asked_again(runs: Path, tmp_path: Path, fixes: Command) -> None:
    """The file is read as questions: some of those that were asked."""
    path = tmp_path / "failed.jsonl"
    code, _, said = fixes("--focus", str(path), "--top", "１")
    asked = {conversation.case.id for conversation in read_run(newest(runs)).conversations}

    assert code == 0
    assert {case.id for case in read_cases(path)} < asked
    assert str(path) in said


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--focus", "failed.csv"), ".jsonl"),
        (("--knowledge", "no-such-folder"), "no-such-folder"),
        (("--top", "0"), "--top"),
    ],
)
def test_wrong_input_is_one_line(fixes: Command, options: tuple[str, ...], says: str) -> None:
    """Exit code 2, and what to do."""
    done = fixes(*options)

    assert (done.code, done.err.count("\n")) == (2, 1)
    assert says in done.err


def test_a_report_needs_no_knowledge(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder that was moved since is said, and there is something to mend all the same."""
    results = read_run(newest(runs))
    settings = stored_settings({**results.run.settings, "knowledge": "no-such-folder"})
    capsys.readouterr()

    found = improvements_for(results, figures_of(results, settings), settings)

    assert found
    assert found.fixes
    assert "Causes are given without it." in capsys.readouterr().err


def newest(runs: Path) -> Path:
    """The run file of the newest run of a folder."""
    return max(runs.glob("*/run.sqlite"))
