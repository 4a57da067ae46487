"""A run of which nothing was graded says why, in sight, and has no empty sections."""

import re
from pathlib import Path

import pytest

from tests.commands import Command

WHY = "next_step: not graded, because that takes a model."
JUDGE = """
needs = []
value = "grade"
[fields]
reason = "text"
grade = "grade"
[ja]
title = "次の一手"
criterion = "次に何をすればよいか分かるか。"
[ja.fields]
reason = "一文"
grade = "1〜5"
[en]
title = "Next step"
criterion = "Is it clear what to do next?"
[en.fields]
reason = "a sentence"
grade = "1-5"
"""


def test_a_judge_that_takes_a_model_is_named(command: Command) -> None:
    """Alone, and beside one that counts without a model, in every view."""
    Path("bot.py").write_text(
        "def answer(question):\n    return 'It is 5.', ['It is 5.']\n", encoding="utf-8"
    )
    Path("asked.csv").write_text("question,reference\nHow much is it?,It is 5.\n", encoding="utf-8")
    Path("next_step.toml").write_text(JUDGE, encoding="utf-8")
    run = ("--offline", "--adapter", "bot.py:answer", "--cases", "asked.csv", "--persona", "calm")
    alone = command(*run, "--judges", "./next_step.toml")
    page = Path("runs", alone.run.run.id, "report.html").read_text(encoding="utf-8")

    assert "\nTrial, incomplete: nothing was graded" in alone.out
    assert f"! {WHY}\n" in alone.out
    assert f'<li class="alarm">{WHY}</li>' in page
    assert len(re.findall("No grade", page)) == 1
    assert not re.search("Fix first|Needs review|Further notes", page)
    assert f"! {WHY}\n" in command(*run, "--judges", "turn,./next_step.toml").out
    assert "Claims: not graded, because" in command("grade", "latest", "--judges", "claims", "--offline").out
    assert "not graded, because" not in command(*run).out, "a trial says so as a whole"


def test_a_bot_that_never_answered_is_tried_with_the_settings_of_the_run(command: Command) -> None:
    """To be copied, without the secrets."""
    words = ("--adapter", "http", "--set", "url=http://127.0.0.1:9/x", "--set", "answer=a")
    secret = ("--set", "headers=Authorization: Bearer 0123456789abcdef")
    done = command("--offline", "--limit", "1", "--persona", "calm", *words, *secret)

    assert f"\nTry it alone: python run.py doctor {' '.join(words)} --set 'headers=***'\n" in done.err
    assert "0123456789abcdef" not in done.err


@pytest.mark.parametrize(("body", "first"), [
    ('raise ValueError("no index")', "- look for the reason, with the same options: python run.py doctor"),
    ('return "It is 5."', "- open the report: "),
])  # fmt: skip
def test_what_failed_is_to_be_found_out_first(body: str, first: str, command: Command) -> None:
    """Before anything else is done with a run in which the bot never answered; no target helps there."""
    Path("bot.py").write_text(f"def answer(messages, **_):\n    {body}\n", encoding="utf-8")
    Path("asked.csv").write_text("question\nHow much is it?\n", encoding="utf-8")
    done = command("--offline", "--adapter", "bot.py:answer", "--cases", "asked.csv", "--persona", "calm")

    assert done.out.partition("\nNext\n")[2].startswith(first)
    assert ("add --target" in done.out) is False
