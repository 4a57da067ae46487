"""A run from a command's options to its reports: made anew (cli/rehearsal.py) or finished (cli/resume.py)."""

from collections.abc import Mapping
from typing import Any

from simulator import plugins
from simulator.cli.options import given_flags
from simulator.cli.rehearsal import run_settings, start
from simulator.cli.resume import resume
from simulator.cli.terminal import only_the_verdict
from simulator.core.errors import InputError
from simulator.core.messages import _
from simulator.core.settings import Protocol, Settings, flag, stored_settings
from simulator.storage.run_file import find_run, read_run

# The options that say what --replay takes from the earlier run.
REPLAYED = frozenset({"cases", "columns", "limit", "language", "persona", "repeats", "voice_opening"})


def run_or_resume(settings: Settings, protocol: Protocol, flags: Mapping[str, Any]) -> int:
    """Makes a run, or finishes one with --resume, and writes its reports; returns the exit code.

    `flags` are the options of the command line, of which some do not go with --replay or --resume.

    Raises InputError for what users can fix, before anything is paid; `Unforeseen`, which names the run, for
    a mistake of ours once there is one.
    """
    # The order in which mistakes are told: options that exclude each other, then where reports go, then the
    # rest.
    settings = run_settings(settings, protocol)
    plugins.check(settings)
    if settings.to:
        from simulator.cli.destinations import check_destinations  # and with it the reports

        check_destinations(settings)
    if settings.resume is None and settings.replay and (extra := set(given_flags(flags)) & REPLAYED):
        names = tuple(sorted(map(flag, extra)))
        msg = _("--replay takes questions and customers from the run: leave out {names}.", names=names)
        raise InputError(msg)
    is_new_replay = settings.resume is None and settings.replay and protocol == "dialogue"
    if is_new_replay and "turns" not in given_flags(flags):
        settings = settings.model_copy(update={"turns": _turns_of(settings)})
    with only_the_verdict(settings.quiet):
        finished = start(settings) if settings.resume is None else resume(settings, flags)
    return finished if isinstance(finished, int) else finished.publish()


def _turns_of(settings: Settings) -> int:
    """The turns of the run that is replayed, whatever rehearsal.toml says today."""
    results = read_run(find_run(str(settings.replay), settings.runs))
    return max(
        stored_settings(results.run.settings).turns, *(len(each.turns) for each in results.conversations), 1
    )
