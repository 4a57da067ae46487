"""`simulate`, the main job: rehearse the bot, grade every turn, show what came of it."""

import asyncio
import contextlib
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from simulator.cli.app import is_unread
from simulator.cli.options import OF_ROWS, takes_settings
from simulator.core.errors import InputError, RehearsalError, Unforeseen
from simulator.core.secrets import restored
from simulator.core.settings import NOT_OF_THE_RUN, Settings, from_run, load
from simulator.core.types import PASSED, Conversation, Ended, Persona, Run

if TYPE_CHECKING:
    from simulator.addons.calibration.drift import Frozen
    from simulator.runner.context import RunContext
    from simulator.runner.run import Sit, Stopping
    from simulator.storage.run_file import RunFile

INCOMPLETE = 3


@takes_settings
def command(flags: dict[str, Any]) -> int:
    """Rehearse the bot: customers talk with it, every turn is graded, a report is written.

    Without a key or an endpoint everything runs offline, with lexical stand-ins for the models.
    """
    return hold(dialogues(load(flags)))


def dialogues(settings: Settings) -> Settings:
    """What single-turn data sets are told, and may stand in rehearsal.toml, is not for dialogues."""
    usual = {name: Settings.model_fields[name].get_default() for name in ("protocol", *OF_ROWS)}
    named = tuple(name for name in settings.judges if not settings.outputs or name != PASSED)
    usual["judges"] = named or Settings.model_fields["judges"].get_default()
    return settings.model_copy(update=usual)


def hold(settings: Settings) -> int:
    """Holds a run, or goes on with one, and paints its reports; gives the exit code."""
    from simulator.cli.engine import check_engine
    from simulator.cli.hearing import check_hearing
    from simulator.cli.sinks import check_sinks

    check_hearing(settings)
    check_engine(settings)
    check_sinks(settings)
    done = start(settings) if settings.resume is None else take_up(settings)
    return done if isinstance(done, int) else done()


def start(settings: Settings, run_id: str = "") -> "int | Over":
    """Holds a new run; gives how to paint it, or the exit code where there is nothing to paint."""
    from simulator.cli.announce import check_folder, check_target
    from simulator.cli.check import frozen_answers
    from simulator.cli.shards import check_shard, remember_place, say_empty, sharded
    from simulator.core.roles import endpoints  # the engine: --help does without it
    from simulator.models.pricing import Ledger
    from simulator.runner.context import RunContext
    from simulator.runner.run import create_run
    from simulator.storage.run_file import find_run

    if settings.replay:
        # By its own name: `latest` would be another run when this one is taken up again.
        replayed = find_run(settings.replay, Path(settings.runs))
        settings = settings.model_copy(update={"replay": str(replayed.resolve())})
    if settings.knowledge:
        settings = settings.model_copy(update={"knowledge": _whole_path(settings.knowledge)})
    check_shard(settings)
    settings = _with_bot(settings)
    settings, whole, personas, notes = _planned(settings)
    plan = sharded(whole, settings)
    with _aside():
        context = RunContext(settings, endpoints(settings), personas, Ledger.of(settings))
        context.check_adapter(plan)
        check_target(context, plan)
        context.check_scripts(whole)
        frozen = frozen_answers(settings, context)
    if settings.dry_run:
        return _dry_run(settings, context, plan, frozen)
    check_folder(Path(settings.runs))

    def created() -> "RunFile":
        file = remember_place(create_run(settings, context, plan, personas, run_id), whole, settings)
        for name, body in notes.items():
            file.noted(name, json.dumps(body, ensure_ascii=False))
        return file

    if not plan:
        return say_empty(created(), settings)
    return _perform(settings, context, plan, created, frozen)


def _with_bot(settings: Settings) -> Settings:
    if "adapter" in settings.model_fields_set or not (settings.cases or settings.replay):
        return settings
    from simulator.runner.whose_bot import with_bot

    known = with_bot(settings)
    if known.adapter != settings.adapter:
        sys.stderr.write(f"{settings.cases}: its recorded answers are graded (--adapter {known.adapter}).\n")
    return known


