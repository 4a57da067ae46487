"""A run within a budget: it stops in time, leaves what it has, and goes on with more."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from simulator import open_run
from simulator.cli.app import main
from simulator.core.types import Ended, Usage
from simulator.models.pricing import Prices
from tests.servers.openai import OpenAIServer, Reply, play

MODELS = {"user": "gpt-4.1-mini", "judge": "gpt-4.1", "embed": "text-embedding-3-small"}
BOT = "def answer(question):\n    return question + 'です。', ['よくある質問']\n"
HERE = ("--adapter", "bot.py:answer", "--cache", "off", "--turns", "2", "--persona", "angry,calm", "--json")


@pytest.fixture
def server(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> OpenAIServer:
    """The fake endpoint, with models that have a price."""
    Path("bot.py").write_text(BOT, encoding="utf-8")
    server.latency = 0.02
    for role, model in MODELS.items():
        monkeypatch.setenv(f"REHEARSAL_{role.upper()}_MODEL", model)
    return server


def rehearse(*arguments: str) -> int:
    """The main job, here."""
    return main([*HERE, *arguments])


def counted(server: OpenAIServer) -> list[Usage]:
    """What the server charges for chat calls from now on, whether or not anyone keeps the answer."""
    told: list[Usage] = []

    def reply(request: dict[str, Any]) -> Reply:
        tokens_in = sum(len(message["content"].encode()) for message in request["messages"]) // 4
        text = play(request)
        tokens_out = len(text.encode()) // 3
        told.append(Usage(model=request["model"], tokens_in=tokens_in, tokens_out=tokens_out))
        return Reply(text, usage={"prompt_tokens": tokens_in, "completion_tokens": tokens_out})

    server.reply = reply
    return told


def test_the_budget_is_not_exceeded_by_calls_in_flight(
    capsys: pytest.CaptureFixture[str], server: OpenAIServer
) -> None:
    """With 40 conversations at once the endpoint has billed no more, and the result so far is a valid one."""
    told, budget = counted(server), 0.2
    code = rehearse("--limit", "20", "--concurrency", "40", "--judging", "separate", "--budget", str(budget))
    out, err = capsys.readouterr()
    shown, cut = json.loads(out), open_run()
    assert main(["report", "latest"]) == 3
    assert "--budget AMOUNT" in capsys.readouterr().out
    billed = sum(Prices().cost_usd(each) or 0.0 for each in told)

    assert code == 3
    assert server.max_in_flight >= 5
    assert 0.7 * budget < billed <= shown["cost_usd"] + 1e-4
    assert shown["cost_usd"] <= budget
    assert "too little is left of the budget of 0.20 USD" in err
    assert "Budget: 0.20 USD, 30 JPY at about 150 JPY per USD. It may not be enough: the run can " in err
    assert cut.run.status == "stopped"
    assert {conversation.ended for conversation in cut.conversations} & {Ended.BUDGET}
    assert cut.scores
    assert Path("runs", shown["run"], "report.html").stat().st_size > 10_000

    assert rehearse("--resume", "latest", "--budget", "9USD") == 0
    assert "It may not be enough" not in capsys.readouterr().err
    done = open_run()
    assert done.run.status == "finished"
    assert all(conversation.ended is not Ended.BUDGET for conversation in done.conversations)
    assert {(s.conversation, s.turn, s.judge) for s in cut.scores} <= {
        (s.conversation, s.turn, s.judge) for s in done.scores
    }
    calls = sum(spent.calls for role, spent in done.spending.items() if role != "embed")
    assert server.counts["chat"] == calls


@pytest.mark.parametrize("cut", ["half", "reset", "json"])
def test_what_broke_off_counts(cut: str, capsys: pytest.CaptureFixture[str], server: OpenAIServer) -> None:
    """It may be billed: with half of the replies cut the budget is kept, and the sum is "at least"."""
    told, budget = counted(server), 0.2
    answered: Any = server.reply
    broken: dict[str, Any] = {
        "half": {"half": True},
        "reset": {"close": True},
        "json": {"body": b'{"choices": [{"message": {"cont', "text": None},
    }

    def reply(request: dict[str, Any]) -> Any:
        whole = answered(request)
        return replace(whole, **broken[cut]) if len(told) % 2 else whole

    server.reply = reply
    code = rehearse("--limit", "20", "--concurrency", "40", "--budget", str(budget))
    out, err = capsys.readouterr()
    billed = sum(Prices().cost_usd(each) or 0.0 for each in told)

    assert code == 3
    assert 0.01 < billed <= budget
    assert re.search(r"too little is left of the budget of 0\.20 USD .*\(at most 0\.\d+ USD paid, and", err)
    shown = json.loads(out)
    assert shown["cost_usd"] is None
    assert 0 < shown["cost_at_least_usd"] < billed
    page = Path("runs", shown["run"], "report.html").read_text(encoding="utf-8")
    assert re.search(r"<td>at least 0\.0\d+</td>", page)


def test_a_small_budget_grades_whole_conversations(
    capsys: pytest.CaptureFixture[str], server: OpenAIServer
) -> None:
    """One after the other, each with all its grades; nothing is begun that it has no room for."""
    told, budget = counted(server), 0.08
    code = rehearse("--limit", "20", "--concurrency", "40", "--budget", str(budget))
    out, err = capsys.readouterr()
    run, shown = open_run(), json.loads(out)
    begun = [conversation for conversation in run.conversations if conversation.turns]
    turns = sum(len(conversation.turns) for conversation in begun)

    assert code == 3
    assert re.search(
        r"too little is left of the budget of 0\.0800 USD for another conversation"
        r" \(0\.0\d+ USD paid, and one costs about 0\.0\d+ USD\); a larger --budget goes on",
        err,
    )
    assert sum(Prices().cost_usd(each) or 0.0 for each in told) <= budget
    assert 2 <= len(begun) < 40
    assert {conversation.ended for conversation in begun} == {Ended.TURN_LIMIT}
    assert sum(score.judge == "turn" and score.state == "scored" for score in run.scores) == turns
    assert shown["cost_usd"] > budget / 3


def test_an_unknown_price_is_refused_before_anything_is_paid(
    capsys: pytest.CaptureFixture[str], server: OpenAIServer
) -> None:
    """One line, exit code 2, no call, no run; a price of one's own mends it; without a budget it runs."""
    asked = ("--limit", "1", "--judge-model", "our-own", "--judges", "fluency")
    assert rehearse(*asked, "--budget", "5") == 2
    error = capsys.readouterr().err.splitlines()[-1]

    assert error.startswith("error: --budget needs the price of our-own (judge)")
    assert '[prices."our-own"]' in error
    assert rehearse(*asked, "--budget", "5", "--dry-run") == 2
    assert capsys.readouterr().err.splitlines()[-1] == error
    assert (server.requests, Path("runs").exists()) == ([], False)
    Path("own.toml").write_text('[prices."our-own"]\ninput = 60\noutput = 240\ncurrency = "JPY"\n')
    assert rehearse(*asked, "--budget", "800円", "--prices", "own.toml") == 0
    known = json.loads(capsys.readouterr().out)
    assert rehearse(*asked) == 0
    unknown = json.loads(capsys.readouterr().out)

    assert known["usage"]["judge"]["our-own"]["cost_usd"] > 0
    assert known["cost_usd"] > 0
    assert unknown["usage"]["judge"]["our-own"]["cost_usd"] is unknown["cost_usd"] is None
    assert unknown["usage"]["user"]["gpt-4.1-mini"]["cost_usd"] > 0


