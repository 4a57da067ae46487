"""Which bot is asked where nobody says so: of your own questions, none is guessed."""

from collections.abc import Iterator
from pathlib import Path

from simulator.core import shelves
from simulator.core.errors import InputError
from simulator.core.settings import Settings
from simulator.core.types import Case
from simulator.data.cases import columns_of
from simulator.data.datasets import DatasetRequest, good_cases
from simulator.runner.chains import is_chain, read_chain
from simulator.runner.plan import already_read
from simulator.storage.run_file import find_run, read_run

RECORDED = "recorded"


def with_bot(settings: Settings) -> Settings:
    """The settings with the bot that is meant.

    The bundled questions are the demo bot's. Questions of one's own that bring recorded answers with their
    contexts, or whole recorded dialogues, are graded as they were recorded. Raises InputError for all others.
    """
    if "adapter" in settings.model_fields_set or _names_every_link(settings):
        return settings
    if settings.replay:
        _check_replay(settings)
        return settings
    if settings.cases is None or is_bundled(settings.cases):
        return settings
    found = answered = False
    for case in _cases(settings.cases, settings):
        found = True
        if case.recorded or (case.answer and (case.contexts or "answer" in settings.columns)):
            return settings.model_copy(update={"adapter": RECORDED})
        answered = answered or bool(case.answer)
    if found:
        raise _unknown(settings.cases, settings, answered=answered)
    return settings  # whoever reads the file to ask its questions says why there are none


def is_bundled(cases: str) -> bool:
    """Whether a file of questions is one of ours."""
    path = Path(cases.partition("#")[0])
    return path.resolve().is_relative_to(shelves.DEMO.resolve())


def which_bot(cases: str) -> InputError:
    """That nobody has said which bot is asked, and how it is said."""
    msg = (
        f"{cases}: which bot? Name yours: --adapter bot.py:answer, or --adapter http --set url=...;"
        " --adapter recorded grades answers that the file has, --adapter demo asks the bundled bot."
    )
    return InputError(msg)


def _names_every_link(settings: Settings) -> bool:
    """Whether the prompt is a chain of which each link has its own bot."""
    path = Path(settings.prompt or "")
    return is_chain(path) and all(link.adapter for link in read_chain(path).links)


def _check_replay(settings: Settings) -> None:
    """A run of another bot is said again to the bot that is named."""
    run = read_run(find_run(str(settings.replay), Path(settings.runs))).run
    adapter = str(run.settings.get("adapter", "demo"))
    if adapter != "demo":
        msg = f"--replay {run.id}: which bot? That run asked {adapter}: name it, or another, with --adapter."
        raise InputError(msg)


def _cases(name: str, settings: Settings) -> Iterator[Case]:
    fixed = settings.language if settings.language in ("ja", "en") else None
    found = already_read(name, fixed, settings)
    if found is not None:
        yield from found
    else:
        wish = DatasetRequest(fixed, asks=settings.prompt is None, columns=settings.columns)
        yield from good_cases(Path(name), wish)


def _unknown(cases: str, settings: Settings, *, answered: bool) -> InputError:
    """That rows have no answer, or one that may be the bot's or the right one."""
    if not answered:
        return which_bot(cases)
    columns = columns_of(cases, settings.columns)
    column = next(iter(columns.answers), "answer")
    if columns.has_references:
        msg = (
            f"{cases}: which bot? Answers in the column '{column}': --adapter recorded grades them,"
            " --adapter bot.py:answer asks your bot."
        )
        return InputError(msg)
    msg = (
        f"{cases}: what is the column '{column}'? If a bot's answers: --adapter recorded; if right answers:"
        f" --columns references={column}, and your bot with --adapter bot.py:answer."
    )
    return InputError(msg)
