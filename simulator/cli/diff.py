"""`diff A B`: did the bot get better? Two runs, question by question, with nothing asked of any model."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simulator.cli.app import may_stop_reading
from simulator.cli.options import takes
from simulator.core.settings import load

if TYPE_CHECKING:
    from simulator.report.comparison import ComparisonText
    from simulator.report.html_comparison import PageParts
    from simulator.stats.comparison import Beside, Changes

# fmt: off
Before = Annotated[str, typer.Argument(
    metavar="A", help="The earlier run: id, start of an id, or path.", show_default=False,
)]
After = Annotated[str, typer.Argument(
    metavar="B", help="The later run. [default: latest]", show_default=False,
)]
Free = Annotated[str | None, typer.Option(
    "--free", metavar="C", show_default=False,
    help="A free run of the new version where B replays A, or a replay of A where B is free: shown beside. "
    "Found by itself when it lies in the folder of the runs.",
)]
Markdown = Annotated[str | None, typer.Option(
    "--markdown", metavar="FILE", show_default=False,
    help="Write the comparison as Markdown, for a pull request.",
)]
# fmt: on
DONE, REGRESSION = 0, 1


@takes("runs", "json_output")
def command(
    flags: dict[str, Any],
    before: Before,
    after: After = "latest",
    *,
    free: Free = None,
    markdown: Markdown = None,
) -> int:
    """Say whether the bot got better from run A to run B, and what broke; exit code 1 on a regression.

    The same cases and customers are paired. A regression is a score that fell beyond its interval; another
    judge (corrected for how many they are) that did while more cases turned red than green; or a red turn in
    a case tagged must-not-break (壊さない, 必須) that was green in A. Too little data is said, and is no
    regression. If the deciding judge used another rubric, scores are not held against each other: grade A
    again; must-not-break still counts.
    """
    from simulator.cli.publish import held_against
    from simulator.storage.run_file import find_run

    given = load(flags)
    paths = [find_run(name, Path(given.runs)) for name in (before, after)]
    _check_apart(paths, given.runs)
    earlier, later = held_against(*paths)
    changes = _compared(earlier, later, _third(free, paths, Path(given.runs), (earlier, later)))
    page = _page(earlier, later, changes, paths[1])
    telling = _telling(changes, later)
    if markdown:
        _write(Path(markdown), telling)
    where = f" and on the page {page}" if page else ""
    with may_stop_reading(f"Not read to the end: the verdict is in the exit code{where}.\n"):
        _show(telling, page, as_json=given.json_output)
    return REGRESSION if changes.regression else DONE


def _check_apart(paths: list[Path], runs: str) -> None:
    """Refuses to hold a run against itself, and names the one before it."""
    from simulator.core.errors import InputError
    from simulator.storage.run_file import run_ids

    one, other = (path.resolve().parent for path in paths)
    if one != other:
        return
    older = [name for name in run_ids(Path(runs)) if name < one.name]
    how = f"for the run before it: python run.py diff {older[-1]} {one.name}" if older else "name two runs"
    msg = f"A and B are the same run, {one.name}; {how}. All runs: python run.py history."
    raise InputError(msg)


def _compared(earlier: "PageParts", later: "PageParts", third: Path | None) -> "Changes":
    from simulator.core.errors import InputError
    from simulator.core.translations import saying
    from simulator.report.comparison import TEXTS
    from simulator.report.html_comparison import compared

    changes = compared(earlier, later)
    if not changes.paired:
        runs = {"before": changes.before.run, "after": changes.after.run}
        say = saying(TEXTS, "diff", "en", rows=later.summary.rows)
        raise InputError(say("nothing", **runs))
    if third is None:
        return changes
    return changes.model_copy(update={"beside": _beside(earlier, later, third)})


def _third(
    name: str | None, paths: list[Path], runs: Path, sides: "tuple[PageParts, PageParts]"
) -> Path | None:
    """The run to be shown beside: the one that was named, or the companion that lies in the folder."""
    from simulator.stats.comparison import companion
    from simulator.storage.run_file import NAME, find_run
    from simulator.storage.runs import read_questions, with_questions

    if name is not None:
        return find_run(name, runs)
    folder = paths[1].parent.parent
    found = companion(sides[0].results.run, read_questions(paths[1]), with_questions(folder))
    return folder / found.id / NAME if found else None


def _beside(earlier: "PageParts", later: "PageParts", third: Path) -> "Beside | None":
    from simulator.cli.publish import painted
    from simulator.report.html_comparison import compared
    from simulator.stats.comparison import Beside
    from simulator.storage.runs import replay_of

    other = painted(third, later.summary.rules)
    changes = compared(earlier, other)
    if not changes.paired:
        return None
    run = other.results.run
    return Beside(
        run=run.id, replay=replay_of(run) is not None, score=other.summary.score, difference=changes.score
    )


def _page(earlier: "PageParts", later: "PageParts", changes: "Changes", path: Path) -> str:
    """Writes the page of both runs beside the later one; a folder that cannot be written is no obstacle."""
    from simulator.cli.publish import paint_pair
    from simulator.core.errors import RunFileError

    try:
        return str(paint_pair(earlier, later, path, changes))
    except RunFileError as error:
        sys.stderr.write(f"{error}\n")
        return ""


def _telling(changes: "Changes", later: "PageParts") -> "ComparisonText":
    from simulator.cli.publish import report_language
    from simulator.core.translations import words_of
    from simulator.report.comparison import ComparisonText

    return ComparisonText(changes, words_of(later.summary, report_language(later.results)))


def _write(path: Path, telling: "ComparisonText") -> None:
    from simulator.core.errors import InputError
    from simulator.report.comparison import markdown

    try:
        path.write_text(markdown(telling), encoding="utf-8")
    except OSError as error:
        msg = f"--markdown {path}: cannot be written ({error.strerror})."
        raise InputError(msg) from None
    sys.stderr.write(f"{path}\n")


def _show(telling: "ComparisonText", page: str, *, as_json: bool) -> None:
    from rich.console import Console

    from simulator.report.comparison import paint
    from simulator.stats.comparison import as_json as shown

    paint(telling, Console(stderr=as_json), page)
    if as_json:
        told = {**shown(telling.changes), "said": telling.headline().text, "page": page or None}
        sys.stdout.write(json.dumps(told, ensure_ascii=False) + "\n")
