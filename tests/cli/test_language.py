"""The language of the terminal, for whatever the program says; what others say stays word for word."""

import re
from pathlib import Path

import pytest

from simulator.cli.app import main


@pytest.fixture
def japanese(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal in a Japanese locale."""
    monkeypatch.setenv("LC_ALL", "ja_JP.UTF-8")


@pytest.mark.usefixtures("japanese")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--persona", "angyr"), "「angry」のことですか。"),
        (("--nonsense",), "--nonsense"),
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


@pytest.mark.parametrize("arguments", [("--language", "ja"), ("--language=ja",)])
def test_a_japanese_run_is_japanese_from_the_first_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    """Whatever the locale, and errors of options, too; afterwards the locale counts again."""
    monkeypatch.setenv("LC_ALL", "C")

    assert main([*arguments, "--persona", "calm", "--limit", "1", "--offline"]) == 0
    assert "会話" in capsys.readouterr().err.splitlines()[0]
    assert main([*arguments, "--turns", "0"]) == 2
    assert capsys.readouterr().err.startswith("エラー：")
    assert main(["--turns", "0"]) == 2
    assert capsys.readouterr().err.startswith("error: ")


def test_the_language_of_rehearsal_toml_is_that_of_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Help and errors of options, too; a flag and a variable go before it, and the locale comes last."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.delenv("REHEARSAL_LANGUAGE", raising=False)
    Path("rehearsal.toml").write_text('language = "ja"\n', encoding="utf-8")

    assert main(["--turns", "0"]) == 2
    assert capsys.readouterr().err.startswith("エラー：")
    assert main(["report", "--help"]) == 0
    assert "使い方：" in capsys.readouterr().out
    assert main(["--language", "en", "--turns", "0"]) == 2
    assert capsys.readouterr().err.startswith("error: ")
    monkeypatch.setenv("REHEARSAL_LANGUAGE", "en")
    assert main(["--turns", "0"]) == 2
    assert capsys.readouterr().err.startswith("error: ")
