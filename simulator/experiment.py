"""Plays and grades every planned conversation, and writes each step to the run file as it happens."""

import asyncio
import contextlib
import json
import signal
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from simulator.analysis.sequential import batches
from simulator.analysis.summary import STOPPED_EARLY, SUPERSEDED
from simulator.conversation import converse
from simulator.customers.replaying import second_attempts, superseded
from simulator.errors import RehearsalError, RunFileError
from simulator.outcome import certain
from simulator.settings import Settings
from simulator.spending import BudgetSpent
from simulator.stage import Stage, versions
from simulator.store import RunFile, new_run_id
from simulator.types import Conversation, Ended, Exhibit, Persona, Rag, Run, Score, Status, Utterance


class Progress(Protocol):
    """Who is told how a run goes on."""

    def turn(self, conversation: Conversation) -> None:
        """A new turn is there."""
        ...

    def graded(self, exhibit: Exhibit, scores: Sequence[Score]) -> None:
        """A turn has been graded."""
        ...

    def ended(self, conversation: Conversation) -> None:
        """A conversation is over."""
        ...


# Done before anyone speaks, with the open run file.
First = Callable[[RunFile], Awaitable[None]]


async def nothing_first(_: RunFile) -> None:
    """The usual run begins with the first question."""


def create_run(
    settings: Settings, stage: Stage, plan: tuple[Conversation, ...], personas: tuple[Persona, ...]
) -> RunFile:
    """The run file of a new run, with its plan."""
    now = datetime.now(tz=UTC)
    run = Run(
        id=new_run_id(now.astimezone(), [p.id for p in personas]),
        created=now,
        settings=settings.of_the_run()
        | {"greeting": {"ja": stage.greeting("ja"), "en": stage.greeting("en")}},
        versions=versions(),
        prompts=stage.fingerprints(),
        models=stage.models(),
        offline=stage.offline,
    )
    return RunFile.create(Path(settings.runs) / run.id, run, plan, personas)


async def perform(
    stage: Stage,
    plan: tuple[Conversation, ...],
    open_file: Callable[[], RunFile],
    progress: Progress,
    first: First = nothing_first,
) -> tuple[Path, str | None]:
    """Connects the bot, opens the run file, rehearses; gives the file and why it stopped early, if it did.

    The file is opened last, so that whatever is wrong with the input leaves nothing behind. What is to be
    done `first`, before anyone speaks, is paid and stored like the rest of the run.
    """
    rag: Rag | None = None
    try:
        rag = await stage.rag(plan)
        file = open_file()
        try:
            return file.path, await rehearse(file, stage, rag, progress, first)
        finally:
            file.close()
    finally:
        await stage.close(rag)


async def rehearse(
    file: RunFile, stage: Stage, rag: Rag, progress: Progress, first: First = nothing_first
) -> str | None:
    """Plays what is still open in the run file; gives the reason when it had to stop early.

    Ctrl-C ends it cleanly: what is done is committed, what was in flight is open again on resume.
    """
    started = time.monotonic()
    stage.ledger.record = file.called
    status: Status = "interrupted"  # unless it is known better: a bug of ours leaves the run resumable
    stopped: str | None = None
    try:
        sitting = Sitting(file, stage, rag, progress)
        with _interruptible():
            await first(file)
            if stage.settings.sequential:
                sitting = await _until_certain(sitting)
            else:
                await sitting.run()
            if stage.settings.customer_faults == "replay" and not sitting.out_of_budget:
                sitting = await _held_again(sitting)
        status, stopped = ("stopped", sitting.out_of_budget) if sitting.out_of_budget else ("finished", None)
    except* RehearsalError as group:  # no access, disk full: nothing else can succeed
        status, stopped = "stopped", str(first_of(group))
    except* asyncio.CancelledError:
        stopped = "interrupted"
    finally:
        with contextlib.suppress(RunFileError):
            file.finish(status, time.monotonic() - started)
    return stopped


