"""A Sheets server for the tests of worksheets, and a team at a workbook or a sheet."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers.sheets import SheetsServer
from tests.sheets.desk import Team, team_at
from tests.sheets_sink import sheets_server


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[SheetsServer]:
    """An empty spreadsheet, shared with a service account that the environment names."""
    with sheets_server(monkeypatch) as running:
        yield running


@pytest.fixture(params=["xlsx", "Google"])
def team(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Team]:
    """A workbook, then a Google Sheet, that a team works in."""
    with team_at(request.param, tmp_path, monkeypatch) as at_work:
        yield at_work
