"""`--engine dask`: workers play the conversations of a run, and this process alone writes the run file.

Each worker gets a batch of conversations as a task, plays them to their end and returns all that happened;
this process writes that down and gives the worker the next batch. What is written is the whole state: after
kill -9 of this process, or with the scheduler gone, any engine resumes the run. A batch whose worker is lost
is given to another one, a bounded number of times; the response cache answers again what it knows.

Limits are those of the whole run. Calls at a time, and requests and tokens a minute, are divided among the
workers that are there at the start; one that comes later takes the place of one that went. The budget is
granted in shares: a batch gets an equal part of what is neither spent nor granted. As soon as that is too
little for a batch, batches go one at a time, and each may spend all that is left. What a lost worker has
spent is not known, so its whole share counts as spent: the budget may end early, and is never exceeded. That
is why every task names its worker, and why this module, not the scheduler, has a lost one repeated.
"""

import asyncio
import contextlib
import itertools
import logging
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from simulator.addons.dask import worker
from simulator.addons.dask.worker import Batch, Played, Setup
from simulator.core import shelves
from simulator.core.errors import InputError, RehearsalError
from simulator.core.messages import Message, _, message_of
from simulator.core.secrets import missing_secrets
from simulator.core.settings import PREFIX, Settings
from simulator.core.types import Conversation, Ended, Query, Score
from simulator.models.pricing import JUDGE
from simulator.runner.context import RunContext
from simulator.runner.conversation import conversation_context, grading_context
from simulator.runner.run import (
    Preparation,
    Progress,
    Runner,
    RunnerFactory,
    StoppingRule,
    no_preparation,
    rehearse,
)
from simulator.storage.run_file import RunFile

# Seconds to wait for a scheduler's answer, for the first worker, and for all workers of --workers.
PATIENCE, FIRST_TIMEOUT, ALL_TIMEOUT = 10.0, 30.0, 300.0
# Seconds that a run waits without any worker: a killed one is often started again.
MAX_ALONE = 60.0
# Seconds between two looks at which workers are there.
POLL_INTERVAL = 1.0
# After this many lost batches with the same conversation the run stops.
MAX_LOSSES = 4
# A batch has at most so many conversations for each that is played at a time: what a lost worker costs.
ROUNDS = 3
LOCAL = _("this machine")
# A local cluster has no dashboard, and listens on nothing beyond this machine.
_LOCAL_CONFIG: dict[str, Any] = {
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}


