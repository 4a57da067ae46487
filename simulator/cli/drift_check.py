"""`--check`: before a run, whether its judges still grade the answers of their calibration as they did."""

import json
from collections.abc import Mapping
from pathlib import Path

from pydantic import JsonValue

from simulator.addons.calibration.drift import MAX_ROWS, drift, frozen_sets
from simulator.cli.terminal import say
from simulator.core.messages import _
from simulator.grading.model_judge import ModelJudge
from simulator.report.judges import drift_notes
from simulator.runner.context import RunContext
from simulator.runner.run import Preparation
from simulator.storage.run_file import RunFile

NOTE = "drift"


def checking(context: RunContext, notes: Mapping[str, JsonValue]) -> Preparation | None:
    """What a run does first: it grades calibrated answers again, stores the drift of each judge, and says it.

    Nothing if its notes say that the run was checked before. That it takes calls is said at once, because the
    forecast of the conversations has none of them. Raises InputError where none of the run's judges was
    calibrated with that file.
    """
    if NOTE in notes:
        return None
    rubrics = {call.rubric_hash for call in context.panel.judge_calls if isinstance(call, ModelJudge)}
    frozen = frozen_sets(
        Path(str(context.settings.calibration_file)), list(context.grading.answer_judges), rubrics
    )
    known = [answers.calibration for answers in frozen]
    first_of_all = _(
        "--check: first, {rows} calibrated answers are graded again by {judges}, without the"
        " cache; these calls are not in the forecast.",
        rows=sum(min(MAX_ROWS, len(each.rows)) for each in known),
        judges=", ".join(each.judge for each in known),
    )
    say(first_of_all)

    async def first(file: RunFile) -> None:
        drifts = [await drift(context, answers, seed=context.settings.seed) for answers in frozen]
        file.save_note(NOTE, json.dumps([found.model_dump(mode="json") for found in drifts]))
        for judge_drift in drifts:
            for line in drift_notes(judge_drift):
                say(line.text)

    return first
