"""Conversations that a customer spoilt, held once more with another seed; the clean one counts."""

import asyncio
import contextlib
import json
import signal
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, Protocol

from simulator.core.errors import RehearsalError, RunFileError
from simulator.core.settings import Settings
from simulator.core.types import (
    STOPPED_EARLY,
    SUPERSEDED,
    Answer,
    Bot,
    Conversation,
    Ended,
    GradingContext,
    Persona,
    Results,
    Run,
    Score,
    Status,
    User,
    Utterance,
)
from simulator.models.pricing import BudgetSpent
from simulator.runner.context import RunContext
from simulator.runner.conversation import Log, converse
from simulator.storage.run_file import RunFile, new_run_id
from simulator.users.faults import CustomerFault, customer_faults

# Ends the id of a second attempt, `angry/fees-01#1~2`: with it come another seed and another session.
AGAIN = "~2"
_HELD = frozenset({Ended.SATISFIED, Ended.GAVE_UP, Ended.HANDED_OVER, Ended.TURN_LIMIT, Ended.RAG_FAILED})


def second_attempts(results: Results) -> tuple[Conversation, ...]:
    """What is still to be held once more: each conversation with a fault, once, from its beginning."""
    faulty = _faulty(customer_faults(results))
    planned = {conversation.id for conversation in results.conversations}
    unplayed = {"turns": (), "ended": None, "reason": "", "closing": ""}
    return tuple(
        conversation.model_copy(update=unplayed | {"id": conversation.id + AGAIN})
        for conversation in results.conversations
        if conversation.id in faulty
        and not conversation.id.endswith(AGAIN)
        and conversation.id + AGAIN not in planned
    )


def superseded(results: Results) -> dict[str, str]:
    """Which conversations do not count, each with the one that stands in for it.

    The second attempt counts where it was held to its end without a fault of the customer, the first one
    otherwise: nobody gets a third.
    """
    faulty = _faulty(customer_faults(results))
    conversations = {conversation.id: conversation for conversation in results.conversations}
    found = {}
    for key, again in conversations.items():
        first = key.removesuffix(AGAIN)
        if first != key and first in conversations:
            is_clean = again.ended in _HELD and key not in faulty
            found[first if is_clean else key] = key if is_clean else first
    return found


def _faulty(faults: Sequence[CustomerFault]) -> frozenset[str]:
    return frozenset(fault.conversation for fault in faults)


class Progress(Protocol):
    """Who is told how a run goes on."""

    def turn(self, conversation: Conversation) -> None:
        """A new turn is there."""
        ...

    def graded(self, context: GradingContext, scores: Sequence[Score]) -> None:
        """A turn has been graded."""
        ...

    def ended(self, conversation: Conversation) -> None:
        """A conversation is over."""
        ...


class Record(Protocol):
    """What a sitting knows of its conversations, and where it writes down what happens in them."""

    @property
    def run(self) -> Run:
        """What the run was started with."""
        ...

    def conversations(self) -> Sequence[Conversation]:
        """All conversations, each as far as it has come when it is asked for."""
        ...

    def scores(self, conversation: str) -> Iterable[Score]:
        """The scores of a conversation."""
        ...

    def unanswered(self) -> dict[str, tuple[int, Utterance]]:
        """Customer lines that the bot had not answered yet, by conversation."""
        ...

    def said(self, conversation: str, turn: int, utterance: Utterance) -> None:
        """The customer's line."""
        ...

    def answered(self, conversation: str, turn: int, answer: Answer) -> None:
        """The bot's answer."""
        ...

    def ended(self, conversation: str, ended: Ended, reason: str, closing: str) -> None:
        """Why a conversation stopped."""
        ...

    def graded(self, scores: Iterable[Score]) -> None:
        """Scores of a turn."""
        ...


# Turns that may wait to be graded, beside two for each call in flight, before the next conversation begins.
MOST_UNGRADED = 100

# Done before anyone speaks, with the open run file.
First = Callable[[RunFile], Awaitable[None]]


async def nothing_first(_: RunFile) -> None:
    """The usual run begins with the first question."""


def create_run(
    settings: Settings,
    context: RunContext,
    plan: Sequence[Conversation],
    personas: tuple[Persona, ...],
    run_id: str = "",
) -> RunFile:
    """The run file of a new run, with its plan; `run_id` where its id was given before it is made."""
    now = datetime.now(tz=UTC)
    run = Run(
        id=run_id or new_run_id(now.astimezone(), [p.id for p in personas]),
        created=now,
        settings=settings.of_the_run()
        | {"greeting": {"ja": context.greeting("ja"), "en": context.greeting("en")}},
        versions=context.versions(),
        prompts=context.fingerprints(),
        models=context.models(),
        offline=context.offline and bool(context.models()),
    )
    return RunFile.create(Path(settings.runs) / run.id, run, plan, personas)


