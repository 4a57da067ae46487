"""What to fix, as people see it: terminal, page, worksheet; what the team writes beside a fix stays there."""

from collections.abc import Iterator

import pytest

from simulator.report.context import ReportContext
from simulator.report.worksheets import worksheets
from simulator.sheets.google_api import target
from simulator.sheets.google_sheets import pull
from simulator.sheets.model import Worksheet
from tests.report.test_worksheets import report_context
from tests.sample_runs import rehearsed
from tests.servers.sheets import SheetsServer
from tests.sheets_sink import KEY, Counting, column, letter, pushed, row_of, sheets_server

TAB = "改善"


def fixes_sheet(known: ReportContext) -> Worksheet:
    """The worksheet of what to fix."""
    return next(sheet for sheet in worksheets(known) if sheet.name == "fixes")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[SheetsServer]:
    """An empty spreadsheet."""
    with sheets_server(monkeypatch) as running:
        yield running


def test_the_sheet_keeps_what_the_team_wrote(server: SheetsServer) -> None:
    """The next run finds the same row, renews what is its own and leaves the team's."""
    first, second = (fixes_sheet(report_context("ja", rehearsed("ja", id=run))) for run in ("run-1", "run-2"))
    pushed(first)
    mari = server.person(KEY)
    for name, text in (("assignee", "佐藤"), ("memo", "来週まで")):
        place = f"{letter(column(server, name, 'fixes'))}{row_of(server, first.rows[0].key, TAB)}"
        mari.type(TAB, place, text)
    pushed(second)
    rows = {row.key: row.cells for row in pull(target(KEY), ["fixes"], client=Counting()).rows["fixes"]}

    assert len(rows) == len(first.rows)
    assert {cells["run"] for cells in rows.values()} == {"run-2"}
    assert (rows[first.rows[0].key]["assignee"], rows[first.rows[0].key]["memo"]) == ("佐藤", "来週まで")
