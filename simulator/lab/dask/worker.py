"""What runs in a Dask worker: it connects the bot once, and plays batches of conversations.

The driver calls three functions of this module: `prepare` once, `play` for each batch, as a task, and
`dismiss` at the end. A worker process plays one run at a time, and one batch at a time however
many threads it has: inside a batch, conversations overlap on an event loop as they do without workers.

Nothing is saved here. What happened in a batch is returned in order, and the driver writes it down.
Arguments are texts: they pass through a scheduler that may not have this program. Keys and the user's files
are the worker's own and are in neither.
"""

import asyncio
import contextlib
import hashlib
import importlib.metadata
import os
import platform
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel
from pydantic_core import to_json

from simulator import plugins
from simulator.core.concurrency import first_error
from simulator.core.errors import InputError, Outage, RehearsalError
from simulator.core.loading import source_files
from simulator.core.messages import Message, _, message_of
from simulator.core.roles import endpoints
from simulator.core.settings import Settings, stored_settings
from simulator.core.types import (
    LEXICAL,
    Case,
    Conversation,
    Persona,
    Role,
    Run,
    Score,
    Usage,
    Utterance,
)
from simulator.models.pricing import Allowance, Ledger
from simulator.runner.context import PACKAGES, RunContext
from simulator.runner.prompts import AppliedPrompt
from simulator.runner.run import Progress, Runner
from simulator.shelves import FOLDER

# Seconds between two looks whether the driver still waits for a batch: for so long a lost run still costs
# money.
LOOK = 0.5
# Seconds that a run waits for a worker that is playing another one.
_PATIENCE = 5.0
# Longer values of --set are texts, not names of files.
_LONGEST_NAME = 500
# Files that two copies of the program must have in common: all that decides what is asked and how it is
# graded.
_SHELVES, _SUFFIXES = ("judges", "personas", "prompts", "rag_adapters", "demo"), (".py", ".toml")


class Unwatched(Progress):
    """A Progress that shows nothing."""

    def turn(self, *_event: object) -> None:
        """Nothing."""

    def graded(self, *_event: object) -> None:
        """Nothing."""

    def ended(self, *_event: object) -> None:
        """Nothing."""


def _program_hash() -> str:
    # By content alone: once installed, the shelves stand below the engine.
    folders = [Path(__file__).resolve().parents[2], *(FOLDER / name for name in _SHELVES)]
    # Read once, when the module is loaded: an update on disk does not change the code that runs.
    files = (path for folder in folders for path in folder.rglob("*") if path.suffix in _SUFFIXES)
    return hashlib.sha256(b"".join(sorted({path.read_bytes() for path in files}))).hexdigest()[:16]


# The code that this process runs, whatever becomes of its files afterwards.
_LOADED = _program_hash()


def user_files(settings: Settings) -> list[str]:
    """The files of the user's own that settings name: the bot, judges, lists, prompts and those of --set."""
    prompt = AppliedPrompt(settings) if settings.prompt else None
    code = (settings.adapter, *settings.judges)
    # `@file` is how a setting names a file for its value.
    given = (text.removeprefix("@") for text in settings.set.values())
    of_plugins = (str(settings.added.get(name) or "") for name in ("outputs", "ng_words"))
    lists = (*of_plugins, settings.guidelines or "", settings.contacts or "", settings.rules or "")
    names = [
        *(name.rpartition(":")[0] or name for name in code), *given, *lists, settings.script or "",
        *map(os.path.relpath, prompt.files if prompt else ()),
    ]  # fmt: skip
    return [name for name in names if name and len(name) < _LONGEST_NAME and os.path.isfile(name)]  # noqa: PTH113


