"""More judges for a finished run, whose conversations stay as they are.

Each grade is saved as it is made, so that the same call goes on where it was interrupted. Grades that are
there stay, unless they failed, or `again` replaces them one by one.
"""

import asyncio
import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from simulator.api.progress import progress_bar, stdout_to_stderr
from simulator.core.concurrency import for_each
from simulator.core.errors import InputError, RehearsalError, RunFileError
from simulator.core.messages import Message, _, message_of, say
from simulator.core.roles import check_players, endpoints
from simulator.core.settings import Settings, load_settings, settings_of_run
from simulator.core.types import GradingContext, Results, Score, Spending
from simulator.grading.grading import Grading
from simulator.models.by_role import Models
from simulator.models.pricing import BudgetSpent, Ledger, check_prices, total_spending
from simulator.plugins import Batching, RequestBatches
from simulator.results.asking import ask_about_red
from simulator.runner.conversation import grading_contexts
from simulator.runner.estimate import grading_estimate
from simulator.storage.results import conversations_with_scores
from simulator.storage.run_file import RunFile, find_run, read_run

# What only today's call decides.
TODAYS = ("to", "json_output", "verbose", "runs", "offline")


class GradedRun(NamedTuple):
    """A run that was graded: its file, its settings with all of its judges, and why that stopped early.

    `judges` are those of this grading.
    """

    path: Path
    settings: Settings
    judges: Sequence[str]
    stopped: Message | str | None


def grade_run(
    name: str, flags: Mapping[str, Any], *, again: bool, make_batch: Batching | None = None
) -> GradedRun:
    """Grades a run by its own settings, but for what today's call names; in a batch where one is made."""
    with _opened(name, flags) as (file, settings):
        # The judges of the run, in their order, then those of this grading.
        stored = file.results().run.settings.get("judges")
        stopped = _grade(file, settings, again=again, batch=make_batch(file) if make_batch else None)
    earlier = tuple(map(str, stored)) if isinstance(stored, list) else ()
    every = tuple(dict.fromkeys((*earlier, *settings.judges)))
    return GradedRun(file.path, settings.model_copy(update={"judges": every}), settings.judges, stopped)


def cancel_batch(name: str, flags: Mapping[str, Any], make_batch: Batching) -> Message:
    """Cancels what an earlier grading in batches left under way. Raises InputError where there is nothing."""
    with _opened(name, flags) as (file, settings):
        return make_batch(file).cancel(endpoints(settings)["judge"])


@contextlib.contextmanager
def _opened(name: str, flags: Mapping[str, Any]) -> Iterator[tuple[RunFile, Settings]]:
    """A run, locked, and the settings by which it is graded."""
    today = load_settings(flags)
    with contextlib.closing(RunFile.reopen(find_run(name, today.runs))) as file:
        yield file, settings_of_run(file.results().run.settings, flags, today, TODAYS)


class _Judges:
    """What grades a run, with what the run has cost so far."""

    def __init__(
        self, settings: Settings, results: Results, *, in_batches: bool, batch: RequestBatches | None = None
    ) -> None:
        """Raises InputError for batches where no model grades, so that nothing can be submitted."""
        self.endpoints, self.ledger = endpoints(settings), Ledger.of(settings, results)
        if in_batches and self.endpoints["judge"] is None:
            msg = _("--batch is for grading by a model, and none is set: leave it out, or set a key.")
            raise InputError(msg)
        self.settings = settings
        self.grading = Grading(settings, self.models(batch))

    def models(self, batch: RequestBatches | None = None) -> Models:
        """The models, asked at once or in batches."""
        return Models(self.endpoints, self.settings, self.ledger, batch)

    def check_price(self) -> None:
        """Raises InputError where there is a budget, and the price of the judge's model is unknown."""
        judge = self.endpoints["judge"]
        check_prices(self.settings, [("judge", judge.model)] if judge else ())


