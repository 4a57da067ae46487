"""A file of tests that cannot be read is named when a workbook's words are taken over."""

from pathlib import Path

import openpyxl

from tests.commands import Command


def test_a_damaged_file_of_tests_is_named_and_left_alone(command: Command) -> None:
    """The run is made all the same, and the file keeps what it has."""
    run = ("--offline", "--language", "en", "--persona", "calm", "--limit", "2", "--to", "xlsx")
    path = Path("runs", command(*run, "--json").json["run"], "report.xlsx")
    book = openpyxl.load_workbook(path)
    sheet = book["Review"]
    tick = next(cell.column for cell in sheet[1] if cell.value == "Make it a test")
    sheet.cell(2, tick).value = "Yes"
    book.save(path)
    Path("tests.jsonl").write_text("broken\n", encoding="utf-8")
    done = command(*run)

    assert done.code == 0
    assert "tests.jsonl" in done.err
    assert Path("tests.jsonl").read_text(encoding="utf-8") == "broken\n"
