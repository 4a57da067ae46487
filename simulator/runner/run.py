"""Runs a plan: plays every conversation, has every turn graded, and writes each step to the run file.

`Runner` starts as many tasks as `--concurrency` allows. Each takes the next open conversation from one
iterator and holds it to its end; every new turn is handed to the judges as a task of its own, so that a
dialogue never waits for its grades. When grading lags too far behind, the next conversation waits instead.

What is written, and in which order, for each turn: the customer's line, before the bot is asked; the answer;
the scores of each judge as they arrive; at the end of a conversation its ending, and the scores of the whole.
Each model call is written when it is answered, before what it led to. So a kill at any moment leaves a file
from which `--resume` goes on without paying for anything twice: see storage/run_file.py.

A run that stops early leaves a file that can be resumed: after Ctrl-C, SIGTERM or SIGHUP, and where a model
answered nobody for all of --patience (`interrupted`); after a spent budget, when no new call is made, but
those under way are stored (`stopped`); after an error that makes going on useless, such as a refused key or a
full disk (`stopped`). A mistake of our own is raised.

Turns of an earlier run are graded again by api/regrade.py.
"""

import asyncio
import contextlib
import json
import signal
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from simulator.core.concurrency import first_error
from simulator.core.errors import LoginPage, Outage, RehearsalError, RunFileError
from simulator.core.messages import Message, _, message_of, shown
from simulator.core.settings import Settings
from simulator.core.templates import LANGUAGES
from simulator.core.types import (
    Bot,
    Conversation,
    Ended,
    GradingContext,
    Persona,
    Run,
    Score,
    Status,
    User,
)
from simulator.models.pricing import BudgetSpent
from simulator.runner.context import RunContext
from simulator.runner.conversation import (
    Log,
    conversation_context,
    converse,
    grading_context,
    grading_contexts,
)
from simulator.runner.purse import Purse
from simulator.storage.run_file import EARLY_NOTE, RunFile, new_run_id

# The next conversation waits while more turns than this, plus two for each allowed call, are ungraded: with
# fewer waiting, places at the judge's endpoint would stand empty between two turns; with many more, the
# memory fills.
MAX_UNGRADED = 100
# Turns whose grading begins in one round of the loop.
GRADED_AT_ONCE = 4


class Progress(Protocol):
    """Is informed of each step of a run, to show it."""

    def turn(self, conversation: Conversation) -> None:
        """A turn was added: the last one of `conversation`."""
        ...

    def graded(self, context: GradingContext, scores: Sequence[Score]) -> None:
        """A turn was graded."""
        ...

    def ended(self, conversation: Conversation) -> None:
        """A conversation ended."""
        ...