async def perform(  # noqa: PLR0917 - `first` and `sit` are mostly left out
    context: RunContext,
    plan: Sequence[Conversation],
    open_file: Callable[[], RunFile],
    progress: Progress,
    first: First = nothing_first,
    sit: "Sit | None" = None,
    stopping: "Stopping | None" = None,
) -> tuple[Path, str | None]:
    """Connects the bot, opens the run file, rehearses; gives the file and why it stopped early, if it did.

    The file is opened last, so that whatever is wrong with the input leaves nothing behind. What is to be
    done `first`, before anyone speaks, is paid and stored like the rest of the run; `sit` and `stopping` are
    those of `rehearse`.
    """
    bot: Bot | None = None
    try:
        bot = await context.bot(plan)
        file = open_file()
        try:
            return file.path, await rehearse(file, context, bot, progress, first, sit, stopping)
        finally:
            file.close()
    finally:
        await context.close(bot)


async def rehearse(  # noqa: PLR0917 - `sit` is the last and mostly left out
    file: RunFile,
    context: RunContext,
    bot: Bot,
    progress: Progress,
    first: First = nothing_first,
    sit: "Sit | None" = None,
    stopping: "Stopping | None" = None,
) -> str | None:
    """Plays what is still open in the run file; gives the reason when it had to stop early.

    Ctrl-C ends it cleanly: what is done is committed, what was in flight is open again on resume.
    `sit` makes another kind of sitting, for conversations that are held elsewhere; `stopping` ends the run
    as soon as the gate's answer is certain.
    """
    sit = sit or Runner
    started = time.monotonic()
    context.ledger.record = file.called
    status: Status = "interrupted"  # unless it is known better: a bug of ours leaves the run resumable
    stopped: str | None = None
    try:
        runner = sit(file, context, bot, progress, None)
        with _interruptible():
            await first(file)
            if stopping is not None:
                runner = await _until_certain(file, runner, sit, stopping)
            else:
                await runner.run()
            if context.settings.customer_faults == "replay" and not runner.out_of_budget:
                runner = await _held_again(file, runner, sit)
            file.settle()
        status, stopped = ("stopped", runner.out_of_budget) if runner.out_of_budget else ("finished", None)
    except* RehearsalError as group:  # no access, disk full: nothing else can succeed
        status, stopped = "stopped", str(first_of(group))
    except* asyncio.CancelledError:
        stopped = "interrupted"
    finally:
        with contextlib.suppress(RunFileError):
            file.finish(status, time.monotonic() - started)
    return stopped


