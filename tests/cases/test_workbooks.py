"""Excel files are read as their cells show them, or refused in one line with row and column."""

import io
import re
import zipfile
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import openpyxl
import pytest
import xlsxwriter
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from openpyxl.styles import Font

from simulator.cases.cases import QUESTIONS, read_cases, read_dataset
from simulator.cases.openpyxl_reader import cell_text
from simulator.core.errors import InputError
from tests.case_files import as_workbook, refusal


def grown(folder: Path, rows: Sequence[Sequence[Any]], *merged: str, name: str = "a.xlsx") -> Path:
    """A new Excel file with one worksheet and these merged areas."""
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    for row in rows:
        sheet.append(row)
    for area in merged:
        sheet.merge_cells(area)
    book.save(folder / name)
    return folder / name


def repacked(path: Path, part: str, old: str, new: str) -> Path:
    """The file with a text of one of its parts replaced."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    assert old.encode() in parts[part]
    parts[part] = parts[part].replace(old.encode(), new.encode())
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return path


def test_a_list_as_teams_keep_it(tmp_path: Path) -> None:
    """Titles above and between rows, merged categories, formatted numbers and dates are understood."""
    rows: list[list[Any]] = [
        ["テスト質問", None, None, None],
        ["更新", date(2026, 4, 1), None, None],
        [],
        ["分類", "番号", "質問（必須）", "正解"],
        ["料金", 1, "月額は\nいくら?", 4180],
        [None, "002", "割引は?", 0.25],
        ["質問はここから", None, None, None],
        ["分類", "番号", "質問（必須）", "正解"],
        ["解約", 3, "いつまで?", date(2026, 4, 20)],
    ]
    path = grown(tmp_path, rows, "A1:D1", "A5:A6", "A7:D7")
    book = openpyxl.load_workbook(path)
    for cell, number_format in {"B5": "000", "B9": "000", "D5": '#,##0"円"', "D6": "0%"}.items():
        book.worksheets[0][cell].number_format = number_format
    book.save(path)

    assert [(c.id, c.question, c.references, c.tags) for c in read_cases(path)] == [
        ("001", "月額は\nいくら?", (("4,180円",),), ("料金",)),
        ("002", "割引は?", (("25%",),), ("料金",)),
        ("003", "いつまで?", (("2026-04-20",),), ("解約",)),
    ]
    path = grown(tmp_path, [["質問", "正解"], ["■料金", None], ["月額は?", "5円"]], "A2:B2")
    assert [case.question for case in read_cases(path)] == ["月額は?"]


def test_formulas_give_their_stored_values(tmp_path: Path) -> None:
    """What Excel stored for a formula is read; without it the cell is named."""
    written = xlsxwriter.Workbook(str(tmp_path / "stored.xlsx"))
    sheet = written.add_worksheet()
    sheet.write_row(0, 0, ["question", "正解", "分類"])
    sheet.write_formula(1, 0, '="料金"&"は?"', None, "料金は?")
    sheet.write_formula(1, 1, "=2*2090", None, 4180)
    sheet.write_formula(1, 2, '=""', None, "")
    written.close()
    # As Excel itself stores an empty text.
    path = repacked(tmp_path / "stored.xlsx", "xl/worksheets/sheet1.xml", '<c r="C2">', '<c r="C2" t="str">')

    (case,) = read_cases(path)

    assert (case.question, case.references, case.tags) == ("料金は?", (("4180",),), ())
    path = grown(tmp_path, [["question"], ['="料金"&"は?"']])
    assert "a.xlsx, row 2: column 'question': a formula without a stored result; open the file" in refusal(
        path
    )


def test_furigana_is_not_read(tmp_path: Path) -> None:
    """Reading aids, which a Japanese Excel stores beside kanji, are no part of the text."""
    path = as_workbook(tmp_path / "a.xlsx", {"S": [["question"], ["料金は?"]]})
    ruby = "<t>料金は?</t><rPh sb='0' eb='2'><t>リョウキン</t></rPh>"

    repacked(path, "xl/sharedStrings.xml", "<t>料金は?</t>", ruby)

    assert [case.question for case in read_cases(path)] == ["料金は?"]


def test_worksheets(tmp_path: Path) -> None:
    """The only worksheet with questions is found; of several one has to be named, about as it is spelt."""
    sheets = {"表紙": [["FAQ"]], "料金": [["質問"], ["a"]], "Ｎｅｔ": [["質問"], ["b"]]}
    path = as_workbook(tmp_path / "a.xlsx", sheets)

    assert read_cases(f"{path}#料金")[0].question == "a"
    assert read_cases(f"{path}#net")[0].question == "b"
    assert (
        "several worksheets have the column names that are needed ('料金', 'Ｎｅｔ'); name one: a.xlsx#料金"
        in refusal(path)
    )
    assert "a.xlsx: no worksheet 'x'. There are: '表紙', '料金', 'Ｎｅｔ'." in refusal(Path(f"{path}#x"))
    assert "a.xlsx#表紙: no rows in it" in refusal(Path(f"{path}#表紙"))
    assert "b.xlsx: no rows in it" in refusal(as_workbook(tmp_path / "b.xlsx", {"空": []}))
    assert "b.xlsx: no rows in it" in refusal(as_workbook(tmp_path / "b.xlsx", {"表": [["質問", "正解"]]}))
    notes, table = [[f"注{n}"] for n in range(30)], [["質問", "正解"], ["a", "b"]]
    sheets_below = {"表紙": [["FAQ"]], "表": [*notes[1:], *table]}
    assert read_cases(as_workbook(tmp_path / "b.xlsx", sheets_below))[0].question == "a"
    sheets_below["表"] = [*notes, *table]
    assert "no worksheet has the column names" in refusal(as_workbook(tmp_path / "b.xlsx", sheets_below))
    sheets |= {"料金": [["値段"], ["a"]], "Ｎｅｔ": [["b"]]}
    assert "('表紙', '料金', 'Ｎｅｔ'); name one: a.xlsx#料金" in refusal(as_workbook(path, sheets))
    sheets = {"表紙": [["FAQ"]], "料金": [["質問"], ["a"]]}
    assert read_cases(as_workbook(path, sheets))[0].question == "a"


def test_a_transposed_worksheet_is_refused(tmp_path: Path) -> None:
    """It would be read as questions called 回答, and nobody would see why the bot fails."""
    path = grown(
        tmp_path, [["質問", "送料は？", "返品は？"], ["回答", "550円", "14日"], ["備考", "", "要確認"]]
    )
    with pytest.raises(InputError, match="paste it transposed"):
        read_cases(path)


def test_mistakes_name_worksheet_row_and_column(tmp_path: Path) -> None:
    """The first mistake is named where people find it: file, worksheet, row, column."""
    path = as_workbook(
        tmp_path / "a.xlsx",
        {"表紙": [["FAQ"]], "FAQ": [["title"], [], ["question", "回答可否"], ["a", "○"], ["b", "maybe"]]},
    )

    assert f"{path}#FAQ, row 5: column '回答可否': 'maybe' is not understood" in refusal(path)
    assert f"{path}#FAQ, row 5: column '回答可否'" in refusal(Path(f"{path}#FAQ"))


def zipped(**parts: bytes) -> bytes:
    """A zip archive."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return data.getvalue()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file is empty"),
        (zipped(a=b"b"), "not a readable Excel file"),
        (b"\xd0\xcf\x11\xe0" + bytes(512), "in the old Excel format despite its name"),
        (
            b"\xd0\xcf\x11\xe0" + bytes(512) + "EncryptedPackage".encode("utf-16-le"),
            "protected with a password; save it from Excel without one",
        ),
    ],
)
def test_what_is_no_workbook(tmp_path: Path, data: bytes, message: str) -> None:
    """Old, protected, broken and dangerous files are one line."""
    path = tmp_path / "a.xlsx"
    path.write_bytes(data)

    assert f"{path}: {message}" in refusal(path)


