"""What people wrote about a run, read and held against its judge.

    sheet or workbook                  -> verdicts, one for each turn with that answer
    verdicts                           -> the run file; those that are there already count as known
    all verdicts of the run            -> shares, agreement, and a new page
    those that make an answer a test   -> a line of the question file of tests

The first is done by `results/review_files.py`, the last two by `results/review.py` and `testset/failures.py`.

What cannot be read is named with its place and skipped. Only where nothing fits the run is it refused, for
then it is most likely the sheet of another one.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from simulator.api.outputs import RunOutputs
from simulator.api.team_words import newest_workbook, save_words_of
from simulator.core.errors import InputError
from simulator.core.messages import _, say
from simulator.core.settings import Settings, stored_settings
from simulator.core.types import HumanVerdict
from simulator.core.writing import shown_path
from simulator.report.review import ReadCounts, ReviewOutcome
from simulator.results.review import blind_agreement, review_findings, turns_of_answers
from simulator.results.review_files import ReviewTarget, taken_from
from simulator.results.summary import figures_of
from simulator.storage.results import report_language
from simulator.storage.run_file import find_run, read_run
from simulator.testset.failures import save_tests


def reviewed(run: str, source: str | None, today: Settings, flags: Mapping[str, Any]) -> ReviewOutcome:
    """Stores what the source says about a run of the folder, and works out what all verdicts come to.

    Without a source that is the run's own workbook that was saved last, if it has one that can be read. The
    sheet of `flags` goes before that of the run, and that before the one of the settings. What the team made
    tests is added to the question file of tests; the page of the run is written again.

    Raises InputError where nothing of the source fits the run.
    """
    path = find_run(run, today.runs)
    book = None if source else newest_workbook(path.parent)
    read, closed = None, frozenset[str]()
    try:
        if where := source or (book and shown_path(book)):
            read, closed = read_verdicts(path, where, today, flags)
    except InputError as error:
        if not book:
            raise
        say(_("{fault} It is left alone.", fault=error))
    outputs = RunOutputs(path, stored_settings(read_run(path).run.settings))
    outputs.write_pages()
    context = outputs.context
    results, summary = context.results, context.summary
    findings = review_findings(results, summary)
    return ReviewOutcome(
        results=results,
        summary=summary,
        gate=context.gate,
        language=context.language,
        page=Path(context.page),
        blind=blind_agreement(results, summary),
        findings=findings,
        read=read,
        tests=save_tests(results, findings, closed, today.tests),
    )


def read_verdicts(
    path: Path, source: str, today: Settings, flags: Mapping[str, Any]
) -> tuple[ReadCounts, frozenset[str]]:
    """Stores what fits the run, and names what does not. Raises InputError where nothing fits.

    Also gives the keys of rows that were made tests, and are in the archive because they are right now.
    """
    results = read_run(path)
    summary = figures_of(results, stored_settings(results.run.settings))
    target = ReviewTarget(
        results,
        summary,
        report_language(results),
        asked=(flags.get("sheet"), flags.get("worksheet")),
        usual=(today.sheet, today.worksheet),
    )
    taken = taken_from(source, target)
    is_of_run = bool(taken.verdicts or taken.empty or taken.decision)
    is_refused = not is_of_run and bool(taken.faults or taken.other_runs)
    for place, why in taken.notes:
        say(_("{place}: {why}.", place=_("{source}, {place}", source=source, place=place), why=why))
    for place, why in taken.faults:
        at = _("{source}, {place}", source=source, place=place)
        line = _("{place}: {why}.", place=at, why=why)
        say(line if is_refused else _("{place}: {why}; skipped.", place=at, why=why))
    if is_refused:
        raise InputError(
            _(
                "{source}: none of its {n} rows is about {run}. Was another run written there?",
                source=source,
                n=taken.other_runs + len(taken.faults),
                run=results.run.id,
            )
        )
    row_of = {at: key for key, turns in turns_of_answers(results, summary).items() for at in turns}

    def rows(verdicts: Iterable[HumanVerdict]) -> Counter[str]:
        """How many rows of each kind said that: a row of the review stands for all turns with its answer."""
        places = {(v.source, v.reviewer, v.key if v.source == "blind" else row_of[v.key]) for v in verdicts}
        return Counter(source for source, _reviewer, _place in places)

    read, new = rows(taken.verdicts), rows(save_words_of(path, results, taken)).total()
    # `new` are those that the run file had not: reading the same sheet twice adds nothing.
    counts = ReadCounts(
        source, new, read.total() - new, taken.empty, len(taken.faults), taken.other_runs,
        review=read["review"], blind=read["blind"],
    )  # fmt: skip
    return counts, taken.closed
