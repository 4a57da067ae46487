"""The driver of a run on Dask: workers play its conversations, and this process alone writes the run file."""

import asyncio
import json
import uuid
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simulator.addons.dask import worker
from simulator.addons.dask.batch import batch_line
from simulator.addons.dask.connection import WorkersLost, connected
from simulator.addons.dask.workers import POLL_INTERVAL, Workers
from simulator.core.errors import InputError, RehearsalError
from simulator.core.messages import Message, _
from simulator.core.types import (
    Answer,
    Bot,
    Conversation,
    Ended,
    Query,
    Score,
    Turn,
    Usage,
    Utterance,
)
from simulator.models.pricing import JUDGE
from simulator.runner.context import RunContext
from simulator.runner.conversation import grading_context
from simulator.runner.run import (
    Preparation,
    Progress,
    Record,
    Runner,
    RunnerFactory,
    StoppingRule,
    first_error,
    no_preparation,
    rehearse,
)
from simulator.storage.run_file import RunFile

# After this many lost batches with the same conversation the run stops.
MAX_LOSSES = 4
MAX_BATCH = 250


@dataclass
class Batch:
    """Conversations that a worker is playing; `grant` is their share of the budget in dollars."""

    key: str
    address: str
    conversations: list[str]
    grant: float | None
    future: Any
    # Whether it was the only batch and may spend all that is left.
    has_all: bool = False
    spent: float = 0.0
    reports: int = 0
    watch_task: asyncio.Task[None] | None = None


class WorkerRefused(RehearsalError):
    """A worker reported an error that ends the run, such as no access or an unusable judge."""


