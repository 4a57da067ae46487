"""Questions from a Google Sheet: the real gspread, over HTTP, against a local Sheets endpoint."""

from collections.abc import Iterator

import pytest

from simulator.core.errors import InputError
from simulator.core.settings import Settings
from simulator.runner.plan import read_plan
from simulator.sheets.google_sheets import worksheet_values
from tests.servers.loopback import on_thread
from tests.servers.sheets import SheetsServer

TABLE = [
    ["みんなの質問", "", ""],
    ["ID", "質問", "正解"],
    ["001", "送料はいくらですか", "550円です。"],
    ["", "", ""],
    ["002", "=返品できますか", "14日以内です。"],
    ["003", "", ""],
]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[SheetsServer]:
    with on_thread(SheetsServer({"KEY-1_a": {"テスト質問": TABLE, "メモ": [["x"]]}})) as running:
        monkeypatch.setenv("REHEARSAL_SHEETS_URL", running.url)
        yield running


@pytest.mark.parametrize(
    "address",
    [
        "sheet:KEY-1_a",
        "sheet:KEY-1_a#テスト質問",
        "sheet:https://docs.google.com/spreadsheets/d/KEY-1_a/edit#gid=0",
    ],
)
def test_a_sheet_is_a_question_file(
    server: SheetsServer, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Title rows are passed over, ids stay text, formulas of old are text, blank rows are none."""
    plan, *_ = read_plan(Settings(cases=address, persona=("calm",)))

    assert [c.case.id for c in plan] == ["001", "002"]
    assert plan[1].case.question == "=返品できますか"
    assert plan[0].case.references == (("550円です。",),)
    assert len(server.requests) <= 5
    assert capsys.readouterr().err.endswith(": left out: 1 row without a question.\n")


def test_only_this_machine_stands_in_for_google(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another host would be given the team's questions."""
    monkeypatch.setenv("REHEARSAL_SHEETS_URL", "http://example.com")

    with pytest.raises(InputError, match="only an address of this machine"):
        worksheet_values("sheet:k")
    with pytest.raises(InputError, match="write sheet:KEY#worksheet"):
        worksheet_values("sheet:#FAQ")
