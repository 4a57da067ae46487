"""A matrix as it is shown: terminal, Markdown, page, workbook and sheet say the same and run nothing."""

from pathlib import Path
from typing import get_args

import openpyxl
import pytest

from simulator.core.types import Language
from simulator.lab.matrix.figures import MatrixFigures
from simulator.lab.matrix.report import matrix_report, matrix_worksheet
from simulator.sheets.excel import Book, paint
from tests.lab.matrix.matrices import ID, WHY, compared
from tests.texts import terminal

LANGUAGES: tuple[Language, ...] = get_args(Language)


def workbook(told: MatrixFigures) -> openpyxl.Workbook:
    """The workbook as it is read back."""
    paint(Book([matrix_worksheet(told)], {}), Path("report.xlsx"), told.language)
    return openpyxl.load_workbook("report.xlsx")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_workbook(language: Language) -> None:
    """A row for each cell, figures as numbers, no formula; an unfinished cell says so."""
    told = compared(language)
    book, titles = workbook(told), {c.key: c.title for c in matrix_worksheet(told).columns}
    [shown] = [sheet for sheet in book if sheet.sheet_state == "visible"]

    assert shown.title == ("比較" if language == "ja" else "Comparison")
    head, *rows = shown.iter_rows(values_only=True)
    row = dict(zip(head, rows[0], strict=True))
    assert (len(rows), row[titles["exact_match"]], row[titles["silent"]]) == (7, 87.5, 2)
    assert row[titles["exact_match.stderr"]] == 5.3
    assert rows[2][head.index(titles["exact_match"])] is None
    assert dict(zip(head, rows[3], strict=True))["F1"] == 70


def test_the_line_above_a_table_says_what_is_certain() -> None:
    """Best beyond chance, highest by F1 with how many may be as good, or nothing finished yet."""
    shown = terminal(matrix_report(compared("en"), f"runs/{ID}/report.html"), 110)

    assert "strict × qwen3 is best" in shown
    assert "qwen3 has the highest F1 (70.0), but no difference is shown to 1 of the others." in shown
    assert WHY in shown


def test_a_star_is_explained_where_there_is_one() -> None:
    """And how cells were compared, where any were."""
    told = compared("en")
    for data, star, against in ((told.data, True, True), (told.data[1:], False, True), ((), False, False)):
        shown = terminal(matrix_report(told.model_copy(update={"data": data})), 110)
        assert ("★" in shown, "Wilcoxon" in shown) == (star, against)
