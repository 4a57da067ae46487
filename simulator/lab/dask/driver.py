"""Runs on dask: workers play the conversations of a run, and this process alone writes the run file.

Each worker gets a batch of conversations as a task, plays them to their end and returns all that happened;
this process writes that down, and gives the worker the next batch. What is written is the whole state: after
kill -9 of this process, or with the scheduler gone, any engine resumes the run. Dask itself gives a batch
whose worker is lost to another one, a bounded number of times; such a batch is played from its beginning.

Limits are those of the whole run. Calls at a time, and requests and tokens a minute, are divided among the
workers that are there at the start. Of the budget, a batch may spend an equal part of what is neither spent
nor granted; the run ends with the first batch for which that was too little.

    driver                                          worker
    Cluster.open: wait for workers, compare
      environments, send the Setup            --->  prepare: connect the bot
    a Batch of conversations, as a task       --->  play
    BatchRunner._write: writes it down        <---  Played: [["save_answer", ...], ["charge", ...], ...]
    the next Batch ...
    Cluster.close                             --->  dismiss: close the connections

Setup, batches and what happened cross the network as JSON, since the scheduler need not have this program;
workers must have the same version of it, which is checked. Keys and files of the user are never sent; a
worker has its own.
"""

import asyncio
import contextlib
import itertools
import json
import logging
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

from pydantic import validate_call

from simulator.core import shelves
from simulator.core.errors import InputError, Outage, RehearsalError
from simulator.core.messages import Message, _, message_of
from simulator.core.roles import models_named
from simulator.core.secrets import missing_secrets
from simulator.core.settings import Settings, dollars
from simulator.core.types import Conversation, Ended, Query, Usage
from simulator.lab.dask import worker
from simulator.lab.dask.settings import DaskSettings
from simulator.lab.dask.worker import Batch, Played, Setup
from simulator.runner.context import RunContext
from simulator.runner.conversation import grading_contexts
from simulator.runner.run import (
    Closing,
    Preparation,
    Progress,
    Runner,
    RunnerFactory,
    hold_conversations,
)
from simulator.storage.run_file import RunFile

# Seconds to wait for a scheduler's answer, and for all workers.
PATIENCE, START_TIMEOUT = 10.0, 120.0
# A batch has at most so many conversations for each that is played at a time: a larger one leaves a worker
# without work less often, a smaller one is lost with less.
ROUNDS = 2
LOCAL = _("this machine")


