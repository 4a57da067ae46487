"""Goes on with a run that was interrupted, or that lost something to an endpoint.

The run file says what there is: conversations that are over stay, one that broke off or whose customer's
endpoint failed goes on after its last turn, and every grade that is missing or has failed is made. The
options are those with which the run was started, whatever the command line says now, but for what no run
stores: reports, folders, and secrets. A larger --budget and more --prices count as well, for these are what
made it stop.
"""

import contextlib
from collections.abc import Collection
from typing import Any

from simulator.api.progress import stdout_to_stderr
from simulator.api.run import FinishedRun, play
from simulator.core.errors import InputError
from simulator.core.messages import _, ngettext, say
from simulator.core.roles import models_named
from simulator.core.secrets import restore_secrets
from simulator.core.settings import Settings, flag, stored_settings
from simulator.core.types import Run
from simulator.models.pricing import Ledger
from simulator.runner.context import RunContext
from simulator.runner.estimate import Forecast
from simulator.storage.run_file import HARNESS_NOTE, RunFile, find_run, read_run


def resume(
    settings: Settings, given: Collection[str] = (), bot: object | None = None
) -> FinishedRun | Forecast:
    """Finishes a run with the options it was started with.

    Of a finished one that lost nothing only the reports are written.

    Of the settings that were `given` today, those that say anything else are named as unused. A `bot`
    that is there already goes on under the name that the run has for it.
    """
    path = find_run(str(settings.resume), settings.runs)
    results = read_run(path)
    name = results.run.id
    if HARNESS_NOTE in results.notes and results.run.status != "finished":
        raise InputError(_("{run} is a run of lm_eval: python run.py harness --resume {run}", run=name))
    today, settings = settings, as_started(results.run, settings)
    if names := tuple(flag(name) for name in given if _differs(today, settings, name)):
        say(_("--resume goes on with the options of the run; not used: {names}.", names=names))
    if results.run.status == "finished":
        lost = len(results.conversations.select("unfinished"))
        failed = sum(score.state == "failed" for score in results.scores)
        is_over = HARNESS_NOTE in results.notes
        if is_over or not (lost or failed):
            return FinishedRun(path, settings)
        say(
            _(
                "Goes on with {conversations} that an endpoint lost, and {grades} that failed.",
                conversations=ngettext("{n} conversation", "{n} conversations", n=lost),
                grades=ngettext("{n} grade", "{n} grades", n=failed),
            )
        )
    # Locked before anything is made, paid or said: another process may be at work on it.
    with contextlib.closing(RunFile.reopen(path)) as file:
        results = file.results().model_copy(update={"scores": ()})  # of a large run, the larger part
        ledger = Ledger.of(settings, results)
        with stdout_to_stderr():
            context = RunContext(settings, results.personas, ledger, bot=bot)
            context.check_prompts(results.run)

        def reopen() -> RunFile:
            file.mark_running()
            return file

        unfinished = results.conversations.select("unfinished")
        return play(context, results.conversations, unfinished, reopen, results.notes)


def as_started(run: Run, settings: Settings) -> Settings:
    """The run's own options and models; reports, a new budget, more prices and secrets are today's."""
    today = settings.unstored_values()
    models = models_named(run.models)
    stored_prices: Any = run.settings.get("prices") or {}
    money: dict[str, Any] = {"prices": {**stored_prices, **settings.prices}}
    if settings.budget:
        money["budget"] = settings.budget
    adapter = {"set": restore_secrets(stored_settings(run.settings).set, settings.set)}
    return stored_settings({**run.settings, **models, **money, **adapter}, **today)


def _differs(today: Settings, run: Settings, name: str) -> bool:
    """Whether a setting of today is not what the run goes on with; of a table, any part of it."""
    given, kept = today.value(name), run.value(name)
    return not given.items() <= kept.items() if isinstance(given, dict) else bool(given != kept)
