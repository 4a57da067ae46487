"""Columns and dropdowns are known by what they are called, in either language."""

from pathlib import Path

import pytest

from simulator.cases.cases import read_cases
from simulator.cases.row import WorksheetRow
from simulator.core.messages import shown
from simulator.core.types import Language
from simulator.report.worksheets import worksheets
from simulator.sheets.merge import cell_of, edited_sheet
from simulator.sheets.model import COLUMNS, Column, layouts, number_cell
from tests.case_files import as_csv, saved
from tests.report.test_worksheets import report_context
from tests.sample_runs import rehearsed


@pytest.mark.parametrize("protocol", ["dialogue", "single_turn"])
@pytest.mark.parametrize("language", ["ja", "en"])
def test_every_title_is_known(language: Language, protocol: str) -> None:
    """Of each column, also those of which there are as many as turns, and of each choice."""
    results = rehearsed(language)
    run = results.run.model_copy(update={"settings": {**results.run.settings, "protocol": protocol}})
    sheets = worksheets(report_context(language, results.model_copy(update={"run": run})))

    assert [sheet.name for sheet in sheets] == list(layouts())
    for sheet in sheets:
        layout = layouts()[sheet.name]
        assert [layout.column(column.title) for column in sheet.columns] == [c.key for c in sheet.columns]
        assert layout.team == {column.key for column in sheet.columns if column.owner == "team"}
        for column in sheet.columns:
            # Excel keeps a dropdown's choices in one text, with commas between them.
            if column.owner == "team":
                assert not any("," in title for title in column.choices.values())
            titles = column.choices.values()
            assert [layout.choice(column.key, title) for title in titles] == [*column.choices]


def test_what_is_not_known() -> None:
    """A title nobody gave, and a number that is none of a turn."""
    assert layouts()["review"].column("優先度") is None
    assert layouts()["review"].column("回答1") is None
    assert layouts()["conversations"].column("お客様１２") == "user12"
    assert layouts()["conversations"].column("Judge 3") == "check3"
    assert layouts()["review"].choice("status", "後で") == "後で"


@pytest.mark.parametrize("text", ["正しい。", "○", "👍🏽", " ＯＫ "])
def test_what_people_write_instead_of_picking_is_taken_for_what_it_means(text: str) -> None:
    """The choices of a column are words; a circle and a thumb are words, too."""
    assert layouts()["review"].choice("judge_is", text) == "right"


def test_titles_and_notes_may_stand_above_a_header() -> None:
    """In at most thirty rows: further down a row of headings is what somebody copied into the data."""
    notes = [WorksheetRow(number, {2: "メモ"}) for number in range(1, 31)]
    header, row = {1: "キー", 2: "質問", 3: "コメント", 4: "優先度"}, {1: "k", 3: "c", 4: "高"}
    lines = [*notes[:29], WorksheetRow(30, header), WorksheetRow(31, row)]
    sheet = edited_sheet("確認", lines, layouts()["review"], {})
    below = edited_sheet(
        "確認", [*notes, WorksheetRow(31, header), WorksheetRow(32, row)], layouts()["review"], {}
    )

    assert (sheet.header, sheet.columns) == (30, {"key": 1, "question": 2, "comment": 3, "other.優先度": 4})
    assert [(r.key, r.cells) for r in sheet.rows] == [("k", {"comment": "c", "other.優先度": "高"})]
    assert "key" not in below.columns
    # One word that is a heading as well makes no header of a row.
    renamed = [WorksheetRow(1, {1: "鍵", 2: "ひとこと"}), WorksheetRow(2, {1: "k", 2: "コメント"})]
    marked = edited_sheet("確認", renamed, layouts()["review"], {"key": 1, "comment": 2}, header=1)
    assert [(r.key, r.cells) for r in marked.rows] == [("k", {"comment": "コメント"})]


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2026/1/5", "2026-01-05"), ("２０２６年1月5日", "2026-01-05"), (" 2026.12.31 ", "2026-12-31"),
        ("5/1/2026", "5/1/2026"), ("26/1/5", "26/1/5"), ("2026/1/5 9:00", "2026/1/5 9:00"),
    ],
)  # fmt: skip
def test_a_day_is_one_where_the_year_comes_first(text: str, day: str) -> None:
    """Of 5/1/2026 nobody knows which is the month."""
    lines = [WorksheetRow(1, {1: "キー", 2: "承認日"}), WorksheetRow(2, {1: "k", 2: text})]
    [row] = edited_sheet("まとめ", lines, layouts()["summary"], {}).rows

    assert row.cells == {"decided": day}


def test_what_people_typed_as_a_number_is_one_if_it_reads_the_same() -> None:
    """In columns of their own, of figures, and of grades; not in those of texts."""
    own, figure = Column(key="other.x"), Column(key="gain", kind="number")
    grade, comment = Column(key="grade_1", owner="team", choices={"5": "5"}), Column(key="comment")
    texts = ["12", "-3.5", "0", "1234567890", "0.12345", "007", "1.50", "1e5", "12345678901", "0.123456", "-"]
    numbers = [12.0, -3.5, 0.0, 1234567890.0, 0.12345, *[None] * 6]

    assert [cell_of(own, text).number for text in texts] == numbers
    assert [cell_of(figure, text).number for text in texts] == numbers
    assert [cell_of(grade, text).number for text in ("5", "6")] == [5.0, None]
    assert cell_of(comment, "12").number is None


def test_a_count_is_shown_to_its_last_digit() -> None:
    """Not as 1.23457e+06; a share is cut."""
    assert [number_cell(n).text for n in (1_234_567, 12.0, 0.123456789)] == ["1234567", "12", "0.123457"]


@pytest.mark.parametrize("language", ["ja", "en"])
def test_the_questions_saved_as_csv_are_a_question_file(language: Language, tmp_path: Path) -> None:
    """Each column says in a file what it says in the sheet."""
    cells = {
        "question": "料金は?",
        "reference": "5円",
        "expect": "税込と言う",
        "category": "料金",
        "gold": "a-1",
    }
    titles = [shown(COLUMNS[key].title, language) for key in cells]

    [case] = read_cases(saved(tmp_path, as_csv([dict(zip(titles, cells.values(), strict=True))])))

    assert (case.references, case.expect) == ((("5円",),), ("税込と言う",))
    assert (case.tags, case.passages) == (("料金",), ("a-1",))