def test_cached_calls_stand_apart_and_cost_nothing(
    capsys: pytest.CaptureFixture[str], server: OpenAIServer
) -> None:
    """By role and model: in the object of `--json`, on the page and in the terminal."""
    for _ in range(2):
        assert rehearse("--language", "ja", "--limit", "1", "--cache", "on") == 0
    out, err = capsys.readouterr()
    shown = json.loads(out.splitlines()[-1])
    run = shown["run"]

    for role, model in MODELS.items():
        ((name, used),) = shown["usage"][role].items()
        assert name == model
        assert used.pop("cached") > 0
        assert used == dict.fromkeys(("calls", "in", "in_cached", "out", "uncounted", "cost_usd"), 0)
    assert re.search(r"gpt-4\.1-mini", err)
    assert "（gpt-4.1-mini）" in Path("runs", run, "report.html").read_text(encoding="utf-8")


def test_tokens_from_the_endpoints_cache_are_priced_and_shown(
    capsys: pytest.CaptureFixture[str], server: OpenAIServer
) -> None:
    """In the object of `--json`; a run that went on still knows them."""

    def half_cached(request: dict[str, Any]) -> Reply:
        counted = {"prompt_tokens": 1000, "completion_tokens": 10}
        return Reply(play(request), usage=counted | {"prompt_tokens_details": {"cached_tokens": 500}})

    server.reply = half_cached
    assert rehearse("--language", "ja", "--limit", "2", "--budget", "0.02") == 3
    assert rehearse("--resume", "latest", "--budget", "5") == 0
    shown = json.loads(capsys.readouterr().out.splitlines()[-1])
    calls, tokens = shown["calls"]["judge"], shown["tokens"]["judge"]
    one = Usage(model=MODELS["judge"], tokens_in=1000, tokens_out=10, tokens_cached=500)

    assert tokens == {"in": 1000 * calls, "in_cached": 500 * calls, "out": 10 * calls}
    [used] = shown["usage"]["judge"].values()
    assert used["in_cached"] == 500 * calls
    assert used["cost_usd"] == pytest.approx(calls * (Prices().cost_usd(one) or 0), abs=1e-5)


@pytest.mark.parametrize(
    "bot",
    [("--adapter", "openai_chat", "--set", "model=gpt-4.1-mini"), ("--adapter", "demo", "--repeats", "2")],
    ids=["a model as the bot", "the demo bot, each repeat asked anew"],
)
def test_calls_in_flight_are_counted_with_those_of_the_bot(
    bot: tuple[str, ...], server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At one host no more than `--calls` are under way, whoever makes them by which key; all are used."""
    monkeypatch.setenv("REHEARSAL_USER_KEY", "another")
    assert rehearse("--limit", "4", "--concurrency", "40", "--judging", "separate", "--calls", "6", *bot) == 0

    assert server.max_in_flight == 6
