"""What runs in a Dask worker: it connects the bot once, and plays batches of conversations.

The driver calls three functions of this module: `prepare` once, `play` for each batch, as a task, and
`dismiss` at the end. A worker process plays one run at a time, and one batch at a time however
many threads it has: inside a batch, conversations overlap on an event loop as they do without workers.

Nothing is saved here. `play` returns everything that happened, in order, and the driver writes it down; so a
batch that is lost with its worker is simply played again, and the response cache answers what it knows.
Arguments and results are texts: they pass through a scheduler that may not have this program. Keys are read
from the worker's own environment and are in neither.
"""

import asyncio
import contextlib
import hashlib
import importlib.metadata
import os
import platform
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from simulator.core import shelves
from simulator.core.concurrency import first_error
from simulator.core.errors import InputError, RehearsalError, Said
from simulator.core.messages import Message, _, message_of
from simulator.core.roles import endpoints
from simulator.core.settings import stored_settings
from simulator.core.types import (
    LEXICAL,
    Answer,
    Case,
    Conversation,
    Ended,
    Persona,
    Role,
    Run,
    Score,
    Usage,
    Utterance,
)
from simulator.models.pricing import JUDGE, Allowance, Ledger
from simulator.runner.context import PACKAGES, RunContext
from simulator.runner.run import Runner, Unwatched

# Seconds between two looks whether the driver still waits for a batch.
LOOK = 0.5
# Seconds that a run waits for a worker that is playing another one.
_PATIENCE = 5.0
# Files that two copies of the program must have in common.
_PROGRAM, _SUFFIXES = ("simulator", "judges", "personas", "prompts", "rag_adapters", "demo"), (".py", ".toml")


