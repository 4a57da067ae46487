"""Every expected failure is one line that says what to do."""

from pathlib import Path

import pytest

from simulator.core.errors import (
    HOPELESS,
    BotFailure,
    InputError,
    LoginPage,
    ModelFailure,
    Transient,
    UnknownName,
    did_you_mean,
)
from simulator.core.messages import _
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


def test_more_names_than_stand_on_a_line_are_listed_elsewhere() -> None:
    """Ten are shown; near ones always, two of them, and none that is only a little alike."""
    names, page = [f"{n}-name" for n in range(11)], _("All names: here.")

    assert str(UnknownName("bot", "x", names[:10], listed=page)) == (
        f"unknown bot: 'x'. There are: {', '.join(names[:10])}."
    )
    assert str(UnknownName("bot", "x", names, listed=page)) == "unknown bot: 'x'. All names: here."
    assert str(UnknownName("bot", "x", names)).endswith(f"There are: {', '.join(sorted(names))}.")
    assert str(UnknownName("bot", "3-nam", names, listed=page)).startswith(
        "unknown bot: '3-nam'. Did you mean 3-name"
    )
    assert [did_you_mean("turn", [near]) is None for near in ("tern", "true", "trio")] == [False, True, True]
    assert did_you_mean("turn", ["tern"], 0.8) is None


@pytest.mark.parametrize("kind", ["bad", "Timeout", ""])
def test_a_failure_is_of_a_kind_that_there_is(kind: str) -> None:
    """A connector's own word for it is refused with those that are known."""
    with pytest.raises(
        InputError, match=rf"a failure has no kind '{kind}'; use one of timeout, error, empty"
    ):
        BotFailure(kind, "no route")
    late = Transient("timeout", "late", 3.5)
    assert (late.failure.kind, late.wait, late.raw, str(late)) == ("timeout", 3.5, "", "late")
    assert ModelFailure("denied", "no", "<html>").raw == "<html>"
    assert issubclass(LoginPage, HOPELESS)


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
