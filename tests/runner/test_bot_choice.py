"""Which bot is asked where nobody says so."""

import json
from pathlib import Path
from typing import Any

import pytest

from simulator.cli.app import main
from simulator.storage.run_file import find_run, read_run, run_ids

PLAIN = "question,answer\n送料はいくらですか,送料は900円です。\n"
BARE = "question\n送料はいくらですか\n"
LOG = {"question": "送料はいくらですか", "answer": "550円です。", "contexts": ["送料は全国一律550円です。"]}
TALK = {"turns": [{"role": "user", "content": "送料は?"}, {"role": "assistant", "content": "550円です。"}]}
ASKING = (("--cases",), ("evaluate",))


def write(name: str, *rows: Any) -> str:
    """A file of questions: a table as text, or rows as JSONL."""
    lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
    Path(name).write_text("".join(lines), encoding="utf-8")
    return name


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line of a command that ends with exit code 2, before any run."""
    assert main(arguments) == 2
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error:")]
    assert not run_ids(Path("runs"))
    return line


@pytest.mark.parametrize("asking", ASKING)
def test_answers_that_may_be_either_are_asked_about(
    asking: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """A plain column of answers names both readings, and is graded against nobody."""
    line = told(capsys, *asking, write("q.csv", PLAIN), "--offline")

    assert "--adapter recorded" in line
    assert "--columns references=answer" in line


@pytest.mark.parametrize("asking", [*ASKING, ("doctor", "--cases")])
def test_questions_without_a_bot_ask_which_one(
    asking: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is asked of the bundled bot unsaid, also with --dry-run."""
    assert "q.csv: which bot?" in told(capsys, *asking, write("q.csv", BARE), "--offline")
    assert "q.csv: which bot?" in told(capsys, *asking, "q.csv", "--dry-run")


@pytest.mark.parametrize("asking", ASKING)
def test_a_file_without_questions_is_named_as_one(
    asking: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """Which bot would be asked does not matter then."""
    assert "which bot?" not in told(capsys, *asking, write("q.csv", "question\n"), "--offline")


@pytest.mark.parametrize("asking", ASKING)
@pytest.mark.parametrize("row", [LOG, TALK])
def test_a_log_is_graded_as_it_was_recorded(
    row: dict[str, Any], asking: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """Answers with their contexts, or a whole dialogue; a line says so, and the run keeps it."""
    arguments = (*asking, write("log.jsonl", row), "--offline", "--json")
    main(arguments if asking == ("evaluate",) else (*arguments, "--turns", "1", "--persona", "calm"))
    run = read_run(find_run(run_ids(Path("runs"))[0], Path("runs"))).run

    assert "log.jsonl: its recorded answers are graded (--adapter recorded)." in capsys.readouterr().err
    assert run.settings["adapter"] == "recorded"


def test_a_column_that_is_called_a_bots_answers_is_graded_as_such(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Who maps it to `answer` has said which of the two it is."""
    words = ("--cases", write("q.csv", PLAIN), "--columns", "answer=answer", "--turns", "1", "--offline")
    main((*words, "--persona", "calm"))

    assert "its recorded answers are graded (--adapter recorded)" in capsys.readouterr().err


def test_answers_beside_right_ones_are_graded_or_asked(capsys: pytest.CaptureFixture[str]) -> None:
    """Where the right answers have a column of their own, only two readings are left."""
    line = told(capsys, "--cases", write("q.csv", "question,answer,reference\nA?,b,c\n"))

    assert "--adapter recorded" in line
    assert "--columns" not in line


def test_a_replay_of_another_bot_asks_which_one(capsys: pytest.CaptureFixture[str]) -> None:
    """A run of one's own bot is not said again to the bundled one unsaid."""
    main(["--cases", write("log.jsonl", LOG), "--offline", "--turns", "1", "--persona", "calm"])
    capsys.readouterr()

    assert main(["--replay", "latest", "--offline"]) == 2
    assert "which bot? That run asked recorded" in capsys.readouterr().err


def test_lm_eval_asks_no_bot_unsaid(capsys: pytest.CaptureFixture[str]) -> None:
    """Tasks of one's own need a bot."""
    pytest.importorskip("lm_eval")
    assert "q.yaml: which bot?" in told(capsys, "harness", "--tasks", "q.yaml", "--offline")