class Runner:
    """Plays the open conversations of one run in this process; only those in progress are in memory."""

    def __init__(
        self,
        file: RunFile,
        context: RunContext,
        bot: Bot,
        progress: Progress,
        plan: Sequence[Conversation] | None = None,
    ) -> None:
        """Continues from what the file has; `plan` is the part to play, None for the whole plan."""
        self.file, self.context, self.bot, self.progress = file, context, bot, progress
        self.log: Log = file
        self.out_of_budget: Message | str | None = None
        self._run_id = file.run.id
        self._plan = file.conversations() if plan is None else plan
        # Lines that an interruption left unanswered, by conversation: the bot gets them as they were said,
        # since the model that wrote them would write others, and is not paid twice.
        self._pending = file.unanswered()
        # The scores of turns on resume, until their turn comes to be graded.
        self._scores: dict[tuple[str, int, bool], list[Score]] = {}
        self._ungraded = 0
        self._was_graded = asyncio.Event()
        self._beginning = asyncio.Semaphore(GRADED_AT_ONCE)
        self._purse = Purse(context.ledger, context.cost_of_one)

    async def run(self) -> None:
        """Plays all open conversations, `--concurrency` at a time, and grades all ungraded turns."""
        async with asyncio.TaskGroup() as tasks:
            conversations = self._resumed(tasks)
            for _unused in range(min(self.places, len(self._plan))):
                tasks.create_task(self._play_all(conversations, tasks))

    @property
    def places(self) -> int:
        """How many conversations are held at the same time."""
        return self.context.settings.concurrency

    def _resumed(self, tasks: asyncio.TaskGroup) -> Iterator[Conversation]:
        """All conversations in order; each turn that an interruption left ungraded is graded.

        A generator that all workers share: what an earlier session finished is reported and graded as its
        turn comes, and not all at once before the first new line.
        """
        for conversation in self._plan:
            for score in self.file.scores(conversation.id) if conversation.turns else ():
                # Failed grades are tried again on resume; all others are paid for and kept.
                if score.state != "failed":
                    key = score.conversation, score.turn, score.is_whole
                    self._scores.setdefault(key, []).append(score)
            for context in grading_contexts(conversation):
                self._grade_later(context, tasks)
            if conversation.ended is not None:
                self.progress.ended(conversation)
            yield conversation

    async def _play_all(self, conversations: Iterator[Conversation], tasks: asyncio.TaskGroup) -> None:
        """Plays one conversation after the other, while other tasks take theirs from the same iterator."""
        for start in conversations:
            await asyncio.sleep(0)  # a bot that never awaits would block grading and Ctrl-C
            # Before a conversation begins, never within one: a customer who waits for grades would be a slow
            # one.
            await self._grading_caught_up()
            if start.ended is None:
                await self.context.model_factory.back()
                await self._afford(start)
                conversation = await self._play(start, tasks)
                if conversation.ended is not None:
                    last = conversation.reason, conversation.closing, conversation.reaction
                    self.file.save_ending(conversation.id, conversation.ended, *last)
                if (whole := conversation_context(conversation)) is not None:
                    self._grade_later(whole, tasks)
                self._purse.done(conversation.id)
                self.progress.ended(conversation)

    async def _afford(self, start: Conversation) -> None:
        """Waits until the budget has room for one conversation more; without it no more is paid."""
        if not self.out_of_budget and (reason := await self._purse.begin(start.id)):
            self._stop_paying(reason)

    async def _grading_caught_up(self) -> None:
        """Waits while too many turns are ungraded: dialogues have priority, and would pile them up."""
        while self._ungraded > MAX_UNGRADED + 2 * self.context.settings.calls:
            self._was_graded.clear()
            await self._was_graded.wait()

    async def _play(self, start: Conversation, tasks: asyncio.TaskGroup) -> Conversation:
        def on_turn(conversation: Conversation) -> None:
            self.progress.turn(conversation)
            self._grade_later(grading_context(conversation, len(conversation.turns)), tasks)

        turns, parting = self.context.turns(start)
        unanswered, line = self._pending.get(start.id, (0, None))
        # Once the budget is spent, what has not begun is marked, so that --resume finds it open.
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
                    pending=line if unanswered == len(start.turns) + 1 else None,
                    on_turn=on_turn,
                )
            except BudgetSpent as error:
                self._stop_paying(error)
        return start.model_copy(update={"ended": Ended.BUDGET})

    def _user(self, start: Conversation) -> User:
        """The user that plays the customer after the first line."""
        return self.context.user(start)

    def _grade_later(self, context: GradingContext, tasks: asyncio.TaskGroup) -> None:
        """Starts grading a turn, or the whole conversation; the dialogue goes on meanwhile."""
        key = context.conversation, context.turn.index, context.closing is not None
        # Of an earlier session, if this turn was graded in part.
        scores = self._scores.pop(key, [])  # not needed again: of a large run they would fill the memory
        if not self.context.grading.names_of(context):  # no judge looks at whole conversations
            return
        # Complete already: shown, and not graded again.
        if {score.judge for score in scores} >= self.context.grading.names_of(context):
            self.progress.graded(context, scores)
        else:
            self._ungraded += 1
            self._purse.add(context.conversation)
            tasks.create_task(self._grade(context, scores))

    async def _grade(self, context: GradingContext, scores: Sequence[Score]) -> None:
        try:
            # What dialogues wait for goes first: in each round of the loop few turns begin to be graded.
            async with self._beginning:
                await asyncio.sleep(0)
            by_judge = {score.judge: score for score in scores}
            graded = await self.context.panel.grade(context, by_judge, self.file.save_scores)
        except BudgetSpent as error:
            self._stop_paying(error)
        else:
            self.progress.graded(context, [*scores, *graded])
        # Also after an error: whoever waits for room must not wait for ever.
        finally:
            self._ungraded -= 1
            self._was_graded.set()
            self._purse.done(context.conversation)

    def _stop_paying(self, error: BudgetSpent | Message) -> None:
        self.out_of_budget = _("{error}; a larger --budget goes on", error=error)


# Makes the runner of a run, or of a part of its plan.
RunnerFactory = Callable[[RunFile, RunContext, Bot, Progress, Sequence[Conversation] | None], Runner]


# Done with the open run file before the first conversation.
Preparation = Callable[[RunFile], Awaitable[None]]
# Done when all is graded: what is asked about red answers, which stand above this package (`results/`).
Closing = Callable[[RunFile, RunContext], Awaitable[None]]


