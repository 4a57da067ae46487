"""`cross-examine RUN`: the bot is asked about its own claims, and the run is searched for contradictions.

    asked      a follow-up about "the fee is 4,800 yen"; the bot says 9,800; a judge quotes both
    searched   one question of several customers: were all told the same?

The bot is that of the run, with its settings, and gets each question after the same dialogue. Without a model
nothing is asked.
"""

import contextlib
from collections.abc import Mapping
from typing import Any

from simulator.api.progress import stdout_to_stderr
from simulator.cli.forecast import show_calls
from simulator.cli.options import RUN, option, takes
from simulator.cli.show import show_report
from simulator.cli.terminal import ExitCode, exit_code_of_failures, run_async, say
from simulator.core.errors import ModelFailure
from simulator.core.messages import _
from simulator.core.roles import JUDGE_TEMPERATURE, USER_TEMPERATURE, check_one_player, endpoints
from simulator.core.settings import Settings, load_settings, settings_of_run
from simulator.core.types import CONVERSATION, Run
from simulator.lab.consistency import across
from simulator.lab.consistency.figures import consistency, judged_of
from simulator.lab.consistency.grade import (
    Examiner,
    estimate,
    examined_json,
    examined_of,
    kept_in,
    targets,
)
from simulator.lab.consistency.report import consistency_report
from simulator.models.pricing import Ledger, check_prices
from simulator.runner.context import RunContext
from simulator.storage.results import report_language
from simulator.storage.run_file import RunFile, find_run, read_run


@takes(
    "adapter", "set", "offline", "user_model", "judge_model", "demo_model",
    "cache", "budget", "prices", "concurrency", "calls",
    "timeout", "seed", "runs", "dry_run", "json_output",
    texts={"adapter": "The bot to ask. Default: that of the run."},
)  # fmt: skip
def command(
    flags: dict[str, Any],
    run: str = RUN,
    limit: int = option("--limit N", "Ask about at most N answers.", 10, lowest=1),
    questions: int = option(
        "--questions N", "Ask at most N follow-up questions about each answer.", 3, lowest=1, highest=10
    ),
    again: bool = option("--again", "Ask again what was asked before."),
) -> int:
    """Ask the bot about its own claims, and find where it contradicts itself.

    A model writes follow-up questions about answers of a finished run, as a customer would: about those
    with most figures and dates first. The bot gets each one after the same dialogue, and a judge compares
    the answers. They are saved in the run file and paid for once. Also shown: whether every customer
    got the same answer. A judge compares the different answers to a question, one call for each. Without a
    model nothing is asked. Contradictions do not change the exit code.
    """
    today = load_settings(flags)
    check_one_player(today)
    path = find_run(run, today.runs)
    with contextlib.closing(RunFile.reopen(path)) as file:
        settings = _settings(file.results().run, flags, today)
        code = _examine(file, settings, limit, questions=questions, again=again)
    if not settings.dry_run:
        results = read_run(path)
        follow_ups, figures = examined_of(results), consistency(results)
        shown = consistency_report(results.run.id, report_language(results), figures, follow_ups)
        figures_shown = {"consistency": figures.as_json(), "examined": examined_json(follow_ups)}
        show_report(shown, {"run": results.run.id, **figures_shown}, as_json=settings.json_output)
    return code


def _settings(run: Run, flags: Mapping[str, Any], today: Settings) -> Settings:
    """The run's own settings, with what the command line changes."""
    # The bot as it was: a demo bot without a model stays without one. A replay's lines, a script and the
    # opening in the persona's voice belong to the conversations that were held, not to questions about them.
    bot = {"demo_model": run.models["demo"]} if run.models.get("demo") else {}
    stored = {**run.settings, "replay": None, "script": None, "voice_opening": False, **bot}
    settings = settings_of_run(stored, flags, today, ("json_output", "runs", "offline", "dry_run"))
    return settings.model_copy(update={"judges": (CONVERSATION,)})


def _examine(file: RunFile, settings: Settings, limit: int, *, questions: int, again: bool) -> int:
    """Asks what was not asked before; returns the exit code.

    What is asked is kept in the run file answer by answer, and paid for once: a second call asks only about
    answers that the first did not choose. With --again everything is asked anew.
    """
    results = file.results()
    with stdout_to_stderr():
        ledger = Ledger.of(settings, results)
        context = RunContext(settings, endpoints(settings), results.personas, ledger)
    # As a customer would: in the customer model's words. The judge's model reads both answers.
    asking = context.model("user", temperature=USER_TEMPERATURE)
    comparing = context.model("judge", temperature=JUDGE_TEMPERATURE)
    if asking is None or comparing is None:
        say(_("Without models for customer and judge nothing is asked."))
        return ExitCode.DONE
    earlier = () if again else examined_of(results)
    done = {(turn.conversation, turn.turn) for turn in earlier}
    chosen = [t for t in targets(results, limit) if (t.conversation, t.turn.index) not in done]
    judged = () if again else judged_of(results)
    compared = list(across.questions(results, judged))
    if not chosen and not compared:
        return ExitCode.DONE
    with stdout_to_stderr():
        context.check_adapter(results.conversations)
    examiner = Examiner(questions, settings, asking, comparing)
    if settings.dry_run:
        show_calls(estimate(context, examiner, chosen, compared), settings)
    roles = ("user", "judge", *(("demo",) if settings.adapter == "demo" else ()))
    check_prices(settings, [(role, context.models()[role]) for role in roles])
    ledger.record = file.save_call
    counts = {"n": len(chosen), "name": file.path.parent.name, "adapter": settings.adapter}
    by = examiner.name
    say(_("Examining {n} answers of {name}, bot: {adapter}, by: {examiner}.", **counts, examiner=by))

    async def ask() -> list[ModelFailure]:
        bot = None
        try:
            bot = await context.bot(file.conversations())
            failed = await examiner.examine(chosen, bot, kept_in(file, earlier))
            return failed + await across.judge(compared, context, across.kept_in(file, judged))
        finally:
            await context.close(bot)

    failures = run_async(ask())
    if failures is None:
        return ExitCode.INCOMPLETE
    reason, asked = failures[0].message if failures else "", len(chosen) + len(compared)
    return exit_code_of_failures(len(failures), asked, reason)
