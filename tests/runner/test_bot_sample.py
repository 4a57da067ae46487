"""What a bot is like, learnt by asking it alone a few questions."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from simulator.cli.app import main
from simulator.core.errors import BotFailure
from simulator.core.types import Answer, Passage
from simulator.models.cache import cache_folder
from simulator.runner.bot_sample import measure_answers, sample_bot, sampled_cases
from simulator.runner.estimate import TokenRange, tokens
from tests.run_helpers import a_case, a_stage, a_talk
from tests.servers.openai import OpenAIServer, serve

BOT = """
ASKED = []

def answer(question):
    print("thinking aloud")
    ASKED.append(question)
    if "壊" in question:
        raise RuntimeError("cannot")
    return "あ" * 11 * len(ASKED), ["い" * 110, "い" * 220]

def says_nothing_of_passages(question):
    return "はい。"
"""
PLAN = [
    a_talk(a_case(id=f"q{n}", question=f"質問{n}ですか"), persona=p)
    for n in range(9)
    for p in ("angry", "calm")
]
Shown = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def bot() -> None:
    """Bots of one's own."""
    Path("bot.py").write_text(BOT, encoding="utf-8")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    """An endpoint for all models."""
    with serve() as started:
        monkeypatch.setenv("REHEARSAL_JUDGE_URL", started.url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        yield started


@pytest.fixture
def shown(capsys: pytest.CaptureFixture[str]) -> Shown:
    """What the command line says of two questions to the bot here."""
    usual = ("--adapter", "bot.py:answer", "--limit", "4", "--turns", "2", "--cache", "off")

    def ran(*arguments: str) -> tuple[int, str, str]:
        return main([*usual, *arguments]), *capsys.readouterr()

    return ran


async def test_the_first_questions_are_asked_once() -> None:
    """Three of them, whoever asks: how long the answers and their passages are, in tokens."""
    found = (await sample_bot(a_stage(adapter="bot.py:answer"), PLAN))["ja"]

    assert (found.asked, found.number, found.reports_retrieval) == (3, 2, True)
    assert found.answer == TokenRange(tokens("あ" * 11), tokens("あ" * 22), tokens("あ" * 33))
    assert found.passages == TokenRange(300, 300, 300)


async def test_a_bot_that_tells_nothing_of_passages_shows_none() -> None:
    """Nor can anything be graded that needs to know what was retrieved."""
    found = (await sample_bot(a_stage(adapter="bot.py:says_nothing_of_passages"), PLAN))["ja"]

    assert (found.number, found.passages.most, found.reports_retrieval) == (0, 0, False)


def test_one_answer_is_not_all() -> None:
    """Others may be half or twice as long."""
    assert measure_answers([Answer(text="あ" * 110)], "x").answer == TokenRange(50, 100, 200)


async def test_what_fails_is_no_answer() -> None:
    """A failed answer is left out; a bot that only fails is told of, with what it said."""
    broken = [a_talk(a_case(id=f"b{n}", question=f"壊れる{n}")) for n in range(3)]
    context = a_stage(adapter="bot.py:answer")
    assert (await sample_bot(context, [*broken[:1], *PLAN]))["ja"].answer.least == tokens("あ" * 22)
    with pytest.raises(BotFailure, match=r"bot.py:answer: .*RuntimeError: cannot"):
        await sample_bot(a_stage(adapter="bot.py:answer"), broken)


def test_each_language_has_its_own_questions() -> None:
    """Answers of one language say nothing about those of another."""
    plan = [*PLAN, *(a_talk(a_case("en", id=f"e{n}")) for n in range(5))]

    assert [case.id for case in sampled_cases(plan)] == ["q0", "q1", "q2", "e0", "e1", "e2"]


def test_an_empty_retrieval_is_told_apart() -> None:
    """A bot that says it found nothing does show its passages: it is graded against none."""
    passage = Passage(id="1", text="x" * 40)
    assert measure_answers([Answer(text="はい")], "x").reports_retrieval
    assert not measure_answers([Answer(text="はい", shows_passages=False)], "x").reports_retrieval
    assert (
        measure_answers([Answer(text="はい"), Answer(text="はい", passages=(passage, passage))], "x").number
        == 1
    )


def test_only_the_bot_is_asked(server: OpenAIServer, shown: Shown) -> None:
    """No model is called, no run is written; the range is narrower, and what was heard is told."""
    plain, asked = shown("--dry-run", "--json"), shown("--dry-run", "--json", "--ask-bot")
    before, after = json.loads(plain[1]), json.loads(asked[1])

    assert (plain[0], asked[0], server.requests, Path("runs").exists()) == (0, 0, [], False)
    assert "thinking aloud" in asked[2]
    assert (before["heard"], set(before["unknown"])) == ({}, {"passages", "leaving", "lengths"})
    assert (after["heard"]["ja"]["passages"], set(after["unknown"])) == (2, {"leaving", "lengths"})
    widths = []
    for each in (before, after):
        low, high = (each["range"][end]["cost_usd"] for end in ("low", "high"))
        assert low < each["expected_cost_usd"] < high
        widths.append(high - low)
    assert widths[1] < widths[0]


def test_the_forecast_is_close_once_the_bot_was_asked(server: OpenAIServer, shown: Shown) -> None:
    """Calls, tokens and dollars of a first run are within 15 % of what is then counted."""
    told: dict[str, Any] = json.loads(shown("--dry-run", "--json", "--ask-bot")[1])
    counted = json.loads(shown("--json")[1])
    foreseen = told["expected"].values()

    assert sum(each["calls"] for each in foreseen) == sum(counted["calls"].values())
    tokens_in = sum(each["in"] for each in counted["tokens"].values())
    assert sum(each["tokens_in"] for each in foreseen) == pytest.approx(tokens_in, rel=0.15)
    assert told["expected_cost_usd"] == pytest.approx(counted["cost_usd"], rel=0.15)


def test_a_bot_that_a_run_has_shown_already_is_not_asked(server: OpenAIServer, shown: Shown) -> None:
    """An earlier run tells more than three questions; the forecast says so."""
    shown()
    code, out, err = shown("--dry-run", "--ask-bot")

    assert code == 0
    assert "thinking aloud" not in err
    assert "ボットには尋ねていません" in out


def test_a_bot_that_only_fails_cannot_be_forecast(server: OpenAIServer, shown: Shown) -> None:
    """It is told in a line, with who looks into it; that is for the user to mend."""
    Path("bot.py").write_text(
        "def answer(question):\n    raise ValueError('no knowledge')\n", encoding="utf-8"
    )
    code, out, err = shown("--dry-run", "--ask-bot")

    assert (code, out) == (2, "")
    assert "ValueError: no knowledge (find out why with: python run.py doctor)" in err


def test_asking_goes_with_a_forecast(shown: Shown) -> None:
    """Alone it is refused, before anybody is asked."""
    code, out, err = shown("--ask-bot", "--offline")

    assert (code, out) == (2, "")
    assert "--ask-bot can only be used with --dry-run" in err
    assert "thinking aloud" not in err


def test_what_was_heard_is_remembered(server: OpenAIServer, capsys: pytest.CaptureFixture[str]) -> None:
    """Later forecasts go by it, and say of which day it is; not for another bot, language or changed code."""

    def told(*arguments: str) -> dict[str, Any]:
        usual = ("--adapter", "bot.py:answer", "--limit", "4", "--dry-run", "--json")
        assert main([*usual, *arguments]) == 0
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    first, asked, later = told(), told("--ask-bot"), told("--judges", "fluency")

    assert (first["heard"], asked["heard"]["ja"]["on"]) == ({}, None)
    assert later["heard"]["ja"].pop("on").startswith("20")
    assert later["heard"]["ja"].items() < asked["heard"]["ja"].items()
    assert (
        told("--language", "en")["heard"]
        == told("--adapter", "bot.py:says_nothing_of_passages")["heard"]
        == {}
    )
    assert told("--cache", "off")["heard"] == {}
    kept = cache_folder() / "heard.json"
    kept.write_text(kept.read_text(encoding="utf-8").replace('"20', '"19'), encoding="utf-8")
    assert told()["heard"] == {}
    told("--ask-bot")
    kept.write_text('{"other": 1}', encoding="utf-8")
    assert told()["heard"] == {}
    told("--ask-bot")
    Path("bot.py").write_text(BOT + "# changed", encoding="utf-8")
    assert told()["heard"] == {}


def test_what_doctor_heard_is_remembered(server: OpenAIServer, capsys: pytest.CaptureFixture[str]) -> None:
    """One answer tells whether passages are shown; the forecast says when it was."""
    bot = ("--adapter", "bot.py:answer", "--limit", "4")
    main(["doctor", *bot])
    capsys.readouterr()
    assert main([*bot, "--dry-run"]) == 0
    out = capsys.readouterr().out

    assert re.search(r"ボットは、\d{4}-\d\d-\d\d に 1 問尋ねたときのとおり", out)
    assert "ボットが資料を見せるか" not in out
