"""Reports on the terminal, and files that the command line names."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simulator.cli.terminal import print_json, say
from simulator.core.document import Report, View
from simulator.core.errors import InputError, RunFileError
from simulator.core.messages import _, system_error
from simulator.core.writing import write_atomically
from simulator.report.painters.console import print_report


def show_report(
    report: Report, figures: Mapping[str, Any], *, as_json: bool, view: View = "terminal"
) -> None:
    """Prints a report for people and, with --json, its figures as one object on stdout.

    With --json the report goes to stderr, so that `command --json | jq` works and people still see it.
    """
    print_report(report, as_json=as_json, view=view)
    if as_json:
        print_json(figures)


def write_for_user(path: str | Path, text: str) -> None:
    """Writes a file that the command line names, and says so. Raises InputError where that fails.

    InputError, not RunFileError: the path is the user's to fix, and the run has nothing to do with it.
    """
    try:
        write_atomically(Path(path), text)
    except RunFileError as error:
        reason = system_error(error.__cause__)
        raise InputError(_("{path}: cannot be written ({strerror}).", path=path, strerror=reason)) from None
    say(_("Written to {path}.", path=path))
