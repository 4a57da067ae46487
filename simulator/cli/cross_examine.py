"""`cross-examine RUN`: the bot is asked about its own claims, and the run is searched for contradictions."""

import asyncio
import contextlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simulator.cli.options import Run, takes
from simulator.core.settings import Settings, from_run, load

if TYPE_CHECKING:
    from simulator.addons.consistency.grade import Examiner, Target, TurnFollowUps
    from simulator.core.types import Results
    from simulator.runner.context import RunContext
    from simulator.storage.run_file import RunFile

DONE, INCOMPLETE = 0, 3

# fmt: off
Limit = Annotated[int, typer.Option(
    "--limit", metavar="N", min=1, show_default=False, help="At most so many answers. [default: 10]",
)]
Questions = Annotated[int, typer.Option(
    "--questions", metavar="N", min=1, max=10, show_default=False,
    help="At most so many follow-up questions about each answer. [default: 3]",
)]
Which = Annotated[str, typer.Option(
    "--answers", metavar="specific|red|all", show_default=False,
    help="Which answers: those that tell most figures and dates, the red ones, or all. [default: specific]",
)]
Only = Annotated[bool, typer.Option(
    "--consistency-only", help="Ask nobody: only whether the run told every customer the same.",
)]
Again = Annotated[bool, typer.Option("--again", help="Ask anew what was asked before.")]
AsMarkdown = Annotated[bool, typer.Option("--markdown", help="Print Markdown.")]
# fmt: on
# What belongs to today; everything else stays as the run was held.
OPTIONS = (
    "adapter",
    "set",
    "offline",
    "user_model",
    "judge_model",
    "demo_model",
    "user_temperature",
    "judge_temperature",
    "cache",
    "budget",
    "prices",
    "jpy_per_usd",
    "concurrency",
    "calls",
    "timeout",
    "seed",
    "max_failed",
    "runs",
    "dry_run",
    "json_output",
)  # fmt: skip


@takes(*OPTIONS)
def command(  # noqa: PLR0917 - one for each option
    flags: dict[str, Any],
    run: Run = "latest",
    limit: Limit = 10,
    questions: Questions = 3,
    answers: Which = "specific",
    consistency_only: Only = False,
    again: Again = False,
    markdown: AsMarkdown = False,
) -> int:
    """Ask the bot about its own claims, and find where it contradicts itself.

    A model writes follow-up questions to answers of a finished run, as a customer would; the bot gets each
    with the same earlier dialogue, and a judge compares the answers. What was asked is kept in the run file
    and paid for once. Beside it, without any call: whether the same question got the same facts from the
    start, whoever asked it, how often, in which words and language. Contradictions do not change the exit
    code.
    """
    from simulator.addons.consistency.plan import WHICH
    from simulator.core.errors import UnknownName
    from simulator.storage.run_file import RunFile, find_run, read_run

    if answers not in WHICH:
        raise UnknownName("choice of --answers", answers, WHICH)
    shown = load(flags)
    path = find_run(run, Path(shown.runs))
    if consistency_only:
        _show(read_run(path), shown, markdown=markdown, examined=False)
        return DONE
    with contextlib.closing(RunFile.reopen(path)) as file:
        settings = _settings(file.results(), flags, shown)
        chosen = _chosen(file.results(), limit, answers)
        code = _examine(file, settings, chosen, questions=questions, again=again)
    if not settings.dry_run:
        _show(read_run(path), settings, markdown=markdown, examined=True)
    return code


def _settings(results: "Results", flags: dict[str, Any], shown: Settings) -> Settings:
    """The run's own settings, with what was given today."""
    given = {name: getattr(shown, name) for name in OPTIONS if flags[name] not in (None, False, [], ())}
    today = {name: getattr(shown, name) for name in ("json_output", "runs", "offline", "dry_run")}
    # The bot as it was: a demo bot that no model played then is played by none now.
    bot = {"demo_model": results.run.models["demo"]} if results.run.models.get("demo") else {}
    held = {**results.run.settings, "replay": None, "script": None, "voice_opening": False}
    return from_run({**held, **bot, **given, **today})


