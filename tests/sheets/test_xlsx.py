"""The Excel workbook as it is written: what stands where, what is never a formula, and what it can hold."""

import json
import math
import re
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from openpyxl.utils import column_index_from_string
from openpyxl.xml.functions import fromstring, localname

from simulator.core.messages import shown
from simulator.report.worksheets import worksheets
from simulator.results.red import grading_judges
from simulator.sheets import excel
from simulator.sheets.excel import paint, read_edited
from simulator.sheets.model import CHOICES, Column, LazyRows, SheetCell, SheetRow, Worksheet
from tests.excel import read
from tests.golden_files import compare
from tests.report.test_worksheets import report_context
from tests.report.views import context_of
from tests.sample_runs import decide, hostile, large, summed

# What spreadsheets have taken for formulas, links, commands or markup of their own.
ATTACKS = (
    "=1+1", "=cmd|'/C calc'!A0", "+1+1", "-1+1", "@SUM(A1)", "\t=1+1", "\n=1+1", " =1+1", "＝1+1", "＋1",
    "－1", "＠SUM(1)", '=HYPERLINK("http://a.example","x")', '=IMPORTXML("http://a.example","//a")',
    "{=1+1}", "|calc", '=DDE("cmd";"/C calc";"x")', "%0A=1", "http://a.example", "mailto:a@a.example",
    "file:///etc/hosts", "internal:Sheet1!A1", "\\\\a.example\\x", "<r>x</r>", "<r><t>x</t></r>", "<r></r>",
    "]]>", "&amp;", "<!--", "_x0041_", "_x000D_", "'=1+1", '"', "007", "1e5", "TRUE", "#REF!", "2026/11/25",
)  # fmt: skip
SAME = ("👩‍👩‍👧‍👦 🇯🇵", "مرحبا שלום", "が\u3099か\u3099", "𠮷野家 ①㍿ｱ", " 前後 ")
# What must look as it was said, or visibly otherwise.
TEXTS = {
    "\x00\x1f": "\ufffd\ufffd", "\x7f\x9f": "\ufffd\ufffd", "\ud800a": "\ufffda",
    "\ufffe\uffff": "\ufffd\ufffd", "a\r\nb\rc": "a\nb\nc", "\x1b[31m": "\ufffd[31m",
    "_x005F_x0041_": "_x005F＿x0041_",
    **dict(zip(SAME, SAME, strict=True)),
}  # fmt: skip


def one(*texts: str, note: str = "", width: int = 20) -> Worksheet:
    """A worksheet of one wrapped column."""
    columns = (
        Column(key="key", title="key", width=8),
        Column(key="comment", title="c", owner="team", width=width, wrap=True),
    )
    rows = tuple(
        SheetRow(key=str(n), cells={"comment": SheetCell(text=text, note=note)})
        for n, text in enumerate(texts)
    )
    return Worksheet(name="review", title="確認", columns=columns, rows=rows)


def values(path: Path) -> list[Any]:
    """What stands in the second column of the first worksheet, as openpyxl reads it."""
    return [row[1].value for row in openpyxl.load_workbook(path).worksheets[0].iter_rows(min_row=2)]