class Runner:
    """One process working on one run. It holds only the conversations that it is at."""

    def __init__(
        self,
        file: Record,
        context: RunContext,
        bot: Bot,
        progress: Progress,
        plan: Sequence[Conversation] | None = None,
    ) -> None:
        """Goes on from what the file holds; `plan` is all of it unless told."""
        self.file, self.context, self.bot, self.progress = file, context, bot, progress
        self.log: Log = file
        self.out_of_budget: str | None = None
        self._run_id = file.run.id
        self._plan = file.conversations() if plan is None else plan
        self._pending = file.unanswered()
        self._done: dict[tuple[str, int], list[Score]] = {}
        self._ungraded = 0
        self._fewer = asyncio.Event()

    async def run(self) -> None:
        """All open conversations, `--concurrency` at a time, and all open grades."""
        async with asyncio.TaskGroup() as tasks:
            waiting = self._one_by_one(tasks)
            at_once = self.context.settings.customers or self.context.settings.concurrency
            places = range(min(at_once, len(self._plan)))
            held = [tasks.create_task(self._play_all(waiting, tasks)) for _ in places]
            self.context.connections.dialogue(goes_on=True)
            await asyncio.gather(*held)
            self.context.connections.dialogue(goes_on=False)

    def _one_by_one(self, tasks: asyncio.TaskGroup) -> Iterator[Conversation]:
        """All conversations, each caught up with as its turn comes."""
        for conversation in self._plan:
            self._catch_up(conversation, tasks)
            yield conversation

    def _catch_up(self, conversation: Conversation, tasks: asyncio.TaskGroup) -> None:
        """Grades what an interruption left ungraded."""
        for score in self.file.scores(conversation.id) if conversation.turns else ():
            # What failed is tried again on resume; everything else is paid for and kept.
            if score.state != "failed":
                self._done.setdefault((score.conversation, score.turn), []).append(score)
        for count in range(1, len(conversation.turns) + 1):
            self._grade_later(conversation.model_copy(update={"turns": conversation.turns[:count]}), tasks)
        if conversation.ended is not None:
            self.progress.ended(conversation)

    async def _play_all(self, waiting: Iterator[Conversation], tasks: asyncio.TaskGroup) -> None:
        """One of the places: takes the next conversation as long as there is one."""
        for start in waiting:
            await asyncio.sleep(0)  # a bot that never waits would keep grades and Ctrl-C waiting
            await self._room()
            if start.ended is None:
                conversation = await self._play(start, tasks)
                if conversation.ended is not None:
                    self.file.ended(
                        conversation.id, conversation.ended, conversation.reason, conversation.closing
                    )
                self.progress.ended(conversation)

    async def _room(self) -> None:
        """Until grading has come near enough: dialogues go first, and would pile up what is to be graded."""
        while self._ungraded > MOST_UNGRADED + 2 * self.context.settings.calls:
            self._fewer.clear()
            await self._fewer.wait()

    async def _play(self, start: Conversation, tasks: asyncio.TaskGroup) -> Conversation:
        def on_turn(conversation: Conversation) -> None:
            self.progress.turn(conversation)
            self._grade_later(conversation, tasks)

        turns, parting = self.context.turns(start)
        if not self.out_of_budget:
            try:
                return await converse(
                    start,
                    self._user(start),
                    self.bot,
                    self.log,
                    turns=turns,
                    parting=parting,
                    session=f"{self._run_id}/{start.id}",
                    timeout=self.context.settings.timeout,
                    opening=self.context.opening(start),
                    pending=self._pending_line(start),
                    on_turn=on_turn,
                )
            except BudgetSpent as error:
                self._stop_paying(error)
        return start.model_copy(update={"ended": Ended.BUDGET})

    def _user(self, start: Conversation) -> User:
        """Who plays the customer."""
        return self.context.user(start)

    def _pending_line(self, start: Conversation) -> Utterance | None:
        turn, line = self._pending.get(start.id, (0, None))
        return line if turn == len(start.turns) + 1 else None

    def _grade_later(self, conversation: Conversation, tasks: asyncio.TaskGroup) -> None:
        """Grading runs beside the next turn: nobody in the dialogue waits for it."""
        turn = conversation.turns[-1]
        context = GradingContext(
            conversation=conversation.id,
            case=conversation.case,
            persona=conversation.persona,
            turn=turn,
            earlier=conversation.turns[:-1],
        )
        done = self._done.pop((conversation.id, turn.index), [])
        if {score.judge for score in done} >= self.context.grading.names_of(context):
            self.progress.graded(context, done)
        else:
            self._ungraded += 1
            tasks.create_task(self._grade(context, done))

    async def _grade(self, context: GradingContext, done: Sequence[Score]) -> None:
        try:
            known = {score.judge: score for score in done}
            graded = await self.context.panel.grade(context, known, self.file.graded)
        except BudgetSpent as error:
            self._stop_paying(error)
        else:
            self.progress.graded(context, [*done, *graded])
        finally:
            self._ungraded -= 1
            self._fewer.set()

    def _stop_paying(self, error: BudgetSpent) -> None:
        self.out_of_budget = f"{error}; a larger --budget goes on"


# A sitting of one run, or of a part of its plan.
Sit = Callable[[RunFile, RunContext, Bot, Progress, Sequence[Conversation] | None], Runner]


class Stopping(NamedTuple):
    """How a run ends early: its plan in `parts`, by a seed, and the gate's answer once it is `certain`."""

    parts: Callable[[Sequence[Conversation], int], Sequence[Sequence[Conversation]]]
    certain: Callable[[Results, Settings], str | None]


async def _until_certain(file: RunFile, runner: Runner, sit: Sit, stopping: Stopping) -> Runner:
    """Holds the plan in parts, and no further part once the gate's answer is certain.

    Each part is held and graded to its end before anyone looks: what ends first is not what is typical.
    """
    context, last = runner.context, runner
    parts = stopping.parts(file.results().conversations, context.settings.seed)
    for part in parts:
        known = {conversation.id: conversation for conversation in file.results().conversations}
        last = sit(
            file, context, runner.bot, runner.progress, [known[conversation.id] for conversation in part]
        )
        await last.run()
        if last.out_of_budget:
            break
        if part is not parts[-1] and (decision := stopping.certain(file.results(), context.settings)):
            file.noted(STOPPED_EARLY, json.dumps({"decision": decision}))
            break
    return last


async def _held_again(file: RunFile, runner: Runner, sit: Sit) -> Runner:
    """Holds what a customer spoilt once more, at the end and once only; notes which of the two counts."""
    pass

    last = runner
    if more := second_attempts(file.results()):
        file.also_planned(more)
        last = sit(file, runner.context, runner.bot, runner.progress, more)
        await last.run()
    if found := superseded(file.results()):
        file.noted(SUPERSEDED, json.dumps(found, ensure_ascii=False))
    return last


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """The first Ctrl-C (or SIGTERM) cancels the current task; the second one is the system's."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()

    def interrupt() -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
        if task is not None:
            task.cancel()

    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, interrupt)
    except (NotImplementedError, RuntimeError, ValueError):  # Windows, or not the main thread
        pass
    try:
        yield
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
                loop.remove_signal_handler(number)


def first_of(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first error within nested groups."""
    first = group.exceptions[0]
    return first_of(first) if isinstance(first, BaseExceptionGroup) else first
