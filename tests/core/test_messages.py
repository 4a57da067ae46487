"""What the program says itself, in Japanese for whoever reads Japanese."""

import io
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.cli.app import main
from simulator.core.translations import TranslatingStream, language_of, message_templates, translate
from tests.messages_in_source import messages
from tests.properties import examples

PLACE = re.compile(r"\{(\d)\}")


@pytest.fixture
def japanese(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal in a Japanese locale."""
    monkeypatch.setenv("LC_ALL", "ja_JP.UTF-8")


def test_every_message_of_the_source_has_a_japanese_form() -> None:
    """A new message without one is found here: add it to a file of simulator/core/messages."""
    known = {template.english for template in message_templates()}

    assert {message: file for message, file in messages().items() if message not in known} == {}


def test_a_japanese_message_has_no_other_values() -> None:
    """Each place of the Japanese form is one of the English, and none is empty."""
    for template in message_templates():
        assert set(PLACE.findall(template.japanese)) <= set(PLACE.findall(template.english)), template
        assert len(set(PLACE.findall(template.english))) == len(PLACE.findall(template.english)), template
        assert template.japanese.strip(), template


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
def test_a_run_is_announced_in_japanese(capsys: pytest.CaptureFixture[str]) -> None:
    """Its first line, too; JSON stays what it is."""
    assert main(["--limit", "1", "--json"]) == 0
    out, err = capsys.readouterr()

    assert re.search("[ぁ-ん]", err.splitlines()[0])
    assert out.startswith("{")
    assert Path("runs").is_dir()


@given(text=st.text(max_size=80))
@settings(max_examples=examples(200))
def test_other_words_stay_as_they_are(text: str) -> None:
    """Of bots, files and other programs: only what the program itself can say is translated."""
    strange = f"zq{text}qz"

    assert translate("ja", strange) == strange
    assert translate("en", text) == text


def test_lines_are_translated_one_by_one() -> None:
    """JSON and colours pass; the number of characters taken is that of the text that was given."""
    stream = io.StringIO()
    template = next(each for each in message_templates() if "{" not in each.english and each.weight > 30)
    given_text = f'{{"a": 1}}\n  {template.english}\n\x1b[1mbold\n'

    assert TranslatingStream(stream).write(given_text) == len(given_text)
    assert stream.getvalue() == f'{{"a": 1}}\n  {template.japanese}\n\x1b[1mbold\n'
