"""What people wrote, read back by keys; the worksheet of test questions as a question file."""

import pytest

from simulator.core.errors import InputError
from simulator.core.settings import Settings
from simulator.report.worksheets import worksheets
from simulator.runner.plan import read_plan
from simulator.sheets.google_api import target
from simulator.sheets.google_sheets import pull, worksheet_values
from simulator.sheets.model import PulledRow, Worksheet
from tests.report.test_worksheets import report_context
from tests.servers.sheets import SheetsServer
from tests.sheets_sink import KEY, TITLE, Counting, at, column, letter, pushed, review, row_of


def pulled(*names: str) -> dict[str, dict[str, PulledRow]]:
    found = pull(target(KEY), names or ("review",), client=Counting()).rows
    return {name: {row.key: row for row in rows} for name, rows in found.items()}


def notes(*names: str) -> tuple[str, ...]:
    read = pull(target(KEY), names or ("review",), client=Counting())
    return tuple(str(note.text) for note in read.notes if note.about != "column")


def built(name: str, language: str = "ja") -> Worksheet:
    return next(s for s in worksheets(report_context(language)) if s.name == name)  # type: ignore[arg-type]


def test_what_was_typed_comes_back_by_key(server: SheetsServer) -> None:
    """Text, a choice by its id; the row's number as people see it."""
    pushed(review())
    mari = server.person(KEY)
    mari.type(TITLE, at(server, "r1/b", "comment"), "　言い回しが硬い \n")
    mari.type(TITLE, at(server, "r1/b", "judge_is"), "採点が誤り")
    row = pulled()["review"]["r1/b"]

    assert row.number == 3
    assert row.cells == {
        "question": "質問 r1/b", "assistant1": "回答1 r1/b", "score": "4.5",
        "comment": "言い回しが硬い", "judge_is": "wrong",
    }  # fmt: skip


@pytest.mark.parametrize("typed", ["4", "４", " 4 ", "4.0"])
def test_a_grade_is_a_grade(server: SheetsServer, typed: str) -> None:
    """Full-width and numeric ones, too."""
    sheet = built("blind")
    pushed(sheet)
    key = sheet.rows[0].key
    place = f"{letter(column(server, 'grade_1', 'blind'))}{row_of(server, key, sheet.title)}"
    server.person(KEY).type(sheet.title, place, typed)

    assert pulled("blind")["blind"][key].cells["grade_1"] == "4"


def test_damaged_rows_are_noted(server: SheetsServer) -> None:
    """A row without its key, one with another's, one with a formula that fails."""
    pushed(review())
    mari = server.person(KEY)
    mari.type(TITLE, at(server, "r1/b", "comment"), "=1/0")
    # What people calculate in a column of their own is their own.
    mari.type(TITLE, f"{letter(len(mari.rows(TITLE)[0]))}2", "=1/0")
    mari.type(TITLE, f"A{row_of(server, 'r1/c')}", "r1/a")
    mari.type(TITLE, f"{letter(column(server, 'comment'))}9", "鍵なし")

    assert set(pulled()["review"]) == {"r1/a", "r1/b", ""}
    assert "comment" not in pulled()["review"]["r1/b"].cells
    assert notes() == (
        "確認, row 3, column コメント: it shows '#DIV/0!'; fix the formula",
        "確認, row 4: the same key as row 2; read as an added row",
    )


def asked(server: SheetsServer) -> list[str]:
    return [each.case.question for each in read_plan(Settings(cases=f"sheet:{KEY}", persona=("calm",)))[0]]


def test_another_worksheet_can_still_be_named(server: SheetsServer) -> None:
    """Also in another case than the tab's; without questions of ours the first one is read."""
    server.person(KEY).paste("シート1", "A1", [["質問"], ["送料は"]])
    assert asked(server) == ["送料は"]
    pushed(built("questions"))

    found = worksheet_values(f"sheet:{KEY}#シート1", client=Counting())
    lines = [(line.number, line.texts) for line in found.lines]
    assert (found.name, lines) == ("シート1", [(1, {1: "質問"}), (2, {1: "送料は"})])
    assert "送料は" not in asked(server)
    with pytest.raises(InputError, match="no worksheet まとめ"):
        read_plan(Settings(cases=f"sheet:{KEY}#まとめ"))
