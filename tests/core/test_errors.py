"""Every expected failure is one line that says what to do."""

import pytest

from simulator.core.errors import UnknownName


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
    """Three near names at most first, then all there are, then what else can be done."""
    assert str(UnknownName("persona", name, names, hint)) == message
