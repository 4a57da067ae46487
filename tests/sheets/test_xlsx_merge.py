"""A workbook that the team has written in: its words come along, and no file of theirs is written over."""

import random
import resource
import shutil
import stat
import tempfile
import zipfile
from datetime import date, datetime
from pathlib import Path

import openpyxl
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from simulator.core.errors import RunFileError
from simulator.report.worksheets import worksheets
from simulator.sheets import excel
from simulator.sheets.excel import read_edited
from simulator.sheets.model import PulledRow
from tests.excel import Person, read
from tests.properties import examples
from tests.report.test_worksheets import report_context

SHEETS = worksheets(report_context("ja"))
TEAM = {sheet.name: [c for c in sheet.columns if c.owner == "team"] for sheet in SHEETS}
TABS = {sheet.name: sheet.title for sheet in SHEETS}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report as it is written; every test does something else to a copy of it."""
    return excel.save(SHEETS, tmp_path_factory.mktemp("report") / "run.sqlite")


@pytest.fixture
def run_file(report: Path, tmp_path: Path) -> Path:
    """A run file whose report has been written."""
    shutil.copy2(report, tmp_path)
    return tmp_path / "run.sqlite"


def reports(run_file: Path) -> list[str]:
    """The names of the workbooks beside a run file, and of anything that was left lying about."""
    return sorted(path.name for path in run_file.parent.iterdir() if path.name != "run.sqlite")


def theirs(path: Path) -> list[tuple[str, str, dict[str, str]]]:
    """All that the team wrote, row by row, sorted."""
    found = read_edited(path).sheets
    filled = (
        (name, row.key, cells)
        for name, columns in TEAM.items()
        for row in (found[name].rows if name in found else ())
        if (cells := {c.key: row.cells[c.key] for c in columns if c.key in row.cells})
    )
    return sorted(filled, key=repr)


def by_key(path: Path, name: str) -> dict[str, PulledRow]:
    """The rows of a worksheet by key."""
    return {row.key: row for row in read(path)[name]}


def test_a_report_nobody_wrote_in_is_made_anew(run_file: Path) -> None:
    """One file, readable by its owner only, however often the report is made."""
    path = excel.save(SHEETS, run_file)

    assert path.name == "report.xlsx"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert reports(run_file) == ["report.xlsx"]


def test_the_edited_report_stays_and_a_second_one_carries_its_words(run_file: Path) -> None:
    """Made again, the second one is made anew; edited, it stays, too."""
    first = run_file.with_name("report.xlsx")
    with Person(first) as person:
        person.type("確認", 3, "コメント", "資料にあります")
        person.type("確認", 3, "対応状況", "対応中")
        person.type("まとめ", 2, "公開の判断", "条件付き")
        person.type("まとめ", 2, "承認日", "2026-11-25")
        person.book.create_sheet("集計").append(["=1+1", date(2026, 11, 25), 0.5, True, "控え"])
        person.book["集計"]["C1"].number_format = "0%"
    before = first.read_bytes()

    second = excel.save(SHEETS, run_file)

    assert second.name == "report-2.xlsx"
    [own] = openpyxl.load_workbook(second)["集計"].rows
    assert [cell.value for cell in own] == ["=1+1", datetime(2026, 11, 25), 0.5, True, "控え"]
    assert own[2].number_format == "0%"
    assert theirs(second) == theirs(first)
    assert excel.save(SHEETS, run_file) == second
    assert first.read_bytes() == before
    with Person(second) as person:
        person.type("確認", 4, "コメント", "こちらも")
    third = excel.save(SHEETS, run_file)
    assert third.name == "report-3.xlsx"
    assert theirs(third) == theirs(second) != theirs(first)
    assert reports(run_file) == ["report-2.xlsx", "report-3.xlsx", "report.xlsx"]
    # Under another name it is still theirs; a table of their own beside it is none of ours.
    third.rename(run_file.with_name("確認済み.xlsx"))
    openpyxl.Workbook().save(run_file.with_name("集計.xlsx"))
    assert theirs(excel.save(SHEETS, run_file)) == theirs(run_file.with_name("確認済み.xlsx"))


def test_rows_that_are_no_longer_there(run_file: Path) -> None:
    """They stay where the team wrote in them, with the program's cells as they were."""
    first = run_file.with_name("report.xlsx")
    with Person(first) as person:
        person.type("目視採点", 3, "人の評価（1人目）", 2)
    written = read(first)["blind"][1]
    blind = next(sheet for sheet in SHEETS if sheet.name == "blind")
    smaller = tuple(
        sheet.model_copy(update={"rows": sheet.rows[5:]}) if sheet is blind else sheet for sheet in SHEETS
    )

    path = excel.save(smaller, run_file)

    assert by_key(path, "blind")[written.key].cells == written.cells
    assert len(read(path)["blind"]) == len(blind.rows) - 4