def test_a_small_file_that_grows_without_end(tmp_path: Path) -> None:
    """It is refused before it is unpacked."""
    path = tmp_path / "a.xlsx"
    path.write_bytes(zipped(a=b"\0" * ((1 << 26) + 1)))

    assert f"{path}: larger than 67 MB; split the file" in refusal(path)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (datetime(2026, 4, 1), "2026-04-01"),
        (datetime(2026, 4, 1, 9, 30), "2026-04-01T09:30:00"),
        (timedelta(hours=30, seconds=5), "30:00:05"),
        (True, "TRUE"),
        ("一\r\n二_x000D_\n三", "一\n二\n三"),
        ("a_x005F_x0041_", "a_x0041_"),
        ("_x0000__xD800_", "\ufffd\ufffd"),
    ],
)
def test_other_values(value: object, shown: str) -> None:
    """Dates are ISO 8601, hours go beyond 24, texts stay, escapes are undone."""
    assert cell_text(value) == shown


def struck(path: Path, *cells: str) -> Path:
    """The file with these cells struck out."""
    book = openpyxl.load_workbook(path, rich_text=True)
    for cell in cells:
        book.worksheets[0][cell].font = Font(strike=True)
    book.save(path)
    return path


def test_hidden_rows_are_left_out_and_counted(tmp_path: Path) -> None:
    """A team hides or filters away what is not to be asked."""
    path = grown(tmp_path, [["question", "reference"], ["a", "1"], ["b", "2"], ["c", "3"]])
    book = openpyxl.load_workbook(path)
    book.worksheets[0].row_dimensions[3].hidden = True
    book.save(path)

    data = read_dataset(path, QUESTIONS)

    assert [case.question for case in data.rows()] == ["a", "c"]
    assert str(data.skipped.left_out_message("a.xlsx")) == "a.xlsx: left out: 1 hidden row."