def _planned(
    settings: Settings,
) -> tuple[Settings, Sequence[Conversation], tuple[Persona, ...], dict[str, Any]]:
    """The settings with what the data decides, the conversations, who asks, and notes for the run."""
    if settings.protocol == "dialogue":
        from simulator.runner.plan import read_plan

        _check_gate(settings)
        _check_load(settings)
        return settings, *read_plan(settings), {}
    from simulator.data.datasets import NOTE
    from simulator.runner.plan import plan_rows

    planned = plan_rows(settings)
    _check_gate(planned.settings)
    for line in planned.told():
        sys.stderr.write(f"{line}\n")
    skipped = {NOTE: planned.skipped.as_json()} if planned.skipped.count else {}
    return planned.settings, planned.plan, planned.personas, skipped


def _check_gate(settings: Settings) -> None:
    if settings.target is not None or settings.certainty is not None:
        from simulator.stats.outcome import check_gate  # figures and all: not to hold a run without a target

        check_gate(settings)


def _check_load(settings: Settings) -> None:
    if settings.customers or settings.arrival or settings.think is not None:
        from simulator.addons.load.pace import check_load

        check_load(settings)


def _whole_path(knowledge: str) -> str:
    """Where the articles are, from wherever the run is looked at; that they are nowhere is said at once."""
    path = Path(knowledge)
    if not path.exists():
        msg = f"--knowledge {knowledge}: no such file or folder."
        raise InputError(msg)
    return str(path.resolve())


def take_up(settings: Settings) -> "int | Over":
    """Finishes a run with the options it was started with; a finished one is only shown again."""
    from simulator.cli.publish import publish
    from simulator.cli.shards import without_gate
    from simulator.storage.run_file import RunFile, find_run

    path = find_run(str(settings.resume), Path(settings.runs))
    run = _planned_run(path)
    stored = _as_started(run, settings)
    if run.status == "finished":
        return publish(path, without_gate(stored))
    # Held before anything is made, paid or said: another process may be at it.
    with contextlib.closing(RunFile.reopen(path)) as file:
        return _go_on(stored, file)


def _planned_run(path: Path) -> Run:
    from simulator.addons.lm_eval.tasks import NOTE
    from simulator.cli.shards import check_is_planned
    from simulator.storage.run_file import read_run

    results = read_run(path)
    check_is_planned(results)
    if NOTE in results.notes and results.run.status != "finished":
        msg = f"{results.run.id} is asked by lm_eval: python run.py harness --resume {results.run.id}"
        raise InputError(msg)
    return results.run


def _as_started(run: Run, settings: Settings) -> Settings:
    """The run's own options and models; how to show it, a new budget and further prices are today's."""
    from simulator.core.roles import LEXICAL

    now = {name: getattr(settings, name) for name in NOT_OF_THE_RUN}
    models = {f"{role}_model": model or LEXICAL for role, model in run.models.items()}
    stored: Any = run.settings.get("prices") or {}
    money: dict[str, Any] = {"prices": {**stored, **settings.prices}}
    if settings.budget:
        money["budget"] = settings.budget
    adapter = {"set": restored(from_run(run.settings).set, settings.set)}
    return from_run({**run.settings, **models, **money, **adapter}, **now)


def _go_on(settings: Settings, file: "RunFile") -> "int | Over":
    from simulator.cli.check import frozen_answers
    from simulator.core.roles import endpoints
    from simulator.models.pricing import Ledger
    from simulator.runner.context import RunContext

    results = file.results().model_copy(update={"scores": ()})  # of a large run, the larger part
    ledger = Ledger.of(settings, results)
    with _aside():
        context = RunContext(settings, endpoints(settings), results.personas, ledger)
        context.check_prompts(results.run)
        frozen = frozen_answers(settings, context, results.notes)
    if settings.dry_run:
        return _dry_run(settings, context, results.conversations, frozen)

    def reopened() -> "RunFile":
        file.reopened()
        return file

    return _perform(settings, context, results.conversations, reopened, frozen)


