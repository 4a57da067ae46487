"""A Sheets server for the tests of worksheets."""

from collections.abc import Iterator

import pytest

from tests.servers.sheets import SheetsServer
from tests.sheets_sink import sheets_server


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[SheetsServer]:
    """An empty spreadsheet, shared with a service account that the environment names."""
    with sheets_server(monkeypatch) as running:
        yield running
