"""`cases make KNOWLEDGE`: test questions from the user's own documents, and from recorded dialogues."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from simulator.addons.testset.files import check, check_name
from simulator.addons.testset.make import TestSetRequest, TestSetRun
from simulator.cli.case_report import Outcome, show
from simulator.cli.forecast import show_calls, total
from simulator.cli.options import argument, option, takes
from simulator.cli.terminal import (
    INCOMPLETE,
    exit_code_of_failures,
    print_json,
    progress_bar,
    reason_of,
    saved_in_cache,
    say,
)
from simulator.core.errors import InputError, RehearsalError
from simulator.core.messages import _, ngettext, sentences
from simulator.core.roles import check_one_player
from simulator.core.settings import load_settings
from simulator.models.pricing import check_prices


@takes(
    "offline", "user_model", "judge_model", "cache", "budget", "prices", "jpy_per_usd",
    "calls", "timeout", "seed", "max_failed", "language", "redact_patterns",
    "dry_run", "sheet", "worksheet", "json_output",
)  # fmt: skip
def make(  # noqa: PLR0917 - one for each option
    flags: dict[str, Any],
    knowledge: str | None = argument(
        "KNOWLEDGE",
        "Your documents, file or folder: Markdown, text, HTML, CSV, JSONL, Excel, Word, PowerPoint, PDF.",
    ),
    out: str = option("--out FILE", "The file to write: .csv, .jsonl or .yaml.", "cases-made.csv"),
    overwrite: bool = option("--overwrite", "Replace FILE, with all that people changed in it."),
    number: int = option("--number N", "How many questions.", 40, min=1),
    kinds: list[str] | None = option(
        "--kinds NAME,...",
        "Only these kinds: simple, number, procedure, two-passages, comparison, follow-up, complaint; "
        "out of scope: false-fact, neighbour, competitor, private, small-talk. [default: all, mixed]",
    ),
    wordings: list[str] | None = option(
        "--wordings NAME,...", "Wordings to use in turn: plain, keigo, casual, keywords. [default: all]"
    ),
    from_logs: str | None = option(
        "--from-logs FILE",
        "Recorded dialogues (a question file with history, turns or answers), for goals and wordings; "
        "personal data is masked.",
    ),
    personas_out: str | None = option(
        "--personas-out FOLDER",
        "With --from-logs: write personas that speak like these customers to FOLDER, and a mix of them.",
    ),
    to: str | None = option(
        "--to sheets",
        "Also add them to the sheet's worksheet of test questions, to be approved; with --sheet.",
    ),
) -> int:
    """Make test questions with right answers and gold passages from your documents.

    A model writes them, and a second request answers each one from its passages without seeing the right
    answer; questions that fail this check are rejected and listed. About a quarter are out of scope
    (answerable: no).

    Use the file with `--cases FILE`, after somebody has looked it over. With --to sheets the questions wait
    in the sheet's worksheet of test questions until somebody approves them. If interrupted, run the same
    command again: nothing is paid for twice.
    """
    settings = load_settings({**flags, "to": [to] if to else None})
    check_one_player(settings)
    path = Path(out)
    # What would otherwise show only after everything is paid.
    if knowledge is None and from_logs is None:
        raise InputError(_("KNOWLEDGE is missing: cases make YOUR_DOCUMENTS, or --from-logs FILE."))
    if personas_out is not None and from_logs is None:
        raise InputError(_("--personas-out can only be used with --from-logs."))
    check_name(path)
    if path.exists() and not overwrite and not settings.dry_run:
        msg = _("{path} already exists: choose another file with --out, or replace it with --overwrite.")
        raise InputError(msg.format(path=path))
    if other := [name for name in settings.to if name != "sheets"]:
        msg = _("--to {other}: questions can be written to a file (--out) and to sheets.", other=other[0])
        raise InputError(msg)
    if "sheets" in settings.to:
        check(settings.sheet, settings.worksheet)
    request = TestSetRequest(
        knowledge,
        number,
        kinds or (),
        wordings or (),
        settings.case_language,
        from_logs,
        settings.redact_patterns,
    )
    run = TestSetRun(request, settings)
    if settings.dry_run:
        show_calls({"judge": run.forecast()}, settings)
    check_prices(settings, run.models.items())
    return _make(run, path, Path(personas_out) if personas_out else None)


# The subcommands.
SUBCOMMANDS = {"make": make}
ABOUT = """Make test questions from your documents.

\b
python run.py cases make docs/                       questions, right answers, gold passages
python run.py cases make docs/ --to sheets --sheet KEY   let the team approve them
python run.py cases make --from-logs chats.jsonl     from recorded dialogues, personal data masked
"""


def _make(run: TestSetRun, path: Path, personas: Path | None) -> int:
    """Makes the questions and writes what there is, also when it ends early; returns the exit code."""
    _announce(run)
    outcome = Outcome(path)
    try:
        with progress_bar(1, _("made and checked")) as bar:
            asyncio.run(_make_all(run, outcome, personas, bar.update))
    except InputError:
        raise
    except (RehearsalError, KeyboardInterrupt) as error:
        outcome.stopped = reason_of(error)
    outcome.add(run.made)
    if run.logs is not None:
        outcome.add(run.logs.made)
    if not outcome.cases and not outcome.stopped and not outcome.failures:
        raise InputError(_("no question could be made that passes the checks."))
    outcome.write()
    settings = run.settings
    if outcome.cases and "sheets" in settings.to and not outcome.stopped:
        outcome.propose(settings.sheet or "", settings.worksheet or "")
    show(run, outcome)
    if settings.json_output:
        print_json(outcome.as_json(run))
    return _exit_code(run, outcome)


async def _make_all(
    run: TestSetRun, outcome: Outcome, personas: Path | None, progress: Callable[[int, int], None]
) -> None:
    try:
        await run.make(progress)
        await run.distil(progress)
        if personas is not None:
            (outcome.personas, outcome.mix), outcome.no_personas = await run.personas(personas)
    finally:
        await run.close()


def _announce(run: TestSetRun) -> None:
    sources = []
    if run.articles:
        sources.append(ngettext("{n} passage", "{n} passages", n=len(run.articles)))
    if run.logs is not None:
        sources.append(ngettext("{n} dialogue", "{n} dialogues", n=len(run.logs.dialogues)))
    writer = _(
        "Written by {user}, checked by {judge}. About {cost}.",
        user=run.models["user"], judge=run.models["judge"], cost=total([run.forecast()]),
    )  # fmt: skip
    say(sentences(_("{sources}.", sources=tuple(sources)), writer))


def _exit_code(run: TestSetRun, outcome: Outcome) -> int:
    """DONE, or INCOMPLETE where it stopped or too much failed; stderr says how to go on."""
    if outcome.stopped:
        reason = _("{reason:sentence}", reason=outcome.stopped)
        say(_("error: {message}", message=sentences(reason, saved_in_cache(run.settings.cache))))
        code = INCOMPLETE
    else:
        failed = len(outcome.failures)
        kinds = ", ".join(sorted({kind for _case, kind in outcome.failures}))
        tried = len(outcome.cases) + len(outcome.rejected) + failed
        code = exit_code_of_failures(failed, tried, run.settings.max_failed, kinds)
    if code and outcome.written:
        say(_("Add --overwrite to replace {path}.", path=outcome.path))
    return code
