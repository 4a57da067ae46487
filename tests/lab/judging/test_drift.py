"""Whether a judge still is what it was when it was calibrated."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from simulator.core.errors import InputError
from simulator.core.settings import Settings
from simulator.lab.judging.calibration import CalibrationRun
from simulator.lab.judging.drift import frozen_sets
from simulator.lab.judging.stored import Calibration
from simulator.results.judge_records import save_record
from tests.labelled_answers import labelled, written
from tests.run_helpers import a_stage
from tests.servers.openai import OpenAIServer


def always(grade: int) -> Any:
    """A model that grades everything the same, but for what concerns a lamp."""

    def reply(request: dict[str, Any]) -> str:
        text = request["messages"][-1]["content"]
        form = request["response_format"]["json_schema"]["schema"]["properties"]
        own = max(1, grade - 1) if "lamp" in text else grade
        values: dict[str, Any] = {"integer": own, "string": "so", "array": ["so"]}
        return json.dumps({key: values.get(kind.get("type", "integer"), own) for key, kind in form.items()})

    return reply


async def calibrated(server: OpenAIServer, path: Path) -> tuple[Calibration, Path]:
    """A calibration of the model at the server, and where it is stored."""
    context = a_stage(server, judges=("groundedness",))
    work = CalibrationRun(str(path), "groundedness", "faithfulness", Settings(offline=True))
    work.context, work.judge = context, "groundedness"
    graded = await work.grade(lambda _: None)
    calibration = work.calibration(work.compare(graded))
    return calibration, save_record(calibration)


async def test_the_calibration_of_the_runs_own_prompt_is_checked(
    server: OpenAIServer, tmp_path: Path
) -> None:
    """Of several with one label file; where none is of this prompt, the newest."""
    server.reply = always(4)
    path = written(tmp_path / "labels.jsonl", labelled())
    calibration, _stored = await calibrated(server, path)
    newer = calibration.date + timedelta(days=1)
    save_record(calibration.model_copy(update={"rubric": "newer", "date": newer}))

    found = [
        frozen_sets(path, ["groundedness"], {rubric})[0].rubric for rubric in (calibration.rubric, "none")
    ]
    assert found == [calibration.rubric, "newer"]


async def test_a_check_needs_a_calibration_of_the_same_file(server: OpenAIServer, tmp_path: Path) -> None:
    """A judge that was not calibrated, and a label file that has changed since."""
    path = written(tmp_path / "labels.jsonl", labelled())
    await calibrated(server, path)

    with pytest.raises(InputError, match="none of the judges turn was calibrated with this file"):
        frozen_sets(path, ["turn"])
    written(path, labelled()[:10])
    with pytest.raises(InputError, match="none of the judges groundedness was calibrated with this file as"):
        frozen_sets(path, ["groundedness"])
