"""A sitting whose conversations are held by workers; what happens there is written here, by one writer."""

import asyncio
import json
import uuid
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simulator.addons.dask import worker
from simulator.addons.dask.connection import WorkersLost, connected
from simulator.addons.dask.hub import LOOK, Hub
from simulator.addons.dask.outbox import a_batch
from simulator.core.errors import InputError, RehearsalError
from simulator.core.types import (
    Answer,
    Bot,
    Conversation,
    Ended,
    GradingContext,
    Query,
    Score,
    Turn,
    Usage,
    Utterance,
)
from simulator.models.pricing import JUDGE
from simulator.runner.context import RunContext
from simulator.runner.run import First, Progress, Record, Runner, Sit, Stopping, nothing_first, rehearse
from simulator.storage.run_file import RunFile

# A conversation that so many lost batches held is not given to another worker.
MOST_LOSSES = 4
MOST_IN_A_BATCH = 250


@dataclass
class Batch:
    """Conversations that one worker has in hands."""

    key: str
    address: str
    conversations: list[str]
    grant: float | None
    future: Any
    # Whether nothing was left for any other when it was given out.
    has_all: bool = False
    spent: float = 0.0
    parcels: int = 0
    watching: asyncio.Task[None] | None = None


class WorkerRefused(RehearsalError):
    """A worker met what ends a run: no access, a judge that cannot be used."""


