"""`cross-examine RUN`: the bot is asked about its own claims, and the run is searched for contradictions."""

import contextlib
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from simulator.addons.consistency import across
from simulator.addons.consistency.figures import consistency, judged_of
from simulator.addons.consistency.grade import Examiner, examined_json, examined_of, kept_in
from simulator.addons.consistency.plan import WHICH, estimate, targets
from simulator.addons.consistency.report import consistency_report
from simulator.cli.destinations import show_report
from simulator.cli.forecast import show_calls
from simulator.cli.options import RUN, option, settings_of_run, takes
from simulator.cli.publish import report_language
from simulator.cli.terminal import (
    DONE,
    INCOMPLETE,
    exit_code_of_failures,
    print_json,
    reason_of,
    run_async,
    say,
    stdout_to_stderr,
)
from simulator.core.errors import ModelFailure, UnknownName
from simulator.core.messages import _
from simulator.core.roles import check_one_player, endpoints
from simulator.core.settings import Settings, load_settings, stored_settings
from simulator.core.types import CONVERSATION, Bot, GradingContext, Results, Run
from simulator.models.pricing import Ledger, check_prices
from simulator.report.painters.markdown import markdown as as_markdown
from simulator.runner.context import RunContext
from simulator.stats.summary import figures_of
from simulator.storage.results import without_superseded
from simulator.storage.run_file import RunFile, find_run, read_run


@takes(
    "adapter", "set", "offline", "user_model", "judge_model", "demo_model", "user_temperature",
    "judge_temperature", "max_tokens", "cache", "budget", "prices", "jpy_per_usd", "concurrency", "calls",
    "timeout", "seed", "max_failed", "runs", "dry_run", "json_output",
)  # fmt: skip
def command(  # noqa: PLR0917 - one for each option
    flags: dict[str, Any],
    run: str = RUN,
    limit: int = option("--limit N", "Ask about at most N answers.", 10, min=1),
    questions: int = option(
        "--questions N", "Ask at most N follow-up questions about each answer.", 3, min=1, max=10
    ),
    answers: str = option(
        "--answers specific|red|all",
        "Which answers: those with most figures and dates, the red ones, or all.",
        "specific",
    ),
    consistency_only: bool = option(
        "--consistency-only", "Ask nothing; only check whether the run told every customer the same."
    ),
    again: bool = option("--again", "Ask again what was asked before."),
    markdown: bool = option("--markdown", "Print the result as Markdown."),
) -> int:
    """Ask the bot about its own claims, and find where it contradicts itself.

    A model writes follow-up questions about answers of a finished run, as a customer would. The bot gets
    each one after the same dialogue, and a judge compares the answers. They are saved in the run file and
    paid for once. Also shown: whether the same question always got the same facts, in whatever wording or
    language, and whoever asked it. A judge compares the different answers to a question, one call for each;
    without a model figures, dates and yes/no are compared. Contradictions do not change the exit code.
    """
    if answers not in WHICH:
        raise UnknownName(_("choice of --answers"), answers, WHICH)
    today = load_settings(flags)
    check_one_player(today)
    path = find_run(run, Path(today.runs))
    if consistency_only:
        _show(read_run(path), today, markdown=markdown, examined=False)
        return DONE
    with contextlib.closing(RunFile.reopen(path)) as file:
        settings = _settings(file.results().run, flags, today)
        targets = _targets(file.results(), limit, answers)
        code = _examine(file, settings, targets, questions=questions, again=again)
    if not settings.dry_run:
        _show(read_run(path), settings, markdown=markdown, examined=True)
    return code


def _settings(run: Run, flags: Mapping[str, Any], today: Settings) -> Settings:
    """The run's own settings, with what the command line changes."""
    # The bot as it was: a demo bot without a model stays without one.
    bot = {"demo_model": run.models["demo"]} if run.models.get("demo") else {}
    stored = {**run.settings, "replay": None, "script": None, "voice_opening": False, **bot}
    settings = settings_of_run(stored, flags, today, ("json_output", "runs", "offline", "dry_run"))
    return settings.model_copy(update={"judges": (CONVERSATION,)})


def _targets(results: Results, limit: int, which: str) -> Sequence[GradingContext]:
    """The answers that the bot is asked about."""
    red: set[tuple[str, int]] = set()
    if which == "red":
        summary = figures_of(results, stored_settings(results.run.settings))
        red = {(turn.conversation, turn.turn) for turn in summary.reddest}
    return targets(results, limit, which=which, red=red)  # type: ignore[arg-type]


def _examine(
    file: RunFile, settings: Settings, targets: Sequence[GradingContext], *, questions: int, again: bool
) -> int:
    """Asks what was not asked before; returns the exit code."""
    results = file.results()
    earlier = () if again else examined_of(results)
    done = {(turn.conversation, turn.turn) for turn in earlier}
    targets = [target for target in targets if (target.conversation, target.turn.index) not in done]
    judged = () if again else judged_of(results)
    compared = list(across.questions(results, judged)) if endpoints(settings)["judge"] else []
    if not targets and not compared:
        return DONE
    ledger = Ledger.of(settings, results)
    with stdout_to_stderr():
        context = RunContext(settings, endpoints(settings), results.personas, ledger)
        context.check_adapter(results.conversations)
    examiner = Examiner(context, questions)
    if settings.dry_run:
        return show_calls(estimate(context, examiner, targets, compared), as_json=settings.json_output)
    roles = ("user", "judge", *(("demo",) if settings.adapter == "demo" else ()))
    check_prices(settings, [(role, context.models()[role]) for role in roles])
    ledger.record = file.save_call
    told = {"n": len(targets), "name": file.path.parent.name, "adapter": settings.adapter}
    by = examiner.name
    say(_("Examining {n} answers of {name}, bot: {adapter}, by: {examiner}.", **told, examiner=by))

    async def ask(bot: Bot) -> list[ModelFailure]:
        failed = await examiner.examine(targets, bot, kept_in(file, earlier))
        return failed + await across.judge(compared, context, across.kept_in(file, judged))

    failures = run_async(_ask(file, context, ask))
    if failures is None:
        return INCOMPLETE
    reason, asked = reason_of(failures[0]) if failures else "", len(targets) + len(compared)
    return exit_code_of_failures(len(failures), asked, settings.max_failed, reason)


async def _ask(
    file: RunFile, context: RunContext, ask: Callable[[Bot], Awaitable[list[ModelFailure]]]
) -> list[ModelFailure]:
    """What went wrong with single answers and questions; the others are in the run file."""
    bot = None
    try:
        bot = await context.bot(file.conversations())
        return await ask(bot)
    finally:
        await context.close(bot)


def _show(results: Results, settings: Settings, *, markdown: bool, examined: bool) -> None:
    """Prints what was found, for people and with --json for programs."""
    follow_ups = examined_of(results) if examined else None
    figures = consistency(without_superseded(results))
    shown = consistency_report(results.run.id, report_language(results), figures, follow_ups)
    body = {"run": results.run.id, "consistency": figures.as_json()}
    if follow_ups is not None:
        body["examined"] = examined_json(follow_ups)
    if not markdown:
        show_report(shown, body, as_json=settings.json_output)
        return
    (sys.stderr if settings.json_output else sys.stdout).write(as_markdown(shown))
    if settings.json_output:
        print_json(body)
