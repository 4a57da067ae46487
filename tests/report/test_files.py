"""Cells of report.csv: what a spreadsheet would compute is led by an apostrophe."""

import csv
import io
from dataclasses import replace

import pytest

from simulator.report.files import csv_bytes
from tests.report.test_worksheets import report_context

FORMULAS = ("=1+1", "+1", "-1", "@SUM(1)", "\t=1", "\r=1", "\n=1", " \n =1", "＝1", "\x1b\n=1")


@pytest.mark.parametrize("said", FORMULAS)
def test_no_cell_of_the_table_is_a_formula(said: str) -> None:
    """Whatever blanks, line breaks and control codes stand before it."""
    context = report_context()
    (talk, *_) = context.results.conversations
    turn = talk.turns[0]
    hostile = turn.model_copy(update={"answer": turn.answer.model_copy(update={"text": said})})
    talks = (talk.model_copy(update={"turns": (hostile,)}),)
    told = csv_bytes(replace(context, results=context.results.model_copy(update={"conversations": talks})))
    cells = [cell for row in csv.reader(io.StringIO(told.decode("utf-8-sig"))) for cell in row]

    assert any(cell.endswith(said[-2:]) for cell in cells)
    assert [cell for cell in cells if cell.lstrip()[:1] in set("=+-@＝")] == []
