"""What the program says itself: in both languages, and never mistaken for what somebody else said."""

from pathlib import Path

import pytest

from simulator.core.messages import Message, _, language_of, system_error


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({"LANG": "ja_JP.UTF-8"}, "ja"), ({"LANG": "en_US.UTF-8"}, "en"), ({}, "en"), ({"LANG": "C"}, "en"),
        ({"LANG": "ja_JP.UTF-8", "LC_ALL": "C.UTF-8"}, "en"), ({"LC_MESSAGES": "ja_JP", "LANG": "C"}, "ja"),
        ({"LC_ALL": "", "LANG": "Japanese_Japan.932"}, "ja"),
    ],
)  # fmt: skip
def test_the_terminals_locale_decides(environment: dict[str, str], language: str) -> None:
    """In the order of every other program: LC_ALL, LC_MESSAGES, LANG."""
    assert language_of(environment) == language


def test_what_a_system_says_of_a_file_is_a_sentence_of_ours() -> None:
    """So it is translated; what no table has stays as it was said."""
    with pytest.raises(OSError, match="No such file") as caught:
        Path("missing").read_text(encoding="utf-8")
    assert system_error(caught.value) == _("No such file or directory")
    assert system_error(OSError(5, "Input/output error")) == "Input/output error"
    assert system_error(ValueError(_("Odd."))) == Message("Odd.")