def test_text_that_is_struck_out_is_left_out(tmp_path: Path) -> None:
    """In a part of a cell, shared by cells or not, and in all of it."""
    old, new = InlineFont(strike=True), InlineFont()
    price = CellRichText(TextBlock(old, "5,000円"), TextBlock(new, "4,180円"))
    rows: list[list[Any]] = [
        ["question", "reference"],
        ["料金は?", price],
        ["解約は?", "3日"],
        ["もう聞かない?", ""],
    ]
    path = struck(grown(tmp_path, rows), "B3", "A4")

    cases = read_cases(path)

    assert [(case.question, case.references) for case in cases] == [
        ("料金は?", (("4,180円",),)),
        ("解約は?", ()),
    ]


@pytest.mark.parametrize("number_format", ["# ?/?", "[DBNum1]General"])
def test_a_format_that_is_not_supported_is_named(tmp_path: Path, number_format: str) -> None:
    """A number that people see otherwise is not read silently; in a column of notes it is no matter."""
    path = grown(tmp_path, [["question", "reference", "note"], ["Share?", 1.5, 2.5]])
    book = openpyxl.load_workbook(path)
    for cell in "B2", "C2":
        book.worksheets[0][cell].number_format = number_format
    book.save(path)

    assert "row 2: column 'reference': the number 1.5 in the format" in refusal(path)
    book.worksheets[0]["B2"].number_format = "General"
    book.save(path)
    assert read_cases(path)[0].references == (("1.5",),)


def test_built_in_formats_of_japanese_excel(tmp_path: Path) -> None:
    """They are stored by number alone: 14 is 2026/4/1, 31 is 2026年4月1日."""
    book = xlsxwriter.Workbook(str(tmp_path / "a.xlsx"))
    sheet = book.add_worksheet()
    sheet.write_row(0, 0, ["question", "reference"])
    for row, number in enumerate((14, 31, 32, 28), 1):
        sheet.write(row, 0, f"q{number}")
        sheet.write_number(row, 1, 46113.4375, book.add_format({"num_format": number}))
    book.close()

    texts = [case.references[0][0] for case in read_cases(tmp_path / "a.xlsx")]

    assert texts == ["2026/4/1", "2026年4月1日", "10時30分", "令和8年4月1日"]


def test_a_heading_of_two_rows_with_groups(tmp_path: Path) -> None:
    """The upper row is merged over columns; the lower one has their names."""
    rows: list[list[Any]] = [
        ["質問", None, "正解", None],
        ["番号", "質問文", "模範回答", "備考"],
        [1, "月額は?", "4180円", "x"],
    ]

    (case,) = read_cases(grown(tmp_path, rows, "A1:B1", "C1:D1"))

    assert (case.id, case.question, case.references) == ("1", "月額は?", (("4180円",),))


def strict(path: Path) -> Path:
    """The file as Excel saves it as "Strict Open XML": other names for the same."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in parts.items():
            renamed = re.sub(
                rb"http://schemas.openxmlformats.org/(?!package)(\w+)/2006/",
                rb"http://purl.oclc.org/ooxml/\1/",
                data,
            )
            archive.writestr(name, renamed)
    return path


def test_a_strict_workbook_is_read_like_any_other(tmp_path: Path) -> None:
    """So are its dates, which are texts there."""
    path = grown(tmp_path, [["question", "reference"], ["When?", date(2026, 4, 1)], ["Fee?", 4180]])
    strict(repacked(path, "xl/worksheets/sheet1.xml", 't="n"><v>46113', 't="d"><v>2026-04-01'))

    assert [case.references[0][0] for case in read_cases(path)] == ["2026-04-01", "4180"]


@pytest.mark.parametrize(
    ("part", "old", "new"),
    [
        ("xl/styles.xml", "<fill><patternFill/></fill>", "<fill/>"),
        ("xl/styles.xml", '<family val="2"/>', '<family val="255"/>'),
        ("docProps/core.xml", 'W3CDTF">20', 'W3CDTF">西暦20'),
    ],
)
def test_what_no_table_needs_may_be_wrong(tmp_path: Path, part: str, old: str, new: str) -> None:
    """Excel opens colours, fonts and properties as other programs write them; formats of numbers are read."""
    path = grown(tmp_path, [["question", "reference"], ["Share?", 0.25]])
    book = openpyxl.load_workbook(path)
    book.worksheets[0]["B2"].number_format = "0%"
    book.save(path)
    repacked(path, part, old, new)

    with pytest.raises((TypeError, ValueError)):
        openpyxl.load_workbook(path)
    assert [case.references for case in read_cases(path)] == [(("25%",),)]
