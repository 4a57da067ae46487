"""What the team wrote into sheets and workbooks: stored with its runs before they are written again."""

import contextlib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from simulator.core.document import Text
from simulator.core.errors import RehearsalError, RunFileError
from simulator.core.messages import Message, _, message_of, say
from simulator.core.settings import Settings, stored_settings
from simulator.core.types import HumanVerdict, ReleaseDecision, Results
from simulator.report.people import decision_text
from simulator.results.disputes import LAST
from simulator.results.red import grading_judges
from simulator.results.review import review_findings, turns_of_answers
from simulator.results.review_files import (
    DECIDED,
    NAMES,
    ReviewTarget,
    Taken,
    Written,
    document_of,
    replaced_lines,
)
from simulator.results.summary import figures_of, summarise
from simulator.sheets.excel import newest_first, read_edited
from simulator.sheets.google_api import target
from simulator.sheets.google_sheets import pull
from simulator.sheets.merge import replaced_line
from simulator.sheets.model import COLUMNS, RED, question_key, question_of
from simulator.storage.results import cases_of, report_language, run_of
from simulator.storage.run_file import RUN_FILE, read_run, run_ids
from simulator.storage.schema import snapshot
from simulator.storage.words import Place, all_words, carry, save_release_decision, save_verdicts
from simulator.testset.failures import save_tests

# The worksheets in which the team writes about a run.
_WRITTEN = (*NAMES, *DECIDED)


def read_earlier_words(settings: Settings) -> None:
    """Stores what the team wrote about runs of the folder, before a new one is held that goes by it.

    It is read where the new run will be written, too. What cannot be read now is read, or said, then.
    """
    if "xlsx" in settings.to:
        for book in reversed(unread_workbooks(settings.runs, run_ids(settings.runs))):
            keep_words_of(book, settings.runs, settings.tests)
    if "sheets" in settings.to:
        with contextlib.suppress(RehearsalError):
            sheet = target(settings.sheet or "", settings.worksheet or "")
            written = Written.of(pull(sheet, _WRITTEN), document_of(sheet))
            keep_words(written, settings.runs, settings.tests)


def carry_words(path: Path) -> None:
    """Writes into a run what the team said of its answers when they were last given, with the history of it.

    So its page, sheet and workbook know it, wherever it was said. What was said of a mark goes only to turns
    with the same mark. Another wrong answer to a question takes over what was said of one that has just gone,
    but for what was said of its mark.
    """
    runs, name = path.resolve().parent.parent, path.resolve().parent.name
    names, words_of = run_ids(runs), dict[str, Mapping[Place, Sequence[HumanVerdict]]]()
    for earlier in reversed(names[: names.index(name)][-LAST:]):
        with contextlib.suppress(RehearsalError):  # damaged
            words_of[earlier] = all_words(runs / earlier / RUN_FILE)
    if not any(words_of.values()):  # as mostly: nobody reviewed anything, and no run has to be read
        return
    results = read_run(path)
    rows, words = _answers(results, ()), dict[Place, Sequence[HumanVerdict]]()
    left = dict(rows)
    # The questions of wrong answers, until the last run that asked them is found.
    questions = {question_of(key) for key in rows if key.endswith(RED)}
    for earlier, said in words_of.items():
        if not left or not (said or questions):
            continue
        with contextlib.suppress(RehearsalError):
            asked_by = {id_: question_key(case) for id_, case in cases_of(runs / earlier / RUN_FILE).items()}
            # Where it says nothing of these questions, as mostly if a later run has taken it over, no answer
            # has to be read.
            asked = {asked_by[id_] for id_, _turn in said} & set(map(question_of, left))
            others = {id_ for id_, question in asked_by.items() if question not in asked}
            answers = _answers(read_run(runs / earlier / RUN_FILE), others) if asked else {}
            # Those with the row's mark first: only of them it was said whether it is right.
            histories = {
                key: next(said[at] for at in sorted(turns, key=turns.__getitem__, reverse=True) if at in said)
                for key, turns in answers.items()
                if said.keys() & turns.keys()
            }
            for key in histories.keys() & left.keys():
                unmarked = _of_another(histories[key])
                words |= {at: histories[key] if mark else unmarked for at, mark in left.pop(key).items()}
            gone = {question_of(key): key for key in histories if key not in rows and key.endswith(RED)}
            for key in [key for key in left if key.endswith(RED) and key not in answers]:
                if question_of(key) in questions and (before := gone.pop(question_of(key), None)):
                    words |= dict.fromkeys(left.pop(key), _of_another(histories[before]))
            questions -= set(asked_by.values())
    if words:
        carry(path, words)


