"""The language of the terminal, for whatever the program says; what others say stays word for word."""

import json
import re
from pathlib import Path

import pytest

from simulator.cli.app import main
from simulator.core.messages import Message, _, ngettext, shown

OURS = (
    _("The bot never answered: {reason}", reason=_("empty answers")),
    _(
        "{file}: the judge skipped all {n} rows: {reason}",
        file="questions",
        n=12_000,
        reason=_("empty answers"),
    ),
    ngettext("{n} model call", "{n} model calls", n=2),
)


@pytest.fixture
def japanese(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal in a Japanese locale."""
    monkeypatch.setenv("LC_ALL", "ja_JP.UTF-8")


@pytest.mark.usefixtures("japanese")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--persona", "angyr"), "angry のことですか"),
        (("--cases", "none.csv"), "none.csv"),
        (("--turns", "0"), "--turns"),
        (("--nonsense",), "--nonsense"),
        (("--adapter", "gone.py:answer"), "gone.py"),
        (("report", "gone"), "gone"),
    ],
)
def test_errors_are_said_in_japanese(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], told: str
) -> None:
    """In one line, with the code of the English one; no English sentence is left in it."""
    assert main(arguments) == 2
    said = capsys.readouterr().err.splitlines()[-1]

    assert said.startswith("エラー：")
    assert told in said
    assert not re.search(r"[a-z]+ [a-z]+ [a-z]+ [a-z]+", said.replace("python run.py", ""))


@pytest.mark.usefixtures("japanese")
@pytest.mark.parametrize("ours", OURS, ids=str)
def test_a_bot_that_speaks_like_the_program_is_quoted(monkeypatch: pytest.MonkeyPatch, ours: Message) -> None:
    """Its answer is one of our own sentences: word for word in every report."""
    monkeypatch.setenv("COLUMNS", "300")
    answer = str(ours)
    assert shown(ours, "ja") != answer
    Path("bot.py").write_text(f"def answer(question):\n    return {answer!r}\n", encoding="utf-8")
    Path("q.csv").write_text("question,reference\n送料はいくらですか？,550円です。\n", encoding="utf-8")
    options = ("--offline", "--persona", "calm", "--judges", "turn", "--to", "markdown,json")
    assert main(["--cases", "q.csv", "--adapter", "bot.py:answer", *options]) == 0
    [folder] = Path("runs").iterdir()

    assert answer in (folder / "report.md").read_text(encoding="utf-8")
    assert answer in (folder / "report.html").read_text(encoding="utf-8")
    assert json.dumps(answer) in (folder / "report.json").read_text(encoding="utf-8")