def _chosen(results: "Results", limit: int, which: str) -> "Sequence[Target]":
    from simulator.addons.consistency.plan import targets

    red: set[tuple[str, int]] = set()
    if which == "red":
        from simulator.stats.outcome import figures_of

        summary = figures_of(results, from_run(results.run.settings))
        red = {(turn.conversation, turn.turn) for turn in summary.reddest}
    return targets(results, limit, which=which, red=red)  # type: ignore[arg-type]


def _examine(
    file: "RunFile", settings: Settings, chosen: "Sequence[Target]", *, questions: int, again: bool
) -> int:
    """Asks what is not known yet; gives the exit code."""
    from simulator.addons.consistency.grade import Examiner, examined_of, still_open
    from simulator.core.roles import endpoints
    from simulator.models.pricing import Ledger, check_prices
    from simulator.runner.context import RunContext

    results = file.results()
    known = () if again else examined_of(results)
    wanted = still_open(chosen, known)
    if not wanted:
        return DONE
    ledger = Ledger.of(settings, results)
    with contextlib.redirect_stdout(sys.stderr):
        context = RunContext(settings, endpoints(settings), results.personas, ledger)
        context.check_adapter([target.conversation for target in wanted])
    examiner = Examiner(context, questions)
    if settings.dry_run:
        from simulator.addons.consistency.plan import estimate
        from simulator.cli.announce import show_totals

        show_totals(estimate(context, examiner, wanted), as_json=settings.json_output)
        return DONE
    roles = ("user", "judge", *(("demo",) if settings.adapter == "demo" else ()))
    check_prices(settings, [(role, context.models()[role]) for role in roles])
    ledger.record = file.called
    name = file.path.parent.name
    _say(f"Examining {len(wanted)} answers of {name}, bot: {settings.adapter}, by: {examiner.name}.")
    return _perform(file, context, examiner, wanted, known)


def _perform(
    file: "RunFile",
    context: "RunContext",
    examiner: "Examiner",
    wanted: "Sequence[Target]",
    known: "Sequence[TurnFollowUps]",
) -> int:
    from simulator.addons.consistency.grade import CrossExamination, FollowUpStore
    from simulator.core.errors import InputError, ModelFailure, RehearsalError

    async def held() -> list[ModelFailure]:
        bot = None
        try:
            bot = await context.bot([target.conversation for target in wanted])
            return await CrossExamination(examiner, bot, context, FollowUpStore(file, known)).all(wanted)
        finally:
            await context.close(bot)

    try:
        with contextlib.redirect_stdout(sys.stderr):
            failures = asyncio.run(held())
    except InputError:
        raise
    except (RehearsalError, KeyboardInterrupt) as error:
        _say(f"error: {_why(error)}. What was examined is kept: the same command goes on from there.")
        return INCOMPLETE
    if failures:
        shown = f"{len(failures)} of {len(wanted)} answers could not be examined"
        _say(f"error: {shown} ({_why(failures[0])}). The same command tries them again.")
    return INCOMPLETE if len(failures) > context.settings.max_failed * len(wanted) else DONE


def _show(results: "Results", settings: Settings, *, markdown: bool, examined: bool) -> None:
    """The findings for people, and with --json for programs."""
    from rich.console import Console
    from rich.text import Text

    from simulator.addons.consistency import report
    from simulator.addons.consistency.figures import consistency
    from simulator.addons.consistency.grade import examined_of
    from simulator.storage.results import counted

    kept = examined_of(results) if examined else None
    told = report.ConsistencyReport(results.run.id, _language(results), kept, consistency(counted(results)))
    stream = sys.stderr if settings.json_output else sys.stdout
    if markdown:
        stream.write(report.markdown(told))
    else:
        styles = {"title": "bold", "plain": "", "alarm": "bold red", "soft": "dim"}
        console = Console(file=stream, highlight=False)
        for line in report.lines(told):
            console.print(Text(line.text, style=styles[line.style]))
    if settings.json_output:
        sys.stdout.write(json.dumps(report.as_json(told), ensure_ascii=False) + "\n")


def _language(results: "Results") -> Any:
    from simulator.cli.publish import report_language

    return report_language(results)


def _why(error: BaseException) -> str:
    return " ".join(str(error).split()).rstrip(".") or "interrupted"


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
