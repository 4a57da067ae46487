"""`cross-examine RUN`, from the command line, by models over HTTP."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from simulator import open_run
from simulator.cli.app import main
from tests.commands import held_once
from tests.servers.openai import OpenAIServer
from tests.servers.replies import ChatRequest, text_of

# A desk that tells one fee, and another one as soon as somebody asks again.
BOT = """
FEES = {
    "ja": ("解約金は9,500円です。", "解約金は8,000円です。"),
    "en": ("The fee is 9,500 yen.", "The fee is 8,000 yen."),
}


def answer(query):
    first, later = FEES[query.language]
    if "受付" in str(query.history) + query.text:
        return "受付は平日の9:00から18:00までです。"
    return later if query.history else first
"""
CASES = (
    '{"id": "fee-ja", "question": "解約金はいくらですか", "language": "ja"}\n'
    '{"id": "hours-ja", "question": "受付の時間を教えてください", "language": "ja"}\n'
    '{"id": "fee-en", "question": "What is the cancellation fee?", "language": "en"}\n'
)
CALM = ("--persona", "calm", "--turns", "1", "--judges", "turn", "--cases", "cases.jsonl")
ARGUMENTS = (*CALM, "--adapter", "bot.py:answer")


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of a bot that contradicts itself about one thing; without evidence nobody grades it."""
    return held_once(tmp_path_factory, ("--offline", *ARGUMENTS), files={"bot.py": BOT, "cases.jsonl": CASES})


@pytest.fixture(autouse=True)
def run(held: Path) -> None:
    """That run, where the test stands."""
    shutil.copytree(held, Path(), dirs_exist_ok=True)


