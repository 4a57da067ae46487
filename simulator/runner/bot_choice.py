"""Chooses the bot when --adapter is missing: the demo bot, recorded answers, or an error with the options.

    the bundled questions                               the demo bot
    own questions, a row with answer and contexts       recorded: a log of a bot's answers
    whole recorded dialogues                            recorded
    own questions with an answer column alone           an error: a bot's answers, or the right ones?
    own questions without answers                       an error: which bot?
    --replay of a run with the demo bot                 the demo bot; of another run an error

Nothing else is inferred. If a team's own questions went to the demo bot without a word, another bot than the
team's would be graded, with a plausible score.
"""

from collections.abc import Iterable
from pathlib import Path

from simulator.cases.cases import CaseObjects, ColumnUse, DatasetRequest, valid_cases
from simulator.core import shelves
from simulator.core.errors import InputError
from simulator.core.messages import _
from simulator.core.settings import Settings
from simulator.core.types import Case
from simulator.runner.plan import sheet_cases
from simulator.storage.run_file import find_run, read_run


def with_bot(settings: Settings, given: CaseObjects | None = None) -> Settings:
    """The settings with the adapter that was given or can be inferred.

    Cases that are `given` as objects take the place of a file.

    Bundled questions go to the demo bot. A user's own questions with recorded answers and their contexts, or
    with whole recorded dialogues, are graded as recorded. Raises InputError for all others.
    """
    # Also where rehearsal.toml names it, or where somebody names the default.
    if "adapter" in settings.model_fields_set:
        return settings
    if settings.replay:
        run = read_run(find_run(settings.replay, settings.runs)).run
        adapter = str(run.settings.get("adapter", "demo"))
        if adapter != "demo":
            msg = _(
                "--replay {run}: which bot? That run asked {adapter}: name it, or another, with --adapter.",
                run=run.id,
                adapter=adapter,
            )
            raise InputError(msg)
        return settings
    if settings.cases is None or (given is None and is_bundled(settings.cases)):
        return settings
    headers = dict[str, None]()
    cases: Iterable[Case] | None = sheet_cases(settings.cases, settings) if given is None else None
    if cases is None:
        request = DatasetRequest(
            settings.case_language, asks=settings.prompt is None, columns=settings.columns
        )
        cases = valid_cases(Path(settings.cases) if given is None else given, request, headers)
    has_cases = answered = False
    for case in cases:  # up to the first row that decides it
        has_cases = True
        if case.recorded or (case.answer and (case.contexts or "answer" in settings.columns)):
            return settings.model_copy(update={"adapter": "recorded"})
        answered = answered or bool(case.answer)
    if answered and not (columns := ColumnUse.of(headers)).has_references:
        # These may be the bot's answers, or the right ones.
        column = next(iter(columns.answers), "answer")
        msg = _(
            "{cases}: what is the column '{column}'? If a bot's answers: --adapter recorded; if "
            "reference answers: --columns references={column}, and your bot with --adapter "
            "bot.py:answer.",
            cases=settings.cases,
            column=column,
        )
        raise InputError(msg)
    # A file of the user's, and nothing in it that a bot has said.
    if has_cases:
        raise unknown_bot_error(settings.cases)
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
