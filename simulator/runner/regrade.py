"""Has the turns of an earlier run graded again, and plays nothing."""

from collections.abc import Callable, Collection, Mapping, Sequence

from simulator.core.concurrency import for_each
from simulator.core.errors import RehearsalError, RunFileError
from simulator.core.messages import Message, _, message_of
from simulator.core.types import Conversations, GradingContext, Score
from simulator.grading.panel import Grading
from simulator.models.pricing import BudgetSpent
from simulator.runner.conversation import grading_contexts
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

    async def grade(turn: tuple[GradingContext, Collection[str]]) -> None:
        context, done = turn
        scores = await grading.panel.grade(context, done, file.save_scores)
        if context.closing is None:
            on_graded(context, scores)

    def done(scores: Mapping[str, Score]) -> Collection[str]:
        return [judge for judge, score in scores.items() if score.state != "failed" and not again]

    turns = (
        (context, done(by_turn.get(context.turn.index, {})))
        for conversation, by_turn in conversations_with_scores(file.results())
        for context in grading_contexts(conversation)
    )
    try:
        await for_each(turns, grade, grading.settings.calls)
    except BudgetSpent as error:
        return _("{error}; a larger --budget goes on", error=error)
    except RehearsalError as error:
        return message_of(error)
    return None


def count_turns(conversations: Conversations) -> int:
    """The number of turns to grade; raises RunFileError if there are none."""
    count = conversations.turns
    if not count:
        raise RunFileError(_("the run has no turns to grade."))
    return count