class BatchRunner(Runner):
    """Divides the open conversations into batches, one for each worker process, and applies their events."""

    def __init__(  # noqa: PLR0917 - like every Runner, after the workers
        self,
        workers: Workers,
        file: Record,
        context: RunContext,
        bot: Bot,
        progress: Progress,
        plan: Sequence[Conversation] | None = None,
    ) -> None:
        """Continues from what the file has."""
        super().__init__(file, context, bot, progress, plan)
        self.workers = workers
        # Conversations that are queued or with a worker, as far as they have come.
        self._conversations: dict[str, Conversation] = {}
        self._unread, self._read_count = iter(self._plan), 0
        self._names = set(context.grading.names)
        self._running: dict[str, Batch] = {}
        self._losses: Counter[str] = Counter()
        self._events: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()
        self._is_tight = False
        self._queue: deque[str] = deque()

    async def run(self) -> None:
        """Plays all open conversations and grades all ungraded turns; ends early if the budget is spent."""
        self.workers.connection.subscribe(
            self.workers.run, lambda news: self._events.put_nowait(("report", news))
        )
        try:
            while self._running or (not self.out_of_budget and self._fill_queue(1)):
                await self.workers.refresh()
                self._drop_lost()
                self._submit_batches()
                await self._next_events()
        finally:
            await self._cancel_all()
        while self._fill_queue(1):
            self._over_budget(self._queue.popleft())

    def _fill_queue(self, count: int) -> bool:
        """Reads open conversations until `count` are queued; returns whether any is."""
        while len(self._queue) < count and (conversation := next(self._unread, None)):
            self._read_count += 1
            self._read(conversation)
        return bool(self._queue)

    def _read(self, conversation: Conversation) -> None:
        """Shows a conversation's grades, and queues it unless it is done."""
        for score in self.file.scores(conversation.id) if conversation.turns else ():
            if score.state != "failed":  # failed grades are tried again
                self._scores.setdefault((conversation.id, score.turn), []).append(score)
        for turn in conversation.turns:
            self._show_grades(conversation, turn)
        if conversation.ended is not None:
            self.progress.ended(conversation)
        if self._is_done(conversation):
            self._drop(conversation)
        else:
            self._conversations[conversation.id] = conversation
            self._queue.append(conversation.id)

    def _drop(self, conversation: Conversation) -> None:
        """Forgets a conversation that is done and saved."""
        self._conversations.pop(conversation.id, None)
        for turn in conversation.turns:
            self._scores.pop((conversation.id, turn.index), None)

    def _is_done(self, conversation: Conversation) -> bool:
        return conversation.ended is not None and all(
            self._is_graded(conversation.id, turn.index) for turn in conversation.turns
        )

    def _is_graded(self, conversation: str, turn: int) -> bool:
        return {score.judge for score in self._scores.get((conversation, turn), ())} >= self._names

    def _show_grades(self, conversation: Conversation, turn: Turn) -> None:
        if self._is_graded(conversation.id, turn.index):
            context = grading_context(conversation, turn.index)
            self.progress.graded(context, self._scores[conversation.id, turn.index])

    def _submit_batches(self) -> None:
        """Submits a batch to every free worker process while conversations and budget are left."""
        while not self.out_of_budget and self._fill_queue(1) and (address := self._free()):
            grant = self._grant()
            if grant is not None and grant <= 0:
                if not self._running:
                    self._stop()
                return
            self._submit(address, grant)

    def _free(self) -> str | None:
        """The address of the worker with the most free threads; None if all are busy."""
        if len(self._running) >= (1 if self._is_tight else self.workers.slots):
            return None
        busy = Counter(batch.address for batch in self._running.values())
        room = {a: threads - busy[a] for a, threads in self.workers.ready.items() if threads > busy[a]}
        return max(room, key=lambda address: room[address]) if room else None

    def _grant(self) -> float | None:
        """The next batch's share (dollars) of what may still be spent; None without a budget."""
        left = self._left()
        return (
            None
            if left is None
            else left / (1 if self._is_tight else self.workers.slots - len(self._running))
        )

    def _left(self) -> float | None:
        """Dollars that are neither spent nor granted; None without a budget."""
        ledger = self.context.ledger
        if ledger.budget is None:
            return None
        spent = sum(role.cost_usd or 0.0 for role in ledger.roles.values())
        granted = sum(max(0.0, (batch.grant or 0.0) - batch.spent) for batch in self._running.values())
        return ledger.budget - spent - granted

    def _submit(self, address: str, grant: float | None) -> None:
        size = self._size()
        self._fill_queue(size)
        keys = [self._queue.popleft() for _unused in range(min(size, len(self._queue)))]
        conversations = [self._conversations[key] for key in keys]
        chosen = set(keys)
        order = batch_line(
            self._run_id,
            conversations,
            {key: line for key, line in self._pending.items() if key in chosen},
            [s for t in conversations for turn in t.turns for s in self._scores.get((t.id, turn.index), ())],
            concurrency=self._share(),
            budget=grant,
        )
        key = f"{self.workers.run}-{uuid.uuid4().hex}"
        future = self.workers.connection.task(address, worker.play, self.workers.run, key, order, key=key)
        batch = self._running[key] = Batch(key, address, keys, grant, future, has_all=self._is_tight)
        batch.watch_task = asyncio.create_task(self._watch(batch))

    def _share(self) -> int:
        return -(-self.context.settings.concurrency // self.workers.slots)

    def _size(self) -> int:
        """Conversations in the next batch: fewer towards the end, so that all processes end together."""
        waiting, slots = len(self._queue) + len(self._plan) - self._read_count, self.workers.slots
        least = min(self._share(), -(-waiting // slots))
        return min(waiting, MAX_BATCH, max(least, waiting // (2 * slots)))

    async def _watch(self, batch: Batch) -> None:
        try:
            outcome: Any = await self.workers.connection.outcome(batch.future)
        except asyncio.CancelledError:
            raise
        except Exception as error:  # a process or worker that is gone; `_finish` decides what follows
            outcome = error
        self._events.put_nowait(("over", (batch.key, outcome)))

    async def _next_events(self) -> None:
        """Applies all events that have arrived; waits for a moment if there are none."""
        try:
            async with asyncio.timeout(POLL_INTERVAL):
                what, news = await self._events.get()
        except TimeoutError:
            return
        self._apply(what, news)
        while not self._events.empty():
            self._apply(*self._events.get_nowait())

    def _apply(self, what: str, news: Any) -> None:
        if what == "report":
            self._apply_report(self._running.get(news["batch"]), news)
        elif batch := self._running.get(news[0]):
            self._finish(batch, news[1])

    def _apply_report(self, batch: Batch | None, report: Any) -> None:
        """Applies the events of a report; of a batch that was given up, only the costs."""
        for event, *values in json.loads(report["events"]):
            if event == "called":
                self._on_called(batch, *values)
            elif batch is not None:
                getattr(self, f"_on_{event}")(*values)
        if batch is not None:
            batch.reports += 1

    def _on_called(self, batch: Batch | None, role: Any, usage: Any, cached: bool, judge: str) -> None:
        ledger = self.context.ledger
        used = Usage.model_validate(usage)
        JUDGE.set(judge)  # for this call only; the next event names its own
        ledger.charge(role, used, cached=cached)
        if batch is not None and batch.grant is not None and not cached:
            batch.spent += ledger.prices.cost_usd(used) or 0.0

    def _on_said(self, key: str, turn: int, line: Any) -> None:
        utterance = Utterance.model_validate(line)
        self._pending[key] = (turn, utterance)
        self.file.save_utterance(key, turn, utterance)

    def _on_answered(self, key: str, index: int, value: Any) -> None:
        answer, (_unused, line) = Answer.model_validate(value), self._pending.pop(key)
        self.file.save_answer(key, index, answer)
        turn = Turn(
            index=index, user=line.text, answer=answer, broken_rules=line.broken_rules, clean=line.clean
        )
        conversation = self._conversations[key]
        self._conversations[key] = conversation = conversation.model_copy(
            update={"turns": (*conversation.turns, turn)}
        )
        self.progress.turn(conversation)

    def _on_ended(self, key: str, ended: str, reason: str, closing: str) -> None:
        if Ended(ended) is Ended.BUDGET:  # the batch's share is spent, perhaps not the run's budget
            return
        self.file.save_ending(key, Ended(ended), reason, closing)
        changes = {"ended": Ended(ended), "reason": reason, "closing": closing}
        self._conversations[key] = conversation = self._conversations[key].model_copy(update=changes)
        self.progress.ended(conversation)

    def _on_graded(self, values: Iterable[Any]) -> None:
        scores = [Score.model_validate(value) for value in values]
        self.file.save_scores(scores)
        for score in scores:
            if score.state != "failed" or not self._is_graded(score.conversation, score.turn):
                self._scores.setdefault((score.conversation, score.turn), []).append(score)
        conversation, turn = scores[0].conversation, scores[0].turn
        self._show_grades(
            self._conversations[conversation], self._conversations[conversation].turns[turn - 1]
        )

    def _finish(self, batch: Batch, outcome: Any) -> None:
        """Handles the end of a batch: done, out of its share of the budget, or lost with its worker."""
        if isinstance(outcome, RehearsalError):
            raise outcome
        if isinstance(outcome, BaseException):
            outcome = {"lost": str(outcome)}
        if "lost" in outcome:
            self.workers.doubt(batch.address)
            self._lost(batch, outcome["lost"])
            return
        if batch.reports < outcome["reports"]:  # should not happen on one stream, but nothing may be lost
            self._lost(batch, _("its reports are missing"))
            return
        if outcome["stopped"]:
            raise WorkerRefused(outcome["stopped"])
        del self._running[batch.key]
        unfinished = self._still_open(batch)
        if unfinished and outcome["out_of_budget"]:
            self._out_of_share(batch)
        elif unfinished:
            self._count_losses(unfinished, _("it was not finished"))
        self._queue.extendleft(reversed(unfinished))

    def _out_of_share(self, batch: Batch) -> None:
        """When the budget is nearly spent, one batch at a time gets all of it; after that the run stops."""
        self._is_tight = self._is_tight or (self._left() or 0.0) < 2 * (batch.grant or 0.0)
        if batch.has_all:
            self._stop()

    def _stop(self) -> None:
        budget = self.context.ledger.budget or 0.0
        spent = _("the budget of {budget} USD is spent", budget=f"{budget:g}")
        self.out_of_budget = _("{error}; a larger --budget goes on", error=spent)

    def _drop_lost(self) -> None:
        """Requeues the batches of workers that the scheduler no longer knows."""
        for batch in list(self._running.values()):
            if batch.address not in self.workers.ready:
                self._lost(batch, _("the worker is gone"))

    def _lost(self, batch: Batch, why: Message | str) -> None:
        """Requeues what a lost batch had not finished; what it reported is already saved."""
        del self._running[batch.key]
        self._forget(batch)
        unfinished = self._still_open(batch)
        self._count_losses(unfinished, why)
        self._queue.extendleft(reversed(unfinished))

    def _still_open(self, batch: Batch) -> list[str]:
        """The ids of a batch's unfinished conversations; the others are forgotten."""
        conversations = [self._conversations[key] for key in batch.conversations]
        for conversation in conversations:
            if self._is_done(conversation):
                self._drop(conversation)
        return [conversation.id for conversation in conversations if conversation.id in self._conversations]

    def _count_losses(self, keys: Sequence[str], why: Message | str) -> None:
        self._losses.update(keys)
        if worst := next((key for key in keys if self._losses[key] >= MAX_LOSSES), None):
            msg = _(
                "{conversation} was lost with {n} workers ({why}); see what the workers logged",
                conversation=worst,
                n=MAX_LOSSES,
                why=why,
            )
            raise WorkersLost(msg)

    def _forget(self, batch: Batch) -> None:
        if batch.watch_task is not None:
            batch.watch_task.cancel()
        batch.future.release()

    async def _cancel_all(self) -> None:
        """Cancels all batches, so that no worker goes on when the driver has ended."""
        for batch in self._running.values():
            self._forget(batch)
        self._running.clear()

    def _over_budget(self, key: str) -> None:
        conversation = self._conversations[key]
        if conversation.ended is None:
            self.file.save_ending(key, Ended.BUDGET, "", "")
            self.progress.ended(conversation.model_copy(update={"ended": Ended.BUDGET}))
        self._drop(conversation)


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
        async with connected(context.settings) as connection:
            workers = Workers(connection, context, plan)
            refused: BaseException | None = None
            try:
                await workers.open()
            except* InputError as group:
                refused = first_error(group)
            if refused:
                raise refused
            file = open_file()

            def batch_runner(
                record: RunFile,
                context: RunContext,
                bot: Bot,
                progress: Progress,
                part: Sequence[Conversation] | None,
            ) -> Runner:
                return BatchRunner(workers, record, context, bot, progress, part)

            try:
                return file.path, await rehearse(
                    file, context, _remote_bot, progress, prepare, batch_runner, stopping_rule
                )
            finally:
                file.close()
                await workers.close()
    finally:
        await context.close(None)


async def _remote_bot(_query: Query) -> str:
    """Stands in for the bot, which is connected on the workers only."""
    msg = _("the bot answers on the workers")
    raise RuntimeError(msg)
