"""The bench of the text metrics: its answers are realistic, and its lines say what it found."""

import pytest

from benchmarks.metrics import agrees, line, reached


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
