"""The help of every command in a Japanese locale; the English pages are in test_command_line.py."""

import inspect
import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from typing import Any

import pytest
from rich.cells import cell_len

from simulator.cli.app import COMMANDS, PROGRAM, command_tree, main
from simulator.cli.options import in_japanese, japanese_help
from tests.golden_files import compare

KANA = re.compile(r"[ぁ-んァ-ヶ一-鿿]")
# What the parser itself says, beside the help of commands and options.
PAGE = {"[OPTIONS]", "COMMAND", "[ARGS]...", "Arguments", "Options", "Commands"}
ENGLISH = re.compile(r"(?<![-/.])\b[a-z]{2,}\b(?: [a-z]{2,}\b){2,}", re.IGNORECASE)


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """What `--help` shows in a Japanese terminal of that width."""
    monkeypatch.setenv("LC_ALL", "ja_JP.UTF-8")

    def shown(word: str, columns: int = 110) -> str:
        monkeypatch.setenv("COLUMNS", str(columns))
        assert main([*word.split(), "--help"]) == 0
        return capsys.readouterr().out

    return shown


@cache
def commands() -> dict[str, tuple[Any, Any]]:
    """All commands by the words that are typed, each with its context."""
    return dict(_below("", command_tree(), None))


def _below(path: str, command: Any, parent: Any) -> Iterator[tuple[str, tuple[Any, Any]]]:
    context = command.make_context(
        path.rpartition(" ")[2] or PROGRAM, [], parent=parent, resilient_parsing=True
    )
    yield path, (command, context)
    for word, each in getattr(command, "commands", {}).items():
        yield from _below(f"{path} {word}".strip(), each, context)


def texts() -> Iterator[str]:
    """Every text of every page, as the source has it: paragraphs, titles, helps of options."""
    for command, context in commands().values():
        yield from _paragraphs(command.help)
        yield from _paragraphs(command.epilog)
        yield from _paragraphs(command.short_help)
        for param in command.get_params(context):
            _, text = param.get_help_record(context)
            yield text
            yield from filter(None, [getattr(param, "rich_help_panel", None)])


def _paragraphs(text: str | None) -> Iterator[str]:
    """Lines that are kept as they are come one by one."""
    for paragraph in inspect.cleandoc(text or "").split("\n\n"):
        first, *lines = paragraph.split("\n")
        yield from filter(None, lines if first == "\b" else [" ".join([first, *lines])])


def is_command_line(text: str) -> bool:
    """What is typed as it stands, with nothing said of it."""
    return text.startswith(f"{PROGRAM} ") and "  " not in text


def test_every_help_text_has_a_japanese_form() -> None:
    """A new option or paragraph without one is found here: add it to simulator/core/messages/help/ja.toml."""
    assert [text for text in texts() if not (KANA.search(in_japanese(text)) or is_command_line(text))] == []


def test_no_japanese_form_has_lost_its_text() -> None:
    """What the catalogue translates is said somewhere: as a text, or as the default of an option."""
    said = set(texts()) | PAGE
    behind = {text.partition(" [")[0].strip() for text in said}
    defaults = {default for text in said for default in re.findall(r"\[default: (.*?)[];]", text)}

    assert japanese_help().keys() - said - behind - defaults == set()


@pytest.mark.parametrize("word", ["", "simulate", "evaluate", "doctor"])
def test_help_is_as_it_is_meant_to_look(page: Any, word: str) -> None:
    """The layout of the English page, its texts in Japanese."""
    compare(f"help_{word or 'run'}_ja.txt", page(word))


@pytest.mark.parametrize("columns", [60, 80, 110])
def test_lines_fit_the_terminal(page: Any, columns: int) -> None:
    """A full-width character takes two columns; what cannot be broken (commands, names) may stand out."""
    for path in commands():
        for line in page(path, columns).splitlines():
            fits = cell_len(line) <= min(100, columns)
            assert fits or line.strip().startswith((PROGRAM, "使い方：")), line
            assert line.strip()[:1] not in set("、。，．）」』】：・ー!?,;") or not line.strip(), line


def test_lists_are_aligned(page: Any) -> None:
    """What an option means goes on below where it began."""
    for path in commands():
        shown = page(path).splitlines()
        for above, line in pairwise(shown):
            if option := re.match(r"  (-\S.*?  +)\S", above):
                begins = len(line) - len(line.lstrip())
                assert begins in (0, 2) or begins == len(option[0]) - 1, line


def test_a_page_names_every_option_and_leaves_no_english(page: Any) -> None:
    """Names and values stay; between them there is no English sentence."""
    for path, (command, context) in commands().items():
        shown = page(path)
        told = "\n".join(line for line in shown.splitlines() if PROGRAM not in line)
        options = [option for param in command.get_params(context) for option in param.opts]

        assert [option for option in options if option.startswith("-") and option not in shown] == []
        assert all(f"\n  {word} " in shown for word in getattr(command, "commands", {}))
        assert ENGLISH.findall(told) == [], path


def test_a_page_is_not_translated_twice(page: Any) -> None:
    """What the terminal shows is the page: no message of the program is found within its lines."""
    for path, (command, context) in commands().items():
        shown = page(path)

        assert shown.splitlines() == [line.rstrip() for line in command.get_help(context).splitlines()]


def test_remarks_of_an_option_follow_in_brackets() -> None:
    """Its default, its range and that it is needed."""
    assert in_japanese("How many questions. [default: 40]  [x>=1]") == "作る質問の数。（既定は 40、1以上）"
    assert in_japanese("What to do.  [required]").endswith("（必須）")
    assert in_japanese("Model that grades. [default: all]").endswith("（既定はすべて）")
    assert in_japanese("Something new [or old]. [default: 3]") == "Something new [or old].（既定は 3）"


def test_a_group_alone_shows_its_page(page: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """`cases` and `cases --help` are one page."""
    asked = page("cases")

    assert main(["cases"]) == 0
    assert capsys.readouterr().out == asked
    assert set(COMMANDS) <= commands().keys()
