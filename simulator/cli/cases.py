"""`cases make KNOWLEDGE`: test questions from the user's own documents, and from recorded dialogues."""

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from simulator.cli.options import takes
from simulator.core.settings import load
from simulator.core.translations import language_of, told_in

if TYPE_CHECKING:
    from simulator.addons.testset.grade import TestSetRun
    from simulator.cli.case_report import Outcome
    from simulator.core.types import Language

DONE, INCOMPLETE = 0, 3

# fmt: off
Knowledge = Annotated[str | None, typer.Argument(
    metavar="KNOWLEDGE", show_default=False,
    help="Your documents, file or folder: Markdown, text, HTML, CSV, JSONL, Excel, Word, PowerPoint, PDF.",
)]
Out = Annotated[str, typer.Option(
    "--out", metavar="FILE", show_default=False,
    help="Where the questions go: .csv, .jsonl or .yaml. [default: cases-made.csv]",
)]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace FILE and what people changed in it.")]
Number = Annotated[int, typer.Option(
    "--number", metavar="N", min=1, show_default=False, help="How many questions. [default: 40]",
)]
Kinds = Annotated[list[str] | None, typer.Option(
    "--kinds", metavar="NAME,...", show_default=False,
    help="Only these: simple, number, procedure, two-passages, comparison, follow-up, complaint; "
    "out of scope: false-fact, neighbour, competitor, private, small-talk. [default: all, mixed]",
)]
Wordings = Annotated[list[str] | None, typer.Option(
    "--wordings", metavar="NAME,...", show_default=False,
    help="How they are put, in turn: plain, keigo, casual, keywords, typed. [default: all]",
)]
Spoken = Annotated[str | None, typer.Option(
    "--language", metavar="ja|en", show_default=False,
    help="Only documents in this language. [default: each in its own]",
)]
Logs = Annotated[str | None, typer.Option(
    "--from-logs", metavar="FILE", show_default=False,
    help="Recorded dialogues (a question file with history, turns or answers): goals and wordings, redacted.",
)]
PersonasOut = Annotated[str | None, typer.Option(
    "--personas-out", metavar="FOLDER", show_default=False,
    help="With --from-logs and a model: how these customers speak, as persona files.",
)]
Redact = Annotated[list[str] | None, typer.Option(
    "--redact-pattern", metavar="REGEX", show_default=False,
    help="With --from-logs: mask this regular expression, too; repeatable.",
)]
To = Annotated[str | None, typer.Option(
    "--to", metavar="sheets", show_default=False,
    help="Also propose them in the sheet's worksheet of test questions, unapproved; with --sheet.",
)]
# fmt: on


@takes(
    "offline", "user_model", "judge_model", "cache", "budget", "prices", "jpy_per_usd",
    "calls", "timeout", "seed", "max_failed",
    "dry_run", "sheet", "worksheet", "json_output",
)  # fmt: skip
def make(  # noqa: PLR0917 - one for each option
    flags: dict[str, Any],
    knowledge: Knowledge = None,
    out: Out = "cases-made.csv",
    overwrite: Overwrite = False,
    number: Number = 40,
    kinds: Kinds = None,
    wordings: Wordings = None,
    language: Spoken = None,
    from_logs: Logs = None,
    personas_out: PersonasOut = None,
    redact: Redact = None,
    to: To = None,
) -> int:
    """Make test questions with right answers and gold passages from your documents.

    A model writes them, and another request checks each one against its passages without seeing the
    right answer; what fails is rejected and reported. About a quarter are out of scope (answerable:
    no). Without a model rules make simple ones from sentences and headings.

    The file is for `--cases FILE`. Let people look it over first; with --to sheets the questions wait
    in the sheet's worksheet of test questions until somebody approves them. Interrupted, the same
    command pays for nothing twice.
    """
    from simulator.addons.testset.grade import TestSetRequest, TestSetRun
    from simulator.models.pricing import check_prices

    settings = load({**flags, "to": [to] if to else None})
    path = Path(out)
    _check(path, knowledge, from_logs, personas_out, settings, overwrite=overwrite)
    wish = TestSetRequest(
        knowledge, number, kinds or (), wordings or (), _language(language), from_logs, tuple(redact or ())
    )
    work = TestSetRun(wish, settings)
    if settings.dry_run:
        from simulator.cli.calibrate import show_forecast

        return show_forecast(work.forecast(), as_json=settings.json_output)
    if not work.by_rule:
        check_prices(settings, work.models.items())
    return _perform(work, path, personas_out)


# The words below this one; each is a command of its own.
WORDS = {"make": make}
ABOUT = """Test questions: make them from your documents.

\b
python run.py cases make docs/                       questions, right answers, gold passages
python run.py cases make docs/ --to sheets --sheet KEY   propose them to the team
python run.py cases make --from-logs chats.jsonl     from recorded dialogues, redacted
"""


