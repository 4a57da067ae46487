"""The test questions that the team keeps in its sheet or workbook, as the cases of the next run.

Only rows that are in use and approved are asked. What the team wrote as the right answer of a first turn is
the reference of that question once its status says that it has been fixed.

    Questions   key      question   reference   use   approved        a case: id refund, question "Fee?",
                refund   Fee?       9,800 yen   yes   yes         ->  reference "4,800 yen": the team's answer
    Review      answer-...-first-...            correct_answer 4,800 yen, status mended

The row becomes a line of a question file, and is read like one (`cases/cases.py`): columns, separators and
errors are those of any question file, and errors name the row of the sheet.
"""

import hashlib
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from simulator.cases.cases import dataset_of_worksheet
from simulator.cases.row import WorkbookSheet, WorksheetRow
from simulator.core.errors import InputError
from simulator.core.messages import _, listed, printable, say, shown
from simulator.core.types import Case, Language
from simulator.sheets.excel import read_edited
from simulator.sheets.google_api import SheetsClient, Target, worksheet_of
from simulator.sheets.google_painter import WORKSHEET
from simulator.sheets.google_sheets import pull, read_spreadsheet, worksheet_values
from simulator.sheets.model import FIRST, TABS, WORKSHEETS, PulledRow, folded, question_key

QUESTIONS, REVIEW = "questions", "review"
# With these the right answer has reached the bot's knowledge.
_DONE = frozenset({"mended", "retested"})
# The columns of the worksheet, and those of a question file that they become; `|` stands between several
# right answers, tags or passages, and a line break belongs to the text.
_COLUMNS = {
    key: {"key": "id", "gold": "passages"}.get(key, key)
    for key in WORKSHEETS[QUESTIONS].columns.split()
    if key not in {"use", "approved"}
}
_LISTED = 8
# Our workbooks name their columns; of these names the outline of the workbook tells.
_OUTLINE, _OURS, _LARGEST = "xl/workbook.xml", b"rehearsal_questions_", 4_000_000


def cases_of_sheet(
    address: str, language: Language | None = None, suffix: str = "", columns: Mapping[str, str] | None = None
) -> tuple[Case, ...]:
    """The cases of `sheet:KEY#worksheet`; without a name those of our worksheet of test questions.

    `suffix` tells one team's worksheets in the sheet from another's. A sheet without ours is read as a
    question file, with `columns` as `--columns` has them. Notes go to stderr. Raises InputError for what
    people can fix, and SinkUnavailable when Google cannot be reached.
    """
    client = SheetsClient()
    at = _ours(address, client, suffix)
    if at is not None:
        rows = pull(at, (QUESTIONS, REVIEW), client=client).rows
        if QUESTIONS in rows:
            return approved(printable(address), rows, language)
    source = address.partition("#")[0]
    data = dataset_of_worksheet(source, worksheet_values(address, client=client), language, columns)
    if note := data.skipped.left_out_message(printable(source)):
        say(note)
    return tuple(data.rows())


def cases_of_workbook(path: Path, language: Language | None = None) -> tuple[Case, ...] | None:
    """The cases of a workbook of `--to xlsx`; None for any other file, which is then read as a question file.

    Whether it is ours is looked up in the outline alone, at most 4 MB of it: to load the whole workbook for
    that would take seconds, and a bomb would be unpacked.
    """
    try:
        with zipfile.ZipFile(path) as package, package.open(_OUTLINE) as outline:
            is_ours = _OURS in outline.read(_LARGEST)
    except (OSError, ValueError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error):
        return None
    if not is_ours:
        return None
    rows = read_edited(path).rows
    return approved(str(path), rows, language) if QUESTIONS in rows else None


