"""Questions as a worksheet, in which the team edits and approves them."""

from collections.abc import Callable, Sequence
from functools import partial

from simulator.core.document import Text
from simulator.core.messages import shown
from simulator.core.types import Case, Language, Message
from simulator.sheets.model import LazyRows, Row, SheetCell, Worksheet, text_cell, worksheet
from simulator.sheets.titles import CHOICES

# Who speaks, as question files name them.
SPEAKERS: dict[Language, dict[str, str]] = {
    "ja": {"user": "お客様", "assistant": "窓口"},
    "en": {"user": "User", "assistant": "Assistant"},
}


def proposals_sheet(cases: Sequence[Case], language: Language) -> Worksheet:
    """Questions that wait for approval, without a run."""
    return cases_sheet(cases, partial(shown, language=language), language, approved="no")


def cases_sheet(
    cases: Sequence[Case], text: Callable[[Text], str], language: Language, *, approved: str
) -> Worksheet:
    """A row for each case, with titles as `text` shows them; `approved` is what is picked there."""
    rows = LazyRows(cases, lambda case: _question_row(case, text, language, approved=approved))
    return worksheet("questions", text, rows)


def _question_row(case: Case, text: Callable[[Text], str], language: Language, *, approved: str) -> Row:
    """A question as it is first written; from then on it is the team's."""
    picked = {"handover": case.handover, "use": "yes", "approved": approved}
    if case.answerable is not None:
        picked["answerable"] = "yes" if case.answerable else "no"
    cells = {
        "question": text_cell(case.question),
        "reference": text_cell("|".join(case.references_at(1))),
        "category": text_cell("|".join(case.tags)),
        "gold": text_cell("|".join(case.passages)),
        "goal": text_cell(case.goal or ""),
        "facts": text_cell(
            "\n".join([*case.facts.knows, *(f"unknown: {fact}" for fact in case.facts.unknown)])
        ),
        "history": text_cell(history_lines(case.history, language)),
    }
    cells |= {column: SheetCell(text=text(CHOICES[column][choice])) for column, choice in picked.items()}
    return Row(key=case.id, cells=cells)


def history_lines(history: Sequence[Message], language: Language) -> str:
    """Who said what before the question, line by line, as a question file has it."""
    return "\n".join(f"{SPEAKERS[language][line.role]}: {line.content}" for line in history)
