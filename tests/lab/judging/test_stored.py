"""Calibrations as they are kept."""

from pathlib import Path

from simulator.lab.judging.stored import Calibration, bias_for, calibration_for, save_bias
from simulator.results.judge_records import save_record, stored
from tests.lab.judging.test_trust import a_bias, a_calibration

SHOP = {"dataset": "shop", "rubric": "abc", "model": "gpt-4.1"}


def test_it_holds_for_one_rubric_only(tmp_path: Path) -> None:
    """Another prompt or model, mixed ones, or grades by rule alone have no calibration."""
    kept = a_calibration(**SHOP)
    path = save_record(kept, tmp_path)

    assert path == tmp_path / "groundedness-faithfulness-shop-abc-gpt-4.1.json"
    assert list(stored(Calibration, tmp_path)) == [kept]
    assert calibration_for("groundedness", {"abc", ""}, folder=tmp_path) == kept
    for judge, rubrics in (("groundedness", {"xyz"}), ("groundedness", {"abc", "xyz"}), ("turn", {"abc"})):
        assert calibration_for(judge, rubrics, folder=tmp_path) is None
    assert calibration_for("groundedness", {""}, folder=tmp_path) is None
    assert calibration_for("groundedness", {"abc"}, folder=tmp_path / "none") is None


def test_one_of_another_prompt_or_model_replaces_none(tmp_path: Path) -> None:
    """Neither a calibration nor a result of probes: each still vouches for its own grades."""
    for rubric, model in (("combined", "gpt-4.1"), ("separate", "gpt-4.1"), ("combined", "glm/5")):
        save_record(a_calibration(dataset="shop", rubric=rubric, model=model), tmp_path)
        save_bias(a_bias(rubric=rubric, model=model), tmp_path)

    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "bias-turn-combined-glm_5.json",
        "bias-turn-combined-gpt-4.1.json",
        "bias-turn-separate-gpt-4.1.json",
        "groundedness-faithfulness-shop-combined-glm_5.json",
        "groundedness-faithfulness-shop-combined-gpt-4.1.json",
        "groundedness-faithfulness-shop-separate-gpt-4.1.json",
    ]
    for rubric in ("combined", "separate"):
        found = (
            calibration_for("groundedness", {rubric}, folder=tmp_path),
            bias_for("turn", {rubric}, tmp_path),
        )
        assert [each and each.rubric for each in found] == [rubric, rubric]


def test_names_are_no_paths(tmp_path: Path) -> None:
    """A data set called like a path stays within the folder."""
    path = save_record(a_calibration(dataset="../../etc/x y"), tmp_path)

    assert path.parent == tmp_path
    assert list(tmp_path.iterdir()) == [path]
