"""A matrix over HTTP: every cell a run, one table; whatever ends it, it goes on and pays nothing twice."""

import json
import os
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from simulator.cli.app import main
from simulator.lab.matrix.record import NAME, record_ids
from simulator.storage.run_file import read_run, run_ids
from tests.servers.faults import Reply
from tests.servers.openai import OpenAIServer, play
from tests.servers.replies import ChatRequest

FAQ = """id,question,reference
f1,日本の首都は,東京
f2,1+1は,2
f3,空の色は,青
"""
CHAT = "".join(
    json.dumps({"id": f"c{n}", "question": question, "reference": answer, "language": "en"}) + "\n"
    for n, (question, answer) in enumerate((("Capital of Japan?", "Tokyo"), ("1+1?", "2"), ("Sky?", "blue")))
)
PROMPT = """version = "1"
[ja]
user = '''$question {mark}'''
[en]
user = '''$question {mark}'''
"""
RIGHT = {
    "日本の首都は": "東京",
    "1+1は": "2",
    "空の色は": "青",
    "Capital of Japan?": "Tokyo",
    "1+1?": "2",
    "2+2は": "4",
    "火の色は": "赤",
}


class Bots:
    """Answers of the models under test, and the judge's; at the request that was chosen something happens."""

    def __init__(self) -> None:
        self.left = 0
        self.then: Callable[[], None] | None = None

    def __call__(self, request: ChatRequest) -> str | Reply:
        """The large model is right when it is asked strictly, the small one never."""
        self.left -= 1
        if self.left == 0 and self.then:
            self.then()
        if request["model"] == "judge":
            return play(request)
        if request["model"] == "gone":
            return Reply(status=404)
        question, _, how = request["messages"][-1]["content"].rpartition(" ")
        return RIGHT.get(question, "?") if (request["model"], how) == ("large", "strict") else "?"


@pytest.fixture
def server(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> OpenAIServer:
    """The endpoint of all models, and a folder with data and prompts."""
    Path("faq.csv").write_text(FAQ, encoding="utf-8")
    Path("chat.jsonl").write_text(CHAT, encoding="utf-8")
    for name in ("plain", "strict"):
        Path(f"{name}.toml").write_text(PROMPT.format(mark=name), encoding="utf-8")
    server.reply, server.key = Bots(), "key"
    monkeypatch.setenv("REHEARSAL_JUDGE_KEY", "key")
    monkeypatch.setenv("REHEARSAL_JUDGE_MODEL", "judge")
    monkeypatch.setenv("REHEARSAL_BOT_KEY", "key")
    return server


def at_request(server: OpenAIServer, count: int, deed: Callable[[], None]) -> None:
    """Has something happen when the endpoint gets its `count`-th request from now."""
    bots = server.reply
    assert isinstance(bots, Bots)
    bots.then, bots.left = deed, count


def matrix(
    server: OpenAIServer,
    *more: str,
    cases: tuple[str, ...] = ("faq.csv", "chat.jsonl"),
    prompts: tuple[str, ...] = ("plain", "strict"),
    models: tuple[str, ...] = ("small", "large"),
    judge: str = "exact_match",
) -> tuple[str, ...]:
    """The options of a matrix."""
    named = [word for prompt in prompts for word in ("--prompt", f"./{prompt}.toml")]
    named += [word for model in models for word in ("--set", f"model={model}")]
    usual = ("--adapter", "openai_chat", "--set", f"url={server.url}", "--cache", "off", "--judges", judge)
    return *cases, *named, *usual, "--concurrency", "2", *more


def ran(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any], str]:
    """Exit code, JSON and standard error of an evaluation."""
    code = main(["evaluate", *arguments, "--json"])
    out, err = capsys.readouterr()
    return code, json.loads(out) if out else {}, err


