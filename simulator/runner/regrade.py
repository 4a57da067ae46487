"""Grades the turns of an earlier run again, or with further judges; no conversation is played."""

import asyncio
from collections.abc import Callable, Mapping, Sequence

from simulator.core.errors import RehearsalError, RunFileError
from simulator.core.messages import Message, _
from simulator.core.types import Conversations, GradingContext, Score
from simulator.grading.panel import Grading
from simulator.models.pricing import BudgetSpent
from simulator.runner.conversation import grading_context
from simulator.runner.run import first_error
from simulator.storage.results import conversations_with_scores
from simulator.storage.run_file import RunFile


async def regrade(
    file: RunFile,
    grading: Grading,
    on_graded: Callable[[GradingContext, Sequence[Score]], None],
    *,
    again: bool,
) -> Message | str | None:
    """Grades every turn of a run with the judges that have not graded it yet; with `again`, with all of them.

    Each score is committed as it arrives, and `on_graded` is called after each turn. Returns why it ended
    early (budget spent, no access), None if it did not.
    """
    work_left = (
        (grading_context(conversation, turn.index), {} if again else _usable(by_turn.get(turn.index, {})))
        for conversation, by_turn in conversations_with_scores(file.results())
        for turn in conversation.turns
    )
    spent: list[BudgetSpent] = []

    async def work() -> None:
        for context, known in work_left:
            if spent:
                return
            try:
                on_graded(context, await grading.panel.grade(context, known, file.save_scores))
            except BudgetSpent as error:
                spent.append(error)

    stopped: str | None = None
    try:
        async with asyncio.TaskGroup() as tasks:
            for _unused in range(grading.settings.calls):
                tasks.create_task(work())
    except* RehearsalError as group:
        stopped = str(first_error(group))
    return _("{spent}; a larger --budget goes on", spent=spent[0]) if spent else stopped


def _usable(scores: Mapping[str, Score]) -> dict[str, Score]:
    return {judge: score for judge, score in scores.items() if score.state != "failed"}


def count_turns(conversations: Conversations) -> int:
    """The number of turns to grade; raises RunFileError if there are none."""
    count = conversations.turns
    if not count:
        msg = _("the run has no turns to grade.")
        raise RunFileError(msg)
    return count
