"""A run from its settings to its reports: made anew, or finished with --resume.

Whatever makes a run (`simulate`, `evaluate`, a cell of a matrix) does it by `run_or_resume` or `start`;
what finishes one is in cli/resume.py.
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import JsonValue

from simulator.cli.preflight import announce, check_engine, check_folder, check_retest, check_target
from simulator.cli.progress import progress_on_stderr
from simulator.cli.terminal import (
    DONE,
    INCOMPLETE,
    is_closed_output,
    only_the_verdict,
    print_json,
    say,
    stdout_to_stderr,
)
from simulator.core.errors import InputError, RehearsalError, Unforeseen
from simulator.core.messages import Message, _
from simulator.core.roles import endpoints
from simulator.core.settings import Settings, read_shard
from simulator.core.types import Conversation
from simulator.models.pricing import Ledger
from simulator.runner import run
from simulator.runner.context import RunContext
from simulator.runner.plan import read_plan
from simulator.runner.run import StoppingRule, create_run, no_preparation
from simulator.storage.run_file import SKIPPED_NOTE, RunFile, find_run

# What only some runs need, by the setting that asks for it: imported when it is set.
FEATURES = {
    "cases": "simulator.runner.bot_choice",
    "check": "simulator.cli.drift_check",
    "customers": "simulator.addons.load.pace",
    "dry_run": "simulator.cli.forecast",
    "engine": "simulator.addons.dask.driver",
    "likeness": "simulator.stats.likeness",
    "outputs": "simulator.grading.metric_file",
    "resume": "simulator.cli.resume",
    "sequential": "simulator.stats.sequential",
    "shard": "simulator.runner.merge",
    "target": "simulator.stats.target",
    "to": "simulator.cli.destinations",
}
# Imported when there is something to report: the first question does not wait for it.
PUBLISH = "simulator.cli.publish"


def feature(setting: str) -> Any:
    """The module behind a setting."""
    return import_module(FEATURES[setting])


def run_or_resume(settings: Settings) -> int:
    """Makes a run, or finishes one with --resume, and writes its reports; returns the exit code."""
    check_engine(settings)
    if settings.to:
        feature("to").check_destinations(settings)
    with only_the_verdict(settings.quiet):
        finished = start(settings) if settings.resume is None else feature("resume").resume(settings)
    return finished if isinstance(finished, int) else finished.publish()


class FinishedRun(NamedTuple):
    """A run that is over: its file, its settings, and why it stopped early, None where it did not."""

    path: Path
    settings: Settings
    stopped: Message | str | None = None

    def publish(self) -> int:
        """Writes the reports, and returns the exit code. A shard has no gate of its own."""
        settings = self.settings
        if settings.shard and settings.target is not None:
            say(_("Shard {shard}: the target is for the merged run.", shard=settings.shard))
            settings = settings.model_copy(update={"target": None, "confidence": None})
        try:
            return int(import_module(PUBLISH).publish(self.path, settings, self.stopped))
        except Exception as error:
            if isinstance(error, RehearsalError) or is_closed_output(error):
                raise
            raise Unforeseen(self.path) from error


# --- A new run ---


def start(settings: Settings, run_id: str = "") -> int | FinishedRun:
    """Makes a new run; returns it, or the exit code where there is nothing to report."""
    settings = _with_bot(_with_whole_paths(settings))
    if settings.shard and settings.sequential:
        raise InputError(_("--sequential needs the whole run: leave it out with --shard."))
    if settings.customers or settings.arrival or settings.think is not None:
        feature("customers").check_load(settings)
    planned = read_plan(settings)
    settings, whole_plan = planned.settings, planned.plan
    if settings.target is not None or settings.certainty is not None:
        path = settings.outputs
        file = feature("outputs").read_metric_file(path) if path else None
        feature("target").check_gate(settings, file.files if file else lambda _name: False)
    for line in planned.messages():
        say(line)
    plan, shard = whole_plan, read_shard(settings.shard) if settings.shard else None
    if shard:
        plan = feature("shard").shard_conversations(whole_plan, shard)
    with stdout_to_stderr():
        context = RunContext(settings, endpoints(settings), planned.personas, Ledger.of(settings))
        context.check_adapter(plan)
        check_target(context, plan)
        check_retest(context)
        context.check_scripts(whole_plan)

    def create() -> RunFile:
        file = create_run(settings, context, plan, planned.personas, run_id)
        if shard:
            place = feature("shard").shard_position(whole_plan, shard)
            file.save_note(feature("shard").SHARD_NOTE, place.model_dump_json())
        if planned.skipped.count:
            file.save_note(SKIPPED_NOTE, json.dumps(planned.skipped.as_note(), ensure_ascii=False))
        return file

    return play(context, plan, plan, create, {})


def _with_whole_paths(settings: Settings) -> Settings:
    """With a run and articles that are still found when the run is resumed, or reported from elsewhere."""
    changes = {}
    if settings.replay:  # `latest` would be another run then
        changes["replay"] = str(find_run(settings.replay, Path(settings.runs)).resolve())
    if settings.knowledge:
        knowledge = Path(settings.knowledge)
        if not knowledge.exists():
            msg = _("--knowledge {knowledge}: no such file or folder.", knowledge=settings.knowledge)
            raise InputError(msg)
        changes["knowledge"] = str(knowledge.resolve())
    if settings.likeness:
        feature("likeness").logged_reference(settings.likeness)
        changes["likeness"] = str(Path(settings.likeness).resolve())
    return settings.model_copy(update=changes)


def _with_bot(settings: Settings) -> Settings:
    """With the adapter that grades recorded answers, where the file has some and no bot was named."""
    if "adapter" in settings.model_fields_set or not (settings.cases or settings.replay):
        return settings
    changed: Settings = feature("cases").with_bot(settings)
    if changed.adapter != settings.adapter:
        graded = {"cases": settings.cases, "adapter": changed.adapter}
        say(_("{cases}: its recorded answers are graded (--adapter {adapter}).", **graded))
    return changed


# --- What a new run and a resumed one have in common ---


def play(
    context: RunContext,
    plan: Sequence[Conversation],
    unfinished: Sequence[Conversation],
    open_file: Callable[[], RunFile],
    notes: Mapping[str, JsonValue],
) -> int | FinishedRun:
    """Holds the unfinished conversations of a plan, and has them graded; or says what that will take."""
    settings = context.settings
    preparation = no_preparation
    if settings.calibration_file is not None:
        preparation = feature("check").checking(context, notes)
    if settings.dry_run:
        costs = feature("dry_run")
        estimate = costs.forecast(context, unfinished, Path(settings.runs))
        costs.show_forecast(estimate, as_json=settings.json_output, jpy_per_usd=settings.jpy_per_usd)
        return DONE
    check_folder(Path(settings.runs))
    if not plan:
        return _finish_empty(open_file(), settings)
    announce(settings, context, unfinished)
    if context.models() and not context.offline:
        feature("dry_run").announce_cost(settings, context, unfinished)
    opened: list[RunFile] = []

    def opening() -> RunFile:
        opened.append(open_file())
        return opened[0]

    perform = run.perform if settings.engine == "local" else feature("engine").perform
    load_runner = None if settings.customers is None else feature("customers").LoadRunner
    sequential = settings.sequential
    stopping = (
        StoppingRule(feature("sequential").batches, feature("sequential").certain_decision)
        if sequential
        else None
    )
    try:
        with progress_on_stderr(plan, context) as progress, stdout_to_stderr():
            work = perform(context, plan, opening, progress, preparation, load_runner, stopping)
            path, stopped = asyncio.run(work)
    except KeyboardInterrupt:  # Ctrl-C for the second time
        if not opened:
            raise
        import_module(PUBLISH).say_stopped(opened[0].path, _("interrupted"))
        return INCOMPLETE
    except BaseException as error:
        if not opened or isinstance(error, (RehearsalError, SystemExit)):
            raise
        raise Unforeseen(opened[0].path) from error
    return FinishedRun(path, settings, stopped)


def _finish_empty(file: RunFile, settings: Settings) -> int:
    """Finishes the run of a shard that has no questions; returns the exit code."""
    file.finish("finished", 0.0)
    file.close()
    say(_("Shard {shard} has no questions, so there is nothing to run.", shard=settings.shard))
    if settings.json_output:
        print_json({"run": file.path.parent.name, "store": str(file.path), "turns": 0})
    return DONE
