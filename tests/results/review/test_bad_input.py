"""What people do to a sheet or workbook by mistake: a line that names the place, and nothing is lost."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from simulator import open_run
from simulator.report.worksheets import worksheets
from simulator.sheets.excel import newest_first, write
from tests.commands import Command, Done
from tests.excel import Person
from tests.report.test_worksheets import report_context
from tests.sheets.desk import GoogleSheet, Workbook
from tests.sheets_sink import KEY, sheets_server

Desk = Workbook | GoogleSheet
TAB = "確認"


class Week:
    """A run whose report stands in a workbook or a sheet, and what is said when the next one is made."""

    def __init__(self, run: Command, kind: str, desk: Desk) -> None:
        self.run, self.kind, self.desk = run, kind, desk
        self.document = f"{open_run().run.id}/report.xlsx" if kind == "xlsx" else KEY
        self.report()

    def report(self) -> Done:
        """Makes the report, in place or as the next workbook."""
        if isinstance(self.desk, Workbook):
            self.desk.save()
        done = self.run("report", "latest", "--to", *self._where())
        if isinstance(self.desk, Workbook):
            self.desk.path = newest_first(Path("runs").iterdir())[0]
        return done

    def review(self) -> Done:
        """Reads what people wrote."""
        source = f"sheet:{KEY}"
        if isinstance(self.desk, Workbook):
            self.desk.save()
            source = str(self.desk.path)
        return self.run("review", "latest", "--from", source)

    def _where(self) -> tuple[str, ...]:
        return ("xlsx",) if self.kind == "xlsx" else ("sheets", "--sheet", KEY)

    def texts(self) -> str:
        """All that stands in the worksheet that people worked in."""
        if isinstance(self.desk, GoogleSheet):
            return str(self.desk.mari.rows(TAB))
        books = map(openpyxl.load_workbook, Path("runs").glob("*/report*.xlsx"))
        return str([[*book[TAB].iter_rows(values_only=True)] for book in books])


@pytest.fixture(params=["xlsx", "Google"])
def week(
    request: pytest.FixtureRequest, run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Week]:
    """A workbook, then a Google Sheet, in which a comment stands."""
    with sheets_server(monkeypatch) as server:
        desk: Desk = Workbook(tmp_path) if request.param == "xlsx" else GoogleSheet(server)
        made = Week(run, request.param, desk)
        if isinstance(desk, GoogleSheet):
            desk.names = ["review"]
        desk.type(2, "コメント", "値段表が古い", TAB)
        yield made


def test_a_mistake_is_named_and_all_else_is_taken(week: Week) -> None:
    """By the next report and by `review`, in one line; what was typed stays where it is.

    A word of one's own where there are three to choose from, and below all others a row of no answer.
    """
    week.desk.type(2, "採点への意見", "たぶん", TAB)
    for title, text in {"実行": open_run().run.id, "コメント": "貼り付けた行"}.items():
        week.desk.type(40, title, text, TAB)
    for done in (week.report(), week.review()):
        for mistake in (
            "row 2, column Is the judge right?: 'たぶん' is none of the choices"
            " (Judge is right, Judge is wrong, Unsure); skipped.",
            "it has no key (a row that was added or copied); skipped.",
        ):
            assert [said.endswith(mistake) for said in done.err.splitlines()].count(True) == 1, done.err

    assert {verdict.comment for verdict in open_run().verdicts} == {"値段表が古い"}
    for text in ("値段表が古い", "たぶん", "貼り付けた行"):
        assert text in week.texts()


def test_without_its_keys_a_worksheet_is_one_line(week: Week) -> None:
    """However many rows people wrote in; nothing of it is taken, and what they wrote stays."""
    week.desk.type(3, "コメント", "二つ目", TAB)
    week.desk.delete_column("キー", TAB)
    for done in (week.review(), week.report()):
        assert ["column of keys" in said for said in done.err.splitlines()].count(True) == 1, done.err
        assert "it has no key" not in done.err

    assert open_run().verdicts == ()
    assert "値段表が古い" in week.texts()


@pytest.mark.parametrize("week", ["xlsx"], indirect=True)
def test_a_workbook_that_somebody_protected_is_read(week: Week) -> None:
    """Its words are taken, and the next one has them."""
    assert isinstance(week.desk, Workbook)
    protection = week.desk.person.book[TAB].protection
    protection.sheet, protection.password = True, "x"
    week.report()

    assert week.desk.path.name == "report-2.xlsx"
    assert {verdict.comment for verdict in open_run().verdicts} == {"値段表が古い"}
    assert "値段表が古い" in str([*openpyxl.load_workbook(week.desk.path)[TAB].values])


def test_the_workbook_of_another_run_is_refused(run: Any, tmp_path: Path) -> None:
    """In one line that names it and the run; nothing is stored."""
    made = worksheets(report_context())
    other = write(made, tmp_path / "前の実行.xlsx")
    with Person(other) as person:
        person.type(TAB, 2, "コメント", "前の実行のこと")
    done = run("review", "latest", "--from", str(other))

    assert done.code == 2
    assert f"rows is about {open_run().run.id}. Was another run written there?" in done.err
    assert len(done.err.splitlines()) == 1
    assert open_run().verdicts == ()


def test_words_in_the_workbook_of_an_older_run_are_kept_with_that_run(run: Any) -> None:
    """Written in after a later run had a workbook of its own: the next report says so, once."""
    first, again = open_run().run.id, ("--offline", "--persona", "calm", "--limit", "2", "--turns", "1")
    run("report", first, "--to", "xlsx")
    run(*again, "--to", "xlsx")
    with Person(Path("runs", first, "report.xlsx")) as person:
        person.type(TAB, 2, "コメント", "古いほうに書いた")
    third = run(*again, "--to", "xlsx")
    fourth = run(*again, "--to", "xlsx")

    assert {verdict.comment for verdict in open_run(first).verdicts} == {"古いほうに書いた"}
    assert [done.err.count("saved after a later run began") for done in (third, fourth)] == [1, 0]
