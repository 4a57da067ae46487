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
) -> Callable[[str, str], list[str]]:
    """How a line may go on; the last word is the one being typed."""

    def ask(line: str, asked: str = "words") -> list[str]:
        monkeypatch.setattr(sys, "argv", ["rehearsal"])
        monkeypatch.setenv("_REHEARSAL_COMPLETE", asked)
        monkeypatch.setenv("_REHEARSAL_LINE", line)
        assert main() == 0
        return capsys.readouterr().out.splitlines()

    return ask


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("rehearsal d", ["diff", "doctor"]),
        ("rehearsal cases m", ["make"]),
        ("rehearsal --tur", ["--turns"]),
        ("rehearsal --persona angry --see", ["--seed"]),
        ("rehearsal simulate --see", ["--seed"]),
        ("rehearsal simulate --nonsense x --see", ["--seed"]),
        ("rehearsal nonsense --", []),
    ],
)
def test_a_line_goes_on(completed: Callable[..., list[str]], line: str, words: list[str]) -> None:
    """Words, words of a group, and options, also those of a rehearsal without its word and the rarer ones."""
    assert completed(line) == words


def test_a_japanese_reader_reads_what_an_option_means(
    completed: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the shell shows it, as fish does."""
    monkeypatch.setenv("LC_ALL", "ja_JP.UTF-8")

    assert completed("rehearsal --tur", "tabs")[0].startswith("--turns\t1つの会話")


ASKS = {
    "bash": """rehearsal() { echo $_REHEARSAL_LINE; }; COMP_LINE='rehearsal di --x'; COMP_POINT=12
complete -p rehearsal; _rehearsal_completion; echo $COMPREPLY""",
    "zsh": """compdef() { echo -F $*; }; _describe() { echo ${lines%%:*}; }
words=(rehearsal di --x); CURRENT=2
rehearsal() { echo "${_REHEARSAL_LINE}:what it means"; }""",
    "fish": """function rehearsal; printf '%s\\twhat it means\\n' $_REHEARSAL_LINE; end
complete -c rehearsal | string replace -r '.*_rehearsal_completion.*' -- '-F _rehearsal_completion rehearsal'
complete -C 'rehearsal di' | cut -f 1""",
}


@pytest.mark.parametrize("shell", ASKS)
def test_shells_take_the_script(
    shell: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line of the docs defines a completion of `rehearsal`, which asks with the line up to the cursor."""
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"no {shell} here")
    monkeypatch.setattr(sys, "argv", ["rehearsal"])
    monkeypatch.setenv("_REHEARSAL_COMPLETE", f"source_{shell}")
    assert main() == 0
    script = capsys.readouterr().out

    bare = {"bash": "--norc", "zsh": "-f", "fish": "--no-config"}[shell]
    line = f"{script}\n{ASKS[shell]}"
    if shell == "zsh":  # `compdef` is there before the script, as after `compinit`
        line = f"{ASKS[shell]}\n{script}\n_rehearsal_completion"
    done = subprocess.run([program, bare, "-c", line], capture_output=True, text=True, check=True)
    asked, answer = done.stdout.splitlines()
    assert asked.endswith("-F _rehearsal_completion rehearsal")
    assert answer == "rehearsal di"
