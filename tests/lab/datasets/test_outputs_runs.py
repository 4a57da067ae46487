"""Data sets whose answers are JSON, from the command line to every report."""

import contextlib
import json
import sqlite3
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from simulator.cli.app import main
from simulator.storage.run_file import RunFile, find_run, read_run
from tests.commands import Command
from tests.lab.datasets.test_outputs_judging import FILE
from tests.run_helpers import RECORDED
from tests.servers.openai import serve

ROWS: list[dict[str, Any]] = [
    {
        "id": "a", "question": "天気は？", "reference": '{"method": "GET", "path": "/weather", "limit": 10}',
        "answer": 'はい。\n```json\n{"method": "get", "path": "/weather", "limit": 10.0}\n```',
    },
    {
        "id": "b", "question": "削除は？",
        "reference": '{"method": "DELETE", "path": "/items/1", "limit": 1000}',
        "answer": '{"method": "POST", "limit": "１，０００", "note": "x"}',
    },
    {"id": "c", "question": "更新", "reference": '{"method": "PUT", "path": "/items"}', "answer": "不明"},
    {"id": "d", "question": "挨拶は？", "reference": "こんにちは。", "answer": "こんにちは"},
]  # fmt: skip


def saved(rows: list[dict[str, Any]] = ROWS, file: object = FILE) -> None:
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    Path("rows.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    Path("metrics.json").write_text(json.dumps(file), encoding="utf-8")


@pytest.fixture
def run(command: Command) -> Any:
    """Evaluates the rows by the metric file."""
    return partial(command, *RECORDED, "--outputs", "metrics.json")


def test_a_half_graded_row_is_taken_up_again(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """What is missing is graded on resume, and nothing else."""
    saved()
    assert run()[0] == 0
    path = find_run("latest", Path("runs"))
    gone = "DELETE FROM scores WHERE conversation = 'scripted/a#1' AND judge IN ('passed', 'path.meteor')"
    with contextlib.closing(sqlite3.connect(path)) as file, file:
        file.execute(gone)
    with contextlib.closing(RunFile.reopen(path)) as opened:
        opened.finish("interrupted", 1)
    before = {score.judge for score in read_run(path).scores if score.conversation == "scripted/a#1"}
    assert main(["evaluate", "--resume", "latest"]) == 0
    after = {score.judge for score in read_run(path).scores if score.conversation == "scripted/a#1"}

    assert before == {"method.em", "path.rougeL", "limit.em"}
    assert after == before | {"passed", "path.meteor"}


@pytest.mark.parametrize(
    ("reference", "file", "told"),
    [
        ('{"method": "GET", }', FILE, "rows.jsonl, line 1: its reference begins like a JSON object"),
        (
            '{"verb": "GET"}', {"method": ["em"]},
            "rows.jsonl, line 1: its reference has none of the outputs that metrics.json names ('method').",
        ),
        (
            "GET", {"method": ["em"]},
            "rows.jsonl, line 1: its reference answer is not a JSON object; metrics.json has no \"default\"",
        ),
        (
            json.dumps(dict.fromkeys("abcdefghi", 1)), {"default": ["em"], "method": ["em"]},
            "metrics.json: no reference has the output 'method';"
            " they have: 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h' and 1 more.",
        ),
    ],
)  # fmt: skip
def test_references_are_looked_at_before_anything_is_asked(
    run: Any, reference: str, file: object, told: str
) -> None:
    """By file and line."""
    saved([{"question": "q", "reference": reference, "answer": "GET"}], file)
    code, _, err = run()

    assert code == 2
    assert told in err
    assert not Path("runs").exists()


def test_a_target_about_an_unknown_output_is_refused(run: Any) -> None:
    """Before the first answer; judges of unnamed outputs may be asked of any output."""
    saved()
    known = "passed >= 0.5 and method.em >= 0.3 and other.em >= 0.2"
    assert run("--dry-run", "--offline", "--target", known)[0] == 0
    code, _, err = run("--target", "path.em >= 0.5")

    assert code == 2
    assert "unknown figure in --target: 'path.em'" in err


def test_the_forecast_knows_every_call(monkeypatch: pytest.MonkeyPatch, run: Any) -> None:
    """One for each output that a model judges; the run then makes no more of them."""
    file = {"default": ["gpt_similarity"], "path": ["gpt_correctness", "cosine_similarity"]}
    saved(ROWS[:2], file)
    with serve() as server:
        monkeypatch.setenv("REHEARSAL_JUDGE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
        _, planned, _ = run("--dry-run", "--json")
        _, out, _ = run("--json")
        chats = server.counts["chat"]

    assert json.loads(planned)["forecast"]["judge"]["calls"] == 6
    assert json.loads(out)["calls"] == {"judge": chats, "embed": 1}
    assert chats == 5  # one row has no path in its answer, which takes no judge


def test_json_counts_what_passed(run: Any) -> None:
    """Rows as a whole and output by output, and what was not extracted."""
    saved()
    shown = json.loads(run("--json")[1])["outputs"]
    passed = {
        name: (each["passed"]["right"], each["passed"]["of"]) for name, each in shown["outputs"].items()
    }

    assert passed == {"default": (1, 1), "limit": (2, 2), "method": (1, 3), "path": (1, 3)}
    assert (shown["passed"]["right"], shown["passed"]["of"], shown["failed"]) == (2, 4, 0)
    assert shown["not_extracted"] == {"json": 1, "key": 1}


def test_without_thresholds_the_first_judge_decides(run: Any) -> None:
    """There is no verdict on whole rows, and the reports say so."""
    saved(ROWS[3:], {"default": ["rougeL", "chrf"]})
    code, out, err = run("--json")
    shown = json.loads(out)

    assert (code, shown["outputs"]["passed"]) == (0, None)
    assert list(shown["judges"]) == ["default.chrf", "default.rougeL"]
    assert shown["score"] == shown["judges"]["default.chrf"]["mean"]
    assert "基準値がないため" in err
