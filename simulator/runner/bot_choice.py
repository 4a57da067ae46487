"""Chooses the bot when --adapter is missing: the demo bot, recorded answers, or an error with the options."""

from collections.abc import Iterable
from pathlib import Path

from simulator.core import shelves
from simulator.core.errors import InputError
from simulator.core.messages import _
from simulator.core.settings import Settings
from simulator.core.types import Case
from simulator.data.cases import DatasetRequest, columns_of, valid_cases
from simulator.runner.chains import RECORDED, is_chain, read_chain
from simulator.runner.plan import sheet_cases
from simulator.storage.run_file import find_run, read_run


def with_bot(settings: Settings) -> Settings:
    """The settings with the adapter that was given or can be inferred.

    Bundled questions go to the demo bot. A user's own questions with recorded answers and their contexts, or
    with whole recorded dialogues, are graded as recorded. Raises InputError for all others.
    """
    if "adapter" in settings.model_fields_set:
        return settings
    prompt = Path(settings.prompt or "")
    if is_chain(prompt) and all(link.adapter for link in read_chain(prompt).links):
        return settings  # each link has its own bot
    if settings.replay:
        run = read_run(find_run(settings.replay, Path(settings.runs))).run
        adapter = str(run.settings.get("adapter", "demo"))
        if adapter != "demo":
            msg = _(
                "--replay {run}: which bot? That run asked {adapter}: name it, or another, with --adapter.",
                run=run.id,
                adapter=adapter,
            )
            raise InputError(msg)
        return settings
    if settings.cases is None or is_bundled(settings.cases):
        return settings
    cases: Iterable[Case] | None = sheet_cases(settings.cases, settings)
    if cases is None:
        request = DatasetRequest(
            settings.case_language, asks=settings.prompt is None, columns=settings.columns
        )
        cases = valid_cases(Path(settings.cases), request)
    has_cases = answered = False
    for case in cases:
        has_cases = True
        if case.recorded or (case.answer and (case.contexts or "answer" in settings.columns)):
            return settings.model_copy(update={"adapter": RECORDED})
        answered = answered or bool(case.answer)
    if has_cases:
        raise _missing_bot(settings.cases, settings, answered=answered)
    return settings  # the error about a file without cases is raised where the plan is read


def is_bundled(cases: str) -> bool:
    """Whether a file of questions comes with the program."""
    path = Path(cases.partition("#")[0])
    return path.resolve().is_relative_to(shelves.DEMO.resolve())


def unknown_bot_error(cases: str) -> InputError:
    """The error for a missing adapter, with the ways to name one."""
    msg = _(
        "{cases}: which bot? Name yours: --adapter bot.py:answer, or --adapter http --set url=...;"
        " --adapter recorded grades answers that the file has, --adapter demo asks the bundled bot.",
        cases=cases,
    )
    return InputError(msg)


def _missing_bot(cases: str, settings: Settings, *, answered: bool) -> InputError:
    """The error for rows without an answer, or with one that may be the bot's or the right one."""
    if not answered:
        return unknown_bot_error(cases)
    columns = columns_of(cases, settings.columns)
    column = next(iter(columns.answers), "answer")
    if columns.has_references:
        msg = _(
            "{cases}: which bot? Answers in the column '{column}': --adapter recorded grades"
            " them, --adapter bot.py:answer asks your bot.",
            cases=cases,
            column=column,
        )
        return InputError(msg)
    msg = _(
        "{cases}: what is the column '{column}'? If a bot's answers: --adapter recorded; if"
        " right answers: --columns references={column}, and your bot with --adapter"
        " bot.py:answer.",
        cases=cases,
        column=column,
    )
    return InputError(msg)
