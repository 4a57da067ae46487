"""For tests of the Google Sheets sink: small worksheets, a stopped clock, faulty connections."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest

from simulator.sheets.google_api import SheetsClient, Target, target
from simulator.sheets.google_sheets import push
from simulator.sheets.model import CellMark, Column, SheetCell, SheetRow, Worksheet
from tests.servers.loopback import on_thread
from tests.servers.sheets import SheetsServer

KEY = "KEY"
TITLE = "確認"
VERDICTS = {"right": "採点は正しい", "wrong": "採点が誤り"}


class Time:
    """A clock that stands still but for sleeps; `sleeps` are those asked for, in seconds."""

    def __init__(self) -> None:
        self.moment = 1000.0
        self.sleeps: list[float] = []

    def now(self) -> float:
        """Seconds."""
        return self.moment

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.sleeps.append(seconds)
        self.moment += seconds


class Counting(SheetsClient):
    """A client that knows what it wrote; it waits by this time, without waiting."""

    def __init__(self, time: Time | None = None, **settings: Any) -> None:
        self.time = time or Time()
        super().__init__(sleep=self.time.sleep, **settings)
        self.reads = self.writes = self.cells = 0
        self.made: list[str] = []

    def read(self, address: str, **query: Any) -> Any:
        """The read, counted."""
        self.reads += 1
        return super().read(address, **query)

    def write(self, address: str, body: dict[str, Any], **query: Any) -> Any:
        """The write, with what it makes and the values that it changes."""
        self.writes += 1
        answer = super().write(address, body, **query)
        requests = body.get("requests", ())
        self.made += [each["addSheet"]["properties"]["title"] for each in requests if "addSheet" in each]
        lines = (line for values in body.get("data", ()) for line in values["values"])
        self.cells += sum(value is not None for line in lines for value in line)
        return answer


class Pushed(NamedTuple):
    """What a push did."""

    rows: int
    notes: tuple[str, ...]
    worksheets: tuple[str, ...]
    cells: int
    reads: int
    writes: int


class Meddled(Counting):
    """A client at which somebody does something right before a write goes out, or right after it."""

    def __init__(self, *deeds: Callable[[], object], after: bool = False) -> None:
        super().__init__()
        self.deeds, self.after = list(deeds), after

    def write(self, address: str, body: dict[str, Any], **query: Any) -> Any:
        """The write with the next deed before or after it."""
        deed = self.deeds.pop(0) if self.deeds else lambda: None
        if not self.after:
            deed()
        answer = super().write(address, body, **query)
        if self.after:
            deed()
        return answer


@contextmanager
def sheets_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[SheetsServer]:
    """A Sheets server with an empty spreadsheet, and the environment of a service account."""
    with on_thread(SheetsServer({KEY: {"シート1": []}}, auth=True)) as server:
        server.share(KEY)
        monkeypatch.setenv("REHEARSAL_SHEETS_URL", server.url)
        monkeypatch.setenv("REHEARSAL_GOOGLE_CREDENTIALS", json.dumps(server.service_account()))
        monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
        yield server


def pushed(*sheets: Worksheet, to: Target | None = None, by: Counting | None = None) -> Pushed:
    """A push, by a client that does not really wait."""
    by = by or Counting()
    done = push(sheets, to or target(KEY), client=by)
    notes = tuple(map(str, done.notes))
    return Pushed(done.rows, notes, tuple(by.made), by.cells, by.reads, by.writes)


def review(
    run: str = "r1", keys: str = "abc", *, turns: int = 1, name: str = "review", **texts: str
) -> Worksheet:
    """A worksheet of the usual kind: a question, an answer for each turn, the team's columns, a figure."""
    answers = [
        Column(key=f"assistant{n}", title=f"回答{n}", wrap=True, help="ボットの回答")
        for n in range(1, turns + 1)
    ]
    columns = (
        Column(key="key", title="キー", width=8),
        Column(key="question", title="質問", wrap=True),
        *answers,
        Column(key="judge_is", title="採点への意見", owner="team", choices=VERDICTS),
        Column(key="comment", title="コメント", owner="team", wrap=True),
        Column(key="decided", title="承認日", owner="team", kind="date"),
        Column(key="score", title="点", kind="number"),
    )
    rows = tuple(_row(f"{run}/{key}", columns, texts) for key in keys)
    return Worksheet(name=name, title=TITLE, columns=columns, rows=rows, help="上から順に")


def _row(key: str, columns: tuple[Column, ...], texts: dict[str, str]) -> SheetRow:
    cells = {c.key: SheetCell(text=f"{c.title} {key}") for c in columns if c.key.startswith("assistant")}
    cells |= {"question": SheetCell(text=f"質問 {key}"), "score": SheetCell(text="4.5", number=4.5)}
    given = {name: SheetCell(text=text) for name, text in texts.items()}
    return SheetRow(key=key, cells=cells | given)


def one_cell(text: str, *, note: str = "", mark: CellMark = "") -> Worksheet:
    """A worksheet of a single cell beside its key."""
    columns = (Column(key="key", title="キー"), Column(key="value", title="値"))
    cell = SheetCell(text=text, note=note, mark=mark)
    return Worksheet(
        name="trends", title="推移表", columns=columns, rows=(SheetRow(key="k", cells={"value": cell}),)
    )


def column(server: SheetsServer, key: str, name: str = "review") -> int:
    """Where a column stands now, from 0."""
    known = server.book(KEY).metadata
    found = {(told["metadataKey"], told["metadataValue"]): told["location"] for told in known}
    sheet = found["rehearsal:worksheet", name]["sheetId"]
    places = [
        t["location"]["dimensionRange"]
        for t in known
        if t["metadataValue"] == key and "dimensionRange" in t["location"]
    ]
    return next(int(place["startIndex"]) for place in places if place["sheetId"] == sheet)


def letter(index: int) -> str:
    """The letter of a column among the first 26."""
    return chr(ord("A") + index)


def row_of(server: SheetsServer, key: str, title: str = TITLE) -> int:
    """The number of the row with this key, from 1."""
    rows = server.person(KEY).rows(title)
    return next(number for number, row in enumerate(rows, 1) if key in row)


def at(server: SheetsServer, key: str, name: str, title: str = TITLE) -> str:
    """The cell of a row's key and a column's key."""
    return f"{letter(column(server, name))}{row_of(server, key, title)}"


def cell(server: SheetsServer, place: str, title: str = TITLE) -> dict[str, Any]:
    """A cell as it is kept."""
    sheet = server.book(KEY).sheet(title)
    found: dict[str, Any] = sheet.grid.get(int(place[1:]) - 1, ord(place[0]) - ord("A"))
    return found