def figures(shown: dict[str, Any]) -> dict[tuple[str, Any, Any], Any]:
    """The figures of each cell, without what differs from run to run: names, times, grading by chance."""
    return {
        (data["name"], cell["prompt"], cell["model"]): {
            **{name: cell[name] for name in ("state", "rows", "silent")},
            "judges": cell["judges"],
        }
        for data in shown["data"]
        for cell in data["cells"]
    }


def asked(server: OpenAIServer) -> Counter[str]:
    """How often each very same request was made."""
    return Counter(json.dumps(request.body, sort_keys=True) for request in server.requests)


def test_interrupted_and_resumed_it_comes_to_the_same(
    server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """2 x 2 x 2, Ctrl-C within a cell, --resume: the same figures, no call made twice but those in flight."""
    code, whole, err = ran(capsys, *matrix(server, "--runs", "whole"))
    undisturbed = asked(server)

    assert (code, whole["complete"], len(figures(whole))) == (0, True, 8)
    assert "cell 3 of 8: faq x strict x small\n" in err
    best = next(c for c in whole["data"][0]["cells"] if (c["prompt"], c["model"]) == ("strict", "large"))
    assert best["judges"]["exact_match"]["mean"] == 1
    assert sum(undisturbed.values()) == 8 * 3

    server.requests.clear()
    at_request(server, 14, lambda: os.kill(os.getpid(), signal.SIGINT))
    code, cut, err = ran(capsys, *matrix(server))
    [name] = record_ids(Path("runs"))
    before = len(server.requests)
    assert code == 3
    assert cut["cells"] == {"finished": 4, "open": 4}
    assert err.splitlines()[-1] == (
        f"error: interrupted. Finish it with: python run.py evaluate --resume {name}"
    )

    code, resumed, err = ran(capsys, "--resume", name, "--to", "xlsx,json,markdown")
    assert code == 0
    assert "4 of 8 cells are finished.\n" in err
    assert figures(resumed) == figures(whole)
    assert set(asked(server)) == set(undisturbed)
    assert sum(asked(server).values()) - sum(undisturbed.values()) <= 2, "those in flight"
    assert len(server.requests) - before < 18
    assert len(run_ids(Path("runs"))) == 8
    folder = Path("runs", name)
    reports = {f"report.{suffix}" for suffix in ("html", "md", "json", "xlsx")}
    assert {path.name for path in folder.iterdir()} == {NAME, "run.lock", *reports}
    assert json.loads((folder / "report.json").read_text(encoding="utf-8"))["matrix"] == name
    [sheet] = openpyxl.load_workbook(folder / "report.xlsx").worksheets
    assert sheet.max_row == 9
    assert main(["evaluate", "--resume", name, "--to", "csv"]) == 2
    assert "unknown report of a matrix: 'csv'." in capsys.readouterr().err
    # In the language of the terminal, although most rows are Japanese.
    assert (folder / "report.md").read_text(encoding="utf-8").startswith("## Comparison")
    assert all((Path("runs") / each / "report.html").is_file() for each in run_ids(Path("runs")))

    server.requests.clear()
    assert ran(capsys, "--resume", "latest")[0] == 0
    assert server.requests == []


def test_a_cell_with_a_mistake_stops_no_other(
    server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """Told at the end with exit code 3; a model that never answers is tried anew, what is finished is not."""
    wrong = matrix(server, cases=("faq.csv",), prompts=("plain", "strct"), models=("large", "gone"))
    code, shown, err = ran(capsys, *wrong)

    assert code == 3
    assert shown["cells"] == {"finished": 1, "failed": 3}
    errors = {(cell["prompt"], cell["model"]): cell["error"] for cell in shown["data"][0]["cells"]}
    assert "strct.toml" in errors["strct", "large"]
    assert errors["plain", "gone"].startswith("not one answer: ")
    assert errors["plain", "large"] == ""
    assert "error: 3 of 4 cells are not finished. Finish it with: " in err

    server.requests.clear()
    Path("strct.toml").write_text(PROMPT.format(mark="strict"), encoding="utf-8")
    code, shown, _ = ran(capsys, "--resume", shown["matrix"])
    assert (code, shown["cells"]) == (3, {"finished": 2, "failed": 2})
    assert {request.body["model"] for request in server.requests} == {"large", "gone"}


def test_where_nothing_can_work_nothing_is_left(
    server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2 and one line, and no folder of a matrix that never was."""
    code = main(["evaluate", "faq.csv", "none.csv", "--prompt", "missing", "--adapter", "openai_chat",
                 "--set", "model=a", "--set", "model=b", "--set", f"url={server.url}"])  # fmt: skip
    out, err = capsys.readouterr()

    assert (code, out) == (2, "")
    assert err.splitlines()[-1].startswith("error: ")
    assert "missing" in err.splitlines()[-1]
    assert (record_ids(Path("runs")), run_ids(Path("runs"))) == ([], [])


def test_the_budget_is_for_all_cells(server: OpenAIServer, capsys: pytest.CaptureFixture[str]) -> None:
    """It stops where all cells together have spent it, says how to go on, and a larger one finishes."""
    prices = "[prices.judge]\ninput = 100\noutput = 100\n"
    Path("rehearsal.toml").write_text(prices, encoding="utf-8")
    options = matrix(server, "--budget", "1.2", "--calls", "1", prompts=("plain",), judge="fluency")
    code, shown, err = ran(capsys, *options, "--concurrency", "1")
    finished = shown["cells"]["finished"]

    assert code == 3
    assert 0 < finished < 4
    assert 0 < shown["cost_usd"] <= 1.2
    spent = shown["cost_usd"]
    assert err.splitlines()[-1].startswith("error: ")
    assert "a larger --budget goes on" in err.splitlines()[-1]

    code, shown, _ = ran(capsys, "--resume", shown["matrix"], "--budget", "9")
    assert (code, shown["complete"]) == (0, True)
    assert shown["cost_usd"] > spent


def test_the_forecast_is_that_of_the_whole(server: OpenAIServer, capsys: pytest.CaptureFixture[str]) -> None:
    """--dry-run adds up all cells, and starts and leaves nothing."""
    code, shown, _ = ran(capsys, *matrix(server, "--dry-run", judge="fluency"))
    one = ran(capsys, "faq.csv", "--judges", "fluency", "--adapter", "openai_chat", "--set", "model=small",
              "--dry-run")[1]  # fmt: skip

    # It needs a prompt, and each cell has one.
    assert ran(capsys, *matrix(server, "--dry-run", "--choosing", "likelihood"))[0] == 0
    assert code == 0
    assert shown["forecast"]["judge"]["calls"] == 8 * 6  # and as many for causes, if all are red
    assert one["forecast"]["judge"]["calls"] == 6
    assert (server.requests, Path("runs").exists()) == ([], False)


def test_every_cell_has_to_reach_the_target(server: OpenAIServer, capsys: pytest.CaptureFixture[str]) -> None:
    """Its JSON has all cells in order, and runs tell their cell."""
    more = "".join(f"f{n},{question},{RIGHT[question]}\n" for n, question in ((4, "2+2は"), (5, "火の色は")))
    Path("faq.csv").write_text(FAQ + more, encoding="utf-8")
    code, shown, _ = ran(capsys, *matrix(server, "--target", "50"))

    assert code == 1, "not every cell reaches the target"
    assert [data["name"] for data in shown["data"]] == ["faq", "chat"]
    assert [(cell["prompt"], cell["model"]) for cell in shown["data"][0]["cells"]] == [
        ("plain", "small"), ("plain", "large"), ("strict", "small"), ("strict", "large"),
    ]  # fmt: skip
    assert any("-faq-strict-large-" in name for name in run_ids(Path("runs")))
    assert [c["passed"] for c in shown["data"][0]["cells"]] == [False, False, False, True]
    run = read_run(Path("runs", shown["data"][0]["cells"][3]["run"], "run.sqlite")).run
    assert (run.settings["cases"], run.settings["prompt"]) == ("faq.csv", "./strict.toml")
