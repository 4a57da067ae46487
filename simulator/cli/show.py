"""Reports on the terminal, and files that are written whole or not at all."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from simulator.cli.terminal import print_json, say
from simulator.core.document import Report, View
from simulator.core.errors import InputError, RunFileError
from simulator.core.messages import _, system_error
from simulator.data.files import REPORT_AGAIN, replaced
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


def write_atomically(path: Path, content: str | bytes | Iterable[str]) -> None:
    """Writes the whole file or leaves the old one, piece by piece; only its owner can read it.

    A process that is killed meanwhile leaves a file of another name, which the next one takes away. Raises
    RunFileError, whose line ends with how to write the report again.
    """
    pieces = [content] if isinstance(content, str | bytes) else content
    with replaced(path, REPORT_AGAIN) as new, new.open("wb") as file:
        for piece in pieces:
            file.write(piece.encode("utf-8") if isinstance(piece, str) else piece)


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
