"""A matrix as it is shown."""

from pathlib import Path

import openpyxl

from simulator.lab.matrix.report import matrix_report, matrix_worksheet
from simulator.sheets.excel import paint
from tests.lab.matrix.matrices import ID, WHY, compared
from tests.texts import terminal


def test_the_line_above_a_table_says_what_is_certain() -> None:
    """Best beyond chance, highest by F1 with how many may be as good, or nothing finished yet."""
    shown = terminal(matrix_report(compared(), "en", f"runs/{ID}/report.html"), 110)

    assert "strict × qwen3 is best" in shown
    assert "qwen3 has the highest F1 (70.0), but no difference is shown to 1 of the others." in shown
    assert WHY in shown


def test_a_star_is_explained_where_there_is_one() -> None:
    """And how cells were compared, where any were."""
    told = compared()
    for data, star, against in ((told.data, True, True), (told.data[1:], False, True), ((), False, False)):
        shown = terminal(matrix_report(told.model_copy(update={"data": data}), "en"), 110)
        assert ("★" in shown, "Wilcoxon" in shown) == (star, against)


def test_a_matrix_is_a_workbook(tmp_path: Path) -> None:
    """Its worksheet is none of a run's, and is written like them: a row for each cell of the table."""
    made = matrix_worksheet(compared(), "en")
    paint([made], tmp_path / "report.xlsx", "en")
    (sheet,) = openpyxl.load_workbook(tmp_path / "report.xlsx").worksheets
    assert sheet.max_row == len(made.rows) + 1
    assert (made.rows[3].cells["label"].text, made.rows[3].cells["label"].number) == ("95.8", 95.79)
