"""`compare A B`: two runs side by side, from the command line."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.commands import Command, Done
from tests.lab.compare.compare_runs import (
    LONG,
    SHORT,
    a_conversation,
    a_run,
    answers_of,
    judge,
    prefers_first,
    prefers_longer,
    two_runs,
)
from tests.servers.faults import Reply
from tests.servers.openai import OpenAIServer

Compare = Callable[..., Done]


@pytest.fixture
def compare(command: Command) -> Compare:
    """Runs the command in this process."""

    def run(*arguments: str, code: int = 0) -> Done:
        done = command("compare", *arguments)
        assert done.code == code, done.err
        return done

    return run


def test_a_judge_that_always_prefers_the_first_is_unmasked(compare: Compare, server: OpenAIServer) -> None:
    """All ties, position bias 100 %, and a sentence not to rely on it."""
    runs = two_runs()
    server.reply = judge(prefers_first)
    done = compare(*runs, "--json", "--cache", "off")
    result = done.json

    assert len(server.requests) == 2 * result["pairs"] == 16
    assert result["duels"][0]["ties"] == 8
    assert result["duels"][0]["share"]["value"] == 0.5
    assert result["position"]["first"]["value"] == 1.0
    assert result["position"]["disagreed"]["value"] == 1.0
    assert "順番に強く左右されています" in done.err


def test_a_judge_that_prefers_one_run_is_not_swayed_by_order(compare: Compare, server: OpenAIServer) -> None:
    """B wins everything, and position is not to blame."""
    runs = two_runs()
    server.reply = judge(prefers_longer)
    done = compare(*runs, "--cache", "off", "--json")
    result = done.json

    assert (result["duels"][0]["wins_b"], result["duels"][0]["lead"]) == (8, "b")
    assert result["position"]["first"]["value"] == 0.5
    assert result["position"]["disagreed"]["value"] == 0.0
    assert "B のほうが良いと言えます" in done.err
    assert "決め手は" in done.err


def test_a_strict_schema_is_asked_for_and_answers_come_in_both_orders(
    compare: Compare, server: OpenAIServer
) -> None:
    """Each pair once in either order, without the names of the runs."""
    runs = two_runs(2, "en")
    server.reply = judge(prefers_longer)
    compare(*runs, "--cache", "off")
    bodies: list[Any] = [request.body for request in server.requests]
    shown = [answers_of(body) for body in bodies]

    assert sorted(shown) == sorted([(SHORT["en"], LONG["en"]), (LONG["en"], SHORT["en"])] * 2)
    assert all(body["response_format"]["json_schema"]["strict"] for body in bodies)
    assert not any(run in json.dumps(body) for body in bodies for run in runs)


def test_what_was_judged_is_not_paid_for_again(compare: Compare, server: OpenAIServer) -> None:
    """Kept in the response cache; a repeat asks nothing, another model everything."""
    runs = two_runs()
    server.reply = judge(prefers_longer)
    first = compare(*runs, "--json").json
    assert len(server.requests) == 16
    server.requests.clear()
    again = compare(*runs, "--json").json
    assert server.requests == []
    turned = compare(*reversed(runs), "--json").json
    assert server.requests == []
    compare(*runs, "--judge-model", "another")
    assert len(server.requests) == 16

    assert again["outcomes"] == first["outcomes"]
    assert turned["duels"][0]["wins_a"] == first["duels"][0]["wins_b"]


def test_a_spent_budget_ends_early_and_the_next_sitting_goes_on(
    compare: Compare, server: OpenAIServer
) -> None:
    """Exit code 3, with what arrived kept."""
    runs = two_runs()
    server.reply = judge(prefers_longer)
    priced = ("--judge-model", "gpt-4.1", "--calls", "1")
    done = compare(*runs, *priced, "--budget", "0.04", code=3)
    paid = len(server.requests)
    compare(*runs, *priced)

    assert "What is done so far is in the response cache: run the same command again to continue" in done.err
    assert 0 < paid < 16
    assert len(server.requests) == 16


def test_failed_verdicts_are_counted_apart(compare: Compare, server: OpenAIServer) -> None:
    """Exit code 3 above 5 %; a failure is neither a tie nor a loss, and is tried again."""
    runs = two_runs(4)
    longer = judge(prefers_longer)

    def reply(body: Any) -> Any:
        refuses = "(c0)" in json.dumps(body, ensure_ascii=False)
        return Reply(status=400, text="no") if refuses else longer(body)

    server.reply = reply
    done = compare(*runs, "--cache", "off", "--json", code=3)
    result = done.json

    assert (result["failed"], result["duels"][0]["wins_b"], result["duels"][0]["ties"]) == (1, 3, 0)
    assert "1 of 4 failed" in done.err
    assert "採点の失敗" in done.err


def test_what_cannot_be_compared_is_counted_with_a_hint(compare: Compare, server: OpenAIServer) -> None:
    """Later turns of customers who said something else, and conversations without a partner."""
    one = [a_conversation("x", ["1", "2"], asks=("mine",)), a_conversation("y", ["1"])]
    two = [a_conversation("x", ["3", "4"], asks=("theirs",))]
    server.reply = judge(prefers_longer)
    done = compare(a_run("1-a", one), a_run("2-b", two))

    assert "お客様の言葉が違う1組、片方にしかない1組" in done.out
    assert "--replay 1-a" in done.out


def test_wrong_input_is_told_in_one_line(compare: Compare) -> None:
    """Too few runs, one twice, nothing in common, no model: exit code 2."""
    a, b = two_runs(2)
    other = a_run("3-c", [a_conversation("elsewhere", ["1"])])

    assert "compare takes two runs, and was given 1" in compare(a, code=2).err
    assert f"run {a} is named twice" in compare(a, a, code=2).err
    assert f"--replay {a}" in compare(a, other, code=2).err
    assert "no run 'nothing'" in compare(a, "nothing", code=2).err
    assert "compare needs a model as judge" in compare(a, b, code=2).err


@pytest.mark.parametrize(("language", "said"), [("ja", "はっきり勝った例"), ("en", "Clear wins of B")])
def test_it_is_written_as_a_page(compare: Compare, server: OpenAIServer, language: Any, said: str) -> None:
    """In the language of the questions; what bots said runs nothing and fetches nothing."""
    hostile = "<script>alert(1)</script> <img src=x onerror=alert(1)>"
    runs = (
        a_run("1", [a_conversation("c9", [hostile], language=language)]),
        a_run("2", [a_conversation("c9", [LONG[language]], language=language)]),
    )
    server.reply = judge(lambda one, _two: "2" if "<script>" in one else "1")
    done = compare(*runs, "--html", "pairs.html")
    page = Path("pairs.html").read_text(encoding="utf-8")

    assert "pairs.html" in done.err
    assert [mark in page for mark in (said, f'<html lang="{language}">', "&lt;script&gt;")] == [True] * 3
    assert [mark in page for mark in ("<script", "<img")] == [False] * 2
