"""`--engine dask`: workers play the conversations of a run, and this process alone writes the run file.

Each worker gets a batch of conversations as a task, plays them to their end and returns all that happened;
this process writes that down and gives the worker the next batch. What is written is the whole state: after
kill -9 of this process, or with the scheduler gone, any engine resumes the run. A batch whose worker is lost
is given to another one, a bounded number of times.

Limits are those of the whole run. Calls at a time, and requests and tokens a minute, are divided among the
workers that are there at the start; one that comes later takes the place of one that went. The budget is
granted in shares: a batch gets an equal part of what is neither spent nor granted, and comes back unfinished
where that is too little. When little is left, batches go one at a time, and each may spend all of it. What a
lost worker has spent is not known, so its whole share counts as spent: the budget may end early, and is never
exceeded.
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
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from simulator.addons.dask import worker
from simulator.addons.dask.files import UserFiles
from simulator.addons.dask.worker import Batch, Played, Setup
from simulator.core import shelves
from simulator.core.errors import InputError, RehearsalError
from simulator.core.messages import Message, _, say
from simulator.core.roles import LEXICAL
from simulator.core.secrets import missing_secrets, without_secrets
from simulator.core.settings import Settings
from simulator.core.types import Bot, Conversation, Ended, GradingContext, Query, Score
from simulator.models.pricing import JUDGE
from simulator.runner.context import RunContext
from simulator.runner.conversation import grading_context
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


class Workers:
    """The workers of a run: `ready` has the addresses of those that can play, at most `slots` at a time."""

    def __init__(self, client: Any, context: RunContext, plan: Sequence[Conversation]) -> None:
        """Looks for the files to send; contacts no worker yet."""
        self.client, self.context, self.plan = client, context, plan
        self.run = f"rehearsal-{uuid.uuid4().hex}"
        self.ready: set[str] = set()
        self.slots = 1
        self.address: Message | str = context.settings.scheduler or LOCAL
        self._is_here = context.settings.scheduler is None
        self._environment = worker.environment()
        self._setup, self._files = "", dict[str, bytes]()
        self._preparing: dict[str, asyncio.Task[None]] = {}
        self._refused: dict[str, str] = {}
        self._alone_since: float | None = None
        self._looked_at = 0.0

    async def open(self) -> None:
        """Waits for the workers and sets them up. Raises InputError for anything the user has to fix."""
        settings = self.context.settings
        count = settings.workers or 1
        patience = ALL_TIMEOUT if count > 1 else FIRST_TIMEOUT
        try:
            await self.client.wait_for_workers(count, timeout=patience)
        except TimeoutError:
            msg = _(
                "{address} has {n} of {count} workers after {patience:g} s; start them with:"
                " dask worker (docs/scale.md).",
                address=self.address,
                n=len(await self._addresses()),
                count=count,
                patience=patience,
            )
            raise InputError(msg) from None
        addresses = await self._addresses()
        rates = [end.rpm for end in self.context.endpoints.values() if end and end.rpm]
        self.slots = max(1, min(len(addresses), settings.concurrency, settings.calls, len(self.plan), *rates))
        self._setup = self._packed().model_dump_json()
        for error in await asyncio.gather(*map(self._set_up, addresses), return_exceptions=True):
            if error is not None:
                raise error

    async def _addresses(self) -> set[str]:
        with contextlib.suppress(TimeoutError, OSError):
            addresses = set(await asyncio.wait_for(self.client.nthreads(), PATIENCE))
            if self.client.status == "running":
                return addresses
        msg = _("the scheduler at {address} is lost; any engine can finish the run.", address=self.address)
        raise RehearsalError(msg)

    def _packed(self) -> Setup:
        """What workers need. Secrets stay here; a value of --set that is one has to be named, not given."""
        context, settings, folder = self.context, self.context.settings, str(Path.cwd())
        if secrets := missing_secrets(without_secrets(settings.set)):
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
        shares = {
            role: {what: n and max(1, n // self.slots) for what, n in (("rpm", end.rpm), ("tpm", end.tpm))}
            for role, end in context.endpoints.items()
            if end
        }
        changes = {
            **{f"{role}_model": model for role, model in context.models().items()},
            "calls": max(1, settings.calls // self.slots),
            "engine": "local", "scheduler": None, "workers": None, "budget": None, "check": (), "to": (),
            "cases": None, "resume": None, "dry_run": False, "sequential": False, "confidence": None,
            "target": None, "knowledge": None, "rpm": None, "tpm": None, "shard": None,
        }  # fmt: skip
        offered = context.offered(self.plan)
        connect = shelves.connector(settings.adapter)
        bound = shelves.adapter_arguments(settings.adapter, connect, settings.set, offered)
        return Setup(
            settings=settings.model_copy(update=changes).model_dump(mode="json"),
            personas=tuple(context.personas.values()),
            # Only for an adapter that takes them: there may be a million.
            cases=tuple(offered["cases"]) if "cases" in bound else (),
            rates=shares,
            folder=folder,
            is_here=self._is_here,
        )

    async def _set_up(self, address: str) -> None:
        """Checks a worker and has it connect the bot; from then on it is `ready`. Raises InputError."""
        prefix = "" if self._is_here else _("worker {address}: ", address=address)
        try:
            there = await self._call(address, worker.environment)
        except Exception as error:  # whatever keeps a foreign process from loading our module
            msg = _(
                "{prefix}cannot load the program ({why}); start it with PYTHONPATH naming the"
                " folder of run.py (docs/scale.md).",
                prefix=prefix,
                why=_brief(error),
            )
            raise InputError(msg) from None
        if differs := worker.difference(self._environment, there):
            msg = _(
                "{prefix}{differs}; make them the same before anything is paid (docs/scale.md).",
                prefix=prefix,
                differs=differs,
            )
            raise InputError(msg)
        try:
            prepared = await self._call(address, worker.prepare, self.run, self._setup, self._files)
        except Exception as error:  # the bot has ended its process, or failed in a way of its own
            msg = _(
                "{prefix}the bot cannot be set up there: {lost}; its own words are in the worker's log.",
                prefix=prefix,
                lost=_brief(error),
            )
            raise InputError(msg) from None
        if "refused" in prepared:
            raise InputError(_("{process}{reason}", process=prefix, reason=prepared["refused"]))
        for role, model in worker.models(self.context).items():
            other = prepared["models"].get(role, LEXICAL)
            if other != model:
                msg = _(
                    "{prefix}{other} would play the role {role} there, here it is {model}: give"
                    " the worker the same OPENAI_ and REHEARSAL_ variables.",
                    prefix=prefix,
                    other=other,
                    role=role,
                    model=model,
                )
                raise InputError(msg)
        self.ready.add(address)

    async def _call(self, address: str, function: Callable[..., Any], *args: Any) -> Any:
        """The result of a function on one worker, outside its tasks: the scheduler keeps nothing of it."""
        return (await self.client.run(function, *args, workers=[address]))[address]

    def submit(self, address: str, batch: Batch) -> Any:
        """The future of a task for this one worker; no other would know the run."""

        def play(run: str, batch: str) -> Any:
            # Sent as code, for a scheduler reads tasks and may not have this program.
            import importlib

            return importlib.import_module("simulator.addons.dask.worker").play(run, batch)

        return self.client.submit(
            play, self.run, batch.model_dump_json(),
            key=f"{self.run}-{uuid.uuid4().hex}", workers=[address], allow_other_workers=False, pure=False,
        )  # fmt: skip

    async def refresh(self) -> None:
        """Forgets workers that are gone, and sets up new ones while the run goes on."""
        now = time.monotonic()
        if now - self._looked_at < POLL_INTERVAL:
            return
        self._looked_at = now
        addresses = await self._addresses()
        self.ready &= addresses
        for address in addresses - self.ready - self._preparing.keys() - self._refused.keys():
            self._preparing[address] = asyncio.create_task(self._add(address))
        self._alone_since = None if self.ready else (self._alone_since or now)
        if self._alone_since is not None and now - self._alone_since > MAX_ALONE:
            why = next(iter(self._refused.values()), _("none came back"))
            raise RehearsalError(_("no worker is left at {address} ({why})", address=self.address, why=why))

    async def _add(self, address: str) -> None:
        try:
            await self._set_up(address)
        except InputError as error:  # it has another version, or is gone already
            self._refused[address] = str(error)
        finally:
            del self._preparing[address]

    def doubt(self, address: str) -> None:
        """Has a worker that lost a batch checked and set up again: it may have been restarted."""
        self.ready.discard(address)
        self._looked_at = 0.0

    async def close(self) -> None:
        """Has the workers close what they opened; those that are gone have."""
        for task in self._preparing.values():
            task.cancel()
        if self.ready and self.client.status == "running":
            with contextlib.suppress(Exception):
                leaving = self.client.run(
                    worker.dismiss, self.run, workers=list(self.ready), on_error="ignore"
                )
                await asyncio.wait_for(leaving, PATIENCE)


def _brief(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]


@dataclass
class Given:
    """A batch that a worker is playing. `grant` is its share of the budget, in dollars."""

    address: str
    ids: list[str]
    grant: float | None
    future: Any
    # Whether it was the only batch and may spend all that is left.
    has_all: bool


class BatchRunner(Runner):
    """Divides the open conversations into batches, one for each worker, and writes down what they return."""

    file: RunFile

    def __init__(  # noqa: PLR0917 - like every Runner, after the workers
        self,
        workers: Workers,
        file: RunFile,
        context: RunContext,
        bot: Bot,
        progress: Progress,
        plan: Sequence[Conversation] | None = None,
    ) -> None:
        """Continues from what the file has."""
        super().__init__(file, context, bot, progress, plan)
        self.workers, self._stored = workers, file.conversations()
        self._given: dict[asyncio.Task[str], Given] = {}
        # What is still to be played: batches that came back, and the unread rest of the plan.
        self._again: deque[str] = deque()
        self._read = 0
        self._unread = self._open_conversations()
        self._losses: Counter[str] = Counter()
        self._lost_grants = 0.0
        self._is_tight = False

    async def run(self) -> None:
        """Plays all open conversations and grades all ungraded turns; ends early if the budget is spent."""
        try:
            while True:
                await self.workers.refresh()
                is_over = self._give_out()
                if is_over and not self._given:
                    break
                await self._take_back()
        finally:  # cancelled or not, no worker goes on when this process has ended
            for task, given in self._given.items():
                task.cancel()
                given.future.release()
        for conversation in self._stored.with_ids([*self._again, *self._unread]):
            if conversation.ended is None:
                self.file.save_ending(conversation.id, Ended.BUDGET, "", "")
                self.progress.ended(conversation.model_copy(update={"ended": Ended.BUDGET}))

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
            if conversation.ended is None or len(graded) < len(conversation.turns):
                yield conversation.id

    def _graded(
        self, conversation: Conversation, scores: Sequence[Score]
    ) -> list[tuple[GradingContext, list[Score]]]:
        """The turns that every judge has graded, with their scores."""
        by_turn: dict[int, list[Score]] = defaultdict(list)
        for score in scores:
            by_turn[score.turn].append(score)
        contexts = [grading_context(conversation, turn.index) for turn in conversation.turns]
        return [
            (context, by_turn[context.turn.index])
            for context in contexts
            if {s.judge for s in by_turn[context.turn.index]} >= self.context.grading.names_of(context)
        ]

    def _give_out(self) -> bool:
        """Gives every free worker a batch; returns whether there is nothing left to give, or no money."""
        while not self.out_of_budget:
            busy = {given.address for given in self._given.values()}
            free = next(iter(sorted(self.workers.ready - busy)), None)
            slots = 1 if self._is_tight else self.workers.slots
            if free is None or len(self._given) >= slots:
                return False
            left = self._left()
            grant = None if left is None else left / (slots - len(self._given))
            if grant is not None and grant <= 0:
                if self._given:
                    return False  # they may return some of it
                self._stop()
                break
            size = self._size()
            ids = [self._again.popleft() for _unused in range(min(size, len(self._again)))]
            ids += itertools.islice(self._unread, size - len(ids))
            if not ids:
                break
            future = self.workers.submit(free, self._batch(ids, grant))
            task = asyncio.ensure_future(future.result())
            self._given[task] = Given(free, ids, grant, future, has_all=self._is_tight)
        return True

    def _batch(self, ids: list[str], grant: float | None) -> Batch:
        conversations = tuple(self._stored.with_ids(ids))
        return Batch(
            run=self._run_id,
            conversations=conversations,
            pending={key: self._pending[key] for key in ids if key in self._pending},
            scores=tuple(
                score for each in conversations if each.turns for score in self.file.scores(each.id)
            ),
            concurrency=self._share,
            budget=grant,
        )

    @property
    def _share(self) -> int:
        """How many conversations one worker plays at a time."""
        return -(-self.context.settings.concurrency // self.workers.slots)

    def _size(self) -> int:
        """Conversations in the next batch: fewer towards the end, so that all workers end together."""
        waiting = len(self._again) + len(self._plan) - self._read
        return min(ROUNDS * self._share, max(1, -(-waiting // (2 * self.workers.slots))))

    def _left(self) -> float | None:
        """Dollars that are neither spent nor granted; None without a budget."""
        ledger = self.context.ledger
        if ledger.budget is None:
            return None
        spent = sum(role.cost_usd or 0.0 for role in ledger.roles.values())
        granted = sum(given.grant or 0.0 for given in self._given.values())
        return ledger.budget - spent - granted - self._lost_grants

    async def _take_back(self) -> None:
        """Waits a moment for batches to end; writes down what they return, and queues lost ones again."""
        if not self._given:
            await asyncio.sleep(POLL_INTERVAL / 5)  # no worker is ready
            return
        done, _unused = await asyncio.wait(
            self._given, timeout=POLL_INTERVAL, return_when=asyncio.FIRST_COMPLETED
        )
        for task, given in list(self._given.items()):
            if task not in done and given.address in self.workers.ready:
                continue
            if task not in done or task.cancelled():  # the latter with the scheduler
                self._lost(task, _("the worker is gone"))
            elif error := task.exception():
                self._lost(task, _brief(error))
            else:
                del self._given[task]
                self._apply(given, Played.model_validate_json(task.result()))

    def _apply(self, given: Given, played: Played) -> None:
        """Writes down a batch, what was paid first; shows it; decides about what it could not pay for."""
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
        self._show(played)
        if played.stopped:
            raise RehearsalError(played.stopped)
        if played.out_of_budget:
            self._again.extendleft(reversed(given.ids))
            if given.has_all:
                self._stop()
            self._is_tight = self._is_tight or (self._left() or 0.0) < 2 * (given.grant or 0.0)

    def _show(self, played: Played) -> None:
        """Tells the progress of every turn, grade and ending that a batch returned."""
        answered = {(key, index) for key, index, _unused in played.answered}
        graded = {(score.conversation, score.turn) for score in played.scores}
        ended = {key for key, *_unused in played.ended}
        ids = sorted({key for key, _turn in answered | graded} | ended)
        for conversation in self._stored.with_ids(ids):
            for turn in conversation.turns:
                if (conversation.id, turn.index) in answered:
                    so_far = conversation.turns[: turn.index]
                    self.progress.turn(conversation.model_copy(update={"turns": so_far, "ended": None}))
            for context, scores in self._graded(conversation, self.file.scores(conversation.id)):
                if (conversation.id, context.turn.index) in graded:
                    self.progress.graded(context, scores)
            if conversation.id in ended:
                self.progress.ended(conversation)

    def _lost(self, task: "asyncio.Task[str]", why: Message | str) -> None:
        """Queues a batch again that its worker lost. Raises RehearsalError after too many losses."""
        given = self._given.pop(task)
        task.cancel()
        given.future.release()
        self.workers.doubt(given.address)
        self._lost_grants += given.grant or 0.0
        self._losses.update(given.ids)
        if worst := next((key for key in given.ids if self._losses[key] >= MAX_LOSSES), None):
            msg = _(
                "{conversation} was lost with {n} workers ({why}); see what the workers logged",
                conversation=worst,
                n=MAX_LOSSES,
                why=why,
            )
            raise RehearsalError(msg)
        self._again.extendleft(reversed(given.ids))

    def _stop(self) -> None:
        budget = self.context.ledger.budget or 0.0
        spent = _("the budget of {budget} USD is spent", budget=f"{budget:g}")
        self.out_of_budget = _("{error}; a larger --budget goes on", error=spent)


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
                file = open_file()
                try:
                    return file.path, await rehearse(
                        file,
                        context,
                        _remote_bot,
                        progress,
                        prepare,
                        partial(BatchRunner, workers),
                        stopping_rule,
                    )
                finally:
                    file.close()
            finally:
                await workers.close()
    finally:
        await context.close(None)


async def _remote_bot(_query: Query) -> str:
    """Stands in for the bot, which is connected on the workers only."""
    msg = _("the bot answers on the workers")
    raise RuntimeError(msg)
