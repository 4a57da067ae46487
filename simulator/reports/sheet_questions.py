"""The worksheet of test questions: what the next run asks, kept by the team."""

from simulator.reports.sheet_words import text_cell
from simulator.reports.told import Told
from simulator.reports.worksheet import Row, SheetCell, Worksheet
from simulator.types import Case


def questions_sheet(told: Told, proposed: tuple[Case, ...] = ()) -> Worksheet:
    """The questions of this run, in use and approved; `proposed` ones wait for approval below them."""
    words = told.words
    columns = (
        words.column("key", width=8),
        words.team("question", width=44, wrap=True),
        words.team("reference", width=44, wrap=True),
        words.team("answerable", "answerable", width=14),
        words.team("handover", "handover", width=14),
        words.team("category", width=16),
        words.team("use", "use", width=12),
        words.team("approved", "approved", width=12),
    )
    asked = dict.fromkeys(talk.case.id for talk in told.results.conversations)
    cases = {talk.case.id: talk.case for talk in told.results.conversations}
    rows = [question_row(cases[key], told, approved=True) for key in asked]
    rows += [question_row(case, told, approved=False) for case in proposed if case.id not in asked]
    return Worksheet(
        name="questions",
        title=words("sheet", "questions"),
        columns=columns,
        rows=tuple(rows),
        frozen_columns=2,
        help=words("help", "questions"),
    )


def question_row(case: Case, told: Told, *, approved: bool) -> Row:
    """A question as it is first written; from then on it is the team's."""
    words = told.words
    answerable = "" if case.answerable is None else words("answerable", "yes" if case.answerable else "no")
    cells = {
        "question": text_cell(case.question),
        "reference": text_cell("|".join(case.references_at(1))),
        "answerable": SheetCell(text=answerable),
        "handover": SheetCell(text=words("handover", case.handover)),
        "category": text_cell("|".join(case.tags)),
        "use": SheetCell(text=words("use", "yes")),
        "approved": SheetCell(text=words("approved", "yes" if approved else "no")),
    }
    return Row(key=case.id, cells=cells)
