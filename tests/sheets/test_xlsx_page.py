"""A workbook that cannot be finished."""

from pathlib import Path

import pytest

from simulator.sheets.excel_write import paint
from simulator.sheets.model import Column, LazyRows, Row, SheetCell, Worksheet


@pytest.mark.parametrize("count", [3, 3_000])
def test_a_workbook_that_fails_leaves_nothing(tmp_path: Path, count: int) -> None:
    """Neither in memory nor on the disk, however many of its rows are written by then."""

    def row(number: int) -> Row:
        if number == count:
            raise KeyError(number)
        return Row(key=str(number), cells={"answer": SheetCell(text="答え", note=f"{number}" * 100)})

    columns = (Column(key="key", title="キー", width=8), Column(key="answer", title="回答"))
    sheet = Worksheet(name="review", title="確認", columns=columns, rows=LazyRows(range(count + 1), row))
    with pytest.raises(KeyError):
        paint([sheet], tmp_path / "a.xlsx", {})

    assert list(tmp_path.rglob("*")) == []
