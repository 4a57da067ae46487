"""`simulate`, the main command: rehearse the bot, grade every turn, write the reports.

Whatever else makes a run (`evaluate`, a cell of a matrix) does it by `run_or_resume`, `start` or `resume`.
"""

import asyncio
import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import JsonValue

from simulator.cli.destinations import check_destinations
from simulator.cli.options import run_settings, takes_settings
from simulator.cli.preflight import announce, check_folder, check_target
from simulator.cli.progress import progress_on_stderr
from simulator.cli.publish import publish, say_stopped
from simulator.cli.terminal import DONE, INCOMPLETE, is_closed_output, say, stdout_to_stderr
from simulator.core.errors import InputError, RehearsalError, Unforeseen, gone
from simulator.core.messages import Message, _
from simulator.core.roles import LEXICAL, endpoints
from simulator.core.secrets import restore_secrets
from simulator.core.settings import NOT_STORED, Settings, load_settings, stored_settings
from simulator.core.types import Conversation, Run
from simulator.models.pricing import Ledger
from simulator.runner import run
from simulator.runner.context import RunContext
from simulator.runner.plan import PlannedRun, read_plan
from simulator.runner.run import RunnerFactory, StoppingRule, create_run, no_preparation
from simulator.stats.gate import certain_decision, check_gate
from simulator.storage.run_file import RunFile, find_run, read_run
from simulator.storage.runs import HARNESS_NOTE, SKIPPED_NOTE

# What only some runs need, by the setting that asks for it: imported when it is set.
FEATURES = {
    "cases": "simulator.runner.bot_choice",
    "check": "simulator.cli.drift_check",
    "customers": "simulator.addons.load.pace",
    "dry_run": "simulator.cli.forecast",
    "engine": "simulator.cli.engine",
    "sequential": "simulator.stats.sequential",
    "shard": "simulator.cli.shards",
}


def feature(setting: str) -> Any:
    """The module behind a setting."""
    return import_module(FEATURES[setting])


@takes_settings("dialogue")
def command(flags: dict[str, Any]) -> int:
    """Rehearse the bot: customers talk with it, every turn is graded, a report is written.

    Without a key or an endpoint everything runs offline, with lexical stand-ins for the models.
    """
    return run_or_resume(run_settings(load_settings(flags), "dialogue"))


def run_or_resume(settings: Settings) -> int:
    """Makes a run, or finishes one with --resume, and writes its reports; returns the exit code."""
    if settings.engine != "local" or settings.scheduler or settings.workers:
        feature("engine").check_engine(settings)
    check_destinations(settings)
    finished = start(settings) if settings.resume is None else resume(settings)
    return finished if isinstance(finished, int) else finished.publish()


class FinishedRun(NamedTuple):
    """A run that is over: its file, its settings, and why it stopped early, None where it did not."""

    path: Path
    settings: Settings
    stopped: Message | str | None

    def publish(self) -> int:
        """Writes the reports, and returns the exit code."""
        try:
            return publish(self.path, _without_gate(self.settings), self.stopped)
        except Exception as error:
            if isinstance(error, RehearsalError) or is_closed_output(error):
                raise
            raise Unforeseen(self.path) from error


# --- A new run ---


def start(settings: Settings, run_id: str = "") -> "int | FinishedRun":
    """Makes a new run; returns it, or the exit code where there is nothing to report."""
    if settings.replay:
        # By its own name: `latest` would be another run when this one is resumed.
        replayed = find_run(settings.replay, Path(settings.runs))
        settings = settings.model_copy(update={"replay": str(replayed.resolve())})
    if settings.knowledge:
        knowledge = Path(settings.knowledge)
        if not knowledge.exists():
            msg = _("--knowledge {knowledge}: no such file or folder.", knowledge=settings.knowledge)
            raise InputError(msg)
        # Absolute, for reports may be made from another folder.
        settings = settings.model_copy(update={"knowledge": str(knowledge.resolve())})
    if settings.shard:
        feature("shard").check_shard(settings)
    settings = _with_bot(settings)
    planned = _planned(settings)
    settings, whole_plan, personas = planned.settings, planned.plan, planned.personas
    plan = feature("shard").sharded(whole_plan, settings) if settings.shard else whole_plan
    with stdout_to_stderr():
        context = RunContext(settings, endpoints(settings), personas, Ledger.of(settings))
        context.check_adapter(plan)
        check_target(context, plan)
        context.check_scripts(whole_plan)
        frozen = _frozen_answers(settings, context)
    if settings.dry_run:
        return _dry_run(settings, context, plan, frozen)
    check_folder(Path(settings.runs))

    def create() -> "RunFile":
        file = create_run(settings, context, plan, personas, run_id)
        if settings.shard:
            feature("shard").remember_place(file, whole_plan, settings)
        if planned.skipped.count:
            file.save_note(SKIPPED_NOTE, json.dumps(planned.skipped.as_json(), ensure_ascii=False))
        return file

    if not plan:
        return int(feature("shard").say_empty(create(), settings))
    return _perform(settings, context, plan, plan, create, frozen)


def _with_bot(settings: Settings) -> Settings:
    """With the adapter that grades recorded answers, where the file has some and no bot was named."""
    if "adapter" in settings.model_fields_set or not (settings.cases or settings.replay):
        return settings

    changed: Settings = feature("cases").with_bot(settings)
    if changed.adapter != settings.adapter:
        say(
            _(
                "{cases}: its recorded answers are graded (--adapter {adapter}).",
                cases=settings.cases,
                adapter=changed.adapter,
            )
        )
    return changed


