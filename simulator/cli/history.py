"""`history`: the runs so far, whether the bot rises or falls, and where it fell."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simulator.cli.options import takes
from simulator.core.settings import Settings, load

if TYPE_CHECKING:
    from simulator.core.types import Language
    from simulator.report.history import HistoryReport
    from simulator.stats.history import History, PastRun

# fmt: off
Last = Annotated[int, typer.Option(
    "--last", metavar="N", min=2, help="How many comparable runs, the newest, make the trend.",
)]
Html = Annotated[str | None, typer.Option(
    "--html", metavar="FILE", show_default=False, help="Write it as a page, with a picture.",
)]
# fmt: on
DONE = 0


@takes("cases", "adapter", "language", "runs", "json_output")
def command(flags: dict[str, Any], *, last: Last = 20, html: Html = None) -> int:
    """Show how the runs developed: score, red turns, trend; a slow decline is pointed out.

    The trend goes over the runs that asked the newest run's questions of the same bot, graded by the same
    rubric. --adapter shows only the runs of one bot, --cases only those with questions of this file. It
    looks back and decides nothing: the exit code is 0; `diff` is for gates.
    """
    from simulator.stats.history import history, past_runs

    given = load(flags)
    runs, unread = past_runs(Path(given.runs))
    found = history(_asked_for(runs, flags, given), unread, last)
    _show(found, given, html)
    return DONE


def _asked_for(runs: "tuple[PastRun, ...]", flags: dict[str, Any], given: Settings) -> "list[PastRun]":
    """The runs of one bot or of one case file, where either was named."""
    wanted = list(runs)
    if flags["adapter"]:
        wanted = [run for run in wanted if run.adapter == given.adapter]
    if flags["cases"]:
        from simulator.runner.plan import read_plan

        # Here --language is that of the words: the questions are all of the file's.
        plan, _ = read_plan(given.model_copy(update={"language": None, "limit": None}))
        known = {conversation.case.id for conversation in plan}
        wanted = [run for run in wanted if run.cases and run.cases <= known]
    return wanted


def _show(found: "History", given: Settings, html: str | None) -> None:
    from rich.console import Console

    from simulator.report.history import HistoryReport, paint
    from simulator.stats.history import as_json

    told = HistoryReport(found, _language(found, given))
    if html:
        _write(Path(html), told)
    paint(told, Console(stderr=given.json_output), html or "")
    if given.json_output:
        sys.stdout.write(json.dumps({**as_json(found), "page": html}, ensure_ascii=False) + "\n")


def _language(found: "History", given: Settings) -> "Language":
    """As asked for, or that of the newest run."""
    if given.language in ("ja", "en"):
        return given.language
    return found.runs[-1].language if found.runs else "ja"


def _write(path: Path, told: "HistoryReport") -> None:
    from simulator.core.errors import InputError
    from simulator.report.history import page

    try:
        path.write_text(page(told), encoding="utf-8")
    except OSError as error:
        msg = f"--html {path}: cannot be written ({error.strerror})."
        raise InputError(msg) from None
