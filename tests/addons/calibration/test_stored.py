"""Calibrations as they are kept."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from simulator.core.errors import InputError
from simulator.stats import judge_trust
from simulator.stats.judge_trust import Calibration, calibration_for, save_calibration


def a_calibration(**changes: Any) -> Calibration:
    """Groundedness on a shop's answers."""
    known: dict[str, Any] = {
        "judge": "groundedness",
        "label": "faithfulness",
        "dataset": "shop",
        "n": 222,
        "rubric": "abc",
        "model": "gpt-4.1",
        "language": "en",
        "good": "faithfulness >= 3.5",
        "date": date(2026, 11, 21),
        "file": "labels.jsonl",
        "sha256": "0",
        "figures": {"auroc": 0.89, "intervals": {"auroc": [0.84, 0.93]}},
    }
    return Calibration(**known | changes)


def test_the_figure_that_says_most() -> None:
    """AUROC where there is one, otherwise rho."""
    only_rho = {"auroc": None, "spearman": {"value": -0.001, "low": None, "high": None}}

    assert a_calibration().headline == ("AUROC", 0.89, 0.84, 0.93)
    assert a_calibration(figures=only_rho).headline == ("rho", -0.001, None, None)


def test_it_holds_for_one_rubric_only(tmp_path: Path) -> None:
    """Another prompt or model, mixed ones, or grades by rule alone have no calibration."""
    kept = a_calibration()
    path = save_calibration(kept, tmp_path)

    assert path == tmp_path / "groundedness-faithfulness-shop.json"
    assert judge_trust.read_calibration(path) == kept
    assert calibration_for("groundedness", {"abc", ""}, folder=tmp_path) == kept
    for judge, rubrics in (("groundedness", {"xyz"}), ("groundedness", {"abc", "xyz"}), ("turn", {"abc"})):
        assert calibration_for(judge, rubrics, folder=tmp_path) is None
    assert calibration_for("groundedness", {""}, folder=tmp_path) is None
    assert calibration_for("groundedness", {"abc"}, folder=tmp_path / "none") is None


def test_the_language_of_the_run_goes_first(tmp_path: Path) -> None:
    """Then the larger one; what is no calibration vouches for nothing."""
    save_calibration(a_calibration(), tmp_path)
    save_calibration(a_calibration(dataset="big", n=900), tmp_path)
    save_calibration(a_calibration(dataset="ja", n=30, language="ja"), tmp_path)
    (tmp_path / "other.json").write_text("[1]", encoding="utf-8")
    found = [calibration_for("groundedness", {"abc"}, each, tmp_path) for each in ("ja", None)]

    assert [each and each.dataset for each in found] == ["ja", "big"]


def test_names_are_no_paths(tmp_path: Path) -> None:
    """A data set called like a path stays within the folder."""
    path = save_calibration(a_calibration(dataset="../../etc/x y"), tmp_path)

    assert path.parent == tmp_path
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    """A missing file, and one of another kind."""
    (tmp_path / "x.json").write_text("{}", encoding="utf-8")

    with pytest.raises(InputError, match="cannot be read"):
        judge_trust.read_calibration(tmp_path / "none.json")
    with pytest.raises(InputError, match="not a calibration; make one with: calibrate FILE"):
        judge_trust.read_calibration(tmp_path / "x.json")
