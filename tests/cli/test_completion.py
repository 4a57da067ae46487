"""What a shell is answered that asks how a line of the installed command may go on."""

import shutil
import subprocess
import sys
from collections.abc import Callable

import pytest

from simulator.cli.app import main


@pytest.fixture
def completed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[str], list[str]]:
    """How a line may go on, as bash asks it: the last word is the one being typed."""

    def ask(line: str) -> list[str]:
        monkeypatch.setattr(sys, "argv", ["rehearsal"])
        monkeypatch.setenv("_REHEARSAL_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
        assert main() == 0
        return capsys.readouterr().out.split()

    return ask


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("rehearsal d", ["diff", "doctor"]),
        ("rehearsal sheets ", ["connect"]),
        ("rehearsal sheets connect --sh", ["--sheet"]),
        ("rehearsal --tur", ["--turns"]),
        ("rehearsal --persona angry --see", ["--seed"]),
        ("rehearsal simulate --see", ["--seed"]),
        ("rehearsal simulate --nonsense x --see", ["--seed"]),
        ("rehearsal nonsense --", []),
    ],
)
def test_a_line_goes_on(completed: Callable[[str], list[str]], line: str, words: list[str]) -> None:
    """Words, words of a group, and options, also those of a rehearsal without its word and the rarer ones."""
    assert completed(line) == words


def test_a_japanese_reader_reads_what_an_option_means(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the shell shows it, as fish does."""
    for name, value in {
        "LC_ALL": "ja_JP.UTF-8",
        "_REHEARSAL_COMPLETE": "complete_fish",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        "_TYPER_COMPLETE_ARGS": "rehearsal --tur",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "argv", ["rehearsal"])

    assert main() == 0
    assert capsys.readouterr().out.startswith("--turns\t1つの会話")


def test_bash_takes_the_script(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The line of the docs defines a completion of `rehearsal`."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash here")
    monkeypatch.setattr(sys, "argv", ["rehearsal"])
    monkeypatch.setenv("_REHEARSAL_COMPLETE", "source_bash")
    assert main() == 0
    script = capsys.readouterr().out

    done = subprocess.run(
        [bash, "--norc", "-c", f"{script}\ncomplete -p rehearsal"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip().endswith("-F _rehearsal_completion rehearsal")


def test_help_stays_as_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    """No option of the program is about completion."""
    assert main(["--help-all"]) == 0
    assert "completion" not in capsys.readouterr().out
