"""The worksheet of test questions: what the next run asks, kept by the team."""

from collections.abc import Sequence

from simulator.core.types import Case, Facts, Language, Message
from simulator.reports.told import Told
from simulator.sheets.model import LazyRows, Row, SheetCell, SheetWords, Worksheet, text_cell
from simulator.storage.results import StoredConversations

# Who speaks, as question files name them.
SPEAKERS: dict[Language, dict[str, str]] = {
    "ja": {"user": "お客様", "assistant": "窓口"},
    "en": {"user": "User", "assistant": "Assistant"},
}


def questions_sheet(told: Told, proposed: tuple[Case, ...] = ()) -> Worksheet:
    """The questions of this run, in use and approved; `proposed` ones wait for approval below them."""
    talks = told.results.conversations
    kept = () if isinstance(talks, StoredConversations) else talks  # a large data set stays in its own file
    asked = {talk.case.id: talk.case for talk in kept}
    cases = [(case, True) for case in asked.values()]
    cases += [(case, False) for case in proposed if case.id not in asked]
    return _sheet(cases, told.words)


def proposals_sheet(cases: Sequence[Case], language: Language) -> Worksheet:
    """Questions that wait for approval, without a run."""
    words = SheetWords(language)
    return _sheet([(case, False) for case in cases], words)


def _sheet(cases: Sequence[tuple[Case, bool]], words: SheetWords) -> Worksheet:
    """Each case, and whether it is approved."""
    columns = (
        words.column("key", width=8),
        words.team("question", width=44, wrap=True),
        words.team("reference", width=44, wrap=True),
        words.team("answerable", "answerable", width=14),
        words.team("handover", "handover", width=14),
        words.team("category", width=16),
        words.team("use", "use", width=12),
        words.team("approved", "approved", width=12),
        words.team("gold", width=22, wrap=True),
        words.team("goal", width=30, wrap=True),
        words.team("facts", width=30, wrap=True),
        words.team("history", width=30, wrap=True),
    )
    return Worksheet(
        name="questions",
        title=words("sheet", "questions"),
        columns=columns,
        rows=LazyRows(cases, lambda each: question_row(each[0], words, approved=each[1])),
        frozen_columns=2,
        help=words("help", "questions"),
    )


def question_row(case: Case, words: SheetWords, *, approved: bool) -> Row:
    """A question as it is first written; from then on it is the team's."""
    answerable = "" if case.answerable is None else words("answerable", "yes" if case.answerable else "no")
    cells = {
        "question": text_cell(case.question),
        "reference": text_cell("|".join(case.references_at(1))),
        "answerable": SheetCell(text=answerable),
        "handover": SheetCell(text=words("handover", case.handover)),
        "category": text_cell("|".join(case.tags)),
        "use": SheetCell(text=words("use", "yes")),
        "approved": SheetCell(text=words("approved", "yes" if approved else "no")),
        "gold": text_cell("|".join(case.passages)),
        "goal": text_cell(case.goal or ""),
        "facts": text_cell(_facts(case.facts)),
        "history": text_cell(history_lines(case.history, words.language)),
    }
    return Row(key=case.id, cells=cells)


def _facts(facts: Facts) -> str:
    """One fact a line, as a question file has them."""
    return "\n".join([*facts.knows, *(f"unknown: {text}" for text in facts.unknown)])


def history_lines(history: Sequence[Message], language: Language) -> str:
    """Who said what before the question, line by line, as a question file has it."""
    return "\n".join(f"{SPEAKERS[language][line.role]}: {line.content}" for line in history)