def most_spent(
    name: str, flags: Mapping[str, Any], *, again: bool, make_batch: Batching | None = None
) -> Spending:
    """What grading a run takes at most, without causes; at the share of the price that a batch takes.

    Raises InputError for what grading it would refuse.
    """
    today = load_settings(flags)
    results = read_run(find_run(name, today.runs))
    settings = settings_of_run(results.run.settings, flags, today, TODAYS)
    judges = _Judges(settings, results, in_batches=make_batch is not None)
    share = make_batch.share if make_batch else 1.0
    names = {*judges.grading.names, *judges.grading.conversation_names}
    ungraded = (
        (context, frozenset(names - set(_done(by_turn.get(context.turn.index, {}), again=again))))
        for conversation, by_turn in conversations_with_scores(results)
        for context in grading_contexts(conversation)
    )
    most = total_spending(grading_estimate(judges, missing, [context]) for context, missing in ungraded)
    if most.calls:
        judges.check_price()
    cost = None if most.cost_usd is None else share * most.cost_usd
    return replace(most, cost_usd=cost, known_usd=share * most.known_usd)


def _done(scores: Mapping[str, Score], *, again: bool) -> Collection[str]:
    """The judges that have graded a turn, and are not asked again."""
    return [judge for judge, score in scores.items() if score.state != "failed" and not again]


def _grade(
    file: RunFile, settings: Settings, *, again: bool, batch: RequestBatches | None = None
) -> Message | str | None:
    """Grades the run; returns why it stopped early, None where it did not."""
    results = file.results()
    turns = results.conversations.turns
    if not turns:
        raise RunFileError(_("the run has no answers to grade."))
    judges = _Judges(settings, results, in_batches=batch is not None, batch=batch)
    judges.ledger.record = file.save_call
    grading = judges.grading
    at_once = batch.at_once if batch else settings.calls
    asked_at_once = judges.models() if batch else grading.models
    if grading.rubrics:
        check_players(settings, judges.endpoints, ["judge"])
        judges.check_price()
    names = ", ".join((*grading.names, *grading.conversation_names))
    say(_("Grading {turns} answers with {names}.", turns=turns, names=names))

    async def grade_all() -> Message | str | None:
        try:
            stopped = await regrade(file, grading, bar.advance, again=again, at_once=at_once)
            if batch:
                await batch.close(finished=stopped is None)
            if stopped is None and (grading.rubrics or grading.forms or results.run.models.get("judge")):
                # What is asked about red answers follows from one another: a batch of each would take days.
                await ask_about_red(file, settings, asked_at_once, again=again)
            return stopped
        finally:
            if batch:
                await batch.close(finished=False)
                await asked_at_once.close()
            await grading.models.close()

    try:
        with progress_bar(turns, _("graded")) as bar, stdout_to_stderr():
            return asyncio.run(grade_all())
    except KeyboardInterrupt:
        return batch.interrupted() if batch else _("interrupted")


async def regrade(
    file: RunFile,
    grading: Grading,
    on_graded: Callable[[GradingContext, Sequence[Score]], None],
    *,
    again: bool,
    at_once: int | None = None,
) -> Message | str | None:
    """Grades every turn of a run with the judges that have not graded it yet; with `again`, with all of them.

    `at_once` turns are graded together; None for --calls. Each score is committed as it arrives, and
    `on_graded` is called after each turn. Returns why it ended early (budget spent, no access), None if it
    did not.
    """

    async def grade(turn: tuple[GradingContext, Collection[str]]) -> None:
        context, done = turn
        scores = await grading.panel.grade(context, done, file.save_scores)
        if context.closing is None:
            on_graded(context, scores)

    turns = (
        (context, _done(by_turn.get(context.turn.index, {}), again=again))
        for conversation, by_turn in conversations_with_scores(file.results())
        for context in grading_contexts(conversation)
    )
    try:
        await for_each(turns, grade, at_once or grading.settings.calls)
    except BudgetSpent as error:
        return _("{error}; a larger --budget goes on", error=error)
    except RehearsalError as error:
        return message_of(error)
    return None
