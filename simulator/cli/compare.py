"""`compare A B`: which of two or more runs answers better, turn by turn, in both orders."""

from pathlib import Path
from typing import Any

from simulator.addons.compare.comparison import Comparison, as_json
from simulator.addons.compare.report import pairwise_report
from simulator.cli.destinations import write_atomically
from simulator.cli.forecast import show_calls, total
from simulator.cli.options import argument, option, takes
from simulator.cli.terminal import (
    INCOMPLETE,
    exit_code_of_failures,
    print_json,
    progress_bar,
    run_async,
    say,
    unread_output_allowed,
)
from simulator.core.messages import _, ngettext, sentences
from simulator.core.settings import load_settings
from simulator.core.types import LEXICAL
from simulator.models.pricing import check_prices
from simulator.report.painters.console import print_report
from simulator.report.painters.html import page
from simulator.report.painters.markdown import markdown as markdown_of


@takes(
    "offline", "judge_model", "judge_temperature", "guidelines", "cache", "budget", "prices", "jpy_per_usd",
    "calls", "timeout",
    "seed", "max_failed", "dry_run", "runs", "json_output",
)  # fmt: skip
def command(
    flags: dict[str, Any],
    compared: list[str] = argument("RUN", "Two or more runs: id, start of an id, latest, or path.", ...),
    *,
    anchor: bool = option(
        "--anchor", "Compare the first run with each of the others, instead of all with all."
    ),
    markdown: str | None = option("--markdown FILE", "Write the comparison as Markdown."),
    html: str | None = option("--html FILE", "Write the comparison as a page."),
) -> int:
    """Have a judge pick the better answer of two or more runs, turn by turn.

    python run.py compare RUN latest

    The judge reads each pair twice, in both orders; if the verdicts differ, it is a tie. Turns are compared
    as long as the customer said the same: always the first, and later ones of runs made with --replay. You
    see wins, ties and losses, whether order or length swayed the judge, and a rating of all runs
    (Bradley-Terry). Verdicts are saved beside the later run (pairwise.jsonl): repeating the command pays
    for nothing twice.
    """
    settings = load_settings(flags)
    comparison = Comparison(compared, settings, anchor=anchor)
    if settings.dry_run:
        return show_calls({"judge": comparison.forecast()}, as_json=settings.json_output)
    check_prices(settings, [("judge", comparison.model)])
    _announce(comparison)
    with progress_bar(len(comparison.pairs), "graded") as bar:
        outcomes = run_async(comparison.judged(bar.advance))
    if outcomes is None:
        return INCOMPLETE
    result = comparison.result(outcomes)
    report = pairwise_report(result)
    with unread_output_allowed():
        print_report(report, as_json=settings.json_output)
        if settings.json_output:
            print_json({**as_json(result), **_spent(comparison)})
    if markdown:
        _write(Path(markdown), markdown_of(report))
    if html:
        _write(Path(html), page(report))
    failed, asked = result.figures.failed, result.figures.asked
    msg = _(
        "{failed} of {asked} verdicts failed ({problem}). The same command tries them again.",
        failed=failed,
        asked=asked,
        problem=result.figures.problem,
    )
    return exit_code_of_failures(failed, asked, settings.max_failed, msg)


def _announce(comparison: "Comparison") -> None:
    """Says what is compared, by which judge, and what it will cost at most."""
    pairs = ngettext(
        "{n} pair of answers from {runs} runs.",
        "{n} pairs of answers from {runs} runs.",
        n=len(comparison.pairs),
        runs=len(comparison.runs),
    )
    if comparison.model == LEXICAL:
        say(
            sentences(
                pairs, _("No model configured: a lexical stand-in compares (no language model, no cost).")
            )
        )
    else:
        say(
            sentences(
                pairs,
                _("Judge: {model}.", model=comparison.model),
                _("At most {total}.", total=total([comparison.forecast()])),
            )
        )


def _spent(comparison: "Comparison") -> dict[str, Any]:
    """The rubric, and what its verdicts cost, for --json."""
    ledger = comparison.ledger
    return {
        "rubric": comparison.rubric,
        "calls": {role: used.calls for role, used in ledger.roles.items()},
        "tokens": {
            role: {"in": used.tokens_in, "out": used.tokens_out} for role, used in ledger.roles.items()
        },
        "cost_usd": None if ledger.cost_usd is None else round(ledger.cost_usd, 4),
    }


def _write(path: Path, text: str) -> None:

    write_atomically(path, text)
    say(_("Written to {path}.", path=path))