@pytest.mark.parametrize("mark", ["~$report.xlsx", ".~lock.report.xlsx#"])
def test_a_report_that_is_open(run_file: Path, mark: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Excel and LibreOffice put a file beside it: the report goes into the next one, and stderr says so."""
    run_file.with_name(mark).touch()
    before = run_file.with_name("report.xlsx").read_bytes()

    assert excel.save(SHEETS, run_file).name == "report-2.xlsx"
    assert run_file.with_name("report.xlsx").read_bytes() == before
    assert capsys.readouterr().err == (
        "report.xlsx is open in another program; the report goes into the next one.\n"
    )


def test_files_that_are_not_ours_or_cannot_be_read(
    run_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are never written over."""
    run_file.with_name("report.xlsx").write_bytes(b"PK broken")
    openpyxl.Workbook().save(run_file.with_name("report-2.xlsx"))
    before = {name: run_file.with_name(name).read_bytes() for name in reports(run_file)}

    assert excel.save(SHEETS, run_file).name == "report-3.xlsx"
    assert {name: run_file.with_name(name).read_bytes() for name in before} == before
    assert "report.xlsx: an incomplete Excel file; save it again from Excel. It is left alone." in (
        capsys.readouterr().err
    )


def test_workbooks_of_earlier_runs_that_cannot_be_read(report: Path, tmp_path: Path) -> None:
    """They are no reason to be without a report, and it has what others have; only the named have a say."""
    folders = [tmp_path / f"2026112{day}-090400-mixed-0000" for day in range(1, 6)]
    for folder in folders:
        folder.mkdir()
        folder.joinpath("run.sqlite").touch()
    broken, cut, before, run, after = folders
    broken.joinpath("report.xlsx").write_bytes(b"PK broken")
    for folder in (cut, before, after):
        shutil.copy2(report, folder)
    with Person(before / "report.xlsx") as person:
        person.type("確認", 2, "コメント", "資料にあります")
    with Person(after / "report.xlsx") as person:
        person.type("確認", 3, "コメント", "後の実行")
    with zipfile.ZipFile(cut / "report.xlsx") as package:
        parts = {name: package.read(name) for name in package.namelist()}
    with zipfile.ZipFile(cut / "report.xlsx", "w") as package:
        for name, part in parts.items():
            package.writestr(name, part[:-200] if "worksheets/sheet" in name else part)

    path = excel.save(SHEETS, run / "run.sqlite", earlier=folders[:3])

    assert [cells["comment"] for _name, _key, cells in theirs(path) if "comment" in cells] == [
        "資料にあります"
    ]
    assert excel.save(SHEETS, run / "run.sqlite", earlier=folders[:3]) == path


def test_columns_without_their_names(run_file: Path) -> None:
    """They are known by their headings, in either language, on a tab that people renamed."""
    path = run_file.with_name("report.xlsx")
    with Person(path) as person:
        for column, value in {
            "採点への意見": "採点が誤り",
            "コメント": "資料にあります",
        }.items():
            person.type("確認", 4, column, value)
        key = str(person.book["確認"].cell(4, 1).value)
        for column in ("judge_is", "comment"):
            del person.book.defined_names[f"rehearsal_review_{column}"]
        person.rename("確認", "採点への意見", "Is the judge right?")
        person.rename("確認", "コメント", "ＣＯＭＭＥＮＴ")

    cells = by_key(path, "review")[key].cells
    assert (cells["judge_is"], cells["comment"]) == ("wrong", "資料にあります")


@pytest.mark.parametrize("deed", ["inserted", "deleted"])
def test_a_column_that_a_program_inserted_or_deleted(run_file: Path, deed: str) -> None:
    """It moves cells, and leaves the names of the headers behind: the headings count, and what is gone is."""
    path = run_file.with_name("report.xlsx")
    with Person(path, moves_names=False) as person:
        for column, value in {
            "採点への意見": "採点が誤り",
            "コメント": "資料にあります",
            "担当者": "佐藤",
        }.items():
            person.type("確認", 4, column, value)
        key = str(person.book["確認"].cell(4, 1).value)
        if deed == "inserted":
            person.insert_column("確認", "採点への意見", "社内メモ")
            person.type("確認", 4, "社内メモ", "至急")
        else:
            person.delete_column("確認", "採点への意見")

    cells = by_key(path, "review")[key].cells
    expected = ("wrong", "至急") if deed == "inserted" else (None, None)
    assert (cells.get("judge_is"), cells.get("other.社内メモ")) == expected
    assert (cells["assignee"], cells["comment"]) == ("佐藤", "資料にあります")


def test_a_full_disk_leaves_the_old_file(run_file: Path) -> None:
    """One line says what to do, and nothing is left lying about."""
    path = run_file.with_name("report.xlsx")
    before, old = path.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, old[1]))
    try:
        with pytest.raises(
            RunFileError, match=r"cannot be written .* The run is safe: write the report again"
        ):
            excel.save(SHEETS, run_file)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)

    assert path.read_bytes() == before
    assert reports(run_file) == ["report.xlsx"]


