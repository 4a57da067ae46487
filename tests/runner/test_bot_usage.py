"""What the bot's own model takes: told by its endpoint, apart from what this program's models take."""

import json
from pathlib import Path
from typing import Any

import pytest

from simulator.cli.app import main
from simulator.core.types import Answer, Results, Turn, Usage
from simulator.report.sections import bot_usage_section
from simulator.results.summary import bot_usage
from simulator.storage.run_file import find_run
from tests.diff_runs import a_result, grades_of
from tests.servers.faults import Reply
from tests.servers.openai import serve
from tests.texts import said

ROWS = [{"id": str(n), "question": f"{n}は?", "reference": "42"} for n in range(3)]


def answered(*usages: Usage | None, adapter: str = "openai_chat") -> Results:
    """A run of one conversation whose answers tell these tokens."""
    results = a_result(grades_of([1.0]), adapter=adapter)
    turns = tuple(
        Turn(index=at, user="?", answer=Answer(text="!", usage=usage)) for at, usage in enumerate(usages, 1)
    )
    conversations = tuple(
        conversation.model_copy(update={"turns": turns}) for conversation in results.conversations
    )
    return results.model_copy(update={"conversations": conversations})


def evaluated(capsys: pytest.CaptureFixture[str], *more: str) -> tuple[str, str]:
    """What `evaluate` says of a bot behind a chat endpoint."""
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, ROWS)), encoding="utf-8")
    usage = {"prompt_tokens": 1000, "completion_tokens": 20}
    with serve(lambda _: Reply("42", usage=usage)) as server:
        bot = ("--adapter", "openai_chat", "--set", "model=gpt-4.1-mini", "--set", f"url={server.url}")
        assert main(["evaluate", "rows.jsonl", "--judges", "em", *bot, *more]) == 0
    return capsys.readouterr()


def test_a_report_tells_what_the_bot_took(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answers, tokens and dollars, on the console, on the page and in the JSON; calls for grading apart."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
    foreseen, _ = evaluated(capsys, "--dry-run")
    shown, _ = evaluated(capsys)
    as_json: dict[str, Any] = json.loads(evaluated(capsys, "--json")[0])
    page = find_run("latest", Path("runs")).with_name("report.html").read_text(encoding="utf-8")

    assert foreseen.splitlines()[2:] == [
        "ボットに尋ねるのは最大3回です。ボット自身のモデルの費用は、この見積もりに入りません。",
        "ボットのほかに、モデルは使いません。何も始めていません。",
    ]
    assert "回答3件、入力 3,000 / 出力60トークン、0.0013 USD" in shown
    assert "ボット自身のモデル" in page
    assert as_json["bot"] == {"calls": 3, "tokens": {"in": 3000, "out": 60}, "cost_usd": 0.001296}
    assert as_json["calls"] == {}


def test_what_nobody_told_is_not_made_up() -> None:
    """No tokens, no part of the report; an unknown or unnamed model has no price; the demo's are ours."""
    used = Usage(model="nobody-knows-it", tokens_in=5, tokens_out=1)
    unnamed = answered(used, Usage(tokens_in=1), None)
    shown = bot_usage_section(bot_usage(unnamed))

    assert bot_usage_section(bot_usage(answered(None))) is None
    assert bot_usage(answered(used, adapter="demo")) == {}
    assert {model: spent.cost_usd for model, spent in bot_usage(unnamed).items()} == {
        "nobody-knows-it": None,
        "": None,
    }
    assert shown is not None
    assert said(shown.line) == "Answers: 2, tokens in: 6, out: 1, cost unknown"


def test_a_report_tells_from_how_many_answers_thoughts_were_left_out(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reasoning model as the bot is graded by what the customer reads, and a note says so."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, ROWS)), encoding="utf-8")
    with serve(lambda _: Reply("<think>41?</think>42")) as server:
        bot = ("--adapter", "openai_chat", "--set", "model=m", "--set", f"url={server.url}")
        assert main(["evaluate", "rows.jsonl", "--judges", "em", "--language", "en", *bot, "--verbose"]) == 0
    shown = " ".join(capsys.readouterr().out.split())

    assert "100 / 100" in shown
    assert "what the bot thought aloud (<think>...</think>) was left out: 3 of 3." in shown
