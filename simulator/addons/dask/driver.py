"""`--engine dask`: workers play the conversations of a run, and this process alone writes the run file.

Each worker gets a batch of conversations as a task, plays them to their end and returns all that happened;
this process writes that down and gives the worker the next batch. What is written is the whole state: after
kill -9 of this process, or with the scheduler gone, any engine resumes the run. A batch whose worker is lost
is given to another one, a bounded number of times; the response cache answers again what it knows.

Limits are those of the whole run. Calls at a time, and requests and tokens a minute, are divided among the
workers that are there at the start; one that comes later takes the place of one that went. The budget is
granted in shares: a batch gets an equal part of what is neither spent nor granted. As soon as that is too
little for a batch, batches go one at a time, and each may spend all that is left. What a lost worker has
spent is not known, so its whole share counts as spent: the budget may end early, and is never exceeded.
"""

import asyncio
import contextlib
import itertools
import logging
import time
import uuid
from collections import Counter, defaultdict, deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from simulator.addons.dask import worker
from simulator.addons.dask.files import UserFiles
from simulator.addons.dask.worker import Batch, Played, Setup
from simulator.core import shelves
from simulator.core.errors import InputError, RehearsalError
from simulator.core.messages import Message, _, message_of, say
from simulator.core.secrets import missing_secrets
from simulator.core.settings import PREFIX, Settings
from simulator.core.types import Conversation, Ended, GradingContext, Query, Score
from simulator.models.pricing import JUDGE
from simulator.runner.context import RunContext
from simulator.runner.conversation import grading_contexts
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


class BatchLost(Exception):
    """The worker is gone, or its process could not play a batch; says why."""


