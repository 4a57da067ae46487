"""`cases gaps`: what customers ask in logs, and no question or no article of a run has words for."""

import json
from pathlib import Path
from typing import Any

import pytest

from simulator.core import shelves
from tests.commands import Command

LOGS = Path(__file__).parents[1] / "fixtures" / "logs"
ASKED = {
    "ja": (
        "学割はありますか", "学割の申し込み方法を教えてください。電話は090-1234-5678です",
        "学割って使えますか", "料金はいくらですか", "料金を教えてください", "駐車場はどこですか",
        "口座振替にしたい", "口座振替の手続きは", "こんにちは", "ありがとうございました",
    ),
    "en": (
        "Is there a student discount?", "How do I apply for the student rate? Call me on 090-1234-5678",
        "Do students pay less?", "What does the plan cost?", "What is the price of the plan?",
        "Where can I park?", "Can I pay by direct debit?", "Please set up direct debit", "Hello", "Thank you",
    ),
}  # fmt: skip
ARTICLES = {
    "ja": "# 料金\n料金は月額4,180円です。お支払いは口座振替にできます。",
    "en": "# Price\nThe plan costs 41 dollars, which is its price. You can pay by direct debit.",
}
QUESTION = {"ja": "料金はいくらですか", "en": "What is the price that the plan costs? How do I pay less?"}
WORDS = {"ja": ("学割", "口座振替"), "en": ("student", "direct")}


def rehearsed(command: Command, language: str, *knowledge: str) -> None:
    """A run of one question, and logs of ten dialogues."""
    Path("kb").mkdir()
    Path("kb", "fees.md").write_text(ARTICLES[language], encoding="utf-8")
    Path("bot.py").write_text("def answer(question):\n    return 'OK'\n", encoding="utf-8")
    Path("q.csv").write_text(f"id,question\nprice,{QUESTION[language]}\n", encoding="utf-8")
    lines = ({"messages": [{"role": "user", "content": text}]} for text in ASKED[language])
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    Path("chats.jsonl").write_text(text, encoding="utf-8")
    command(
        "--cases", "q.csv", "--adapter", "bot.py:answer", "--offline", "--persona", "calm", "--turns", "1",
        "--language", language, *knowledge,
    )  # fmt: skip


def counts(topics: list[dict[str, Any]]) -> dict[str, int]:
    """Topics and their dialogues."""
    return {topic["word"]: topic["dialogues"] for topic in topics}


@pytest.mark.parametrize("language", ["ja", "en"])
def test_what_customers_ask_and_nothing_covers_is_counted_by_topic(command: Command, language: str) -> None:
    """A topic that only articles have is one for a question; one that they have not is one for an article."""
    rehearsed(command, language, "--knowledge", "kb")
    gaps = command("cases", "gaps", "chats.jsonl", "--json", "--language", language).json
    student, debit = WORDS[language]
    assert gaps["dialogues"] == 8  # greetings and thanks ask for nothing
    assert counts(gaps["uncovered"]) == {student: 3, debit: 2}
    assert counts(gaps["unanswered"]) == {student: 3}
    (topic,) = gaps["unanswered"]
    assert topic["examples"][0] == ASKED[language][0]


@pytest.mark.parametrize("language", ["ja", "en"])
def test_customers_lines_are_masked_and_shown_in_their_language(command: Command, language: str) -> None:
    """Whatever --redact says of runs: a telephone number of a log is not shown."""
    rehearsed(command, language, "--knowledge", "kb")
    done = command("cases", "gaps", "chats.jsonl", "latest", "--language", language)
    assert done.code == 0
    assert "1234" not in done.out
    assert {"ja": "学割：3件", "en": "student: 3"}[language] in done.out
    assert {"ja": "[電話番号]", "en": "[phone number]"}[language] in done.out


def test_without_articles_only_questions_are_compared(command: Command) -> None:
    """Nobody knows what no article answers where a run was made without --knowledge."""
    rehearsed(command, "ja")
    assert command("cases", "gaps", "chats.jsonl", "--json").json["unanswered"] is None
    assert "--knowledge" in command("cases", "gaps", "chats.jsonl").out


@pytest.mark.parametrize(("name", "dialogues"), [("table.csv", 2), ("messages.jsonl", 1)])
def test_logs_of_desks_are_read_in_their_own_format(command: Command, name: str, dialogues: int) -> None:
    """As `cases make --from-logs` reads them; what only one dialogue asks is no topic."""
    rehearsed(command, "ja", "--knowledge", "kb")
    gaps = command("cases", "gaps", str(LOGS / name), "--json").json
    assert (gaps["dialogues"], gaps["uncovered"], gaps["unanswered"]) == (dialogues, [], [])


def test_wrong_input_is_one_line(command: Command) -> None:
    """No run, and no log, is said with what to do."""
    assert command("cases", "gaps", "chats.jsonl").code == 2
    rehearsed(command, "ja")
    done = command("cases", "gaps", str(shelves.DEMO / "knowledge" / "ja"))
    assert done.code == 2
    assert len(done.err.strip().splitlines()) == 1
