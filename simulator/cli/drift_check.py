"""`--check`: before a run, whether its judges still grade the answers of their calibration as they did."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from simulator.addons.calibration.drift import MAX_ROWS, FrozenRows, drift, frozen_sets
from simulator.cli.terminal import say
from simulator.core.messages import Message, _, sentences
from simulator.core.settings import Settings
from simulator.runner.context import RunContext
from simulator.runner.run import Preparation, no_preparation
from simulator.stats.judge_trust import Drift
from simulator.storage.run_file import RunFile

NOTE = "drift"


def frozen_answers(
    settings: "Settings", context: "RunContext", notes: Mapping[str, JsonValue] | None = None
) -> tuple["FrozenRows", ...]:
    """The calibrated answers to grade again, by judge; empty without --check, or if the run has been checked.

    Raises InputError where none of the run's judges was calibrated with that file.
    """
    if settings.calibration_file is None or NOTE in (notes or {}):
        return ()

    return frozen_sets(Path(settings.calibration_file), list(context.grading.answer_judges))


def announce_check(frozen: Sequence["FrozenRows"]) -> None:
    """Says on stderr that it takes calls, because the forecast of the conversations has none of them."""
    if not frozen:
        return

    rows = [min(MAX_ROWS, len(answers.calibration.rows)) for answers in frozen]
    judges = ", ".join(answers.calibration.judge for answers in frozen)
    say(
        _(
            "--check: first, {rows} calibrated answers are graded again by {judges}, without the"
            " cache; these calls are not in the forecast.",
            rows=sum(rows),
            judges=judges,
        )
    )


def checking(context: "RunContext", frozen: Sequence["FrozenRows"]) -> "Preparation":
    """What a run does first: it grades these answers, stores the drift of each judge, and says it."""
    if not frozen:
        return no_preparation

    async def first(file: RunFile) -> None:
        drifts = [await drift(context, answers, seed=context.settings.seed) for answers in frozen]
        file.save_note(NOTE, json.dumps([found.model_dump(mode="json") for found in drifts]))
        for judge_drift in drifts:
            say(_message(judge_drift))

    return first


def _message(drift: "Drift") -> Message:
    bounds = [f"{100 * bound:+.0f}" for bound in (drift.low, drift.high) if bound is not None]
    figures: dict[str, Any] = {
        "judge": drift.judge,
        "points": f"{100 * drift.shift:+.0f}" + (f" [{', '.join(bounds)}]" if bounds else ""),
        "n": drift.n,
        "equal": f"{100 * drift.equal:.0f}",
    }
    line = (
        _(
            "Drift check: {judge} has DRIFTED since it was calibrated: {points} points of 100 on"
            " {n} answers, {equal} % graded the same.",
            **figures,
        )
        if drift.drifted
        else _(
            "Drift check: {judge} has not drifted: {points} points of 100 on {n} answers,"
            " {equal} % graded the same.",
            **figures,
        )
    )
    return sentences(
        line,
        None if drift.same_rubric else _("Its prompt or model has changed since the calibration."),
        _("{failed} could not be graded.", failed=drift.failed) if drift.failed else None,
    )