class Spread(Runner):
    """Divides the open conversations into batches, each for one desk, and applies what they report."""

    def __init__(  # noqa: PLR0917 - like every sitting, after the hub
        self,
        hub: Hub,
        file: Record,
        context: RunContext,
        bot: Bot,
        progress: Progress,
        plan: Sequence[Conversation] | None = None,
    ) -> None:
        """Goes on from what the file holds."""
        super().__init__(file, context, bot, progress, plan)
        self.hub = hub
        # Of conversations that a worker has in hands, or that came back: what is known of them.
        self._talks: dict[str, Conversation] = {}
        self._unread, self._seen = iter(self._plan), 0
        self._names = set(context.grading.names)
        self._running: dict[str, Batch] = {}
        self._losses: Counter[str] = Counter()
        self._news: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()
        self._is_tight = False
        self._todo: deque[str] = deque()

    async def run(self) -> None:
        """All open conversations and grades; ends when all are done, or the budget is."""
        self.hub.connection.listen(self.hub.run, lambda news: self._news.put_nowait(("parcel", news)))
        try:
            while self._running or (not self.out_of_budget and self._queued(1)):
                await self.hub.refresh()
                self._drop_lost()
                self._give_out()
                await self._hear()
        finally:
            await self._call_back()
        while self._queued(1):
            self._over_budget(self._todo.popleft())

    def _queued(self, count: int) -> bool:
        """Whether anything is left; so many open conversations are read if there are."""
        while len(self._todo) < count and (conversation := next(self._unread, None)):
            self._seen += 1
            self._read(conversation)
        return bool(self._todo)

    def _read(self, conversation: Conversation) -> None:
        """Shows what is done of a conversation, and queues it when there is more to do."""
        for score in self.file.scores(conversation.id) if conversation.turns else ():
            if score.state != "failed":  # what failed is tried again
                self._done.setdefault((conversation.id, score.turn), []).append(score)
        for turn in conversation.turns:
            self._show_grades(conversation, turn)
        if conversation.ended is not None:
            self.progress.ended(conversation)
        if self._is_done(conversation):
            self._leave(conversation)
        else:
            self._talks[conversation.id] = conversation
            self._todo.append(conversation.id)

    def _leave(self, conversation: Conversation) -> None:
        """Nothing more will happen to it: it is in the file."""
        self._talks.pop(conversation.id, None)
        for turn in conversation.turns:
            self._done.pop((conversation.id, turn.index), None)

    def _is_done(self, conversation: Conversation) -> bool:
        return conversation.ended is not None and all(
            self._is_graded(conversation.id, turn.index) for turn in conversation.turns
        )

    def _is_graded(self, conversation: str, turn: int) -> bool:
        return {score.judge for score in self._done.get((conversation, turn), ())} >= self._names

    def _show_grades(self, conversation: Conversation, turn: Turn) -> None:
        if self._is_graded(conversation.id, turn.index):
            earlier = conversation.turns[: turn.index - 1]
            context = GradingContext(
                conversation=conversation.id,
                case=conversation.case,
                persona=conversation.persona,
                turn=turn,
                earlier=earlier,
            )
            self.progress.graded(context, self._done[conversation.id, turn.index])

    # Giving out

    def _give_out(self) -> None:
        """A batch for every desk that has none, as long as there is something to hold and to pay with."""
        while not self.out_of_budget and self._queued(1) and (address := self._free()):
            grant = self._grant()
            if grant is not None and grant <= 0:
                if not self._running:
                    self._stop()
                return
            self._submit(address, grant)

    def _free(self) -> str | None:
        """The worker with the fewest batches that can take another one."""
        if len(self._running) >= (1 if self._is_tight else self.hub.slots):
            return None
        busy = Counter(batch.address for batch in self._running.values())
        room = {a: threads - busy[a] for a, threads in self.hub.ready.items() if threads > busy[a]}
        return max(room, key=lambda address: room[address]) if room else None

    def _grant(self) -> float | None:
        """The next batch's share of what may still be spent; None where there is no budget."""
        left = self._left()
        return None if left is None else left / (1 if self._is_tight else self.hub.slots - len(self._running))

    def _left(self) -> float | None:
        """Dollars that are neither spent nor granted."""
        ledger = self.context.ledger
        if ledger.budget is None:
            return None
        known = sum(role.cost_usd or 0.0 for role in ledger.roles.values())
        held = sum(max(0.0, (batch.grant or 0.0) - batch.spent) for batch in self._running.values())
        return ledger.budget - known - held

    def _submit(self, address: str, grant: float | None) -> None:
        size = self._size()
        self._queued(size)
        keys = [self._todo.popleft() for _ in range(min(size, len(self._todo)))]
        conversations = [self._talks[key] for key in keys]
        told = set(keys)
        batch = a_batch(
            self._run_id,
            conversations,
            {key: line for key, line in self._pending.items() if key in told},
            [s for t in conversations for turn in t.turns for s in self._done.get((t.id, turn.index), ())],
            concurrency=self._share(),
            budget=grant,
        )
        key = f"{self.hub.run}-{uuid.uuid4().hex}"
        future = self.hub.connection.task(address, worker.hold, self.hub.run, key, batch, key=key)
        given = self._running[key] = Batch(key, address, keys, grant, future, has_all=self._is_tight)
        given.watching = asyncio.create_task(self._watch(given))

    def _share(self) -> int:
        return -(-self.context.settings.concurrency // self.hub.slots)

    def _size(self) -> int:
        """Large batches first and smaller ones towards the end, so that all desks end together."""
        waiting, slots = len(self._todo) + len(self._plan) - self._seen, self.hub.slots
        least = min(self._share(), -(-waiting // slots))
        return min(waiting, MOST_IN_A_BATCH, max(least, waiting // (2 * slots)))

    async def _watch(self, batch: Batch) -> None:
        try:
            outcome: Any = await self.hub.connection.outcome(batch.future)
        except asyncio.CancelledError:
            raise
        except Exception as error:  # a desk or a worker that is gone; what it means is decided in one place
            outcome = error
        self._news.put_nowait(("over", (batch.key, outcome)))

    # Hearing of it

    async def _hear(self) -> None:
        """What has come in since; waits for a moment when nothing has."""
        try:
            async with asyncio.timeout(LOOK):
                what, news = await self._news.get()
        except TimeoutError:
            return
        self._take(what, news)
        while not self._news.empty():
            self._take(*self._news.get_nowait())

    def _take(self, what: str, news: Any) -> None:
        if what == "parcel":
            self._unpack(self._running.get(news["batch"]), news)
        elif batch := self._running.get(news[0]):
            self._finish(batch, news[1])

    def _unpack(self, batch: Batch | None, parcel: Any) -> None:
        """The events of a parcel. Of a batch that was given up only what it cost counts."""
        for event, *given in json.loads(parcel["events"]):
            if event == "called":
                self._called(batch, *given)
            elif batch is not None:
                getattr(self, f"_heard_{event}")(*given)
        if batch is not None:
            batch.parcels += 1

    def _called(self, batch: Batch | None, role: Any, usage: Any, cached: bool, judge: str) -> None:
        ledger = self.context.ledger
        used = Usage.model_validate(usage)
        JUDGE.set(judge)  # of this one; the next event names its own
        ledger.charge(role, used, cached=cached)
        if batch is not None and batch.grant is not None and not cached:
            batch.spent += ledger.prices.cost_usd(used) or 0.0

    def _heard_said(self, key: str, turn: int, line: Any) -> None:
        utterance = Utterance.model_validate(line)
        self._pending[key] = (turn, utterance)
        self.file.said(key, turn, utterance)

    def _heard_answered(self, key: str, index: int, told: Any) -> None:
        answer, (_, line) = Answer.model_validate(told), self._pending.pop(key)
        self.file.answered(key, index, answer)
        turn = Turn(
            index=index, user=line.text, answer=answer, broken_rules=line.broken_rules, clean=line.clean
        )
        conversation = self._talks[key]
        self._talks[key] = conversation = conversation.model_copy(
            update={"turns": (*conversation.turns, turn)}
        )
        self.progress.turn(conversation)

    def _heard_ended(self, key: str, ended: str, reason: str, closing: str) -> None:
        if Ended(ended) is Ended.BUDGET:  # its share is spent, perhaps not the run's budget
            return
        self.file.ended(key, Ended(ended), reason, closing)
        told = {"ended": Ended(ended), "reason": reason, "closing": closing}
        self._talks[key] = conversation = self._talks[key].model_copy(update=told)
        self.progress.ended(conversation)

    def _heard_graded(self, told: Iterable[Any]) -> None:
        scores = [Score.model_validate(each) for each in told]
        self.file.graded(scores)
        for score in scores:
            if score.state != "failed" or not self._is_graded(score.conversation, score.turn):
                self._done.setdefault((score.conversation, score.turn), []).append(score)
        conversation, turn = scores[0].conversation, scores[0].turn
        self._show_grades(self._talks[conversation], self._talks[conversation].turns[turn - 1])

    # Ends of batches

    def _finish(self, batch: Batch, outcome: Any) -> None:
        """A batch is over: done, out of its share of the budget, or lost with its worker."""
        if isinstance(outcome, RehearsalError):
            raise outcome
        if isinstance(outcome, BaseException):
            outcome = {"lost": str(outcome)}
        if "lost" in outcome:
            self.hub.doubt(batch.address)
            self._lost(batch, outcome["lost"])
            return
        if batch.parcels < outcome["parcels"]:  # cannot be, on one stream; but nothing may be lost
            self._lost(batch, "its reports are missing")
            return
        if outcome["stopped"]:
            raise WorkerRefused(outcome["stopped"])
        del self._running[batch.key]
        open_talks = self._still_open(batch)
        if open_talks and outcome["out_of_budget"]:
            self._out_of_share(batch)
        elif open_talks:
            self._count_losses(open_talks, "it was not finished")
        self._todo.extendleft(reversed(open_talks))

    def _out_of_share(self, batch: Batch) -> None:
        """Nothing left, or nearly so: the rest goes to one batch after another; then it is over."""
        self._is_tight = self._is_tight or (self._left() or 0.0) < 2 * (batch.grant or 0.0)
        if batch.has_all:
            self._stop()

    def _stop(self) -> None:
        budget = self.context.ledger.budget or 0.0
        self.out_of_budget = f"the budget of {budget:g} USD is spent; a larger --budget goes on"

    def _drop_lost(self) -> None:
        """Batches of workers that the scheduler no longer knows."""
        for batch in list(self._running.values()):
            if batch.address not in self.hub.ready:
                self._lost(batch, "the worker is gone")

    def _lost(self, batch: Batch, why: str) -> None:
        """What it had not finished goes to another worker; what it reported is kept."""
        del self._running[batch.key]
        self._forget(batch)
        open_talks = self._still_open(batch)
        self._count_losses(open_talks, why)
        self._todo.extendleft(reversed(open_talks))

    def _still_open(self, batch: Batch) -> list[str]:
        """What of a batch is left to do; the rest is let go of."""
        conversations = [self._talks[key] for key in batch.conversations]
        for conversation in conversations:
            if self._is_done(conversation):
                self._leave(conversation)
        return [conversation.id for conversation in conversations if conversation.id in self._talks]

    def _count_losses(self, keys: Sequence[str], why: str) -> None:
        self._losses.update(keys)
        if worst := next((key for key in keys if self._losses[key] >= MOST_LOSSES), None):
            msg = f"{worst} was lost with {MOST_LOSSES} workers ({why}); see what the workers logged"
            raise WorkersLost(msg)

    def _forget(self, batch: Batch) -> None:
        if batch.watching is not None:
            batch.watching.cancel()
        batch.future.release()

    async def _call_back(self) -> None:
        """However it ends: nobody goes on holding conversations for a driver that has left."""
        for batch in self._running.values():
            self._forget(batch)
        self._running.clear()

    def _over_budget(self, key: str) -> None:
        conversation = self._talks[key]
        if conversation.ended is None:
            self.file.ended(key, Ended.BUDGET, "", "")
            self.progress.ended(conversation.model_copy(update={"ended": Ended.BUDGET}))
        self._leave(conversation)


async def perform(  # noqa: PLR0917 - the same as of the local engine
    context: RunContext,
    plan: Sequence[Conversation],
    open_file: Callable[[], RunFile],
    progress: Progress,
    first: First = nothing_first,
    sit: Sit | None = None,
    stopping: Stopping | None = None,
) -> tuple[Path, str | None]:
    """Like the local engine's: gives the run file, and why the run stopped early if it did.

    `sit` is for other kinds of sittings, which only the local engine knows.
    The file is opened once every worker is checked and has connected the bot; nothing is paid before.
    """
    try:
        async with connected(context.settings) as connection:
            hub = Hub(connection, context, plan)
            try:
                await hub.open()
            except* InputError as group:
                raise group.exceptions[0] from None
            file = open_file()

            def spread(
                record: RunFile,
                context: RunContext,
                bot: Bot,
                progress: Progress,
                part: Sequence[Conversation] | None,
            ) -> Runner:
                return Spread(hub, record, context, bot, progress, part)

            try:
                return file.path, await rehearse(file, context, _elsewhere, progress, first, spread, stopping)
            finally:
                file.close()
                await hub.close()
    finally:
        await context.close(None)


async def _elsewhere(_: Query) -> str:
    """The bot is connected on the workers only."""
    msg = "the bot answers on the workers"
    raise RuntimeError(msg)
