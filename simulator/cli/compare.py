"""`compare A B`: which of two or more runs answers better, turn by turn, in both orders."""

import asyncio
import contextlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simulator.cli.app import may_stop_reading
from simulator.cli.options import takes
from simulator.core.settings import load

if TYPE_CHECKING:
    from simulator.addons.compare.figures import Outcome, PairwiseFigures
    from simulator.addons.compare.grade import Comparison
    from simulator.addons.compare.report import PairwiseReport

DONE, INCOMPLETE = 0, 3

# fmt: off
Runs = Annotated[list[str], typer.Argument(
    metavar="RUN", help="Two or more runs: id, start of an id, latest, or path.", show_default=False,
)]
Anchor = Annotated[bool, typer.Option(
    "--anchor", help="The first run against each of the others, not all against all.",
)]
Markdown = Annotated[str | None, typer.Option(
    "--markdown", metavar="FILE", show_default=False, help="Write the comparison as Markdown.",
)]
Html = Annotated[str | None, typer.Option(
    "--html", metavar="FILE", show_default=False, help="Write the comparison as a page.",
)]
# fmt: on


@takes(
    "offline", "judge_model", "judge_temperature", "guidelines", "cache", "budget", "prices", "jpy_per_usd",
    "calls", "timeout",
    "seed", "max_failed", "dry_run", "runs", "json_output",
)  # fmt: skip
def command(
    flags: dict[str, Any],
    compared: Runs,
    *,
    anchor: Anchor = False,
    markdown: Markdown = None,
    html: Html = None,
) -> int:
    """Have a judge pick the better answer of two or more runs, turn by turn.

    python run.py compare RUN latest

    Each pair is read twice, in both orders; disagreement is a tie. Compared are the turns up to which the
    customer said the same: first questions always, later ones where a run was held with --replay. Shown are
    wins, ties and losses, whether order or length swayed the judge, and ratings of all runs (Bradley-Terry).
    Verdicts are kept beside the later run (pairwise.jsonl): repeated, it pays for nothing twice.
    """
    from simulator.addons.compare.grade import Comparison
    from simulator.models.pricing import check_prices

    settings = load(flags)
    work = Comparison(compared, settings, anchor=anchor)
    if settings.dry_run:
        from simulator.cli.calibrate import show_forecast

        return show_forecast(work.forecast(), as_json=settings.json_output)
    check_prices(settings, [("judge", work.model)])
    _announce(work)
    outcomes = _judged(work)
    if outcomes is None:
        return INCOMPLETE
    found = work.figures(outcomes)
    shown = _shown(work, found, outcomes)
    with may_stop_reading():
        _print(work, shown)
    if markdown:
        from simulator.addons.compare.report import markdown as as_markdown

        _write(Path(markdown), as_markdown(shown), shown)
    if html:
        from simulator.addons.compare.report import render

        _write(Path(html), render(shown), shown)
    return _exit_code(work, found)


def _announce(work: "Comparison") -> None:
    """What is compared, by whom, and what it will cost."""
    from simulator.cli.announce import counted
    from simulator.cli.calibrate import total
    from simulator.core.roles import LEXICAL

    said = f"{counted(len(work.pairs), 'pair')} of answers from {len(work.runs.ids)} runs."
    if work.model == LEXICAL:
        _say(f"{said} No model configured: a lexical stand-in compares (no language model, no cost).")
    else:
        _say(f"{said} Judge: {work.model}. At most {total(work.forecast())}.")


def _judged(work: "Comparison") -> "list[Outcome] | None":
    """All outcomes; None when it ended early, and stderr says why."""
    from simulator.core.errors import InputError, RehearsalError

    try:
        with _progress(len(work.pairs)) as told, contextlib.redirect_stdout(sys.stderr):
            return asyncio.run(work.judged(told))
    except InputError:
        raise
    except (RehearsalError, KeyboardInterrupt) as error:
        because = str(error).rstrip(".") or "interrupted"
        _say(f"error: {because}. What was judged is kept: the same command goes on from there.")
        return None


@contextlib.contextmanager
def _progress(pairs: int) -> Any:
    """A bar when stderr is a terminal; otherwise nothing."""
    from simulator.cli.calibrate import progress_on_stderr

    with progress_on_stderr(pairs) as told:
        yield told


def _shown(work: "Comparison", found: "PairwiseFigures", outcomes: "list[Outcome]") -> "PairwiseReport":
    from simulator.addons.compare.report import PairwiseReport

    names = {
        persona.id: persona.speaks(work.language).name
        for results in work.runs.results
        for persona in results.personas
    }
    overall = {run: work.overall(run) for run in work.runs.ids}
    return PairwiseReport(found, outcomes, work.model, work.language, overall, names)


def _print(work: "Comparison", shown: "PairwiseReport") -> None:
    from rich.console import Console

    from simulator.addons.compare.report import paint

    as_json = work.settings.json_output
    paint(shown, Console(stderr=as_json))
    if as_json:
        sys.stdout.write(json.dumps(_as_json(work, shown), ensure_ascii=False) + "\n")


def _as_json(work: "Comparison", shown: "PairwiseReport") -> dict[str, Any]:
    from simulator.addons.compare.report import as_json

    spent = work.ledger
    return {
        **as_json(shown),
        "rubric": work.rubric,
        "calls": {role: used.calls for role, used in spent.roles.items()},
        "tokens": {role: {"in": u.tokens_in, "out": u.tokens_out} for role, u in spent.roles.items()},
        "cost_usd": None if spent.cost_usd is None else round(spent.cost_usd, 4),
    }


def _write(path: Path, text: str, shown: "PairwiseReport") -> None:
    from simulator.addons.compare.figures import WORDS
    from simulator.cli.sinks import write_atomically

    write_atomically(path, text)
    _say(WORDS(shown.language, "saved", path=str(path)))


def _exit_code(work: "Comparison", found: "PairwiseFigures") -> int:
    if found.failed <= work.settings.max_failed * found.asked:
        return DONE
    _say(
        f"error: {found.failed} of {found.asked} verdicts failed ({found.problem})."
        " The same command tries again."
    )
    return INCOMPLETE


def _say(text: str) -> None:
    from simulator.core.translations import plain

    sys.stderr.write(" ".join(plain(text).split()) + "\n")