class Workers:
    """The workers of a run: those `there`, and those `ready`, which have connected the bot."""

    def __init__(self, client: Any, context: RunContext, plan: Sequence[Conversation]) -> None:
        """Contacts no worker yet."""
        self.client, self.context, self.plan = client, context, plan
        self.run = f"rehearsal-{uuid.uuid4().hex}"
        self.there: set[str] = set()
        self.ready: set[str] = set()
        # How many of them play at a time.
        self.slots = 1
        self.address: Message | str = context.settings.scheduler or LOCAL
        self._is_here = context.settings.scheduler is None
        self._environment = worker.environment()
        self._setup, self._files = "", dict[str, bytes]()

    async def open(self) -> None:
        """Waits for the workers and sets them up. Raises InputError for anything the user has to fix."""
        settings = self.context.settings
        count = settings.workers or 1
        patience = ALL_TIMEOUT if count > 1 else FIRST_TIMEOUT
        with contextlib.suppress(TimeoutError):
            await self.client.wait_for_workers(count, timeout=patience)
        await self.look()
        if len(self.there) < count:
            msg = _(
                "{address} has {n} of {count} workers after {patience:g} s; start them with:"
                " dask worker (docs/scale.md).",
                address=self.address,
                n=len(self.there),
                count=count,
                patience=patience,
            )
            raise InputError(msg)
        rates = [end.rpm for end in self.context.endpoints.values() if end and end.rpm]
        most = min(len(self.there), settings.concurrency, settings.calls, len(self.plan), *rates)
        self.slots = max(1, most)
        self._setup = self._packed().model_dump_json()
        for error in await asyncio.gather(*map(self.set_up, self.there), return_exceptions=True):
            if error is not None:
                raise error

    async def look(self) -> None:
        """Sees which workers are there. Raises RehearsalError where the scheduler does not answer."""
        with contextlib.suppress(TimeoutError, OSError):
            addresses = set(await asyncio.wait_for(self.client.nthreads(), PATIENCE))
            if self.client.status == "running":
                self.there = addresses
                self.ready &= addresses
                return
        msg = _("the scheduler at {address} is lost; any engine can finish the run.", address=self.address)
        raise RehearsalError(msg)

    def _packed(self) -> Setup:
        """What workers need. Secrets stay here; a value of --set that is one has to be named, not given."""
        context, settings, folder = self.context, self.context.settings, str(Path.cwd())
        if secrets := missing_secrets(settings.stored_values()["set"]):
            msg = _(
                "--set {name}: secrets do not travel to workers. Write ${{NAME}} instead, and set that"
                " variable where the workers run.",
                name=secrets[0],
            )
            raise InputError(msg)
        if not self._is_here:
            files = UserFiles(settings)
            settings, (folder, self._files) = files.settings, files.contents()
            if files.left_out:
                names = ", ".join(files.left_out[:8])
                say(_("Not sent to the workers, as they look like secrets: {names}.", names=names))
        limits = {
            f"{PREFIX}{role}_{limit}".upper(): str(max(1, most // self.slots)) if most else ""
            for role, end in context.endpoints.items()
            for limit, most in (("rpm", end and end.rpm), ("tpm", end and end.tpm))
        }
        own = {f"{role}_model": model for role, model in context.models().items()}
        offered = context.offered(self.plan)
        connect = shelves.connector(settings.adapter)
        bound = shelves.adapter_arguments(settings.adapter, connect, settings.set, offered)
        # Only for prompts, and an adapter that takes them: there may be a million.
        needs_cases = context.applied_prompts is not None or "cases" in bound
        return Setup(
            settings=settings.stored_values() | own | {"calls": max(1, settings.calls // self.slots)},
            personas=tuple(context.personas.values()),
            cases=tuple(offered["cases"]) if needs_cases else (),
            models=worker.models(context),
            limits=limits,
            folder=folder,
            is_here=self._is_here,
        )

    async def set_up(self, address: str) -> None:
        """Checks a worker and has it connect the bot; from then on it is `ready`. Raises InputError."""
        prefix = "" if self._is_here else _("worker {address}: ", address=address)
        try:
            # Outside the worker's tasks, for the scheduler would keep those.
            await self.client.run(
                worker.prepare, self.run, self._environment, self._setup, self._files, workers=[address]
            )
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
        """What happened in a batch, on this one worker: no other knows the run. Raises BatchLost."""

        def play(run: str, batch: str) -> Any:
            # Sent as code, for a scheduler reads tasks and may not have this program.
            import importlib

            return importlib.import_module("simulator.addons.dask.worker").play(run, batch)

        future = self.client.submit(
            play, self.run, batch.model_dump_json(),
            key=f"{self.run}-{uuid.uuid4().hex}", workers=[address], allow_other_workers=False, pure=False,
        )  # fmt: skip
        result = asyncio.ensure_future(future.result())
        try:
            # The task of a worker that has gone would wait for its return.
            while address in self.ready and not result.done():
                await asyncio.wait({result}, timeout=POLL_INTERVAL)
            if not result.done() or result.cancelled():  # the latter with the scheduler
                raise BatchLost(_("the worker is gone"))
            if error := result.exception():
                raise BatchLost(_brief(error))
            return Played.model_validate_json(result.result())
        except BatchLost:
            self.ready.discard(address)  # it may have been restarted
            raise
        finally:  # cancelled or not, no worker goes on when nobody waits for it
            result.cancel()
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
    """Divides the open conversations into batches, one for each worker, and writes down what they return."""

    file: RunFile

    def __init__(self, workers: Workers, *args: Any) -> None:
        """The workers, and what every Runner takes."""
        super().__init__(*args)
        self.workers, self._stored = workers, self.file.conversations()
        self._slots = workers.slots
        self._serving: dict[str, asyncio.Task[None]] = {}
        self._refused: dict[str, str] = {}
        # What is still to be played: batches that came back, and the unread rest of the plan.
        self._again: deque[str] = deque()
        self._read = 0
        self._unread = self._open_conversations()
        self._losses: Counter[str] = Counter()
        # Dollars of batches that are out, by worker, and of batches that were lost.
        self._granted: dict[str, float] = {}
        self._lost_grants = 0.0

    async def run(self) -> None:
        """Plays all open conversations and grades all ungraded turns; ends early if the budget is spent."""
        last_served = time.monotonic()
        async with asyncio.TaskGroup() as tasks:
            while self._serving or (self._waiting and not self.out_of_budget):
                await self.workers.look()
                free = sorted(self.workers.there - self._serving.keys() - self._refused.keys())
                places = self._slots - len(self._serving) if self._waiting else 0
                for address in free[: max(0, places)]:
                    self._serving[address] = tasks.create_task(self._serve(address))
                if self._serving:
                    last_served = time.monotonic()
                    await asyncio.wait(
                        self._serving.values(), timeout=POLL_INTERVAL, return_when=asyncio.FIRST_COMPLETED
                    )
                elif time.monotonic() - last_served > MAX_ALONE:
                    where = self.workers.address
                    why = next(iter(self._refused.values()), _("none came back"))
                    raise RehearsalError(_("no worker is left at {address} ({why})", address=where, why=why))
                else:
                    await asyncio.sleep(POLL_INTERVAL)
        for conversation in self._stored.with_ids([*self._again, *self._unread]):
            if conversation.ended is None:
                self.file.save_ending(conversation.id, Ended.BUDGET, "", "")
                self.progress.ended(conversation.model_copy(update={"ended": Ended.BUDGET}))

    @property
    def _waiting(self) -> int:
        """How many conversations may still have to be given to a worker."""
        return len(self._again) + len(self._plan) - self._read

    def _open_conversations(self) -> Iterator[str]:
        """Reads the plan as far as it is asked for: shows what is done, and returns the ids of the rest."""
        for conversation in self._plan:
            self._read += 1
            # Failed grades are tried again on resume; all others are paid for and kept.
            scores = self.file.scores(conversation.id) if conversation.turns else ()
            graded = self._graded(conversation, [score for score in scores if score.state != "failed"])
            for context, of_turn in graded:
                self.progress.graded(context, of_turn)
            if conversation.ended is not None:
                self.progress.ended(conversation)
            if conversation.ended is None or len(graded) < len(self._to_grade(conversation)):
                yield conversation.id

    def _graded(
        self, conversation: Conversation, scores: Sequence[Score]
    ) -> list[tuple[GradingContext, list[Score]]]:
        """The turns that every judge has graded, with their scores; likewise the whole conversation."""
        by_turn: dict[int, list[Score]] = defaultdict(list)
        for score in scores:
            by_turn[score.turn].append(score)
        contexts = self._to_grade(conversation)
        return [
            (context, by_turn[context.turn.index])
            for context in contexts
            if {s.judge for s in by_turn[context.turn.index]} >= self.context.grading.names_of(context)
        ]

    def _to_grade(self, conversation: Conversation) -> list[GradingContext]:
        """What judges of this run look at: turns, and whole conversations."""
        names = self.context.grading.names_of
        return [context for context in grading_contexts(conversation) if names(context)]

    async def _serve(self, address: str) -> None:
        """Gives one worker batch after batch, until nothing is left, or the worker or the money is gone."""
        try:
            if address not in self.workers.ready:  # it came while the run goes on, or lost a batch
                await self.workers.set_up(address)
            while not self.out_of_budget and len(self._serving) <= self._slots and (ids := self._take()):
                await self._have_played(address, ids)
        except InputError as error:  # it has another version, or is gone already
            self._refused[address] = str(error)
        except BatchLost:
            pass
        finally:
            del self._serving[address]

    def _take(self) -> list[str]:
        """The ids of the next batch: fewer towards the end, so that all workers end together."""
        size = min(ROUNDS * self._share, max(1, -(-self._waiting // (2 * self.workers.slots))))
        ids = [self._again.popleft() for _unused in range(min(size, len(self._again)))]
        return [*ids, *itertools.islice(self._unread, size - len(ids))]

    @property
    def _share(self) -> int:
        """How many conversations one worker plays at a time."""
        return -(-self.context.settings.concurrency // self.workers.slots)

    async def _have_played(self, address: str, ids: list[str]) -> None:
        """Has a batch played, and writes it down. Raises BatchLost, after too many losses RehearsalError."""
        budget, has_all, grant = self.context.ledger.budget, self._slots == 1, None
        if budget is not None:
            taken = self.context.ledger.spent.least_usd + sum(self._granted.values()) + self._lost_grants
            grant = self._granted[address] = max(0.0, (budget - taken) / (self._slots - len(self._granted)))
        conversations = tuple(self._stored.with_ids(ids))
        batch = Batch(
            run=self._run_id,
            conversations=conversations,
            pending={key: self._pending[key] for key in ids if key in self._pending},
            scores=tuple(
                score for each in conversations if each.turns for score in self.file.scores(each.id)
            ),
            concurrency=self._share,
            budget=grant,
        )
        try:
            played = await self.workers.play(address, batch)
        except BatchLost as error:
            self._again.extendleft(reversed(ids))
            self._lost_grants += grant or 0.0
            self._losses.update(ids)
            if worst := next((key for key in ids if self._losses[key] >= MAX_LOSSES), None):
                msg = _(
                    "{conversation} was lost with {n} workers ({why}); see what the workers logged",
                    conversation=worst,
                    n=MAX_LOSSES,
                    why=error.args[0],
                )
                raise RehearsalError(msg) from None
            raise
        finally:
            self._granted.pop(address, None)
        self._write(ids, played)
        if played.out_of_budget:
            self._again.extendleft(reversed(ids))
            self._slots = 1  # the others may still return some of what they were granted
            if has_all:
                spent_all = _("the budget of {budget} USD is spent", budget=f"{budget:g}")
                self.out_of_budget = _("{error}; a larger --budget goes on", error=spent_all)

    def _write(self, ids: Sequence[str], played: Played) -> None:
        """Writes down a batch, what was paid first, and shows it. Raises RehearsalError where it stopped."""
        for role, usage, cached, judge in played.calls:
            JUDGE.set(judge)
            self.context.ledger.charge(role, usage, cached=cached)
        for key, index, line in played.said:
            self.file.save_utterance(key, index, line)
            self._pending[key] = index, line
        for key, index, answer in played.answered:
            self.file.save_answer(key, index, answer)
            if self._pending[key][0] == index:
                del self._pending[key]
        for ended in played.ended:
            self.file.save_ending(*ended)
        self.file.save_scores(played.scores)
        self.file.commit()
        self._show(ids, played)
        if played.stopped:
            raise RehearsalError(played.stopped)

    def _show(self, ids: Sequence[str], played: Played) -> None:
        """Tells the progress of every turn, grade and ending that a batch returned."""
        answered = {(key, index) for key, index, _unused in played.answered}
        graded = {(score.conversation, score.turn) for score in played.scores}
        over = {key for key, *_unused in played.ended}
        for conversation in self._stored.with_ids(ids):
            for turn in conversation.turns:
                if (conversation.id, turn.index) in answered:
                    so_far = conversation.turns[: turn.index]
                    self.progress.turn(conversation.model_copy(update={"turns": so_far, "ended": None}))
            for context, scores in self._graded(conversation, self.file.scores(conversation.id)):
                if (conversation.id, context.turn.index) in graded:
                    self.progress.graded(context, scores)
            if conversation.id in over:
                self.progress.ended(conversation)


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
            workers = Workers(client, context, plan)
            try:
                await workers.open()
                batches = partial(BatchRunner, workers)
                with contextlib.closing(open_file()) as file:
                    return file.path, await rehearse(
                        file, context, _remote_bot, progress, prepare, batches, stopping_rule
                    )
            finally:
                await workers.close()
    finally:
        await context.close(None)


async def _remote_bot(_query: Query) -> str:
    """Stands in for the bot, which is connected and asked on the workers only."""
    raise NotImplementedError