def parts(path: Path) -> dict[str, bytes]:
    """The files within a workbook."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_workbook_as_it_is(tmp_path: Path) -> None:
    """Every cell, with titles, fills, notes, dropdowns, widths, heights, names and pages."""
    book: Any = openpyxl.load_workbook(excel.write(worksheets(report_context("ja")), tmp_path / "a.xlsx"))
    names = ([name, found.attr_text] for name, found in sorted(book.defined_names.items()))
    lines = [*(line for sheet in book.worksheets for line in as_shown(sheet)), *names]

    compare("xlsx_ja.txt", "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines))


def as_shown(sheet: Any) -> Iterator[Any]:
    """What people see of a worksheet, a line each: the whole, its columns, its dropdowns, then every cell."""
    yield {
        "worksheet": sheet.title,
        "state": [sheet.sheet_state, sheet.freeze_panes, sheet.auto_filter.ref],
        "page": [sheet.page_setup.orientation, sheet.page_setup.fitToWidth, sheet.print_title_rows],
        "header": [sheet.oddHeader.left.text, sheet.oddHeader.right.text],
    }
    yield {k: [dimension.width, dimension.hidden] for k, dimension in sheet.column_dimensions.items()}
    for rule in sheet.data_validations.dataValidation:
        yield [str(rule.sqref), rule.type, rule.formula1, rule.errorStyle, rule.prompt]
    for number, row in enumerate(sheet.iter_rows(), 1):
        yield {"row": number, "height": sheet.row_dimensions[number].height}
        for cell in row:
            fill = cell.fill.fgColor.rgb[2:] if cell.fill.fill_type else ""
            if cell.value is not None or fill:
                yield [cell.coordinate, cell.value, fill, cell.comment.text if cell.comment else ""]


def test_nothing_is_ever_a_formula_or_a_link(tmp_path: Path) -> None:
    """Read from the XML itself: every text is a text, and reads as it was said."""
    path = excel.write([one(*ATTACKS, note="=1+1")], tmp_path / "a.xlsx")
    elements = [*fromstring(parts(path)["xl/worksheets/sheet1.xml"]).iter()]

    assert not {localname(element) for element in elements} & {"f", "hyperlink", "hyperlinks"}
    assert {cell.get("t") for cell in elements if localname(cell) == "c"} == {"inlineStr"}
    assert not any("externalLink" in name or "connections" in name for name in parts(path))
    assert [row.cells["comment"] for row in read_edited(path).sheets["review"].rows] == list(ATTACKS)


def test_a_text_that_looks_like_a_formula_stays_one_when_its_cell_is_edited(tmp_path: Path) -> None:
    """It has the mark that Excel itself sets for a leading apostrophe."""
    path = excel.write([one("=1+1", " -1", "＝1", "答え")], tmp_path / "a.xlsx")
    cells = [row[1] for row in openpyxl.load_workbook(path).worksheets[0].iter_rows(min_row=2)]

    assert [bool(cell.quotePrefix) for cell in cells] == [True, True, True, False]


@pytest.mark.parametrize("attack", ["=1+1", '=HYPERLINK("http://a.example","x")', "<r><t>x</t></r>"])
def test_a_run_full_of_it(tmp_path: Path, attack: str) -> None:
    """Wherever a bot, a model or a customer can write: all parts are sound XML without a formula."""
    results = hostile(attack)
    summary = summed(results, grading_judges(results, ("turn",)))
    run = context_of(results, summary, decide(summary, 0.9), "ja")

    path = excel.write(worksheets(run), tmp_path / "a.xlsx")

    for name, part in parts(path).items():
        if name.endswith((".xml", ".rels", ".vml")):
            elements = [*fromstring(part).iter()]
            assert "f" not in map(localname, elements)
            # Of a link only where it leads is the program's: to a row of the conversations.
            links = [dict(e.attrib) for e in elements if localname(e) == "hyperlink"]
            assert all(link["location"].startswith("rehearsal_row_") and len(link) < 4 for link in links)
    assert len(read(path)["review"]) == 2


def test_texts_are_as_they_were_said_or_visibly_otherwise(tmp_path: Path) -> None:
    """Controls and half characters become a replacement; emoji, Arabic and rare kanji survive."""
    assert values(excel.write([one(*TEXTS, note="\x00\ud800=1")], tmp_path / "a.xlsx")) == list(
        TEXTS.values()
    )
    assert "\ufffd\ufffd=1".encode() in parts(tmp_path / "a.xlsx")["xl/comments1.xml"]


def test_a_text_longer_than_a_cell_is_visibly_cut(tmp_path: Path) -> None:
    """At 32,767 units as Excel counts them, and never through a character."""
    whole = "あ" * 32_767
    sheet = one(whole, whole + "い", "😀" * 20_000)
    shown = values(excel.write([sheet], tmp_path / "a.xlsx"))

    assert shown == [whole, "あ" * 32_766 + "…", "😀" * 16_383 + "…"]


def test_libreoffice_opens_it_and_what_it_saves_is_read(tmp_path: Path) -> None:
    """Where there is a LibreOffice: names, keys and words survive its saving."""
    office = shutil.which("soffice")
    if office is None:
        pytest.skip("there is no LibreOffice on this machine")
    path = excel.write(worksheets(report_context()), tmp_path / "report.xlsx")
    profile = f"-env:UserInstallation=file://{tmp_path / 'profile'}"
    command = [office, profile, "--headless", "--convert-to", "xlsx", "--outdir", "saved", str(path)]

    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=55)

    saved = tmp_path / "saved" / "report.xlsx"
    assert read(saved) == read(path)
    assert "rehearsal_review_judge_is" in openpyxl.load_workbook(saved).defined_names


def test_on_paper_it_can_be_read(tmp_path: Path) -> None:
    """Every worksheet is one page across in 7 points at least, without the columns of keys.

    Of 45 conversations, no two alike, summary and review are eight pages of A4 at most.
    """
    run = large(45)
    talks = []
    for talk in run.conversations:
        answers = (
            turn.answer.model_copy(update={"text": f"{turn.answer.text}{talk.id}"}) for turn in talk.turns
        )
        both = zip(talk.turns, answers, strict=True)
        turns = tuple(turn.model_copy(update={"answer": answer}) for turn, answer in both)
        talks.append(talk.model_copy(update={"turns": turns}))
    made = worksheets(report_context("ja", run.model_copy(update={"conversations": tuple(talks)})))
    assert len(made[1].rows) > 90
    book: Any = openpyxl.load_workbook(excel.write(made, tmp_path / "a.xlsx"))
    pages = list[int]()
    # The conversations have a worksheet for paper.
    for sheet in (book[worksheet.title] for worksheet in made if worksheet.name != "conversations"):
        columns, rows = re.findall(r"\$([A-Z]+)\$(\d+)", sheet.print_area), sheet.row_dimensions
        first, last = (openpyxl.utils.column_index_from_string(letter) for letter, _row in columns)
        dimensions = sheet.column_dimensions.values()
        widths = {place: each.width for each in dimensions for place in range(each.min, each.max + 1)}
        # At 96 dots an inch a narrow character takes 7 of them; a page is 277 mm wide and 176 mm high.
        wide = sum(7 * widths[place] for place in range(first, last + 1))
        size = min(1, 277 / 25.4 * 96 / wide)
        high = sum(rows[number].height or 15 for number in range(1, int(columns[1][1]) + 1))
        pages.append(math.ceil(high * size / (176 / 25.4 * 72)))
        assert (sheet.page_setup.orientation, sheet.page_setup.paperSize) == ("landscape", 9)
        assert (sheet.sheet_properties.pageSetUpPr.fitToPage, sheet.page_setup.fitToHeight) == (True, 0)
        assert (first, 10 * size > 7) == (2, True), sheet.title

    assert sum(pages[:2]) <= 8


def test_a_number_stands_apart_from_the_text_beside_it(tmp_path: Path) -> None:
    """Of a fix, "1" and "New" are two cells, also to the eye."""
    book: Any = openpyxl.load_workbook(excel.write(worksheets(report_context("en")), tmp_path / "a.xlsx"))
    rank, state = (next(c for c in book["Fixes"][1] if c.value == title) for title in ("Rank", "This run"))

    assert state.column == rank.column + 1
    assert book["Fixes"].cell(2, rank.column).alignment.indent == 1


def test_conversations_are_printed_as_blocks(tmp_path: Path) -> None:
    """Below each other on a worksheet of their own, which is read as nobody's."""
    made = worksheets(report_context("ja"))
    path = excel.write(made, tmp_path / "a.xlsx")
    book: Any = openpyxl.load_workbook(path)
    sheet = next(sheet for sheet in book.worksheets if sheet.title.endswith("（印刷用）"))
    # Beside all cells there is nothing, and so no page: what it has stands on the other one.
    column = book["会話"].print_area.split("$")[1]
    assert column_index_from_string(column) > book["会話"].max_column
    assert book["会話"].print_title_rows is None
    assert f"「{sheet.title}」" in book["会話"].oddHeader.right.text
    turns = next(m for m in made if m.name == "conversations").rows[0]

    # The heading is one cell across the block, wrapped: nothing of it is cut.
    heading = sheet["A1"]
    assert "A1:C1" in {merged.coord for merged in sheet.merged_cells.ranges}
    assert heading.alignment.wrap_text
    assert str(heading.value).endswith(" · 90点 · 納得して終了")
    assert [cell.value for cell in sheet[2]][:2] == [
        turns.cells["user1"].text,
        turns.cells["assistant1"].text,
    ]
    assert read_edited(path).foreign == ()


