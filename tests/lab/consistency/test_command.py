"""`consistency RUN`, from the command line, by a model over HTTP."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from simulator.cli.app import main
from tests.commands import held_once
from tests.servers.openai import OpenAIServer
from tests.servers.replies import ChatRequest

BOT = """
import itertools
OPEN = itertools.cycle(("受付は9時から18時までです。", "24時間いつでもどうぞ。"))


def answer(query):
    return next(OPEN)
"""
ARGUMENTS = (
    *("--offline", "--persona", "calm", "--turns", "1", "--judges", "turn", "--cases", "cases.jsonl"),
    *("--adapter", "hours.py:answer", "--repeats", "3", "--concurrency", "1"),
)


def judge_of_hours(request: ChatRequest) -> str:
    """A model that sees that the desk is not always open if it closes at 18:00."""
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


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of a bot that tells two of three customers 9 to 18, and one 24 hours."""
    case = json.dumps({"id": "hours", "question": "受付は何時まで", "language": "ja"}) + "\n"
    return held_once(tmp_path_factory, ARGUMENTS, files={"hours.py": BOT, "cases.jsonl": case})


@pytest.fixture(autouse=True)
def run(held: Path) -> None:
    """That run, where the test stands."""
    shutil.copytree(held, Path(), dirs_exist_ok=True)


def output(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[str, Any]:
    """What the command says as JSON, on which it ends with this code."""
    assert main(("consistency", "latest", "--json", *arguments)) == code
    body: dict[str, Any] = json.loads(capsys.readouterr().out)
    return body


def test_without_a_model_nothing_is_compared(capsys: pytest.CaptureFixture[str]) -> None:
    """One line says so."""
    assert main(("consistency", "latest", "--offline", "--json")) == 0
    out, err = capsys.readouterr()

    assert "nothing is compared" in err
    assert json.loads(out)["consistency"]["disagreements"] == []


def test_a_judge_compares_what_customers_were_told(
    capsys: pytest.CaptureFixture[str], server: OpenAIServer
) -> None:
    """One call, paid for once, and forecast."""
    server.reply = judge_of_hours
    forecast = output(capsys, "--dry-run")["forecast"]
    body = output(capsys, "--cache", "off")["consistency"]
    asked = len(server.requests)

    assert output(capsys, "--cache", "off")["consistency"] == body
    assert output(capsys, "--offline")["consistency"] == body
    assert (len(server.requests), forecast["judge"]["calls"]) == (asked, 1)
    assert (len(body["judged_by"]), body["share"]) == (1, pytest.approx(1 / 3))
    [one, other] = body["disagreements"]
    assert one["reason"] == other["reason"] == "9時から18時／24時間"
    main(("consistency", "latest", "--offline"))
    assert "24時間いつでもどうぞ。" in capsys.readouterr().out


def test_a_judge_that_fails_is_exit_code_3(capsys: pytest.CaptureFixture[str], server: OpenAIServer) -> None:
    """Nothing is kept of it, and the same command asks again."""
    server.reply = lambda _request: "no JSON here"
    assert output(capsys, "--cache", "off", code=3)["consistency"]["share"] is None
    server.reply = judge_of_hours

    assert output(capsys, "--cache", "off")["consistency"]["share"] == pytest.approx(1 / 3)