class Cluster:
    """The workers of a run: checks them, has them connect the bot, and gives them batches."""

    def __init__(self, client: Any, context: RunContext, plan: Sequence[Conversation]) -> None:
        """Contacts no worker yet."""
        self.client, self.context, self.plan = client, context, plan
        self.run = f"rehearsal-{uuid.uuid4().hex}"
        # The workers that play; each gets one batch at a time.
        self.addresses: list[str] = []
        self._environment = worker.environment(worker.user_files(context.settings))
        self._setup = ""

    async def open(self) -> None:
        """Waits for the workers and sets them up. Raises InputError for anything the user has to fix."""
        settings = self.context.settings
        count = DaskSettings.of(settings).workers or 1
        with contextlib.suppress(TimeoutError):
            await self.client.wait_for_workers(count, timeout=START_TIMEOUT)
        # By address, so that shares of limits and budget are dealt out the same way each time.
        there = sorted(await self.client.nthreads())
        if len(there) < count:
            msg = _(
                "{address} has {n} of {count} workers after {patience:g} s; start them with:"
                " dask worker (docs/lab/scale.md).",
                address=DaskSettings.of(settings).scheduler or LOCAL,
                n=len(there),
                count=count,
                patience=START_TIMEOUT,
            )
            raise InputError(msg)
        # A worker needs a place and a conversation of its own, or it would stand idle.
        self.addresses = there[: min(settings.concurrency, settings.calls, max(1, len(self.plan)))]
        self._setup = self._packed().model_dump_json()
        await self._set_up()

    def _packed(self) -> Setup:
        """What workers need."""
        context, settings, n = self.context, self.context.settings, len(self.addresses)
        # Named as this process found them: a default or a variable may be another one there.
        of_models = models_named(context.models())
        offered = context.offered(self.plan)
        connect = shelves.connector(settings.adapter, settings.set)
        bound = shelves.adapter_arguments(settings.adapter, connect, settings.set, offered)
        # Only for prompts, and an adapter that takes them: there may be a million.
        needs_cases = context.applied_prompt is not None or "cases" in bound
        return Setup(
            run=self.run,
            settings=settings.stored_values() | of_models | {"calls": max(1, settings.calls // n)},
            personas=tuple(context.personas.values()),
            cases=tuple(offered["cases"]) if needs_cases else (),
            models=worker.models(context),
            folder=None if DaskSettings.of(settings).scheduler else str(Path.cwd()),
        )

    async def _set_up(self) -> None:
        """Checks every worker and has it connect the bot, unless it has. Raises InputError."""
        # Outside the workers' tasks, for the scheduler would keep those.
        answers = await self.client.run(worker.prepare, self._environment, self._setup, on_error="return")
        for address, error in answers.items():
            # Said by our own code there; the message travels pickled, with its values.
            if isinstance(error, RehearsalError):
                raise InputError(_("worker {address}: {reason}", address=address, reason=message_of(error)))
            # Whatever keeps a foreign process from loading our module, or the bot; one may be gone by now.
            if error is not None and not isinstance(error, OSError):
                msg = _(
                    "worker {address}: cannot load the program or the bot ({why}); its log says more."
                    " PYTHONPATH has to name the folder of run.py there (docs/lab/scale.md).",
                    address=address,
                    why=_brief(error),
                )
                raise InputError(msg)

    async def play(self, batch: Batch) -> Played:
        """How a batch ended on a free worker or, once that is gone, on another one. Raises RehearsalError."""
        from distributed.client import FutureCancelledError
        from distributed.comm.core import CommClosedError

        try:
            return await self._played(batch)
        except (FutureCancelledError, CommClosedError):
            msg = _(
                "the scheduler at {address} is lost; any engine can finish the run.",
                address=DaskSettings.of(self.context.settings).scheduler or LOCAL,
            )
            raise RehearsalError(msg) from None

    async def _played(self, batch: Batch) -> Played:
        def play(batch: str) -> Any:
            # Sent as code, for a scheduler reads tasks and may not have this program.
            from simulator.lab.dask.worker import play

            return play(batch)

        import dask
        from distributed import KilledWorker

        # Dask counts workers that died while they had this task; here those that came without the run.
        lost, most = 0, dask.config.get("distributed.scheduler.allowed-failures")
        while lost <= most:
            # On any worker: a task that names one waits for ever once all were lost at a time.
            future = self.client.submit(
                play, batch.model_dump_json(), key=f"{self.run}-{uuid.uuid4().hex}", pure=False
            )
            try:
                played: Played | None = await future.result()
            except KilledWorker:
                break
            except ImportError as error:  # of a worker that came later
                raise RehearsalError(
                    _("a worker cannot load the program ({why})", why=_brief(error))
                ) from None
            finally:  # no worker goes on when nobody waits for it
                future.release()
            if played is not None:
                return played
            lost += 1
            await self._set_up()  # it came while the run goes on
        ids = ", ".join(conversation.id for conversation in batch.conversations)
        raise RehearsalError(_("workers were lost again and again with {ids}; see what they logged", ids=ids))

    async def close(self) -> None:
        """Has the workers close what they opened; those that are gone have."""
        if self.client.status == "running":
            with contextlib.suppress(Exception):
                leaving = self.client.run(worker.dismiss, self.run, on_error="ignore")
                await asyncio.wait_for(leaving, PATIENCE)


def _brief(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]


class BatchRunner(Runner):
    """Gives every worker one batch of conversations at a time, and writes down what comes back."""

    file: RunFile

    def __init__(self, cluster: Cluster, *args: Any) -> None:
        """The workers, and what every Runner takes."""
        super().__init__(*args)
        self.cluster = cluster
        # Dollars that a batch may spend, by its worker; what it did not spend returns to the run.
        self._granted: dict[str, float] = {}
        # What reads the arguments of a call is made once: it takes longer than the call.
        self._method = cache(lambda name: validate_call(getattr(self.file, name)))

    async def run(self) -> None:
        """Plays all open conversations and grades all ungraded turns; ends early if the budget is spent."""
        unread = self._batches()
        async with asyncio.TaskGroup() as tasks:
            for address in self.cluster.addresses:
                tasks.create_task(self._keep_busy(address, unread))
        # What was never handed out: with the budget spent, it is marked and open to --resume.
        for conversations in unread:
            for conversation in conversations:
                if conversation.ended is None:
                    self.file.save_ending(conversation.id, Ended.BUDGET, "", "")
                    self.progress.ended(conversation.model_copy(update={"ended": Ended.BUDGET}))

    def _batches(self) -> Iterator[list[Conversation]]:
        """The plan in parts, smaller ones towards the end, so that all workers end together.

        None has fewer than are played at a time, as long as there are so many for each worker.
        """
        conversations, left = iter(self._plan), len(self._plan)
        workers, most = len(self.cluster.addresses), ROUNDS * self._at_once
        while left > 0:
            size = min(most, max(left // (2 * workers), min(self._at_once, -(-left // workers))))
            yield list(itertools.islice(conversations, size))
            left -= size

    @property
    def _at_once(self) -> int:
        """How many conversations a worker plays at a time."""
        return -(-self.context.settings.concurrency // len(self.cluster.addresses))

    async def _keep_busy(self, address: str, unread: Iterator[list[Conversation]]) -> None:
        while not self.out_of_budget and (taken := next(unread, None)):
            budget = self.context.ledger.budget
            if budget is not None:
                free = budget - self.context.ledger.spent.least_usd - sum(self._granted.values())
                self._granted[address] = max(0.0, free / (len(self.cluster.addresses) - len(self._granted)))
            played = await self.cluster.play(self._batch(taken, self._granted.get(address)))
            self._granted.pop(address, None)
            self._write(taken, played)

    def _batch(self, taken: Sequence[Conversation], budget: float | None) -> Batch:
        """These conversations, with the grades they have and the lines that wait for an answer."""
        pending = self.file.unanswered()
        return Batch(
            run=self.cluster.run,
            conversations=tuple(taken),
            pending={held.id: pending[held.id] for held in taken if held.id in pending},
            scores=tuple(score for held in taken if held.turns for score in self.file.scores(held.id)),
            concurrency=self._at_once,
            budget=budget,
        )

    def _write(self, taken: Sequence[Conversation], played: Played) -> None:
        """Does here what a batch did there, in order, and shows it; RehearsalError where it stopped."""
        for method, arguments in json.loads(played.calls):
            if method == "charge":
                role, usage, cached = arguments
                self.context.ledger.charge(role, Usage.model_validate(usage), cached=cached)
            else:
                self._method(method)(*arguments)
        # Progress is shown of what is written, and only then.
        self.file.commit()
        earlier = {conversation.id: len(conversation.turns) for conversation in taken}
        for conversation in self.file.conversations().with_ids(list(earlier)):
            for length in range(earlier[conversation.id], len(conversation.turns)):
                self.progress.turn(
                    conversation.model_copy(update={"turns": conversation.turns[: length + 1]})
                )
            scores = self.file.scores(conversation.id)
            for context in grading_contexts(conversation):
                turn, is_whole = context.turn.index, context.closing is not None
                of_grading = [score for score in scores if (score.turn, score.is_whole) == (turn, is_whole)]
                self.progress.graded(context, of_grading)
            self.progress.ended(conversation)
        if played.error:
            raise Outage("error", played.error) if played.is_outage else RehearsalError(played.error)
        if played.out_of_budget:
            self.out_of_budget = _(
                "too little is left of the budget of {budget} USD for every worker; a larger --budget goes"
                " on, or one process without workers",
                budget=dollars(self.context.ledger.budget or 0.0),
            )


@asynccontextmanager
async def connected(settings: Settings) -> AsyncIterator[Any]:
    """A client of `--scheduler`, or of a cluster on this machine with `--workers`; closed at the end."""
    import dask
    import distributed as library
    from distributed.utils import silence_logging_cmgr

    distributed: Any = library  # without types
    # What the libraries log about lost peers, this program reports in one line.
    quiet = logging.CRITICAL + 1
    timeouts = {"distributed.comm.timeouts.connect": f"{PATIENCE:g}s"}
    async with contextlib.AsyncExitStack() as opened:
        opened.enter_context(silence_logging_cmgr(quiet))
        opened.enter_context(dask.config.set(timeouts))
        where: Any = DaskSettings.of(settings).scheduler
        if where is None:
            # Without a dashboard, and nothing listens beyond this machine.
            pages: dict[str, Any] = {
                f"distributed.{part}.http.routes": [] for part in ("scheduler", "worker")
            }
            opened.enter_context(dask.config.set(pages))
            # Encrypted with a key of its own: other users of this machine could send it code otherwise.
            cluster = distributed.LocalCluster(
                n_workers=DaskSettings.of(settings).workers, threads_per_worker=1, memory_limit=0,
                security=True, dashboard_address="127.0.0.1:0", silence_logs=quiet, asynchronous=True,
            )  # fmt: skip
            where = await opened.enter_async_context(cluster)
        try:
            client = await distributed.Client(
                where, asynchronous=True, timeout=PATIENCE, set_as_default=False
            )
        except (OSError, ValueError, ImportError) as error:
            msg = _(
                "--scheduler {address}: cannot be reached ({why}).",
                address=DaskSettings.of(settings).scheduler or LOCAL,
                why=_brief(error),
            )
            raise InputError(msg) from None
        try:
            yield client
        finally:
            with contextlib.suppress(TimeoutError, OSError):
                await client.close(timeout=PATIENCE if client.status == "running" else 1.0)


async def perform(  # noqa: PLR0917 - the same as of the local engine
    context: RunContext,
    plan: Sequence[Conversation],
    open_file: Callable[[], RunFile],
    progress: Progress,
    prepare: Preparation | None = None,
    new_runner: RunnerFactory | None = None,
    closing: Closing | None = None,
) -> tuple[Path, Message | str | None]:
    """Like `perform` of the local engine: returns the run file, and why the run stopped early, None if not.

    The file is opened once every worker is checked and has connected the bot; nothing is paid before.
    `new_runner` is ignored: other kinds of Runner work in one process only.
    """
    try:
        if secrets := missing_secrets(context.settings.stored_values()["set"]):
            msg = _(
                "--set {name}: secrets do not travel to workers. Write ${{NAME}} instead, and set that"
                " variable where the workers run.",
                name=secrets[0],
            )
            raise InputError(msg)
        async with connected(context.settings) as client:
            cluster = Cluster(client, context, plan)
            try:
                await cluster.open()
                batches = partial(BatchRunner, cluster)
                with contextlib.closing(open_file()) as file:
                    return file.path, await hold_conversations(
                        file, context, _remote_bot, progress, prepare, batches, closing
                    )
            finally:
                await cluster.close()
    finally:
        await context.close(None)


async def _remote_bot(_query: Query) -> str:
    """Stands in for the bot, which is connected and asked on the workers only."""
    raise NotImplementedError