class Sitting:
    """One process working on one run."""

    def __init__(
        self,
        file: RunFile,
        stage: Stage,
        rag: Rag,
        progress: Progress,
        plan: Sequence[Conversation] | None = None,
    ) -> None:
        """Reads from the file what is done already; `plan` is all of it unless told."""
        self.file, self.stage, self.rag, self.progress = file, stage, rag, progress
        self.out_of_budget: str | None = None
        results = file.results()
        self._run_id = results.run.id
        self._plan = results.conversations if plan is None else plan
        self._pending = file.unanswered()
        self._done: dict[tuple[str, int], list[Score]] = {}
        for score in results.scores:
            # What failed is tried again on resume; everything else is paid for and kept.
            if score.state != "failed":
                self._done.setdefault((score.conversation, score.turn), []).append(score)

    async def run(self) -> None:
        """All open conversations, `--concurrency` at a time, and all open grades."""
        waiting = iter([talk for talk in self._plan if talk.ended is None])
        async with asyncio.TaskGroup() as tasks:
            for talk in self._plan:
                self._catch_up(talk, tasks)
            for _ in range(min(self.stage.settings.concurrency, len(self._plan))):
                tasks.create_task(self._play_all(waiting, tasks))

    def _catch_up(self, talk: Conversation, tasks: asyncio.TaskGroup) -> None:
        """Grades what an interruption left ungraded."""
        for count in range(1, len(talk.turns) + 1):
            self._grade_later(talk.model_copy(update={"turns": talk.turns[:count]}), tasks)
        if talk.ended is not None:
            self.progress.ended(talk)

    async def _play_all(self, waiting: Iterator[Conversation], tasks: asyncio.TaskGroup) -> None:
        """One of the places: takes the next conversation as long as there is one."""
        for start in waiting:
            await asyncio.sleep(0)  # a bot that never waits would keep grades and Ctrl-C waiting
            talk = await self._play(start, tasks)
            if talk.ended is not None:
                self.file.ended(talk.id, talk.ended, talk.reason, talk.closing)
            self.progress.ended(talk)

    async def _play(self, start: Conversation, tasks: asyncio.TaskGroup) -> Conversation:
        def on_turn(talk: Conversation) -> None:
            self.progress.turn(talk)
            self._grade_later(talk, tasks)

        turns, parting = self.stage.turns(start)
        if not self.out_of_budget:
            try:
                return await converse(
                    start,
                    self.stage.user(start),
                    self.rag,
                    self.file,
                    turns=turns,
                    parting=parting,
                    session=f"{self._run_id}/{start.id}",
                    timeout=self.stage.settings.timeout,
                    opening=self.stage.opening(start),
                    pending=self._pending_line(start),
                    on_turn=on_turn,
                )
            except BudgetSpent as error:
                self._stop_paying(error)
        return start.model_copy(update={"ended": Ended.BUDGET})

    def _pending_line(self, start: Conversation) -> Utterance | None:
        turn, line = self._pending.get(start.id, (0, None))
        return line if turn == len(start.turns) + 1 else None

    def _grade_later(self, talk: Conversation, tasks: asyncio.TaskGroup) -> None:
        """Grading runs beside the next turn: nobody in the dialogue waits for it."""
        turn = talk.turns[-1]
        exhibit = Exhibit(
            conversation=talk.id, case=talk.case, persona=talk.persona, turn=turn, earlier=talk.turns[:-1]
        )
        done = self._done.get((talk.id, turn.index), [])
        if {score.judge for score in done} >= set(self.stage.grading.names):
            self.progress.graded(exhibit, done)
        else:
            tasks.create_task(self._grade(exhibit, done))

    async def _grade(self, exhibit: Exhibit, done: Sequence[Score]) -> None:
        try:
            graded = await self.stage.panel.grade(exhibit, {score.judge for score in done}, self.file.graded)
        except BudgetSpent as error:
            self._stop_paying(error)
        else:
            self.progress.graded(exhibit, [*done, *graded])

    def _stop_paying(self, error: BudgetSpent) -> None:
        self.out_of_budget = f"{error}; a larger --budget goes on"


async def _until_certain(sitting: Sitting) -> Sitting:
    """Holds the plan in parts, and no further part once the gate's answer is certain.

    Each part is held and graded to its end before anyone looks: what ends first is not what is typical.
    """
    file, stage, last = sitting.file, sitting.stage, sitting
    parts = batches(file.results().conversations, stage.settings.seed)
    for part in parts:
        known = {talk.id: talk for talk in file.results().conversations}
        last = Sitting(file, stage, sitting.rag, sitting.progress, [known[talk.id] for talk in part])
        await last.run()
        if last.out_of_budget:
            break
        if part is not parts[-1] and (decision := certain(file.results(), stage.settings)):
            file.noted(STOPPED_EARLY, json.dumps({"decision": decision}))
            break
    return last


async def _held_again(sitting: Sitting) -> Sitting:
    """Holds what a customer spoilt once more, at the end and once only; notes which of the two counts."""
    file, last = sitting.file, sitting
    if more := second_attempts(file.results()):
        file.also_planned(more)
        last = Sitting(file, sitting.stage, sitting.rag, sitting.progress, more)
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