def environment(files: Iterable[str] = ()) -> dict[str, str]:
    """What has to be the same on every machine: Python, packages, the program and these `files`, by hashes.

    Two workers with different rubrics or libraries would give one run two kinds of grades. A module of the
    user's counts with those that it imports from beside it.
    """
    hashes = {"program": _LOADED, "python": ".".join(platform.python_version_tuple()[:2])}
    for package in (*PACKAGES, "numpy", "dask", "distributed"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            hashes[package] = importlib.metadata.version(package)
    for path in filter(Path.is_file, map(Path, files)):
        parts = source_files(path) if path.suffix == ".py" else [path]
        hashes[str(path)] = hashlib.sha256(b"".join(part.read_bytes() for part in parts)).hexdigest()[:8]
    return hashes


def difference(here: Mapping[str, str], there: Mapping[str, str]) -> Message | None:
    """The first difference between two environments, as a sentence without subject; None if there is none."""
    name = next((name for name, version in here.items() if there.get(name) != version), None)
    if name is None:
        return None
    if name == "program":
        return _("it runs other files of the program than this machine: update it and restart it")
    other, version = there.get(name, "none"), here[name]
    return _("it has {name} {other}, this machine {version}", name=name, other=other, version=version)


class Setup(BaseModel):
    """What a worker needs for a run, beside files and keys.

    `models` are those that the driver would use, by role. `folder` is where a worker on this machine plays
    it; None means the folder in which a worker elsewhere was started.
    """

    run: str
    settings: dict[str, Any]
    personas: tuple[Persona, ...]
    cases: tuple[Case, ...]
    models: dict[str, str]
    folder: str | None


class Batch(BaseModel):
    """Conversations to play or finish, with the grades they have and the lines that wait for an answer.

    `budget` is in dollars, None without one.
    """

    run: str
    conversations: tuple[Conversation, ...]
    pending: dict[str, tuple[int, Utterance]]
    scores: tuple[Score, ...]
    concurrency: int
    budget: float | None


class Played(NamedTuple):
    """How a batch ended, and as JSON the calls of its run file and ledger: [["save_answer", [...]], ...].

    `error` is one after which no conversation can succeed, an outage or another; `out_of_budget` says that
    its share was too small.
    """

    calls: str
    error: Message | str | None
    out_of_budget: bool
    is_outage: bool = False


class BatchRecord:
    """A run file for one batch: reads what the driver sent, and keeps every other call for the driver."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self.run = Run(id=batch.run, created=datetime.now(tz=UTC), settings={})

    def conversations(self) -> Sequence[Conversation]:
        """The conversations of the batch, as far as they have come."""
        return self.batch.conversations

    def scores(self, conversation: str) -> list[Score]:
        """The scores of a conversation so far."""
        return [score for score in self.batch.scores if score.conversation == conversation]

    def unanswered(self) -> dict[str, tuple[int, Utterance]]:
        """By conversation, the turn and the line that an interruption left unanswered."""
        return self.batch.pending

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *arguments: self.calls.append((name, arguments))


class BatchLedger(Ledger):
    """A ledger with a new budget for every batch; the run's own ledger is the driver's."""

    def grant(self, budget: float | None) -> None:
        """Starts again with this budget in dollars; None means no limit."""
        self.budget, self.roles, self._lost = budget, {}, 0.0
        self._allowance = None if budget is None else Allowance(budget)


class WorkerSession:
    """A run on this worker: its models, its bot, its folder, and the event loop on which they live."""

    def __init__(self, setup: Setup) -> None:
        """Connects the bot; raises InputError where other models would play."""
        self.run = setup.run
        with contextlib.ExitStack() as opened:
            opened.enter_context(contextlib.chdir(setup.folder or Path.cwd()))
            # A worker process outlives the run, and the next one may have another bot.py.
            opened.callback(_forget_modules, set(sys.modules), list(sys.path))
            plugins.offer()
            settings = stored_settings(setup.settings)
            self.ledger = BatchLedger({}, None, Ledger.of(settings).prices)
            by_role = endpoints(settings, strict=False)
            self.context = RunContext(settings, setup.personas, self.ledger, by_role=by_role)
            for role, model in setup.models.items():
                if (other := models(self.context).get(role, LEXICAL)) != model:
                    msg = _(
                        "{other} would play the role {role} there, here it is {model}: give the worker the"
                        " same OPENAI_ and REHEARSAL_ variables.",
                        other=other,
                        role=role,
                        model=model,
                    )
                    raise InputError(msg)
            self.loop = opened.enter_context(asyncio.Runner())
            # The adapter looks answers up by case; who asks is of no interest to it.
            plan = [Conversation(id=case.id, case=case, persona="", repeat=1) for case in setup.cases]
            self.bot = self.loop.run(self.context.bot(plan))
            opened.callback(lambda: self.loop.run(self.context.close(self.bot)))
            self.close = opened.pop_all().close

    async def play(self, batch: Batch, is_wanted: Callable[[], bool]) -> Played:
        """Plays and grades a batch; cancelled as soon as nobody wants it any more."""
        record: Any = BatchRecord(batch)

        def charge(role: Role, usage: Usage, cached: bool, _cost: float | None) -> None:
            record.charge(role, usage, cached)

        self.ledger.grant(batch.budget)
        self.ledger.record = charge
        self.context.settings = self.context.settings.model_copy(update={"concurrency": batch.concurrency})
        runner = Runner(record, self.context, self.bot, Unwatched())
        playing = asyncio.create_task(runner.run())
        # Dask cannot interrupt a thread, so the task looks itself.
        while not (await asyncio.wait({playing}, timeout=LOOK))[0]:
            if not is_wanted():
                playing.cancel()
        error: BaseException | None = None
        try:
            await playing
        except* RehearsalError as group:
            error = first_error(group)
        message, calls = message_of(error) if error else None, to_json(record.calls).decode()
        return Played(calls, message, runner.out_of_budget is not None, isinstance(error, Outage))


# Tasks run on threads of the worker; the lock is held by the one that prepares or plays.
_lock = threading.Lock()
_session: WorkerSession | None = None


async def prepare(driver: dict[str, str], setup: str, dask_worker: Any = None) -> None:
    """Makes this worker ready for a run. Raises RehearsalError where it is not like the `driver`, or busy."""
    # Dask's profiler asks for the frames of all threads; where garbage is collected meanwhile and a thread
    # starts, CPython 3.11 stands still for ever.
    if profiler := dask_worker and dask_worker.periodic_callbacks.get("profile"):
        profiler.stop()
    parsed = Setup.model_validate_json(setup)
    # Prepared already; a worker that comes back is asked again.
    if _session is not None and _session.run == parsed.run:
        return
    if differs := difference(driver, environment(driver)):
        msg = _("{differs}; make them the same before anything is paid (docs/lab/scale.md).", differs=differs)
        raise InputError(msg)
    if parsed.folder:
        os.dup2(2, 1)  # what a bot prints must not stand on the driver's stdout, beside --json
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes of a terminal

    def connect() -> None:
        global _session  # noqa: PLW0603 - a process has one
        if not _lock.acquire(timeout=_PATIENCE):
            raise InputError(_("it is playing another run"))
        try:
            _close()
            _session = WorkerSession(parsed)
        finally:
            _lock.release()

    await asyncio.to_thread(connect)


async def dismiss(run: str) -> None:
    """Closes the bot's connections."""

    def close() -> None:
        with _lock:
            if _session is not None and _session.run == run:
                _close()

    await asyncio.to_thread(close)


def _close() -> None:
    global _session  # noqa: PLW0603
    if _session is not None:
        _session.close()
    _session = None


def _forget_modules(before: set[str], path: list[str]) -> None:
    """Takes back what a run imported from its folder: the next one may find another helper.py there."""
    sys.path[:] = path
    for name in sys.modules.keys() - before:
        file = Path(getattr(sys.modules[name], "__file__", None) or "/")
        is_ours = name.partition(".")[0] == "simulator" or "site-packages" in file.parts
        if file.is_relative_to(Path.cwd()) and not is_ours:
            del sys.modules[name]


def models(context: RunContext) -> dict[str, str]:
    """By role, the model and where it is reached."""
    ends = context.endpoints
    return {
        role: f"{model} ({end.address})" if (end := ends[role]) else model  # type: ignore[index]
        for role, model in context.models().items()
    }


def play(batch: str) -> Played | None:
    """A task: see `WorkerSession.play`. None on a worker that is not prepared for the run."""
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def is_wanted() -> bool:
        """A task is taken back when the driver leaves or dies; its thread has to see that itself."""
        task = worker.state.tasks.get(key)
        return task is not None and task.state in ("executing", "long-running")

    parsed = Batch.model_validate_json(batch)
    with _lock:
        if _session is None or _session.run != parsed.run:
            return None
        return _session.loop.run(_session.play(parsed, is_wanted))
