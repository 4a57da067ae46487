"""Data sets whose answers are JSON, from the command line to every report."""

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from simulator.cli.app import main
from simulator.storage.run_file import RunFile, find_run, read_run
from tests.servers.openai import serve

FILE = {
    "default": ["em"],
    "method": ["em"],
    "path": [{"name": "rougeL", "threshold": 0.8}, {"name": "meteor", "threshold": 1}],
}
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
RECORDED = ("--adapter", "recorded")


def saved(rows: list[dict[str, Any]] = ROWS, file: object = FILE) -> None:
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    Path("rows.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    Path("metrics.json").write_text(json.dumps(file), encoding="utf-8")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    """Evaluates the rows by the metric file."""

    def command(*more: str) -> tuple[int, str, str]:
        code = main(["evaluate", "rows.jsonl", *RECORDED, "--outputs", "metrics.json", *more])
        return (code, *capsys.readouterr())

    return command


def test_every_view_tells_of_the_outputs(run: Any) -> None:
    """Console, page, Markdown, workbook and JSON, aggregated and row by row; the verdict is the score."""
    from openpyxl import load_workbook

    saved()
    code, out, err = run("--to", "json,markdown,xlsx", "--json")
    shown, folder = json.loads(out), find_run("latest", Path("runs")).parent
    outputs = shown["outputs"]
    book = load_workbook(folder / "report.xlsx", read_only=True)
    cells = [str(cell.value) for sheet in book for row in sheet.iter_rows() for cell in row if cell.value]
    book.close()

    assert (code, shown["score"], shown["red"]) == (0, 0.5, 2)
    assert outputs["passed"] == {"share": 0.5, "interval": [0.15, 0.85], "right": 2, "of": 4}
    assert (outputs["not_extracted"], outputs["extra"]) == ({"json": 1, "key": 1}, {"note": 1})
    assert outputs["outputs"]["path"]["judges"]["rougeL"] == {
        "mean": 0.3333, "stderr": 0.3333, "n": 3, "planned": 3, "failed": 0, "skipped": 0, "not_extracted": 2,
        "threshold": 0.8, "passed": {"share": 0.3333, "interval": [0.0615, 0.7923], "right": 1, "of": 3},
    }  # fmt: skip
    assert shown["judges"]["path.meteor"]["mean"] == pytest.approx(0.1667)
    assert shown["judges"]["limit.em"] | {"failed": 0, "skipped": 2} == shown["judges"]["limit.em"]
    pages = [(folder / name).read_text("utf-8").replace("\\", "") for name in ("report.html", "report.md")]
    for text in (err, *pages):
        assert "出力別の結果" in text
        assert "抽出不可" in text
        assert "50.0%" in text
    assert {"採点：path: ROUGE-L", "出力別の結果：出力ごとの指標：path.meteor (平均 ± 標準誤差)"} <= set(
        cells
    )
    assert any("path: METEOR 0.5/1、path: ROUGE-L 1/1" in cell for cell in cells)
    rows = {row["case"]: row for row in json.loads((folder / "report.json").read_text("utf-8"))["rows"]}
    assert rows["b"]["scores"]["path.rougeL"]["detail"]["not_extracted"] == "key"
    assert rows["a"]["scores"]["path.rougeL"]["detail"]["passed"] is True
    assert "method.em：0（基準 1）" in rows["b"]["reason"]


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


def test_a_finished_run_is_held_against_other_thresholds(
    run: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """`grade --outputs --again`: no answer is asked for again."""
    saved()
    run()
    Path("metrics.json").write_text(json.dumps({"default": [{"name": "rougeL", "threshold": 0}]}), "utf-8")
    code = main(["grade", "latest", "--outputs", "metrics.json", "--again", "--json"])
    shown = json.loads(capsys.readouterr().out)

    assert code == 0
    assert shown["outputs"]["outputs"]["path"]["judges"]["rougeL"]["threshold"] == 0
    assert shown["outputs"]["passed"]["right"] == 2


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
            "rows.jsonl, line 1: its reference is no JSON object; metrics.json has no \"default\" for plain",
        ),
        (
            '{"verb": "GET"}', {"default": ["em"], "method": ["em"]},
            "metrics.json, line 1: no reference has the output 'method'; they have: 'verb'.",
        ),
    ],
)  # fmt: skip
def test_references_are_looked_at_before_anything_is_asked(
    run: Any, reference: str, file: object, told: str
) -> None:
    """By file and line; without --strict the row is left out and counted."""
    saved([{"question": "q", "reference": reference, "answer": "GET"}], file)
    code, _, err = run("--strict")

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
    assert "unknown figure in --target 'path.em'" in err


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


def test_without_thresholds_the_first_judge_decides(run: Any) -> None:
    """There is no verdict on whole rows, and the reports say so."""
    saved(ROWS[3:], {"default": ["rougeL", "chrf"]})
    code, out, err = run("--json")
    shown = json.loads(out)

    assert (code, shown["outputs"]["passed"]) == (0, None)
    assert list(shown["judges"]) == ["default.chrf", "default.rougeL"]
    assert shown["score"] == shown["judges"]["default.chrf"]["mean"]
    assert "基準値がないため" in err
