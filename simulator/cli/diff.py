"""`diff RUN LATER`: did the bot get better? Two runs are compared by question, without any call of a model.

Writes side-by-side.html beside the later run, shows the comparison, and ends with 1 on a regression. It is
worked out in `stats/comparison.py` and worded in `report/comparison.py`; the verdict does not depend on
whether the page could be written, or on whether anybody reads what is printed.
"""

from pathlib import Path
from typing import Any

from simulator.cli.options import argument, option, takes
from simulator.cli.publish import report_language
from simulator.cli.show import show_report, write_atomically, write_for_user
from simulator.cli.terminal import ExitCode, unread_output_allowed
from simulator.core.errors import InputError, RehearsalError, RunFileError
from simulator.core.messages import _, say, sentences
from simulator.core.settings import load_settings, stored_settings
from simulator.core.types import RedRules
from simulator.report.comparison import compared, comparison_report
from simulator.report.painters import html
from simulator.report.painters.markdown import markdown as as_markdown
from simulator.stats.comparison import RunFigures, comparison_json
from simulator.stats.gate import gate_of
from simulator.stats.summary import figures_of
from simulator.storage.results import without_superseded
from simulator.storage.run_file import find_run, read_run, run_ids


@takes("runs", "json_output", "verbose", "quiet")
def command(
    flags: dict[str, Any],
    before: str = argument("RUN", "The earlier run: id, start of an id, or path.", ...),
    after: str = argument("LATER", "The later run.", "latest"),
    *,
    markdown: str | None = option("--markdown FILE", "Write the comparison as Markdown, for a pull request."),
) -> int:
    """Say whether the bot got better from RUN to a later run, and what broke; exit code 1 on a regression.

    Conversations of the same case and customer are paired. It is a regression if the score fell beyond its
    interval; if another judge's mean did (corrected for the number of judges) while more cases turned red
    than green; or if a case tagged must-not-break (壊さない, 必須) is red now and was not in RUN. Too few
    data are reported, and are no regression. Where a run was cut short, or has no grade of a must-not-break
    case, nobody can tell: exit code 3, unless it is worse already. If the deciding judge used another
    rubric, the scores are not compared: grade RUN again first; must-not-break still counts.
    """
    settings = load_settings(flags)
    paths = [find_run(name, settings.runs) for name in (before, after)]
    one, other = (path.resolve().parent for path in paths)
    if one == other:
        runs = run_ids(settings.runs)
        older = runs[: runs.index(one.name)] if one.name in runs else []
        same = _("Both are the same run, {one}. All runs: python run.py history.", one=one.name)
        previous = _("The one before it: {run}.", run=older[-1]) if older else None
        raise InputError(sentences(same, previous))
    # The later run first: its rules for red hold for both.
    later = _figures(paths[1])
    earlier = _figures(paths[0], later.summary.rules)
    changes = compared(earlier, later)
    if not changes.paired:
        ids = {"before": changes.before.run, "after": changes.after.run}
        apart = _("{before} and {after} have no question in common.", **ids)
        if changes.cut_short:
            cut = " ".join(run.run for run in changes.cut_short)
            raise RehearsalError(sentences(apart, _("Not finished: {names}", names=cut)))
        raise InputError(apart)
    path = paths[1].with_name("side-by-side.html")
    gate = gate_of(*later, stored_settings(later.results.run.settings))
    report = comparison_report(earlier, later, changes, report_language(later.results), str(path), gate=gate)
    page = ""
    try:
        write_atomically(path, html.page(report))
        page = str(path)
    except RunFileError as error:  # the folder of the later run may be read-only
        say(error.message)
        report = comparison_report(earlier, later, changes, report.language, gate=gate)
    if markdown:
        write_for_user(markdown, as_markdown(report))
    unread = _("Not read to the end: the verdict is in the exit code.")
    if page:
        unread = _("Not read to the end: the verdict is in the exit code and on the page {page}.", page=page)
    figures = {**comparison_json(changes), "said": report.text(report.sections[0].line), "page": page or None}
    with unread_output_allowed(unread):
        show_report(report, figures, as_json=settings.json_output, view=settings.view)
    if changes.regression:
        return ExitCode.MISSED
    return ExitCode.INCOMPLETE if changes.cannot_tell else ExitCode.DONE


def _figures(path: Path, rules: RedRules | None = None) -> RunFigures:
    """A finished run with its figures, red by its own settings or by the rules of the other one.

    Both are held to the rules of the later run: no turn turns red because a limit was moved.
    """
    results = without_superseded(read_run(path))
    settings = stored_settings(results.run.settings, **({"red": rules} if rules else {}))
    return RunFigures(results, figures_of(results, settings))
