"""A log that ends is not a silent bot: what it has no answer to is counted, and held against nobody."""

import json
from pathlib import Path
from typing import Any

import pytest

from simulator import open_run
from simulator.cli.app import main
from simulator.core.types import Language, Results
from simulator.results.history import past_run
from simulator.storage.run_file import find_run
from tests.servers.openai import OpenAIServer

COMMANDS = ["simulate", "evaluate"]
SAID: dict[Language, tuple[str, str, str]] = {
    "ja": (
        "マンションで光を使うと月いくらですか",
        "マンション1ギガの月額は4,180円です。",
        "それは税込ですか",
    ),
    "en": ("How much is fibre a month?", "Fibre in a flat is 4,180 yen a month, with tax.", "With tax?"),
}


def log(*rows: dict[str, Any]) -> str:
    """The name of a new log."""
    text = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
    Path("log.jsonl").write_text(text, encoding="utf-8")
    return "log.jsonl"


def ended(language: Language) -> dict[str, Any]:
    """A dialogue whose last line nobody answered."""
    asked, told, later = SAID[language]
    said = [("user", asked), ("assistant", told), ("user", later)]
    return {"id": "ended", "turns": [{"role": who, "content": text} for who, text in said]}


def unanswered(language: Language) -> dict[str, Any]:
    """A dialogue whose first line nobody answered."""
    asked, told, later = SAID[language]
    return {"id": "late", "turns": [{"question": asked}, {"question": later, "answer": told}]}


def graded(command: str, path: str, *options: str, code: int = 0) -> Results:
    """The run that a command makes of a log."""
    cases = [path] if command == "evaluate" else ["--cases", path, "--persona", "calm"]
    assert main([command, *cases, "--adapter", "recorded", *options]) == code
    return open_run()


def states(results: Results, conversation: str, turn: int) -> set[str]:
    """What became of the grades of a turn."""
    return {s.state for s in results.scores if (s.conversation, s.turn) == (conversation, turn)}


@pytest.mark.parametrize("language", ["ja", "en"])
def test_a_line_without_a_recorded_answer_is_a_turn_that_nobody_grades(
    language: Language, capsys: pytest.CaptureFixture[str]
) -> None:
    """The last line, or one in between: skipped by every judge with a reason, not red, no failure."""
    given = ("--offline", "--json", "--to", "markdown")
    results = graded("simulate", log(ended(language), unanswered(language)), *given)
    report = find_run("latest", Path("runs")).with_name("report.md").read_text(encoding="utf-8")
    shown, (one, other) = json.loads(capsys.readouterr().out), results.conversations
    lacking = {(one.id, 2), (other.id, 1)}
    skipped = [s for s in results.scores if (s.conversation, s.turn) in lacking and not s.is_whole]

    assert [len(conversation.turns) for conversation in (one, other)] == [2, 2]
    assert {score.state for score in skipped} == {"skipped"}
    why = {"ja": "記録に、この発言への回答がありません", "en": "the log has no answer to this message"}
    assert {score.reason for score in skipped} == {why[language]}
    assert len(skipped) == 2 * len(shown["judges"].keys() - {"conversation"})
    assert shown["turns"] == 4
    assert ("記録に回答がありません" if language == "ja" else "held against the bot: 2 of 4") in report
    assert ("応答しませんでした" if language == "ja" else "gave no answer") not in report
    assert shown["red"] == past_run(find_run("latest", Path("runs"))).red == 0


@pytest.mark.parametrize("command", COMMANDS)
def test_nobody_is_blamed_for_what_a_log_does_not_tell(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither red, nor anything to fix; the score is that of what was answered."""
    question, answer, _ = SAID["ja"]
    known = {"id": "a", "question": question, "answer": answer, "contexts": [answer]}
    rows = known, {"id": "b", "question": "住所変更は?"}
    results = graded(command, log(*rows), "--offline", "--json")
    shown = json.loads(capsys.readouterr().out)
    main(["fixes", "--json"])
    fixes = json.loads(capsys.readouterr().out)

    assert [len(conversation.turns) for conversation in results.conversations] == [1, 1]
    assert (shown["turns"], shown["red"], shown["reasons"]) == (2, 0, [])
    assert shown["score"] > 0.9
    assert fixes["fixes"] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_a_model_is_not_asked_about_what_a_log_does_not_tell(command: str, server: OpenAIServer) -> None:
    """With a model as judge the line costs nothing, and is skipped as offline."""
    results = graded(command, log({"question": "料金はいくらですか"}))
    [conversation] = results.conversations

    assert states(results, conversation.id, 1) == {"skipped"}
    assert not [request for request in server.requests if request.path.endswith("/chat/completions")]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("model", [False, True])
def test_a_recorded_error_is_the_bots_failure(
    command: str, model: bool, server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """The lowest grade by rule, red, and counted as no answer."""
    row = {"question": "料金はいくらですか", "answer": None, "error": "Timeout after 30 s"}
    results = graded(command, log(row), "--json", *([] if model else ["--offline"]), code=3)
    shown = json.loads(capsys.readouterr().out)
    verdicts = [score for score in results.scores if score.state == "scored"]

    assert verdicts
    assert all(score.by_rule and score.raw == score.scale[0] for score in verdicts)
    assert shown["red"] == 1
    assert not server.requests


def test_doctor_takes_a_log_that_begins_without_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    """A log is no broken bot, whatever its first question has."""
    path = log({"question": "How much is it?"}, {"question": "With tax?", "answer": "Yes."})
    assert main(["doctor", "--adapter", "recorded", "--cases", path, "--offline"]) == 0

    assert "question 001 has no recorded answer" in capsys.readouterr().out
