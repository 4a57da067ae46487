"""100 conversations x 3 turns into a spreadsheet, all worksheets; beside it a plain script, cell by cell.

Both speak to a Sheets server on this machine, so the seconds are those of the code; at Google a write takes
its place in a quota of 60 a minute, which is what the plain script waits for.
"""

import json
import os
import time

from simulator.core.types import RedRules
from simulator.report.worksheets import worksheets
from simulator.results.summary import summarise
from simulator.sheets.google_api import SheetsClient, target
from simulator.sheets.google_sheets import pull, push
from simulator.sheets.model import Worksheet
from tests.report.views import context_of
from tests.sample_runs import JUDGES, decide, large
from tests.servers.loopback import on_thread
from tests.servers.sheets import SheetsServer

CONVERSATIONS, WRITES_A_MINUTE = 100, 60


def main() -> None:
    """First push, second push, a second run, the way back, and the plain script."""
    sheets, later = built("20261121-090400-first"), built("20261122-090400-later")
    with on_thread(SheetsServer({"KEY": {"S": []}, "PLAIN": {"S": []}}, auth=True)) as server:
        for key in ("KEY", "PLAIN"):
            server.share(key)
        os.environ["REHEARSAL_SHEETS_URL"] = server.url
        os.environ["REHEARSAL_GOOGLE_CREDENTIALS"] = json.dumps(server.service_account())
        first = timed("first push", server, sheets)
        timed("the same again", server, sheets)
        timed("another run", server, later)
        started = time.perf_counter()
        rows = pull(target("KEY"), ["review", "questions", "summary"]).rows
        count = sum(map(len, rows.values()))
        print(f"sheets, read back     {time.perf_counter() - started:5.2f} s   {count} rows")
        plain(server, sheets, first)


def built(run: str) -> tuple[Worksheet, ...]:
    """The worksheets of a run of this size."""
    results = large(CONVERSATIONS)
    results = results.model_copy(update={"run": results.run.model_copy(update={"id": run})})
    summary = summarise(results, rules=RedRules(), judges=JUDGES, seed=42)
    return worksheets(context_of(results, summary, decide(summary, 0.9), "ja"))


def timed(name: str, server: SheetsServer, sheets: tuple[Worksheet, ...]) -> int:
    """The writes of a push without the pauses that Google's quota asks for."""
    server.log.clear()
    started = time.perf_counter()
    done = push(sheets, target("KEY"), client=SheetsClient(sleep=lambda _: None))
    took = time.perf_counter() - started
    print(
        f"sheets, {name:14} {took:5.2f} s   {server.log.reads} reads, {server.log.writes} writes, largest"
        f" {server.log.largest / 1e6:.2f} MB; {done.rows} rows"
    )
    return int(server.log.writes)


def plain(server: SheetsServer, sheets: tuple[Worksheet, ...], ours: int) -> None:
    """Only the conversations, a request for each cell, no colours and no notes."""
    (conversations,) = (sheet for sheet in sheets if sheet.name == "conversations")
    book = server.robot().open_by_key("PLAIN")
    server.log.clear()
    started = time.perf_counter()
    for line, row in enumerate(conversations.rows, 1):
        for place, column in enumerate(conversations.columns):
            value = {"userEnteredValue": {"stringValue": row.cells[column.key].text if place else row.key}}
            start = {"sheetId": 0, "rowIndex": line, "columnIndex": place}
            update = {"start": start, "rows": [{"values": [value]}], "fields": "userEnteredValue"}
            book.batch_update({"requests": [{"updateCells": update}]})
    took, writes = time.perf_counter() - started, server.log.writes
    minutes = writes / WRITES_A_MINUTE
    print(
        f"plain script          {took:5.2f} s   {writes} writes for one worksheet of seven:"
        f" {minutes:.0f} min at {WRITES_A_MINUTE} writes a minute; ours are 1/{writes // max(1, ours)}"
    )


if __name__ == "__main__":
    main()