def output(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[str, Any]:
    """What the command says as JSON, on which it ends with this code."""
    assert main(("cross-examine", "latest", "--json", *arguments)) == code
    body: dict[str, Any] = json.loads(capsys.readouterr().out)
    return body


def test_without_a_model_nothing_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    """One line says so."""
    assert main(("cross-examine", "latest", "--offline", "--json")) == 0
    out, err = capsys.readouterr()

    assert "nothing is asked" in err
    assert json.loads(out)["examined"]["turns"] == 0
    assert json.loads(out)["consistency"]["disagreements"] == []


def examiner(request: ChatRequest) -> str:
    """A model that asks once about the whole answer, and compares by the fee; in English it invents."""
    said = text_of(request["messages"][-1])
    answer = re.search(r"<answer \w+>\n(.*?)\n</answer", said, re.DOTALL)
    first = answer[1] if answer else ""
    later = re.search(r"<later \w+>\n(.*?)\n</later", said, re.DOTALL)
    if later is None:
        asked = {"claim": first, "question": "それは確かですか。"}
        invented = {"claim": "解約金は無料です。", "question": "無料ですか。"}
        return json.dumps({"thoughts": "-", "questions": [asked, invented]}, ensure_ascii=False)
    reply = {
        "reasoning": "比べました。",
        "first_quote": first,
        "later_quote": later[1],
        "verdict": "consistent",
    }
    if "8,000" in later[1]:
        reply["verdict"] = "contradicts"
    if "The fee" in first:
        reply["later_quote"] = "It is free."
    return json.dumps(reply, ensure_ascii=False)


def test_models_ask_and_compare_over_http(capsys: pytest.CaptureFixture[str], server: OpenAIServer) -> None:
    """What rests on words nobody said is dropped or not counted; each answer is paid for once."""
    Path("mended.py").write_text(BOT.replace("8,000", "9,500"), encoding="utf-8")
    server.reply = examiner
    assert output(capsys, "--cache", "off", "--limit", "1")["examined"]["turns"] == 1
    body = output(capsys, "--cache", "off")
    asked = len(server.requests)
    again = output(capsys, "--cache", "off")

    assert len(server.requests) == asked == 6
    assert again == body
    spent = open_run().spending
    assert main(("cross-examine", "latest", "--cache", "off")) == 0
    said = capsys.readouterr().out
    mended = output(capsys, "--cache", "off", "--again", "--adapter", "mended.py:answer")
    found = {c["conversation"]: c["verdict"]["outcome"] for c in body["examined"]["crossings"]}
    assert found == {
        "calm/fee-ja#1": "contradicts",
        "calm/hours-ja#1": "consistent",
        "calm/fee-en#1": "unproven",
    }
    assert (spent["user"].calls, spent["judge"].calls) == (3, 3)
    assert "矛盾：calm/fee-ja#1 1回目" in said
    assert "後の回答：解約金は8,000円です。" in said
    assert mended["examined"]["outcomes"]["contradicts"] == 0


def test_a_model_that_fails_costs_its_turn_and_the_rest_is_kept(
    capsys: pytest.CaptureFixture[str], server: OpenAIServer
) -> None:
    """Exit 3, one line, and the same command goes on where it stopped."""

    def failing(request: ChatRequest) -> str:
        about_hours = any("9:00" in text_of(message) for message in request["messages"])
        return "no JSON here" if about_hours else examiner(request)

    server.reply = failing
    body = output(capsys, "--cache", "off", code=3)
    server.requests.clear()
    server.reply = examiner
    after = output(capsys, "--cache", "off")

    assert body["examined"]["turns"] == 2
    assert after["examined"]["turns"] == 3
    assert len(server.requests) == 2


def test_a_bot_that_fails_is_counted_apart(capsys: pytest.CaptureFixture[str], server: OpenAIServer) -> None:
    """No answer to a follow-up question is no contradiction."""
    Path("down.py").write_text("def answer(query):\n    raise RuntimeError('down')\n", encoding="utf-8")
    server.reply = examiner
    body = output(capsys, "--adapter", "down.py:answer")

    assert body["examined"]["outcomes"]["no_answer"] == 3
    assert body["examined"]["outcomes"]["contradicts"] == 0


HOURS_BOT = """
import itertools
OPEN = itertools.cycle(("受付は9時から18時までです。", "24時間いつでもどうぞ。"))


def answer(query):
    return next(OPEN)
"""


def judge_of_hours(request: ChatRequest) -> str:
    """A model that asks no questions, and sees that the desk is not always open if it closes at 18:00."""
    if "contradictions" not in json.dumps(request["messages"]):
        return json.dumps({"thoughts": "-", "questions": []})
    said = request["messages"][1]["content"].split("<desk-2 ")
    verdict = {
        "requests": [{"request": "受付時間", "turn": 1, "state": "not", "by": 0}],
        "lapses": [
            {
                "turn": 2,
                "quote": "24時間いつでも" if "24時間いつでも" in said[-1] else "9時から18時",
                "earlier": 1,
                "what": "9時から18時／24時間",
                "kind": "contradictions",
            }
        ],
        "conclusion": "食い違っている。",
        "resolved": 0,
    }
    return json.dumps(verdict, ensure_ascii=False)


def test_a_judge_compares_what_customers_were_told(
    capsys: pytest.CaptureFixture[str], server: OpenAIServer
) -> None:
    """9 to 18 and 24 hours (two of three customers); one call, once."""
    Path("hours.py").write_text(HOURS_BOT, encoding="utf-8")
    Path("cases.jsonl").write_text(
        '{"id": "hours", "question": "受付は何時まで", "language": "ja"}\n', "utf-8"
    )
    repeated = ("--adapter", "hours.py:answer", "--repeats", "3", "--concurrency", "1")
    assert main(("--offline", *CALM, *repeated)) == 0
    capsys.readouterr()
    assert output(capsys, "--offline")["consistency"]["disagreements"] == []

    server.reply = judge_of_hours
    forecast = output(capsys, "--dry-run")["forecast"]
    body = output(capsys, "--cache", "off")["consistency"]
    asked = len(server.requests)
    again = output(capsys, "--cache", "off")["consistency"]

    assert len(server.requests) == asked
    assert again == body == output(capsys, "--offline")["consistency"]
    assert (len(body["judged_by"]), body["share"]) == (1, pytest.approx(1 / 3))
    [one, other] = body["disagreements"]
    assert one["reason"] == other["reason"] == "9時から18時／24時間"
    assert forecast["judge"]["calls"] >= 1
    main(("cross-examine", "latest", "--offline"))
    assert "24時間いつでもどうぞ。" in capsys.readouterr().out