def _perform(
    settings: Settings,
    context: "RunContext",
    plan: Sequence[Conversation],
    open_file: Callable[[], "RunFile"],
    frozen: Sequence["Frozen"],
) -> "int | Over":
    from simulator.cli.announce import announce
    from simulator.cli.check import announce_check, checking
    from simulator.cli.engine import engine_of
    from simulator.cli.meanwhile import LookingAhead, reading_meanwhile
    from simulator.cli.progress import progress_on_stderr

    perform = engine_of(settings)
    opened: list[RunFile] = []

    def opening() -> "RunFile":
        opened.append(open_file())
        return opened[0]

    announce(settings, context, _to_be_held(plan))
    announce_check(frozen)
    first = checking(context, frozen)
    try:
        with (
            progress_on_stderr(plan, context) as progress,
            _aside(),
            reading_meanwhile(offline=context.offline),
        ):
            told = LookingAhead(progress)
            held = perform(context, plan, opening, told, first, _sitting(settings), _stopping(settings))
            path, stopped = asyncio.run(held)
    except KeyboardInterrupt:  # Ctrl-C for the second time
        if not opened:
            raise
        from simulator.cli.publish import say_stopped

        say_stopped(opened[0].path, "interrupted")
        return INCOMPLETE
    except BaseException as error:
        if not opened or isinstance(error, (RehearsalError, SystemExit)):
            raise
        raise Unforeseen(opened[0].path) from error
    return Over(path, settings, stopped)


class Over(NamedTuple):
    """A run that was held: its file, its settings, and why it stopped early; called, it is painted."""

    path: Path
    settings: Settings
    stopped: str | None

    def __call__(self) -> int:
        """Paints the run, and gives the exit code."""
        from simulator.cli.publish import publish
        from simulator.cli.shards import without_gate

        try:
            return publish(self.path, without_gate(self.settings), self.stopped)
        except Exception as error:
            if isinstance(error, RehearsalError) or is_unread(error):
                raise
            raise Unforeseen(self.path) from error


def _sitting(settings: Settings) -> "Sit | None":
    """How the conversations are held: as usual, or in a rush."""
    if settings.customers is None:
        return None
    from simulator.addons.load.pace import Rush

    return Rush


def _stopping(settings: Settings) -> "Stopping | None":
    """How the run ends early, if it may."""
    if not settings.sequential:
        return None
    from simulator.runner.run import Stopping
    from simulator.stats.outcome import certain
    from simulator.stats.sequential import batches

    return Stopping(batches, certain)


def _dry_run(
    settings: Settings, context: "RunContext", plan: Sequence[Conversation], frozen: Sequence["Frozen"]
) -> int:
    from simulator.cli.announce import show_forecast
    from simulator.cli.check import announce_check
    from simulator.cli.hearing import hearing
    from simulator.runner.estimate import forecast

    announce_check(frozen)
    plan = _to_be_held(plan)
    found = forecast(context, plan, Path(settings.runs), hearing(context, plan))
    show_forecast(found, as_json=settings.json_output, jpy_per_usd=settings.jpy_per_usd)
    return 0


def _to_be_held(plan: Sequence[Conversation]) -> Sequence[Conversation]:
    """The conversations that are new, or were cut off."""
    from simulator.data.datasets import RowPlan
    from simulator.storage.results import StoredConversations

    if isinstance(plan, RowPlan):  # rows that nobody has asked yet
        return plan
    if isinstance(plan, StoredConversations):
        return plan.unfinished()
    return [
        conversation for conversation in plan if conversation.ended in (None, Ended.INTERRUPTED, Ended.BUDGET)
    ]


def _aside() -> contextlib.redirect_stdout[TextIO]:
    """What a bot's own code prints goes to stderr: stdout is for the summary, or for one JSON object."""
    return contextlib.redirect_stdout(sys.stderr)