def approved(
    source: str, rows: Mapping[str, Sequence[PulledRow]], language: Language | None = None
) -> tuple[Case, ...]:
    """The cases of the rows of our worksheets; `source` is what errors and notes begin with.

    Notes on rows that were left out, and on new references, go to stderr.
    Raises InputError where no question is both in use and approved.
    """
    asked, left = _by_approval(rows[QUESTIONS])
    if not asked:
        what = _("none of its test questions is both in use (使用する) and approved (承認)")
        raise InputError(_("{source}: {what}; set both for the rows to be asked.", source=source, what=what))
    # Each row keeps its number, so that errors name it.
    lines = [WorksheetRow(0, dict(enumerate(_COLUMNS.values(), 1)))]
    for key, row in asked.items():
        texts = enumerate((key if column == "key" else row.cells.get(column, "") for column in _COLUMNS), 1)
        lines.append(WorksheetRow(row.number, {at: text for at, text in texts if text.strip()}))
    sheet = WorkbookSheet(shown(TABS[QUESTIONS], language or "ja"), tuple(lines))
    cases = tuple(dataset_of_worksheet(source, sheet, language).rows())
    answers = _right_answers(rows.get(REVIEW, ()), cases)
    if left:
        note = _(
            "{source}: {asked} of {all} questions; not in use, not approved or there already: rows {rows}.",
            source=source,
            asked=len(asked),
            all=len(asked) + len(left),
            rows=listed(list(map(str, left)), _LISTED),
        )
        say(note)
    # Said, because it changes what the bot is held against without anybody having touched the question.
    case_ids = [case.id for case in cases if case.id in answers]
    if case_ids:
        named = [_("{case} (run {run})", case=case, run=answers[case][0]) for case in case_ids]
        note = _(
            "{source}: what the team reviewed is now the reference answer of {listed}.",
            source=source,
            listed=listed(named, _LISTED),
        )
        say(note)
    return tuple(
        case.model_copy(update={"references": (answers[case.id][1], *case.references[1:])})
        if case.id in answers
        else case
        for case in cases
    )


def _ours(address: str, client: SheetsClient, suffix: str) -> Target | None:
    """Where our worksheets of the questions that are meant stand; None where another worksheet is meant."""
    key, name = worksheet_of(address)
    suffixes: dict[str, None] = {}
    for tab in client.persist(lambda: read_spreadsheet(client, key), address).tabs:
        kind, _unused, of = tab.tags.get(WORKSHEET, "").partition(" ")
        if kind == QUESTIONS and (name is None or tab.title.casefold() == name.strip().casefold()):
            suffixes[of] = None
    if not suffixes and name is not None:
        return None
    # Without one there may still be a copy, which has lost what it is known by.
    return Target(key=key, suffix=suffix if suffix in suffixes or not suffixes else next(iter(suffixes)))


def _by_approval(rows: Iterable[PulledRow]) -> tuple[dict[str, PulledRow], list[int]]:
    """The rows to ask by the ids of their cases, and the numbers of the others.

    A row that people added has no key: its id comes of its text, "q-" and ten digits, so that runs can be
    compared however the sheet is sorted. Reworded, it is another question.
    """
    asked: dict[str, PulledRow] = {}
    left: list[int] = []
    for row in rows:
        text = folded(row.cells.get("question", ""))
        key = row.key or "q-" + hashlib.blake2s(text.encode(), digest_size=5).hexdigest()
        is_ready = row.cells.get("use") == row.cells.get("approved") == "yes"
        if text and is_ready and key not in asked:
            asked[key] = row
        else:
            left.append(row.number)
    return asked, left


def _right_answers(
    rows: Iterable[PulledRow], cases: Iterable[Case]
) -> dict[str, tuple[str, tuple[str, ...]]]:
    """By case: the newest run with a right answer that is mended, and the answers given there."""
    asked: dict[str, list[str]] = {}
    for case in cases:
        asked.setdefault(question_key(case), []).append(case.id)
    newest: dict[str, tuple[str, tuple[str, ...]]] = {}
    for row in rows:
        answer = row.cells.get("correct_answer", "").strip()
        if not answer or row.cells.get("status") not in _DONE:
            continue
        # An answer to the customer's first line is the question's; those after it say nothing of it.
        of = row.cells.get("run", "")
        for name in asked.get(row.key.strip().partition(FIRST)[0], ()):
            # The newest run's answers count; several of the same run are all right.
            run, answers = newest.get(name, ("", ()))
            if of > run or not answers:
                newest[name] = of, (answer,)
            elif of == run and answer not in answers:
                newest[name] = run, (*answers, answer)
    return newest
