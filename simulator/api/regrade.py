"""More judges for a finished run, whose conversations stay as they are.

Each grade is saved as it is made, so that the same call goes on where it was interrupted. Grades that are
there stay, unless they failed, or `again` replaces them one by one.
"""

import asyncio
import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from simulator.api.progress import progress_bar, stdout_to_stderr
from simulator.core.concurrency import for_each
from simulator.core.errors import RehearsalError, RunFileError
from simulator.core.messages import Message, _, message_of, say
from simulator.core.roles import check_players, endpoints
from simulator.core.settings import Settings, load_settings, settings_of_run
from simulator.core.types import GradingContext, Score
from simulator.grading.grading import Grading
from simulator.models.by_role import Models
from simulator.models.pricing import BudgetSpent, Ledger
from simulator.results.asking import ask_about_red
from simulator.runner.conversation import grading_contexts
from simulator.storage.results import conversations_with_scores
from simulator.storage.run_file import RunFile, find_run, read_run

# What only today's call decides.
TODAYS = ("to", "json_output", "verbose", "quiet", "runs", "offline")


class GradedRun(NamedTuple):
    """A run that was graded: its file, its settings with all of its judges, and why that stopped early.

    `judges` are those of this grading.
    """

    path: Path
    settings: Settings
    judges: Sequence[str]
    stopped: Message | str | None


def grade_run(name: str, flags: Mapping[str, Any], *, again: bool) -> GradedRun:
    """Grades a run by its own settings, but for what today's call names."""
    today = load_settings(flags)
    path = find_run(name, today.runs)
    with contextlib.closing(RunFile.reopen(path)) as file:
        settings = settings_of_run(file.results().run.settings, flags, today, TODAYS)
        stopped = _grade(file, settings, again=again)
    # The judges of the run, in their order, then those of this grading.
    stored = read_run(path).run.settings.get("judges")
    earlier = tuple(map(str, stored)) if isinstance(stored, list) else ()
    every = tuple(dict.fromkeys((*earlier, *settings.judges)))
    return GradedRun(path, settings.model_copy(update={"judges": every}), settings.judges, stopped)


def _grade(file: RunFile, settings: Settings, *, again: bool) -> Message | str | None:
    """Grades the run; returns why it stopped early, None where it did not."""
    results = file.results()
    turns = results.conversations.turns
    if not turns:
        raise RunFileError(_("the run has no turns to grade."))
    ledger = Ledger.of(settings, results)
    ledger.record = file.save_call
    by_role = endpoints(settings)
    grading = Grading(settings, Models(by_role, settings, ledger))
    if grading.rubrics:
        check_players(settings, by_role, ["judge"])
    names = ", ".join((*grading.names, *grading.conversation_names))
    say(_("Grading {turns} turns with {names}.", turns=turns, names=names))

    async def grade_all() -> Message | str | None:
        try:
            stopped = await regrade(file, grading, bar.advance, again=again)
            if stopped is None and (grading.rubrics or grading.forms or results.run.models.get("judge")):
                await ask_about_red(file, settings, grading.models, again=again)
            return stopped
        finally:
            await grading.models.close()

    try:
        with progress_bar(turns, _("graded")) as bar, stdout_to_stderr():
            return asyncio.run(grade_all())
    except KeyboardInterrupt:
        return _("interrupted")


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
