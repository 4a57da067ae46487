"""`--check`: whether judges still grade as when they were calibrated: a few frozen rows, graded anew.

Models change behind their name. Before a run with `--check labels.csv` up to 40 rows of that calibrated file
are graded again, past the cache, and held against the grades that the calibration has kept:

    each 0.02 lower (of 0..1), interval -0.03 to -0.01     -> drifted: 0 is outside
    0.11 higher, interval -0.02 to +0.24                   -> drifted: more than 0.1, however uncertain
    the rubric's hash is another one                       -> said beside it: prompt or model were changed

The drift stands in the run's notes and beside the judge in its reports; it changes no grade and no verdict. A
resumed run is not checked twice.
"""

import json
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path

from pydantic import JsonValue

from simulator.core.errors import InputError
from simulator.core.messages import _, say
from simulator.core.types import LEXICAL
from simulator.grading.model_judge import ModelJudge
from simulator.lab.judging.figures import drawn_mean
from simulator.lab.judging.rows import grade_rows
from simulator.lab.judging.settings import JudgingSettings
from simulator.lab.judging.stored import Calibration, Drift
from simulator.lab.judging.trust import drift_notes
from simulator.results import judge_records
from simulator.results.draws import Draws, interval
from simulator.runner.context import RunContext
from simulator.runner.labelled_answers import read_labels, sample_rows
from simulator.runner.run import Preparation
from simulator.storage.run_file import RunFile

# The note of a run that was checked, with a drift for each judge.
NOTE = "drift"
# Rows that are graded again at most, and the shift (of 0..1) that is drift however few they are: 0.4 of a
# grade of 1 to 5.
MAX_ROWS, TOO_FAR = 40, 0.1


def frozen_sets(
    check: Path,
    judges: Sequence[str],
    rubrics: AbstractSet[str] = frozenset(),
) -> list[Calibration]:
    """What a run can be checked against: `check` is a calibrated label file, unchanged.

    Of several calibrations of a judge with that file it is that of these `rubrics`, or else the newest.
    Raises InputError when none of these judges was calibrated with it.
    """
    sha256 = read_labels(check).sha256
    calibrations = [c for c in judge_records.stored(Calibration) if c.sha256 == sha256 and c.rows]
    # Sorted so that the best comes last, and stays.
    calibrations.sort(key=lambda c: (c.rubric in rubrics, c.date))
    best = {calibration.judge: calibration for calibration in calibrations}
    frozen = [calibration for name, calibration in sorted(best.items()) if name in judges]
    if not frozen:
        msg = _(
            "{check}: none of the judges {judges} was calibrated with this file as it is. First: calibrate"
            " FILE --judge NAME --label LABEL.",
            check=check,
            judges=", ".join(judges),
        )
        raise InputError(msg)
    return frozen


async def drift(context: RunContext, calibration: Calibration, check: Path, seed: int) -> Drift:
    """Grades at most `MAX_ROWS` rows of a calibration anew, past the cache, with the judge of this run.

    `check` is its label file. The same rows for the same seed. Raises InputError where the judge could grade
    none of them.
    """
    old = dict(calibration.rows)
    file = read_labels(check)
    # Rows that left the file since are no longer there to be graded.
    drawn = sample_rows([row for row in file.rows if row.case.id in old], MAX_ROWS, seed)
    cache = context.connections.cache
    before = cache.mode
    # No stored answer is used: yesterday's reply says nothing of today's model.
    cache.mode = "off"
    try:
        graded = await grade_rows(context, calibration.judge, drawn)
    finally:
        cache.mode = before
    grades = [row for row in graded if row.grade is not None]
    low, high = calibration.scale
    changes = [((row.grade or 0.0) - old[row.row.case.id]) / (high - low) for row in grades]
    if not changes:
        msg = _(
            "drift check: the judge {judge} could grade none of the frozen rows.", judge=calibration.judge
        )
        raise InputError(msg)
    shift = sum(changes) / len(changes)
    draws = Draws([row.row.group for row in grades], seed=seed)
    bounds = interval(drawn_mean(changes, draws)) if draws.clusters > 1 else None
    apart = bounds is not None and (bounds[0] > 0 or bounds[1] < 0)
    # By rule a score has no rubric, and says nothing about the prompt.
    rubrics = {row.score.rubric for row in graded if row.score.rubric}
    return Drift(
        judge=calibration.judge,
        n=len(changes),
        shift=shift,
        low=bounds[0] if bounds else None,
        high=bounds[1] if bounds else None,
        equal=sum(abs(change) < 1e-9 for change in changes) / len(changes),
        drifted=apart or abs(shift) > TOO_FAR,
        same_rubric=rubrics <= {calibration.rubric},
        failed=sum(row.score.state == "failed" for row in graded),
    )


def checking(context: RunContext, notes: Mapping[str, JsonValue]) -> Preparation | None:
    """What a run does first: it grades calibrated answers again, stores the drift of each judge, and says it.

    Nothing without --check, or if its notes say that the run was checked before. That it takes calls is said
    at once, because the forecast of the conversations has none of them. Raises InputError where none of the
    run's judges was calibrated with that file.
    """
    labels = JudgingSettings.of(context.settings).check
    if labels is None or NOTE in notes:
        return None
    rubrics = {
        rubric_hash
        for call in context.panel.judge_calls
        if isinstance(call, ModelJudge)
        for rubric_hash in call.hashes.values()
    }
    check, seed = Path(labels), context.settings.seed
    calibrations = frozen_sets(check, list(context.grading.answer_judges), rubrics)
    if context.models()["judge"] == LEXICAL:  # a stand-in is not the model that was calibrated
        calibrations = [calibration for calibration in calibrations if calibration.model == LEXICAL]
        if not calibrations:
            say(_("--check: no model grades in this run, so nothing is checked."))
            return None
    first_of_all = _(
        "--check: first, {rows} calibrated answers are graded again by {judges}, without the"
        " cache; these calls are not in the forecast.",
        rows=sum(min(MAX_ROWS, len(calibration.rows)) for calibration in calibrations),
        judges=", ".join(calibration.judge for calibration in calibrations),
    )
    say(first_of_all)

    async def first(file: RunFile) -> None:
        drifts = [await drift(context, calibration, check, seed) for calibration in calibrations]
        file.save_note(NOTE, json.dumps([change.model_dump(mode="json") for change in drifts]))
        for judge_drift in drifts:
            for line in drift_notes(judge_drift):
                say(line.text)

    return first