def test_all_causes_can_be_picked(tmp_path: Path) -> None:
    """Choices stand in a hidden worksheet, for a rule has no room for more than 255 characters."""
    made = worksheets(report_context("en"))
    book: Any = openpyxl.load_workbook(excel.write(made, tmp_path / "a.xlsx", "en"))
    causes = [shown(title, "en") for title in CHOICES["cause"].values()]
    lists = book["rehearsal_lists"]
    [column] = [cells[0].column_letter for cells in lists.columns if cells[0].value == causes[0]]
    rules = [rule.formula1 or "" for rule in book["Review"].data_validations.dataValidation]

    assert f"rehearsal_lists!${column}$1:${column}${len(causes)}" in rules
    assert [cell.value for cell in lists[column]][: len(causes)] == causes
    assert lists.sheet_state == "hidden"


@pytest.mark.parametrize("count", [3, 3_000])
def test_a_workbook_that_fails_leaves_nothing(tmp_path: Path, count: int) -> None:
    """Neither in memory nor on the disk, however many of its rows are written by then."""

    def row(number: int) -> SheetRow:
        if number == count:
            raise KeyError(number)
        return SheetRow(key=str(number), cells={"answer": SheetCell(text="答え", note=f"{number}" * 100)})

    columns = (Column(key="key", title="キー", width=8), Column(key="answer", title="回答"))
    sheet = Worksheet(name="review", title="確認", columns=columns, rows=LazyRows(range(count + 1), row))
    with pytest.raises(KeyError):
        paint([sheet], tmp_path / "a.xlsx")

    assert list(tmp_path.rglob("*")) == []
