"""More judges on turns that were held before: no dialogue, only grades."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence

from simulator.core.errors import RehearsalError, RunFileError
from simulator.core.types import Conversation, GradingContext, Score
from simulator.grading.panel import Grading
from simulator.models.pricing import BudgetSpent
from simulator.runner.run import first_of
from simulator.storage.run_file import RunFile


def contexts(conversations: Iterable[Conversation]) -> Iterator[GradingContext]:
    """Every turn that was held, with the turns before it."""
    for conversation in conversations:
        for at, turn in enumerate(conversation.turns):
            yield GradingContext(
                conversation=conversation.id,
                case=conversation.case,
                persona=conversation.persona,
                turn=turn,
                earlier=conversation.turns[:at],
            )


async def grade(
    file: RunFile, grading: Grading, told: Callable[[GradingContext, Sequence[Score]], None], *, again: bool
) -> str | None:
    """Grades every turn of a run by the judges that have not graded it yet, or by all of them `again`.

    Each score is committed as it arrives. Gives the reason when it ended early: no money, no access.
    """
    results = file.results()
    done: dict[tuple[str, int], dict[str, Score]] = {}
    for score in results.scores:
        if score.state != "failed" and not again:
            done.setdefault((score.conversation, score.turn), {})[score.judge] = score
    waiting = contexts(results.conversations)
    spent: list[BudgetSpent] = []

    async def one_after_the_other() -> None:
        for context in waiting:
            if spent:
                return
            graded = done.get((context.conversation, context.turn.index), {})
            try:
                told(context, await grading.panel.grade(context, graded, file.graded))
            except BudgetSpent as error:
                spent.append(error)

    stopped: str | None = None
    try:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(grading.settings.calls):
                tasks.create_task(one_after_the_other())
    except* RehearsalError as group:
        stopped = str(first_of(group))
    return f"{spent[0]}; a larger --budget goes on" if spent else stopped


def held_turns(conversations: Iterable[Conversation]) -> int:
    """How many turns there are to grade; raises RunFileError when there are none."""
    count = sum(len(conversation.turns) for conversation in conversations)
    if not count:
        msg = "the run has no turns to grade."
        raise RunFileError(msg)
    return count
