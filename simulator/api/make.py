"""Makes a run from its settings: a new one (api/run.py), or the rest of one (api/resume.py)."""

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from simulator import plugins
from simulator.api.resume import resume
from simulator.api.run import FinishedRun, run_settings, start
from simulator.cases.cases import GIVEN, CaseObjects
from simulator.cases.headings import without_columns
from simulator.core.errors import InputError
from simulator.core.messages import _
from simulator.core.settings import Protocol, Settings, flag, load_settings, stored_settings
from simulator.core.types import Case
from simulator.runner.estimate import Forecast
from simulator.storage.run_file import find_run, read_run

# The settings that say what --replay takes from the earlier run.
REPLAYED = frozenset({"cases", "columns", "limit", "language", "persona", "repeats", "voice_opening"})


def make(
    settings: Settings,
    protocol: Protocol,
    given: Collection[str] = (),
    *,
    bot: object | None = None,
    cases: CaseObjects | None = None,
) -> FinishedRun | Forecast:
    """Makes a run, or finishes one with --resume; with --dry-run, what it will take.

    `given` are the names of the settings that the caller named, of which some do not go with --replay or
    --resume. A `bot` and `cases` are objects of a Python program, where a command line names them.

    Raises InputError for what users can fix, before anything is paid; `Unforeseen`, which names the run, for
    a mistake of ours once there is one.
    """
    # The order in which mistakes are told: options that exclude each other, then the rest.
    settings = run_settings(settings, protocol)
    plugins.check(settings)
    if settings.resume is not None:
        return resume(settings, given, bot)
    if settings.replay and (extra := REPLAYED.intersection(given)):
        names = tuple(sorted(map(flag, extra)))
        msg = _("--replay takes questions and customers from the run: leave out {names}.", names=names)
        raise InputError(msg)
    if settings.replay and protocol == "dialogue" and "turns" not in given:
        settings = settings.model_copy(update={"turns": _turns_of(settings)})
    return start(settings, bot=bot, cases=cases)


def make_with_objects(protocol: Protocol, bot: Any, cases: Any, flags: dict[str, Any]) -> FinishedRun:
    """Makes a run with a bot and cases that are objects, or names. Raises InputError where nothing was run.

    Raises KeyboardInterrupt where Ctrl-C reached the run, which stored what it had: in a notebook it has to
    reach the cell as well.
    """
    listed = None if cases is None or isinstance(cases, (str, Path)) else _listed(cases)
    if bot is not None:
        flags["adapter"] = bot if isinstance(bot, str) else _name_of(bot)
    if cases is not None:
        flags["cases"] = str(cases) if listed is None else GIVEN
    given = None if isinstance(bot, str) else bot
    with without_columns(instead="columns="):
        finished = make(load_settings(flags, called=str), protocol, flags, bot=given, cases=listed)
    if isinstance(finished, Forecast) or finished.is_empty:
        raise InputError(_("nothing was run."))
    if read_run(finished.path).run.status == "interrupted":
        raise KeyboardInterrupt
    return finished


def _listed(cases: Any) -> CaseObjects:
    """Cases that a program has, one for each row: a text alone is a question."""
    if hasattr(cases, "to_dict") and hasattr(cases, "notna"):  # pandas; an empty cell is no value
        cases = cases.astype(object).where(cases.notna(), None).to_dict("records")
    rows: Any = (cases,) if isinstance(cases, Mapping | Case) else cases
    if not isinstance(rows, Iterable):
        raise InputError(_("cases is {type}, not a file or a list of cases.", type=type(cases).__name__))
    return tuple({"question": row} if isinstance(row, str) else row for row in rows)


def _name_of(bot: object) -> str:
    """What reports and errors call a bot: the name of its function or class, behind that of its module.

    `shop.rag:answer`, so that a run of a bot that can be imported is resumed from a command line, too.
    """
    if not callable(bot) and not hasattr(bot, "invoke") and not hasattr(bot, "ainvoke"):
        msg = _(
            "bot is {type}, not a function, an object with invoke, or the name of an adapter.",
            type=type(bot).__name__,
        )
        raise InputError(msg)
    module = getattr(bot, "__module__", None) or "__main__"
    name = str(getattr(bot, "__name__", type(bot).__name__))
    return f"{module}:{name if name.isidentifier() else 'bot'}"


def _turns_of(settings: Settings) -> int:
    """The turns of the run that is replayed, whatever rehearsal.toml says today."""
    results = read_run(find_run(str(settings.replay), settings.runs))
    turns = (conversation.turns for conversation in results.conversations)
    return max(stored_settings(results.run.settings).turns, *map(len, turns), 1)