def _of_another(history: Sequence[HumanVerdict]) -> list[HumanVerdict]:
    """What was said of an answer, for one without its mark."""
    return [row.model_copy(update={"judge_is": None, "red": None}) for row in history]


def _answers(results: Results, without: Collection[str]) -> dict[str, dict[Place, bool]]:
    """The turns of a run by the answers that were given, without some of its conversations."""
    settings = stored_settings(results.run.settings)
    judges = grading_judges(results, settings.judges)
    if without:
        kept = {
            "conversations": results.conversations.without(without),
            "scores": results.scores.without(without),
        }
        results = results.model_copy(update=kept)
    return turns_of_answers(
        results, summarise(results, rules=settings.red, judges=judges, seed=settings.seed)
    )


def keep_words(written: Written, runs: Path, tests: Path) -> list[Message]:
    """Stores what the team wrote about runs of this folder, before their worksheets show another run.

    These are its decisions, its words about answers, its blind grades, and the answers that it made tests.
    Returns a line for each cell or row that cannot be read; all others are stored.
    """
    known, faults = set(run_ids(runs)), list[tuple[Text, Text]]()
    for run, of_run in written.by_run.items():
        if run in known:
            try:
                faults += _keep_review(runs / run / RUN_FILE, of_run, tests)
            except RehearsalError as error:
                say(message_of(error))
    for run, decision in written.decisions.items():
        # A run that is somewhere else, or cannot be written, keeps its decision in the sheet's archive.
        if (path := runs / run / RUN_FILE).is_file():
            with contextlib.suppress(RunFileError):
                _save_decision(path, decision, written.document)
    named = ((_("{source}, {place}", source=written.document, place=place), why) for place, why in faults)
    return [_("{place}: {why}; skipped.", place=place, why=why) for place, why in named]


def save_words_of(path: Path, results: Results, taken: Taken) -> tuple[HumanVerdict, ...]:
    """Stores verdicts and decision of a source; returns the verdicts that are new or changed.

    What they replace that was written elsewhere is said, with who wrote it.
    """
    saved = save_verdicts(path, taken.verdicts)
    for line in replaced_lines(results, saved.replaced):
        say(line)
    if taken.decision:
        _save_decision(path, taken.decision, taken.document)
    return saved.added


def _save_decision(path: Path, decision: ReleaseDecision, document: str) -> None:
    if before := save_release_decision(path, decision, document):
        texts = decision_text(before), before.by, decision_text(decision)
        say(replaced_line(COLUMNS["decision"].title, *texts, ""))


def _keep_review(path: Path, written: Written, tests: Path) -> list[tuple[Text, Text]]:
    """Stores the words about the answers of a run, and makes tests of those that are to be some.

    Returns the places of what cannot be read, and why not.
    """
    results = read_run(path)
    summary = figures_of(results, stored_settings(results.run.settings))
    taken = written.taken(ReviewTarget(results, summary, report_language(results)))
    taken.decision = None  # `keep_words` stores those of all runs
    save_words_of(path, results, taken)
    results = read_run(path)
    saved = save_tests(results, review_findings(results, summary), taken.closed, tests)
    if saved and saved.added:
        say(_("Tests in {path}: {n} added, made of the team's review.", path=saved.path, n=saved.added))
    return taken.faults


def unread_workbooks(runs: Path, names: Sequence[str]) -> list[Path]:
    """Workbooks of these runs in which people may have written since they were read.

    First that of the last run that has one, then older ones that were saved after that run had begun.
    """
    books = [book for name in reversed(names) if (book := newest_workbook(runs / name))]
    with contextlib.suppress(RehearsalError, IndexError):
        with snapshot(books[0].with_name(RUN_FILE)) as file, contextlib.closing(file):
            began = run_of(file).created.timestamp()
        return [books[0], *(book for book in books[1:] if book.stat().st_mtime > began)]
    return books[:1]


def keep_words_of(workbook: Path, runs: Path, tests: Path) -> list[Message]:
    """Stores what the team wrote into a workbook (`keep_words`).

    One that cannot be read is left alone, and said to be where it is written anew.
    """
    with contextlib.suppress(RehearsalError):
        return keep_words(Written.of(read_edited(workbook, _WRITTEN), document_of(workbook)), runs, tests)
    return []


def newest_workbook(folder: Path) -> Path | None:
    """The workbook of a run that was saved last; None without any."""
    return next(iter(newest_first([folder])), None)
