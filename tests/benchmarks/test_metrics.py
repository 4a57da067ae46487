"""The bench of the text metrics: its answers are realistic, and its lines say what it found."""

import json
from pathlib import Path

import pytest

from benchmarks import metric_speed
from benchmarks.metric_rows import japanese
from benchmarks.metrics import agrees, line, reached


@pytest.mark.parametrize("metric", ["exact_match", "rouge_l"])
def test_ours_is_measured_three_ways(metric: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As a function, as a judge, and as a run calls it; the values are there to be compared."""
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in japanese(5)), encoding="utf-8")
    metric_speed.main(["ours", metric, "cjk-char", str(file)])
    found = json.loads(capsys.readouterr().out)

    assert len(found["values"]) == 5
    assert min(found[way] for way in ("speed", "judge", "run")) > 0
    assert 0 < found["rows_memory"] <= found["memory"] <= found["run_memory"]


def test_a_line_counts_the_rows_on_which_both_agree(capsys: pytest.CaptureFixture[str]) -> None:
    """One that differs is told, and so is a metric that is too slow by any way."""
    values = {"values": [0.5, 1.0], "memory": 40.0, "run_memory": 47.0}
    ours = values | {"speed": 40_000.0, "judge": 25_000.0, "run": 15_000.0}
    peer = {"name": "rouge_score 0.1.2", "speed": 2_000.0, "memory": 80.0, "values": [0.5 + 1e-12, 0.9]}
    shown = line("rouge_l", ours, peer)

    assert shown.endswith("| 47 | rouge_score 0.1.2 | 2,000 | 80 | 20.0 | 1 of 2 |")
    assert line("rouge_l", ours, {}).endswith("| 47 | not installed | - | - | - | - |")
    assert not agrees((ours, peer))
    assert list(reached({"rouge_l": (ours, peer), "exact_match": (ours, {})})) == ["exact_match"]
    assert "exact_match: 15,000 rows/s by the slowest way, 20,000 wanted: MISSED" in capsys.readouterr().out
