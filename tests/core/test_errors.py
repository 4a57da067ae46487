"""Every expected failure is one line that says what to do."""

from pathlib import Path

import pytest

from simulator.core.errors import UnknownName
from tests.commands import Command
from tests.paths import ROOT


@pytest.mark.parametrize(
    ("name", "names", "hint", "message"),
    [
        (
            "angri",
            ["calm", "angry"],
            "",
            "unknown persona: 'angri'. Did you mean angry? There are: angry, calm.",
        ),
        ("x", ["calm", "angry"], "", "unknown persona: 'x'. There are: angry, calm."),
        ("x", [], "", "unknown persona: 'x'."),
        ("x", [], "Write one.", "unknown persona: 'x'. Write one."),
        (
            "abc",
            ["abc1", "abc2", "abc3", "abc4"],
            "",
            "unknown persona: 'abc'. Did you mean abc4, abc3? There are: abc1, abc2, abc3, abc4.",
        ),
    ],
)
def test_an_unknown_name_is_answered_with_the_known(
    name: str, names: list[str], hint: str, message: str
) -> None:
    """Two near names at most first, then all there are, then what else can be done."""
    assert str(UnknownName("persona", name, names, hint)) == message


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--judges", "turm"), "unknown judge: 'turm'. Did you mean turn? All names: python run.py list."),
        (
            ("--adapter", "http", "--set", "ulr=x"),
            "unknown --set of adapter http: 'ulr'. Did you mean url? All names: docs/bots.md.",
        ),
        (
            ("--adapter", "http", "--set", "foo=1"),
            "unknown --set of adapter http: 'foo'. There are: answer, concurrency, conversation, headers,"
            " method, passage_id, passage_text, passages, request, restart, retries, stream, template,"
            " timeout, tools, until, url.",
        ),
        (("simulat",), "unknown command: 'simulat'. Did you mean simulate? All names: python run.py --help."),
        (
            ("--config", "my.toml"),
            "unknown setting: 'judgess'. Did you mean judges, budget? All names: docs/reference.md."
            " (in my.toml)",
        ),
    ],
)
def test_of_many_names_the_nearest_are_offered(words: tuple[str, ...], said: str, command: Command) -> None:
    """Instead of seventy settings the line says where their list stands."""
    Path("my.toml").write_text("judgess = 'turn'", encoding="utf-8")

    assert command(*words).error.replace(f"{ROOT}/", "") == f"error: {said}"