class Cluster:
    """The workers of a run: checks them, has them connect the bot, and gives them batches."""

    def __init__(self, client: Any, context: RunContext, plan: Sequence[Conversation]) -> None:
        """Contacts no worker yet."""
        self.client, self.context, self.plan = client, context, plan
        self.run = f"rehearsal-{uuid.uuid4().hex}"
        # Workers that have connected the bot, and why others could not.
        self.ready: set[str] = set()
        self.refused: dict[str, str] = {}
        # How many of them play at a time.
        self.slots = 1
        self.address: Message | str = context.settings.scheduler or LOCAL
        # Dollars of batches whose worker was lost: nobody knows what it had spent of them.
        self.lost_usd = 0.0
        self._environment = worker.environment(worker.user_files(context.settings))
        self._setup = ""

    async def open(self) -> None:
        """Waits for the workers and sets them up. Raises InputError for anything the user has to fix."""
        settings = self.context.settings
        count = settings.workers or 1
        patience = ALL_TIMEOUT if count > 1 else FIRST_TIMEOUT
        with contextlib.suppress(TimeoutError):
            await self.client.wait_for_workers(count, timeout=patience)
        there = await self.there()
        if len(there) < count:
            msg = _(
                "{address} has {n} of {count} workers after {patience:g} s; start them with:"
                " dask worker (docs/scale.md).",
                address=self.address,
                n=len(there),
                count=count,
                patience=patience,
            )
            raise InputError(msg)
        rates = [end.rpm for end in self.context.endpoints.values() if end and end.rpm]
        most = min(len(there), settings.concurrency, settings.calls, len(self.plan), *rates)
        self.slots = max(1, most)
        self._setup = self._packed().model_dump_json()
        for error in await asyncio.gather(*map(self.set_up, there), return_exceptions=True):
            if error is not None:
                raise error

    async def there(self) -> set[str]:
        """The addresses of all workers. Raises RehearsalError where the scheduler does not answer."""
        with contextlib.suppress(TimeoutError, OSError):
            addresses = set(await asyncio.wait_for(self.client.nthreads(), PATIENCE))
            if self.client.status == "running":
                return addresses
        msg = _("the scheduler at {address} is lost; any engine can finish the run.", address=self.address)
        raise RehearsalError(msg)

    def _packed(self) -> Setup:
        """What workers need. Secrets stay here; a value of --set that is one has to be named, not given."""
        context, settings = self.context, self.context.settings
        if secrets := missing_secrets(settings.stored_values()["set"]):
            msg = _(
                "--set {name}: secrets do not travel to workers. Write ${{NAME}} instead, and set that"
                " variable where the workers run.",
                name=secrets[0],
            )
            raise InputError(msg)
        limits = {
            f"{PREFIX}{role}_{limit}".upper(): str(max(1, most // self.slots)) if most else ""
            for role, end in context.endpoints.items()
            for limit, most in (("rpm", end and end.rpm), ("tpm", end and end.tpm))
        }
        own = {f"{role}_model": model for role, model in context.models().items()}
        offered = context.offered(self.plan)
        connect = shelves.connector(settings.adapter, settings.set)
        bound = shelves.adapter_arguments(settings.adapter, connect, settings.set, offered)
        # Only for prompts, and an adapter that takes them: there may be a million.
        needs_cases = context.applied_prompt is not None or "cases" in bound
        return Setup(
            run=self.run,
            settings=settings.stored_values() | own | {"calls": max(1, settings.calls // self.slots)},
            personas=tuple(context.personas.values()),
            cases=tuple(offered["cases"]) if needs_cases else (),
            models=worker.models(context),
            limits=limits,
            folder=None if settings.scheduler else str(Path.cwd()),
        )

    async def set_up(self, address: str) -> None:
        """Checks a worker and has it connect the bot; from then on it is `ready`. Raises InputError."""
        prefix = _("worker {address}: ", address=address) if self.context.settings.scheduler else ""
        try:
            # Outside the worker's tasks, for the scheduler would keep those.
            await self.client.run(worker.prepare, self._environment, self._setup, workers=[address])
        except RehearsalError as error:
            raise InputError(_("{process}{reason}", process=prefix, reason=message_of(error))) from None
        except Exception as error:  # whatever keeps a foreign process from loading our module, or the bot
            msg = _(
                "{prefix}cannot load the program or the bot ({why}); its log says more. PYTHONPATH has to"
                " name the folder of run.py there (docs/scale.md).",
                prefix=prefix,
                why=_brief(error),
            )
            raise InputError(msg) from None
        self.ready.add(address)

    async def play(self, address: str, batch: Batch) -> Played:
        """What happened in a batch, on this one worker: another one would not be in the budget's count."""

        def play(batch: str) -> Any:
            # Sent as code, for a scheduler reads tasks and may not have this program.
            import importlib

            return importlib.import_module("simulator.addons.dask.worker").play(batch)

        future = self.client.submit(
            play, batch.model_dump_json(), key=f"{self.run}-{uuid.uuid4().hex}", workers=[address], pure=False
        )
        try:
            played: Played = await future.result()
            return played
        finally:  # cancelled or not, no worker goes on when nobody waits for it
            future.release()

    async def close(self) -> None:
        """Has the workers close what they opened; those that are gone have."""
        if self.ready and self.client.status == "running":
            with contextlib.suppress(Exception):
                leaving = self.client.run(
                    worker.dismiss, self.run, workers=list(self.ready), on_error="ignore"
                )
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
        self._out: dict[str, tuple[asyncio.Future[Played], Batch]] = {}
        # Conversations to play: those that came back, then the plan as far as it is not read.
        self._returned: list[Conversation] = []
        self._unread, self._left = iter(self._plan), len(self._plan)
        self._losses: Counter[str] = Counter()

    async def run(self) -> None:
        """Plays all open conversations and grades all ungraded turns; ends early if the budget is spent."""
        last = time.monotonic()
        try:
            while self._out or (self._left and not self.out_of_budget):
                there = await self.cluster.there()
                self.cluster.ready &= there
                for address in sorted(there - self._out.keys() - self.cluster.refused.keys()):
                    await self._hand_out(address)
                if self._out:
                    last = time.monotonic()
                    futures = [future for future, _batch in self._out.values()]
                    await asyncio.wait(futures, timeout=POLL_INTERVAL, return_when=asyncio.FIRST_COMPLETED)
                    self._take_in(there)
                elif time.monotonic() - last > MAX_ALONE:
                    where = self.cluster.address
                    why = next(iter(self.cluster.refused.values()), _("none came back"))
                    raise RehearsalError(_("no worker is left at {address} ({why})", address=where, why=why))
                else:
                    await asyncio.sleep(POLL_INTERVAL)
        finally:
            for future, _batch in self._out.values():
                future.cancel()
        for conversation in (*self._returned, *self._unread):
            if conversation.ended is None:
                self.file.save_ending(conversation.id, Ended.BUDGET, "", "")
                self.progress.ended(conversation.model_copy(update={"ended": Ended.BUDGET}))

    async def _hand_out(self, address: str) -> None:
        """Gives a worker the next batch, if there is one; sets it up if it came while the run goes on."""
        free = self.cluster.slots - len(self._out)
        if not self._left or self.out_of_budget or free <= 0:
            return
        if address not in self.cluster.ready:
            try:
                await self.cluster.set_up(address)
            except InputError as error:  # it has another version, or is gone already
                self.cluster.refused[address] = str(error)
                return
        share = -(-self.context.settings.concurrency // self.cluster.slots)
        # Fewer towards the end, so that all workers end together.
        size = min(ROUNDS * share, max(1, -(-self._left // (2 * self.cluster.slots))))
        taken = self._returned[:size]
        del self._returned[:size]
        taken += itertools.islice(self._unread, size - len(taken))
        self._left -= len(taken)
        budget = self.context.ledger.budget
        if budget is not None:
            granted = sum(batch.budget or 0.0 for _future, batch in self._out.values())
            gone = self.context.ledger.spent.least_usd + granted + self.cluster.lost_usd
            budget = max(0.0, (budget - gone) / free)
        batch = Batch(
            run=self.cluster.run,
            conversations=tuple(taken),
            pending={each.id: self._pending[each.id] for each in taken if each.id in self._pending},
            scores=tuple(score for each in taken if each.turns for score in self.file.scores(each.id)),
            concurrency=share,
            budget=budget,
            budget_is_share=self.cluster.slots > 1,
        )
        self._out[address] = asyncio.ensure_future(self.cluster.play(address, batch)), batch

    def _take_in(self, there: set[str]) -> None:
        """Writes down the batches that are over, and takes back those whose workers are gone."""
        for address, (future, batch) in list(self._out.items()):
            if future.done() and not future.cancelled() and future.exception() is None:
                del self._out[address]
                self._write(batch, future.result())
            elif future.done() or address not in there:
                # The task of a worker that has gone would wait for its return.
                future.cancel()
                del self._out[address]
                self.cluster.ready.discard(address)  # it may have been restarted
                error = future.exception() if future.done() and not future.cancelled() else None
                self._take_back(batch, _brief(error) if error else _("the worker is gone"))

    def _take_back(self, batch: Batch, why: Message | str) -> None:
        """Has a lost batch played again. Raises RehearsalError after too many losses."""
        self.cluster.lost_usd += batch.budget or 0.0
        self._again(batch.conversations)
        for conversation in batch.conversations:
            self._losses[conversation.id] += 1
            if self._losses[conversation.id] >= MAX_LOSSES:
                msg = _(
                    "{conversation} was lost with {n} workers ({why}); see what the workers logged",
                    conversation=conversation.id,
                    n=MAX_LOSSES,
                    why=why,
                )
                raise RehearsalError(msg)

    def _again(self, conversations: Sequence[Conversation]) -> None:
        self._returned[:0] = conversations
        self._left += len(conversations)

    def _show(
        self, name: str, conversation: Conversation, index: int = 0, scores: Sequence[Score] = ()
    ) -> None:
        """Tells the progress what a batch noted of a conversation; turn 0 stands for all of it."""
        if name == "turn":
            so_far = {"turns": conversation.turns[:index], "ended": None}
            self.progress.turn(conversation.model_copy(update=so_far))
        elif name == "ended":
            self.progress.ended(conversation)
        else:
            whole = conversation_context(conversation) if index == 0 else None
            self.progress.graded(whole or grading_context(conversation, index), scores)

    def _write(self, batch: Batch, played: Played) -> None:
        """Does here what a batch would have done there, in order. Raises RehearsalError where it stopped."""
        calls, error, out_of_budget = played
        goes_on = out_of_budget and batch.budget_is_share
        for name, arguments in calls:
            if name == "charge":
                judge, role, usage, cached = arguments
                JUDGE.set(judge)
                self.context.ledger.charge(role, usage, cached=cached)
            elif name.startswith("save_") and not (goes_on and Ended.BUDGET in arguments):
                getattr(self.file, name)(*arguments)
        self.file.commit()
        ids = [conversation.id for conversation in batch.conversations]
        held = {each.id: each for each in self.file.conversations().with_ids(ids)}
        for name, arguments in calls:
            # Of a batch that goes on, grades and endings are shown when all of it comes back.
            if name == "turn" or (name in {"graded", "ended"} and not goes_on):
                self._show(name, held[arguments[0]], *arguments[1:])
        if error:
            raise RehearsalError(error)
        if goes_on:
            self.cluster.slots = 1  # the others may still return some of what they were granted
            self._pending = self.file.unanswered()
            self._again(list(held.values()))
        elif out_of_budget:
            spent_all = _("the budget of {budget} USD is spent", budget=f"{self.context.ledger.budget:g}")
            self.out_of_budget = _("{error}; a larger --budget goes on", error=spent_all)


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
        where: Any = settings.scheduler
        if where is None:
            opened.enter_context(dask.config.set(_LOCAL_CONFIG))
            # Encrypted with a key of its own: other users of this machine could send it code otherwise.
            cluster = distributed.LocalCluster(
                n_workers=settings.workers, threads_per_worker=1, memory_limit=0, security=True,
                dashboard_address="127.0.0.1:0", silence_logs=quiet, asynchronous=True,
            )  # fmt: skip
            where = await opened.enter_async_context(cluster)
        try:
            client = await distributed.Client(
                where, asynchronous=True, timeout=PATIENCE, set_as_default=False
            )
        except (OSError, ValueError, ImportError) as error:
            msg = _(
                "--scheduler {address}: cannot be reached ({why}).",
                address=settings.scheduler or LOCAL,
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
    prepare: Preparation = no_preparation,
    new_runner: RunnerFactory | None = None,
    stopping_rule: StoppingRule | None = None,
) -> tuple[Path, Message | str | None]:
    """Like `perform` of the local engine: returns the run file, and why the run stopped early, None if not.

    The file is opened once every worker is checked and has connected the bot; nothing is paid before.
    `new_runner` is ignored: other kinds of Runner work in one process only.
    """
    try:
        async with connected(context.settings) as client:
            cluster = Cluster(client, context, plan)
            try:
                await cluster.open()
                batches = partial(BatchRunner, cluster)
                with contextlib.closing(open_file()) as file:
                    return file.path, await rehearse(
                        file, context, _remote_bot, progress, prepare, batches, stopping_rule
                    )
            finally:
                await cluster.close()
    finally:
        await context.close(None)


async def _remote_bot(_query: Query) -> str:
    """Stands in for the bot, which is connected and asked on the workers only."""
    raise NotImplementedError
