"""`consistency RUN`: whether all customers who asked the same question were told the same.

A judge compares the different first answers to a question, one call for each question. Its verdicts are kept
in the run file one by one and paid for once; later reports of the run begin with what it found.
"""

import contextlib
from typing import Any

from simulator.api.progress import stdout_to_stderr
from simulator.cli.forecast import judged
from simulator.cli.options import RUN, takes
from simulator.cli.show import show_report
from simulator.cli.terminal import ExitCode, exit_code_of_failures, say
from simulator.core.messages import _, ngettext
from simulator.core.settings import Settings, load_settings, settings_of_run
from simulator.core.types import CONVERSATION, LEXICAL
from simulator.lab.consistency.figures import consistency, judged_of
from simulator.lab.consistency.grade import compare, kept_in, questions
from simulator.lab.consistency.report import consistency_report
from simulator.models.pricing import Ledger
from simulator.runner.context import RunContext
from simulator.runner.estimate import grading_estimate
from simulator.storage.results import report_language
from simulator.storage.run_file import RunFile, find_run, read_run


@takes(
    "offline", "judge_model", "cache", "budget", "prices", "calls",
    "timeout", "seed", "runs", "dry_run", "json_output",
)  # fmt: skip
def command(flags: dict[str, Any], run: str = RUN) -> int:
    """Find where customers got different answers to the same question.

    A judge compares the different first answers to a question, one call for each. Its verdicts are saved in
    the run file and paid for once. Without a model nothing is compared. Contradictions do not change the exit
    code.
    """
    today = load_settings(flags)
    path = find_run(run, today.runs)
    with contextlib.closing(RunFile.reopen(path)) as file:
        # Lines and scripts belong to the conversations that were held, not to questions about them.
        stored = {**file.results().run.settings, "replay": None, "script": None}
        settings = settings_of_run(stored, flags, today, ("json_output", "runs", "offline", "dry_run"))
        code = _compare(file, settings.model_copy(update={"judges": (CONVERSATION,)}))
    results = read_run(path)
    figures = consistency(results)
    shown = consistency_report(report_language(results), figures)
    values = {"run": results.run.id, "consistency": figures.as_json()}
    show_report(shown, values, as_json=settings.json_output)
    return code


def _compare(file: RunFile, settings: Settings) -> int:
    """Compares what was not compared before; returns the exit code."""
    results = file.results()
    with stdout_to_stderr():
        ledger = Ledger.of(settings, results)
        context = RunContext(settings, results.personas, ledger)
    earlier, model = judged_of(results), context.models()["judge"]
    if model == LEXICAL:
        say(_("Without a model as judge nothing is compared."))
        return ExitCode.DONE
    asked = list(questions(results, earlier))
    if not asked:
        return ExitCode.DONE
    ledger.record = file.save_call
    most = grading_estimate(context, {CONVERSATION}, [question.context for question in asked])
    about = ngettext(
        "{n} question got different answers.", "{n} questions got different answers.", n=len(asked)
    )
    failures = judged(
        settings, lambda progress: compare(asked, context, kept_in(file, earlier), progress), about, model,
        pieces=len(asked), most=most,
    )  # fmt: skip
    return exit_code_of_failures(len(failures), len(asked), failures[0] if failures else "")