WORDS = st.text(
    st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("\n=+-@_x0041 5年"), max_size=30
) | st.sampled_from(["採点が誤り", "2026-11-25", "_x0041_", "<r>x</r>", " 前後 ", "=1+1", "007", "1.50"])


@pytest.mark.timeout(300)  # with many examples
@given(seed=st.integers(0, 10**6), words=st.lists(WORDS, min_size=1, max_size=12))
@settings(
    max_examples=examples(4),
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_every_word_of_the_team_comes_along(
    report: Path, tmp_path: Path, seed: int, words: list[str]
) -> None:
    """Whatever they type, wherever they type it, however they sort and move."""
    path = Path(tempfile.mkdtemp(dir=tmp_path), "report.xlsx")
    shutil.copy2(report, path)
    edit(path, random.Random(seed), words)

    second = excel.save(SHEETS, path.with_name("run.sqlite"))

    carried = theirs(second)
    assert [each for each in theirs(path) if each not in carried] == []
    assert excel.save(SHEETS, path.with_name("run.sqlite")) == second, "as the program left it"


def edit(path: Path, lot: random.Random, words: list[str]) -> None:
    """Random edits, as a person would make them."""
    with Person(path) as person:
        for word in words:
            name = lot.choice([name for name, columns in TEAM.items() if columns])
            tab, title = TABS[name], lot.choice(TEAM[name]).title
            last = person.book[tab].max_row
            cell = person.book[tab].cell(lot.randint(2, last), person.place(tab, title))
            cell.value, cell.data_type = word, "s"
            if lot.random() < 0.3:
                person.sort(tab, lambda _: lot.random())
            if lot.random() < 0.2:
                added = person.add(tab, {title: None})
                cell = person.book[tab].cell(added, person.place(tab, title))
                cell.value, cell.data_type = word, "s"
            if lot.random() < 0.2:
                person.insert_column(tab, title, f"メモ{lot.random()}")