def _check(
    path: Path,
    knowledge: str | None,
    logs: str | None,
    personas: str | None,
    settings: Any,
    *,
    overwrite: bool,
) -> None:
    """Raises InputError for what would only be found out after everything is paid."""
    from simulator.addons.testset.report import check, check_name
    from simulator.core.errors import InputError

    if knowledge is None and logs is None:
        msg = "KNOWLEDGE is missing: cases make YOUR_DOCUMENTS, or --from-logs FILE."
        raise InputError(msg)
    if personas is not None and logs is None:
        msg = "--personas-out only goes with --from-logs."
        raise InputError(msg)
    check_name(path)
    if path.exists() and not overwrite and not settings.dry_run:
        msg = f"{path} is already here: name another with --out, or replace it with --overwrite."
        raise InputError(msg)
    if other := [name for name in settings.to if name != "sheets"]:
        msg = f"--to {other[0]}: questions go to a file (--out) and to sheets."
        raise InputError(msg)
    if "sheets" in settings.to:
        check(settings.sheet, settings.worksheet)


def _language(given: str | None) -> "Language | None":
    from simulator.core.errors import InputError

    if given not in (None, "ja", "en"):
        msg = f"--language {given}: use ja or en."
        raise InputError(msg)
    return cast("Language | None", given)


def _perform(work: "TestSetRun", path: Path, personas: str | None) -> int:
    from simulator.cli.case_report import Outcome, show
    from simulator.core.errors import InputError, RehearsalError

    _announce(work)
    outcome = Outcome(path)
    try:
        with _progress() as progress:
            asyncio.run(_all(work, outcome, Path(personas) if personas else None, progress))
    except InputError:
        raise
    except (RehearsalError, KeyboardInterrupt) as error:
        outcome.stopped = str(error).rstrip(".") or "interrupted"
    outcome.add(work.made)
    if work.logs is not None:
        outcome.add(work.logs.made)
    if not outcome.cases and not outcome.stopped and not outcome.failures:
        msg = "no question could be made: no sentence or heading fits a rule, and no model is configured."
        raise InputError(msg if work.by_rule else "no question could be made that passes the checks.")
    outcome.write()
    settings = work.settings
    if outcome.cases and "sheets" in settings.to and not outcome.stopped:
        outcome.propose(settings.sheet or "", settings.worksheet or "")
    show(work, outcome)
    if settings.json_output:
        sys.stdout.write(json.dumps(outcome.as_json(work), ensure_ascii=False) + "\n")
    return _exit_code(work, outcome)


async def _all(
    work: "TestSetRun", outcome: "Outcome", personas: Path | None, progress: Callable[[int, int], None]
) -> None:
    try:
        await work.make(progress)
        await work.distil(progress)
        if personas is not None:
            outcome.personas, outcome.no_personas = await work.personas(personas)
    finally:
        await work.close()


def _exit_code(work: "TestSetRun", outcome: "Outcome") -> int:
    if outcome.stopped:
        _say(f"error: {outcome.stopped}. {_how_to_go_on(work, outcome)}")
        return INCOMPLETE
    tried = len(outcome.cases) + len(outcome.rejected) + len(outcome.failures)
    if len(outcome.failures) <= work.settings.max_failed * tried:
        return DONE
    kinds = ", ".join(sorted({kind for _, kind in outcome.failures}))
    what = f"{len(outcome.failures)} of {tried} questions failed ({kinds})"
    _say(f"error: {what}. {_how_to_go_on(work, outcome)}")
    return INCOMPLETE


def _how_to_go_on(work: "TestSetRun", outcome: "Outcome") -> str:
    again = " with --overwrite" if outcome.written else ""
    if work.settings.cache in ("on", "refresh"):
        return f"The same command{again} goes on from here and pays for nothing twice."
    return f"With --cache {work.settings.cache} nothing was kept; the same command{again} starts anew."


def _announce(work: "TestSetRun") -> None:
    from simulator.cli.announce import counted
    from simulator.cli.calibrate import total

    said = []
    if work.articles:
        said.append(counted(len(work.articles), "passage"))
    if work.logs is not None:
        said.append(counted(len(work.logs.dialogues), "dialogue"))
    if work.by_rule:
        who = "No model configured: rules make simple questions (no language model, no cost)."
    else:
        models = work.models
        who = f"Written by {models['user']}, checked by {models['judge']}. About {total(work.forecast())}."
    _say(f"{', '.join(said)}. {who}")


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    """A bar when stderr is a terminal; otherwise nothing."""
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.console import Console  # only for eyes
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn(told_in(language_of(os.environ), "made and checked")),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=1)
        yield lambda done, whole: bar.update(task, completed=done, total=max(1, whole))


def _say(text: str) -> None:
    from simulator.core.translations import plain

    sys.stderr.write(" ".join(plain(text).split()) + "\n")
