"""`compare A B`: which of two runs answers better, turn by turn, in both orders.

Where `diff` holds two means against each other, here a judge reads both answers beside each other, which
can show smaller differences. What it read is in the response cache, so that the same command goes on after an
early end.
"""

from typing import Any

from simulator.cli.forecast import judged, spent_json
from simulator.cli.options import MODEL_WORK, argument, option, takes
from simulator.cli.show import show_report, write_for_user
from simulator.cli.terminal import exit_code_of_failures, unread_output_allowed
from simulator.core.messages import ngettext
from simulator.core.settings import load_settings
from simulator.lab.compare.comparison import Comparison, as_json
from simulator.lab.compare.report import pairwise_report
from simulator.report.painters.html import page


@takes(
    "judge_model", "guidelines", *MODEL_WORK, "runs",
    "json_output",
)  # fmt: skip
def command(
    flags: dict[str, Any],
    compared: list[str] = argument("RUN", "Two runs: id, start of an id, latest, or path.", ...),
    *,
    html: str | None = option("--html FILE", "Write the comparison as a page."),
) -> int:
    """Have a judge pick the better answer of two runs, one by one.

    python run.py compare RUN latest

    The judge reads each pair twice, in both orders; if the verdicts differ, it is a tie. Answers are
    compared as long as the customer said the same: always the first, and later ones of runs made with
    --replay. You see wins, ties and losses, and whether order swayed the judge.
    """
    settings = load_settings(flags)
    comparison = Comparison(compared, settings)
    about = ngettext("{n} pair of answers.", "{n} pairs of answers.", n=len(comparison.pairs))
    pieces, most = len(comparison.pairs), comparison.forecast()
    outcomes = judged(settings, comparison.judged, about, comparison.model, pieces=pieces, most=most)
    result = comparison.result(outcomes)
    report, ledger = pairwise_report(result), comparison.ledger
    tokens = {role: {"in": used.tokens_in, "out": used.tokens_out} for role, used in ledger.roles.items()}
    spent = {"rubric": comparison.rubric, **spent_json(ledger), "tokens": tokens}
    with unread_output_allowed():
        show_report(report, {**as_json(result), **spent}, as_json=settings.json_output)
    if html:
        write_for_user(html, page(report))
    failed, asked = result.figures.failed, result.figures.asked
    return exit_code_of_failures(failed, asked, result.figures.problem)