def _program_hash() -> str:
    digest = hashlib.sha256()
    for path in sorted(path for folder in _PROGRAM for path in (shelves.ROOT / folder).rglob("*")):
        if path.suffix in _SUFFIXES and path.is_file():
            digest.update(path.relative_to(shelves.ROOT).as_posix().encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


# The code that this process runs, whatever becomes of its files afterwards.
_LOADED = _program_hash()


def environment() -> dict[str, str]:
    """Versions of Python, this program and packages, and a hash of the program's files as loaded."""
    found = {"program": _LOADED, "python": ".".join(platform.python_version_tuple()[:2])}
    for package in (*PACKAGES, "numpy", "dask", "distributed"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    return found


def difference(here: Mapping[str, str], there: Mapping[str, str]) -> Message | None:
    """The first difference between two environments, as a sentence without subject; None if there is none."""
    name = next((name for name, version in here.items() if there.get(name) != version), None)
    if name is None:
        return None
    if name == "program":
        return _("it runs other files of the program than this machine: update it, and start it anew")
    other, version = there.get(name, "none"), here[name]
    return _("it has {name} {other}, this machine {version}", name=name, other=other, version=version)


class Setup(BaseModel):
    """What a worker needs for a run, beside files and keys.

    `models` are those that the driver would use, by role; `limits` are environment variables with this
    worker's share of each role's requests and tokens a minute. `folder` is where a worker on this machine
    plays it; elsewhere it is below the files that were sent.
    """

    settings: dict[str, Any]
    personas: tuple[Persona, ...]
    cases: tuple[Case, ...]
    models: dict[str, str]
    limits: dict[str, str]
    folder: str
    is_here: bool


class Batch(BaseModel):
    """Conversations to play or finish, with the grades they have and the lines that wait for an answer."""

    run: str
    conversations: tuple[Conversation, ...]
    pending: dict[str, tuple[int, Utterance]]
    scores: tuple[Score, ...]
    concurrency: int
    budget: float | None


class Played(BaseModel):
    """What happened in a batch: the arguments of each `save_...` of a run file, and how it ended.

    `calls` end with the judge that they were made for. `stopped` is the error after which no conversation can
    succeed; `out_of_budget` says that the batch's share of the budget was too small to finish it.
    """

    said: list[tuple[str, int, Utterance]] = []
    answered: list[tuple[str, int, Answer]] = []
    ended: list[tuple[str, Ended, str, str]] = []
    scores: list[Score] = []
    calls: list[tuple[Role, Usage, bool, str]] = []
    stopped: Said | None = None
    out_of_budget: bool = False


class BatchRecord:
    """The Record of a batch: `played` collects what a run file would save."""

    def __init__(self, batch: Batch) -> None:
        self.batch, self.played = batch, Played()
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

    def save_utterance(self, conversation: str, turn: int, utterance: Utterance) -> None:
        """Notes the customer's line."""
        self.played.said.append((conversation, turn, utterance))

    def save_answer(self, conversation: str, turn: int, answer: Answer) -> None:
        """Notes the bot's answer."""
        self.played.answered.append((conversation, turn, answer))

    def save_ending(self, conversation: str, ended: Ended, reason: str, closing: str) -> None:
        """Notes an ending; one for want of money is the driver's to decide, who may have more of it."""
        if ended is not Ended.BUDGET:
            self.played.ended.append((conversation, ended, reason, closing))

    def save_scores(self, scores: Iterable[Score]) -> None:
        """Notes scores of a turn."""
        self.played.scores += scores

    def save_call(self, role: Role, usage: Usage, cached: bool, cost_usd: float | None) -> None:
        """Notes a model call; the driver computes its cost."""
        self.played.calls.append((role, usage, cached, JUDGE.get()))


class BatchLedger(Ledger):
    """A ledger with a new budget for every batch; the run's own ledger is the driver's."""

    def grant(self, budget: float | None) -> None:
        """Starts again with this budget in dollars; None means no limit."""
        self.budget, self.roles = budget, {}
        self._allowance = None if budget is None else Allowance(budget)


class Session:
    """A run on this worker: its models, its bot, its folder, and the event loop on which they live."""

    def __init__(self, run: str, setup: Setup, files: Mapping[str, bytes], scratch: str) -> None:
        """Connects the bot in the run's own folder; raises InputError where other models would play."""
        self.run = run
        with contextlib.ExitStack() as opened:
            folder = Path(setup.folder)
            if not setup.is_here:
                root = opened.enter_context(tempfile.TemporaryDirectory(prefix="rehearsal-", dir=scratch))
                opened.callback(_forget_modules, Path(root).resolve())
                for name, content in files.items():
                    path = Path(root, name)
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(content)
                folder = Path(root, setup.folder)
                folder.mkdir(parents=True, exist_ok=True)
            opened.enter_context(contextlib.chdir(folder))
            # Where endpoints look, and the models of a panel, which are no roles.
            os.environ.update(setup.limits)
            settings = stored_settings(setup.settings)
            self.ledger = BatchLedger({}, None, Ledger.of(settings).prices)
            self.context = RunContext(
                settings, endpoints(settings, strict=False), setup.personas, self.ledger
            )
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
            plan = [Conversation(id=case.id, case=case, persona="", repeat=1) for case in setup.cases]
            self.bot = self.loop.run(self.context.bot(plan))
            opened.callback(lambda: self.loop.run(self.context.close(self.bot)))
            self.close = opened.pop_all().close

    async def play(self, batch: Batch, is_wanted: Callable[[], bool]) -> Played:
        """Plays and grades a batch; cancelled as soon as nobody wants it any more."""
        record = BatchRecord(batch)
        self.ledger.grant(batch.budget)
        self.ledger.record = record.save_call
        self.context.settings = self.context.settings.model_copy(update={"concurrency": batch.concurrency})
        runner = Runner(record, self.context, self.bot, Unwatched())
        playing = asyncio.create_task(runner.run())
        while not (await asyncio.wait({playing}, timeout=LOOK))[0]:
            if not is_wanted():
                playing.cancel()
        try:
            await playing
        except* RehearsalError as group:
            record.played.stopped = message_of(first_error(group))
        record.played.out_of_budget = runner.out_of_budget is not None
        return record.played


# Tasks run on threads of the worker; the lock is held by the one that prepares or plays.
_lock = threading.Lock()
_session: Session | None = None


async def prepare(
    run: str, driver: dict[str, str], setup: str, files: dict[str, bytes], dask_worker: Any
) -> None:
    """Makes this worker ready for a run. Raises RehearsalError where it is not like the `driver`, or busy."""
    if differs := difference(driver, environment()):
        msg = _("{differs}; make them the same before anything is paid (docs/scale.md).", differs=differs)
        raise InputError(msg)
    parsed = Setup.model_validate_json(setup)
    if parsed.is_here:
        os.dup2(2, 1)  # what a bot prints must not stand on the driver's stdout, beside --json
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes of a terminal

    def connect() -> None:
        global _session  # noqa: PLW0603 - a process has one
        if not _lock.acquire(timeout=_PATIENCE):
            raise InputError(_("it is playing another run"))
        try:
            if _session is None or _session.run != run:
                _close()
                _session = Session(run, parsed, files, dask_worker.local_directory)
        finally:
            _lock.release()

    await asyncio.to_thread(connect)


async def dismiss(run: str) -> None:
    """Closes the bot's connections and removes the files of a run."""

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


def _forget_modules(root: Path) -> None:
    """The next run may have another helper.py."""
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None) or "").startswith(str(root)):
            del sys.modules[name]
    sys.path[:] = [folder for folder in sys.path if not folder.startswith(str(root))]


def models(context: RunContext) -> dict[str, str]:
    """By role, the model and where it is reached."""
    ends = context.endpoints
    return {
        role: f"{model} ({end.address})" if (end := ends[role]) else model  # type: ignore[index]
        for role, model in context.models().items()
    }


def play(run: str, batch: str) -> str:
    """A task: plays a Batch and returns what was Played, each as JSON. Raises where the run is unknown."""
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def is_wanted() -> bool:
        """A task is taken back when the driver leaves or dies; its thread has to see that itself."""
        task = worker.state.tasks.get(key)
        return task is not None and task.state in ("executing", "long-running")

    with _lock:
        if _session is None or _session.run != run:
            raise RuntimeError(str(_("this worker does not know the run")))
        played = _session.loop.run(_session.play(Batch.model_validate_json(batch), is_wanted))
        return played.model_dump_json()
