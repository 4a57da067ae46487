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


def test_answers_whose_cause_is_not_known_are_listed(fixes: Command) -> None:
    """As many as were asked for, below the fixes; and once, what would find their causes."""
    unclear = fixes("--json").json["fixes"][-1]
    few, every = fixes("--top", "1").out, fixes("--top", "99").out

    assert unclear["cause"] == "unclear"
    assert f"原因の分からない回答{len(unclear['turns'])}件" in few
    counts = [out.rpartition("原因の分からない回答")[2].count("ボット：") for out in (few, every)]
    assert counts == [1, len(unclear["turns"])]
    assert every.count("採点役にモデルを使うと、原因を調べられます。") == 1


ANSWER = """
def answer(messages, **_):
    passages = [{"id": "repairs", "text": "# Repairs"}, {"id": "hours", "text": "# Hours"}]
    return {"answer": "We close at five, for 99 euros.", "passages": passages}
"""


def test_an_id_that_no_article_has_is_said_first(command: Command) -> None:
    """With the one that was meant; it proves nothing, in the report, in `fixes` and in `doctor`."""
    Path("kb").mkdir()
    Path("kb/repairs.md").write_text("# Repairs\n\nRepairs cost 40 euros, or 55 abroad.\n", encoding="utf-8")
    Path("kb/hours.md").write_text("# Hours\n\nWe open at nine.\n", encoding="utf-8")
    Path("bot.py").write_text(ANSWER, encoding="utf-8")
    rows = "1,What is a repair?,It is 40 euros.,repair\n2,When do you open?,At nine o'clock.,hours\n"
    Path("q.csv").write_text(f"id,question,reference,passages\n{rows}", encoding="utf-8")
    run = ("--offline", "--adapter", "bot.py:answer", "--cases", "q.csv", "--knowledge", "kb")
    says = "Questions name articles that do not exist: repair (1). Did you mean repairs?"

    for words in ((*run, "--turns", "1"), ("fixes", "latest"), ("doctor", *run)):
        assert says in " ".join(command(*words).out.split())
    assert {fix["cause"] for fix in command("fixes", "latest", "--json").json["fixes"]} == {"unclear"}