def create_run(
    settings: Settings,
    context: RunContext,
    plan: Sequence[Conversation],
    personas: tuple[Persona, ...],
    run_id: str = "",
) -> RunFile:
    """Creates the run file of a new run with its plan; an empty `run_id` means a new id."""
    now = datetime.now(tz=UTC)
    run = Run(
        id=run_id or new_run_id(now.astimezone(), [p.id for p in personas]),
        created=now,
        settings=settings.stored_values(),
        versions=context.versions(),
        prompts=context.fingerprints(),
        models=context.models(),
        offline=context.offline and bool(context.models()),
    )
    return RunFile.create(settings.runs / run.id, run, plan, personas)


async def perform(  # noqa: PLR0917 - the last are mostly left out
    context: RunContext,
    plan: Sequence[Conversation],
    open_file: Callable[[], RunFile],
    progress: Progress,
    prepare: Preparation | None = None,
    new_runner: RunnerFactory | None = None,
    closing: Closing | None = None,
) -> tuple[Path, Message | str | None]:
    """Connects the bot, opens the run file and rehearses.

    Returns the path of the run file, and why the run stopped early, None if it did not. The file is opened
    last, so that invalid input leaves no file behind. For the other parameters see `hold_conversations`.
    """
    bot: Bot | None = None
    try:
        bot = await context.bot(plan)
        file = open_file()
        try:
            work = hold_conversations(file, context, bot, progress, prepare, new_runner, closing)
            return file.path, await work
        finally:
            file.close()
    finally:
        await context.close(bot)


async def hold_conversations(  # noqa: PLR0917 - the last are mostly left out
    file: RunFile,
    context: RunContext,
    bot: Bot,
    progress: Progress,
    prepare: Preparation | None = None,
    new_runner: RunnerFactory | None = None,
    closing: Closing | None = None,
) -> Message | str | None:
    """Plays what is still open in the run file; returns why it stopped early, None if it did not.

    Ctrl-C ends it cleanly: finished work is committed, and what was in flight is open again on resume. Raises
    LoginPage, once the file is finished.
    `prepare` runs before the first conversation, paid and stored like the rest of the run. `new_runner` makes
    another kind of Runner, such as one whose workers are elsewhere. `closing` is done when all is graded; it
    changes no grade.
    """
    new_runner = new_runner or Runner
    started = time.monotonic()
    context.ledger.record = file.save_call
    # Unless something else is known: after a bug, or another signal, the run can be resumed.
    status: Status = "interrupted"
    stopped: Message | str | None = None
    login_page: LoginPage | None = None
    try:
        # Made inside the try: reading what is unanswered may fail on a damaged file.
        runner = new_runner(file, context, bot, progress, None)
        with _terminable():
            if prepare is not None:
                await prepare(file)
            await runner.run()
            file.commit()
            if closing is not None:
                await closing(file, context)
        status, stopped = ("stopped", runner.out_of_budget) if runner.out_of_budget else ("finished", None)
    except* RehearsalError as group:  # no access, an outage, disk full: nothing else can succeed
        error = first_error(group)
        login_page = error if isinstance(error, LoginPage) else None
        status, stopped = "interrupted" if isinstance(error, Outage) else "stopped", message_of(error)
        with contextlib.suppress(RunFileError):
            file.save_note(EARLY_NOTE, json.dumps({code: shown(stopped, code) for code in LANGUAGES}))
    except* asyncio.CancelledError:
        stopped = _("interrupted")
    finally:
        with contextlib.suppress(RunFileError):
            file.finish(status, time.monotonic() - started)
    if login_page:
        raise login_page
    return stopped


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    """Lets SIGTERM and SIGHUP cancel the current task, as the first Ctrl-C does; a second ends the process.

    SIGHUP, the closing of the terminal, stays ignored where `nohup` has it ignored.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    hangup = getattr(signal, "SIGHUP", None)
    stops = {signal.SIGTERM} | ({hangup} if hangup and signal.getsignal(hangup) != signal.SIG_IGN else set())
    before = {stop: signal.getsignal(stop) for stop in stops}

    def terminate(stop: signal.Signals) -> None:
        loop.remove_signal_handler(stop)
        if task is not None:
            task.cancel()

    # There are no such handlers on Windows and outside the main thread.
    with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
        for stop in stops:
            loop.add_signal_handler(stop, terminate, stop)
    try:
        yield
    finally:
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
            for stop in stops:
                loop.remove_signal_handler(stop)
                signal.signal(stop, before[stop])