def _planned(settings: Settings) -> "PlannedRun":
    """The plan with what the data decides; says what of the data has no effect."""
    if settings.customers or settings.arrival or settings.think is not None:
        feature("customers").check_load(settings)
    planned = read_plan(settings)
    _check_gate(planned.settings)
    for line in planned.messages():
        say(line)
    return planned


def _check_gate(settings: Settings) -> None:
    if settings.target is not None or settings.certainty is not None:
        check_gate(settings)


# --- A run that was interrupted ---


def resume(settings: Settings) -> "int | FinishedRun":
    """Finishes a run with the options it was started with; of a finished one only the reports are written."""
    path = find_run(str(settings.resume), Path(settings.runs))
    results = read_run(path)
    run = results.run
    feature("shard").check_is_planned(results)
    if HARNESS_NOTE in results.notes and run.status != "finished":
        msg = _("{run} is a run of lm_eval: python run.py harness --resume {run}", run=run.id)
        raise InputError(msg)
    stored = _as_started(run, settings)
    if run.status == "finished":
        return publish(path, _without_gate(stored))
    # Locked before anything is made, paid or said: another process may be at work on it.
    with contextlib.closing(RunFile.reopen(path)) as file:
        return _continue(stored, file)


def _as_started(run: Run, settings: Settings) -> Settings:
    """The run's own options and models; reports, a new budget, more prices and secrets are today's."""
    if run.settings.get("typos"):
        say(gone("--typos", "typos"))
    today = {name: getattr(settings, name) for name in NOT_STORED}
    models = {f"{role}_model": model or LEXICAL for role, model in run.models.items()}
    stored_prices: Any = run.settings.get("prices") or {}
    money: dict[str, Any] = {"prices": {**stored_prices, **settings.prices}}
    if settings.budget:
        money["budget"] = settings.budget
    adapter = {"set": restore_secrets(stored_settings(run.settings).set, settings.set)}
    return stored_settings({**run.settings, **models, **money, **adapter}, **today)


def _continue(settings: Settings, file: "RunFile") -> "int | FinishedRun":

    results = file.results().model_copy(update={"scores": ()})  # of a large run, the larger part
    ledger = Ledger.of(settings, results)
    with stdout_to_stderr():
        context = RunContext(settings, endpoints(settings), results.personas, ledger)
        context.check_prompts(results.run)
        frozen = _frozen_answers(settings, context, results.notes)
    unfinished = results.conversations.select("unfinished")
    if settings.dry_run:
        return _dry_run(settings, context, unfinished, frozen)

    def reopen() -> "RunFile":
        file.mark_running()
        return file

    return _perform(settings, context, results.conversations, unfinished, reopen, frozen)


# --- What both have in common ---


def _frozen_answers(
    settings: Settings, context: RunContext, notes: Mapping[str, JsonValue] | None = None
) -> Sequence[Any]:
    """The calibrated answers that --check grades again first; empty without it."""
    if settings.calibration_file is None:
        return ()
    return feature("check").frozen_answers(settings, context, notes)  # type: ignore[no-any-return]


def _without_gate(settings: Settings) -> Settings:
    """A shard has no gate of its own."""
    return feature("shard").without_gate(settings) if settings.shard else settings


def _perform(  # noqa: PLR0917 - what a new run and a resumed one differ in
    settings: Settings,
    context: "RunContext",
    plan: Sequence[Conversation],
    unfinished: Sequence[Conversation],
    open_file: Callable[[], "RunFile"],
    frozen: Sequence[Any],
) -> "int | FinishedRun":
    """Holds the unfinished conversations of a plan, and has them graded."""
    perform = run.perform if settings.engine == "local" else feature("engine").engine_of(settings)
    opened: list[RunFile] = []

    def opening() -> "RunFile":
        opened.append(open_file())
        return opened[0]

    announce(settings, context, unfinished)
    if context.models() and not context.offline:
        feature("dry_run").announce_cost(settings, context, unfinished)
    first = no_preparation
    if frozen:
        feature("check").announce_check(frozen)
        first = feature("check").checking(context, frozen)
    try:
        with progress_on_stderr(plan, context) as progress, stdout_to_stderr():
            work = perform(
                context, plan, opening, progress, first, _load_runner(settings), _stopping(settings)
            )
            path, stopped = asyncio.run(work)
    except KeyboardInterrupt:  # Ctrl-C for the second time
        if not opened:
            raise

        say_stopped(opened[0].path, _("interrupted"))
        return INCOMPLETE
    except BaseException as error:
        if not opened or isinstance(error, (RehearsalError, SystemExit)):
            raise
        raise Unforeseen(opened[0].path) from error
    return FinishedRun(path, settings, stopped)


def _load_runner(settings: Settings) -> "RunnerFactory | None":
    """What holds the conversations of a load rehearsal; None for any other."""
    return None if settings.customers is None else feature("customers").LoadRunner


def _stopping(settings: Settings) -> "StoppingRule | None":
    """How the run may end early, with --sequential."""
    if not settings.sequential:
        return None

    return StoppingRule(feature("sequential").batches, certain_decision)


def _dry_run(
    settings: Settings, context: "RunContext", plan: Sequence[Conversation], frozen: Sequence[Any]
) -> int:
    if frozen:
        feature("check").announce_check(frozen)
    costs = feature("dry_run")
    estimate = costs.forecast(context, plan, Path(settings.runs))
    costs.show_forecast(estimate, as_json=settings.json_output, jpy_per_usd=settings.jpy_per_usd)
    return DONE
