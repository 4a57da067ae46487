"""Before a run: whether its judges still grade the frozen answers as when they were calibrated."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import JsonValue

from simulator.runner.run import nothing_first

if TYPE_CHECKING:
    from simulator.addons.calibration.drift import Frozen
    from simulator.core.settings import Settings
    from simulator.runner.context import RunContext
    from simulator.runner.run import First
    from simulator.stats.judge_trust import Drift

NOTE = "drift"


def frozen_answers(
    settings: "Settings", context: "RunContext", notes: Mapping[str, JsonValue] | None = None
) -> tuple["Frozen", ...]:
    """What is to be graded again, judge by judge; nothing when it is not asked for, or was done before.

    Raises InputError where none of the run's judges was calibrated with it: before anything is paid.
    """
    if settings.frozen is None or NOTE in (notes or {}):
        return ()
    from simulator.addons.calibration.drift import frozen_sets

    return frozen_sets(Path(settings.frozen), list(context.grading.whole))


def announce_check(frozen: Sequence["Frozen"]) -> None:
    """One line on stderr, for it costs calls that no forecast of the dialogue has."""
    if not frozen:
        return
    from simulator.addons.calibration.drift import ROWS

    rows = [min(ROWS, len(each.calibration.rows)) for each in frozen]
    judges = ", ".join(each.calibration.judge for each in frozen)
    _say(
        f"--check: first of all, {sum(rows)} frozen answers are graded again, past the cache, by {judges};"
        " these calls are not part of the forecast."
    )


def checking(context: "RunContext", frozen: Sequence["Frozen"]) -> "First":
    """Grades them and stores what came of it; says it on stderr at once."""
    if not frozen:
        return nothing_first
    from simulator.addons.calibration.drift import drift
    from simulator.storage.run_file import RunFile

    async def first(file: RunFile) -> None:
        found = [await drift(context, each, seed=context.settings.seed) for each in frozen]
        if found:
            file.noted(NOTE, json.dumps([each.model_dump(mode="json") for each in found]))
        for each in found:
            _say(_told(each))

    return first


def _told(drift: "Drift") -> str:
    verdict = "has DRIFTED since it was calibrated" if drift.drifted else "has not drifted"
    bounds = [f"{100 * bound:+.0f}" for bound in (drift.low, drift.high) if bound is not None]
    between = f" [{', '.join(bounds)}]" if bounds else ""
    changed = "" if drift.same_rubric else " Its prompt or model is no longer that of the calibration."
    failed = f" {drift.failed} could not be graded." if drift.failed else ""
    return (
        f"Drift check: {drift.judge} {verdict}: {100 * drift.shift:+.0f}{between} points of 100 on"
        f" {drift.n} answers, {100 * drift.equal:.0f} % graded the same.{changed}{failed}"
    )


def _say(text: str) -> None:
    from simulator.core.translations import plain

    sys.stderr.write(" ".join(plain(text).split()) + "\n")
