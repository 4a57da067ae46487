"""`diff A B`: did the bot get better? Two runs are compared by question, without any call of a model."""

from pathlib import Path
from typing import Any

from simulator.cli.destinations import show_report, write_for_user
from simulator.cli.options import argument, option, takes
from simulator.cli.publish import report_language
from simulator.cli.side_by_side import pair_of_runs, run_parts, write_pair
from simulator.cli.terminal import DONE, MISSED, unread_output_allowed
from simulator.core.errors import InputError, RunFileError
from simulator.core.messages import _, say, sentences
from simulator.core.settings import load_settings
from simulator.report.comparison import compared, comparison_report
from simulator.report.painters.markdown import markdown as as_markdown
from simulator.stats.comparison import (
    CompanionRun,
    RunComparison,
    RunFigures,
    comparison_json,
    find_companion,
)
from simulator.storage.run_file import RUN_FILE, find_run, run_ids
from simulator.storage.runs import read_newest_questions, read_questions, replay_of


@takes("runs", "json_output")
def command(
    flags: dict[str, Any],
    before: str = argument("A", "The earlier run: id, start of an id, or path.", ...),
    after: str = argument("B", "The later run.", "latest"),
    *,
    free: str | None = option(
        "--free C",
        "A third run to show beside: a free run of the new version if B replays A, or a replay of A "
        "if B is a free run. Found automatically in the folder of the runs.",
    ),
    markdown: str | None = option("--markdown FILE", "Write the comparison as Markdown, for a pull request."),
) -> int:
    """Say whether the bot got better from run A to run B, and what broke; exit code 1 on a regression.

    Conversations of the same case and customer are paired. It is a regression if the score fell beyond its
    interval; if another judge's mean did (corrected for the number of judges) while more cases turned red
    than green; or if a case tagged must-not-break (壊さない, 必須) is red in B and was not in A. Too few
    data are reported, and are no regression. If the deciding judge used another rubric, the scores are not
    compared: grade A again first; must-not-break still counts.
    """
    settings = load_settings(flags)
    paths = [find_run(name, Path(settings.runs)) for name in (before, after)]
    _check_different(paths, settings.runs)
    earlier, later = pair_of_runs(*paths)
    changes = _compare(earlier, later, _third_run(free, paths, Path(settings.runs), earlier))
    page = _write_page(earlier, later, changes, paths[1])
    report = comparison_report(changes, later.summary, report_language(later.results), page)
    if markdown:
        write_for_user(markdown, as_markdown(report))
    unread = _("Not read to the end: the verdict is in the exit code.")
    if page:
        unread = _("Not read to the end: the verdict is in the exit code and on the page {page}.", page=page)
    figures = {**comparison_json(changes), "said": report.text(report.sections[0].line), "page": page or None}
    with unread_output_allowed(unread):
        show_report(report, figures, as_json=settings.json_output)
    return MISSED if changes.regression else DONE


def _check_different(paths: list[Path], runs: str) -> None:
    """Raises InputError where both are the same run, and names the one before it."""
    one, other = (path.resolve().parent for path in paths)
    if one != other:
        return
    older = [name for name in run_ids(Path(runs)) if name < one.name]
    same = _("A and B are the same run, {one}. All runs: python run.py history.", one=one.name)
    before = _("The one before it: {run}.", run=older[-1]) if older else None
    raise InputError(sentences(same, before))


def _compare(earlier: RunFigures, later: RunFigures, third: Path | None) -> RunComparison:
    changes = compared(earlier, later)
    if not changes.paired:
        before, after = changes.before.run, changes.after.run
        raise InputError(_("{before} and {after} have no question in common.", before=before, after=after))
    if third is None:
        return changes
    return changes.model_copy(update={"beside": _beside(earlier, later, third)})


def _third_run(name: str | None, paths: list[Path], runs: Path, earlier: RunFigures) -> Path | None:
    """The run to show beside: the one that was named, or its companion in the folder of the runs."""
    if name is not None:
        return find_run(name, runs)
    folder = paths[1].parent.parent
    run = find_companion(earlier.results.run, read_questions(paths[1]), read_newest_questions(folder))
    return folder / run.id / RUN_FILE if run else None


def _beside(earlier: RunFigures, later: RunFigures, third: Path) -> CompanionRun | None:
    other = run_parts(third, later.summary.rules)
    changes = compared(earlier, other)
    if not changes.paired:
        return None
    run = other.results.run
    return CompanionRun(
        run=run.id, replay=replay_of(run) is not None, score=other.summary.score, difference=changes.score
    )


def _write_page(earlier: RunFigures, later: RunFigures, changes: RunComparison, path: Path) -> str:
    """The page of both runs, beside the later one; empty where that folder cannot be written."""
    try:
        return str(write_pair(earlier, later, path, changes))
    except RunFileError as error:
        say(error.message)
        return ""
