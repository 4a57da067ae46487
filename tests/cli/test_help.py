"""The help of every command in a Japanese locale; the English pages are in test_command_line.py."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from rich.cells import cell_len

from simulator.cli.app import COMMANDS, all_words, every_command, main
from simulator.core.messages import CHECKOUT
from tests.golden_files import compare

ENGLISH = re.compile(r"(?<![-/.])\b[a-z]{2,}\b(?: [a-z]{2,}\b){2,}", re.IGNORECASE)


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """What `--help` shows in a Japanese terminal of that width."""
    monkeypatch.setenv("LC_ALL", "ja_JP.UTF-8")

    def shown(word: str, columns: int = 110, asked: str = "--help-all") -> str:
        monkeypatch.setenv("COLUMNS", str(columns))
        assert main([*word.split(), asked]) == 0
        return capsys.readouterr().out

    return shown


def pages() -> list[str]:
    """What is typed for every page."""
    return ["", "cases", *(path for path, _command in every_command())]


@pytest.mark.parametrize("word", ["", "simulate"])
def test_help_is_as_it_is_meant_to_look(page: Any, word: str) -> None:
    """The layout of the English page, its texts in Japanese."""
    compare(f"help_{word or 'run'}_ja.txt", page(word, asked="--help"))


def test_the_usual_options_come_first(page: Any) -> None:
    """At most 70 lines of 80 columns for a rehearsal; seven commands, and the others by name."""
    usual, whole = (page("simulate", 80, asked) for asked in ("--help", "--help-all"))
    first = page("", 80, "--help")

    assert usual.count("\n") <= 70
    assert "--seed" in whole
    assert "--seed" not in usual
    assert sum(f"\n  {word} " in first for word in COMMANDS) == 7
    assert all(word in first for word in COMMANDS)


@pytest.mark.parametrize("columns", [60, 110])
def test_lines_fit_the_terminal(page: Any, columns: int) -> None:
    """A full-width character takes two columns; what cannot be broken (commands, names) may stand out."""
    for path in pages():
        for line in page(path, columns).splitlines():
            fits = cell_len(line) <= min(100, columns)
            name = re.fullmatch("[（「]?[!-~]+[、。）」]*", line.strip())
            assert fits or name or line.strip().startswith((CHECKOUT, "使い方：")), line
            assert line.strip()[:1] not in set("、。，．）」』】：・ー!?,;") or not line.strip(), line


def test_a_page_names_every_option_and_leaves_no_english(page: Any) -> None:
    """Names and values stay; between them there is no English sentence."""
    commands = dict(every_command())
    for path in pages():
        shown = page(path)
        told = "\n".join(line for line in shown.splitlines() if CHECKOUT not in line)
        options = [option.typed for option in commands[path].options] if path in commands else []

        assert [typed for typed in options if f"  {typed}" not in shown] == []
        assert ENGLISH.findall(told) == [], path


def test_every_command_can_print_json() -> None:
    """But for `open`, which prints an address and goes on until Ctrl-C."""
    flags = {
        path: {flag for option in command.options for flag in option.flags}
        for path, command in every_command()
    }

    assert {path for path, named in flags.items() if "--json" not in named} == {"open"}


def test_a_group_alone_shows_its_page(page: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """`cases` and `cases --help` are one page."""
    asked = page("cases")

    assert main(["cases"]) == 0
    assert capsys.readouterr().out == asked
    assert set(COMMANDS) <= all_words().keys()
