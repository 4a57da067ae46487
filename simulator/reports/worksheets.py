"""A run as worksheets: what the team sees in a Google Sheet or an Excel workbook."""

from simulator.reports import sheet_figures, sheet_fixes, sheet_questions, sheet_turns
from simulator.reports.told import Told
from simulator.sheets.model import Worksheet


def worksheets(told: Told) -> tuple[Worksheet, ...]:
    """All worksheets, in the order of their tabs: what decides first, what repeats the run last."""
    return (
        sheet_figures.summary_sheet(told),
        sheet_turns.review_sheet(told),
        sheet_fixes.fixes_sheet(told),
        sheet_turns.conversations_sheet(told),
        sheet_turns.blind_sheet(told),
        sheet_questions.questions_sheet(told),
        sheet_figures.history_sheet(told),
        sheet_figures.technical_sheet(told),
    )
