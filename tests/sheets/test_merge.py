"""What people's own cells survive: the same in an Excel workbook and in a Google Sheet."""

from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from simulator.report.worksheets import worksheets
from simulator.sheets import excel
from simulator.sheets.excel import read_edited
from simulator.sheets.google_api import target
from simulator.sheets.google_sheets import pull
from simulator.sheets.merge import EditedSheets
from simulator.sheets.model import PulledRow, Worksheet
from tests.excel import Person
from tests.report.test_worksheets import report_context
from tests.sample_runs import rehearsed
from tests.servers.sheets import SheetsServer
from tests.sheets_sink import KEY, TITLE, Counting, letter, pushed, review, sheets_server

QUESTIONS = next(sheet for sheet in worksheets(report_context()) if sheet.name == "questions")
FEE = "ホーム1ギガを1年で解約。"
# Runs, one after the other.
FIRST, SECOND, THIRD = (
    "20261121-090400-mixed-0001",
    "20261122-090400-mixed-0002",
    "20261123-090400-mixed-0003",
)


class Workbook:
    """A workbook, which every report writes anew, and a person at it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder, folder

    def report(self, *sheets: Worksheet, run: str = FIRST) -> None:
        """Writes the worksheets of a run, each of which has a folder."""
        self.run_file = self.folder / run / "run.sqlite"
        self.run_file.parent.mkdir(exist_ok=True)
        self.run_file.touch()
        earlier = [folder for folder in self.folder.iterdir() if folder.name < run]
        self.path = excel.save(sheets, self.run_file, earlier=earlier)

    def edited(self) -> EditedSheets:
        """What is read back."""
        return read_edited(self.path)

    def type(self, row: int, column: str, value: Any, tab: str = TITLE) -> None:
        """Types into a cell of a row (from 1)."""
        with Person(self.path) as person:
            person.type(tab, row, column, value)

    def sort(self, column: str) -> None:
        """Sorts the rows, the last first."""
        with Person(self.path) as person:
            place = person.place(TITLE, column) - 1
            person.sort(TITLE, lambda values: tuple(-ord(c) for c in str(values[place])))

    def delete_row(self, row: int, tab: str) -> None:
        """Deletes a row."""
        with Person(self.path) as person:
            person.delete_row(tab, row)

    def __getattr__(self, deed: str) -> Callable[..., None]:
        """What else a person does to the worksheet, saved at once."""

        def done(*what: Any) -> None:
            with Person(self.path) as person:
                getattr(person, deed)(TITLE, *what)

        return done

    def has_sheet(self, title: str) -> bool:
        """Whether a worksheet is still in one of the files."""
        paths = self.run_file.parent.glob("*.xlsx")
        return any(title in openpyxl.load_workbook(path).sheetnames for path in paths)


class GoogleSheet:
    """A Google Sheet, which every report brings up to date, and a person at it, who does the same."""

    def __init__(self, server: SheetsServer) -> None:
        self.server, self.mari, self.names = server, server.person(KEY), list[str]()

    def report(self, *sheets: Worksheet, run: str = FIRST) -> None:
        self.names = [sheet.name for sheet in sheets]
        pushed(*sheets)

    def edited(self) -> EditedSheets:
        return pull(target(KEY), self.names, client=Counting())

    def _column(self, title: str, tab: str = TITLE) -> str:
        return letter(self.mari.rows(tab)[0].index(title))

    def type(self, row: int, column: str, value: Any, tab: str = TITLE) -> None:
        text = value.strftime("%Y/%m/%d") if isinstance(value, date) else value or ""
        self.mari.type(tab, f"{self._column(column, tab)}{row}", text)

    def sort(self, column: str) -> None:
        self.mari.sort(TITLE, "A2:I60", self._column(column), descending=True)

    def rename(self, column: str, title: str) -> None:
        self.mari.rename_header(TITLE, column, title)

    def insert_column(self, before: str, title: str) -> None:
        place = self._column(before)
        self.mari.insert_columns(TITLE, place)
        self.mari.type(TITLE, f"{place}1", title)

    def delete_column(self, column: str) -> None:
        self.mari.delete_columns(TITLE, column)

    def delete_row(self, row: int, tab: str) -> None:
        self.mari.delete_rows(tab, row)

    def add_sheet(self, title: str) -> None:
        self.server.robot().open_by_key(KEY).add_worksheet(title, 5, 5)

    def has_sheet(self, title: str) -> bool:
        return title in [sheet.title for sheet in self.server.book(KEY).sheets]


@pytest.fixture(params=["xlsx", "Google"])
def team(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Workbook | GoogleSheet]:
    """A workbook, then a Google Sheet, that a team works in."""
    if request.param == "xlsx":
        yield Workbook(tmp_path)
        return
    with sheets_server(monkeypatch) as server:
        yield GoogleSheet(server)


Team = Workbook | GoogleSheet


def rows(team: Team, name: str = "review") -> dict[str, PulledRow]:
    """The rows that are read back, by key."""
    return {row.key: row for row in team.edited().rows[name]}


def titles(team: Team) -> list[str]:
    """The titles of the columns as they stand."""
    return [title for _, title in sorted(team.edited().sheets["review"].titles.items())]


def test_the_teams_cells_stay_and_the_programs_are_new(team: Team) -> None:
    """What stands in the program's columns is the report's, also where people corrected it."""
    team.report(review())
    team.type(2, "コメント", "私見")
    team.type(3, "質問", "人が直した質問")
    team.report(review(question="変わった", comment="下書き"))

    assert [row.cells.get("comment") for row in rows(team).values()] == ["私見", None, None]
    assert [row.cells["question"] for row in rows(team).values()] == ["変わった"] * 3


def test_a_row_that_the_team_copied_is_theirs(team: Team) -> None:
    """The first of both goes on being the report's, however often that is made; a note names the copy."""
    team.report(review())
    team.type(2, "コメント", "私見")
    first = rows(team)["r1/a"]
    for title, text in {"キー": "r1/a", "質問": first.cells["question"], "コメント": "次の方へ"}.items():
        team.type(5, title, text)
    [note] = [each.text for each in team.edited().notes if each.about == "copy"]
    assert str(note) == "確認, row 5: the same key as row 2; read as an added row"
    for question in ("変わった", "また"):
        team.report(review(question=question))

        read = [
            (row.key, row.cells["question"], row.cells.get("comment")) for row in team.edited().rows["review"]
        ]
        assert sorted(read) == [
            ("", "質問 r1/a", "次の方へ"),
            ("r1/a", question, "私見"),
            ("r1/b", question, None),
            ("r1/c", question, None),
        ]


def test_columns_of_ones_own_stay(team: Team) -> None:
    """Where they were, beside their rows."""
    team.report(review())
    team.insert_column("判定", "優先度")
    team.type(3, "優先度", "高")
    team.report(review(turns=2, question="変わった"))

    assert titles(team) == ["キー", "質問", "回答1", "回答2", "優先度", "判定", "コメント", "確認日", "点"]
    assert [row.others for row in rows(team).values()] == [("",), ("高",), ("",)]


def test_worksheets_of_ones_own_stay(team: Team) -> None:
    """In the sheet, or in the workbook in which they are: that is not written over."""
    team.report(review())
    team.add_sheet("集計")
    team.report(review(question="変わった"))

    assert team.has_sheet("集計")


def test_columns_that_the_team_deleted_stay_out(team: Team) -> None:
    """The program's and the team's, however often the report is made; a note names the team's."""
    team.report(review())
    team.type(2, "コメント", "私見")
    team.delete_column("回答1")
    team.delete_column("判定")
    for question in ("変わった", "また"):
        team.report(review(question=question, turns=2))

        assert titles(team) == ["キー", "質問", "回答2", "コメント", "確認日", "点"]
        assert rows(team)["r1/a"].cells["comment"] == "私見"
        assert "確認: there is no column judge_is" in (str(note.text) for note in team.edited().notes)


def test_a_question_that_was_deleted_waits_for_approval(team: Team) -> None:
    """It may have been thrown out: it is not asked again before somebody approves of it."""
    team.report(QUESTIONS)
    team.delete_row(2, QUESTIONS.title)
    team.report(QUESTIONS)

    approved = {key: row.cells["approved"] for key, row in rows(team, "questions").items()}
    keys = [row.key for row in QUESTIONS.rows]
    assert approved == {key: "no" if key == keys[0] else "yes" for key in keys}


def test_a_question_that_people_added_is_not_added_again(team: Team) -> None:
    """A row without a key and with the text of a question is that question."""
    team.report(QUESTIONS.model_copy(update={"rows": QUESTIONS.rows[:1]}))
    team.type(3, "質問", f" {QUESTIONS.rows[1].cells['question'].text}　", QUESTIONS.title)
    team.report(QUESTIONS)

    keys = sorted(row.key for row in team.edited().rows["questions"])
    assert keys == sorted(["", *(row.key for n, row in enumerate(QUESTIONS.rows) if n != 1)])


def reviewed(run: str, *, red: bool = True, **said: str) -> Worksheet:
    """The review of a run in which the bot `said` something else to some questions, and the judge perhaps."""
    results = rehearsed("ja", id=run)
    talks = []
    for talk in results.conversations:
        turn, *later = talk.turns
        answer = turn.answer.model_copy(update={"text": said.get(talk.persona, turn.answer.text)})
        turns = (turn.model_copy(update={"answer": answer}), *later)
        talks.append(talk.model_copy(update={"turns": turns}))
    changed: dict[str, Any] = {"conversations": tuple(talks)}
    if not red:
        good = (score.model_copy(update={"raw": 5, "value": 1.0, "detail": {}}) for score in results.scores)
        changed["scores"] = tuple(good)
    found = worksheets(report_context("ja", results.model_copy(update=changed)))
    return next(sheet for sheet in found if sheet.name == "review")


def row_about(team: Team, question: str) -> PulledRow:
    """The row of the review in which that is asked."""
    return next(row for row in rows(team).values() if row.cells["question"].startswith(question))


def test_a_review_goes_on_in_the_next_run(team: Team) -> None:
    """Beside answers that came again, and it says for which run it was begun; nowhere else."""
    team.report(reviewed(FIRST))
    same, changed = row_about(team, FEE).key, row_about(team, "明日の工事").key
    team.insert_column("判定", "優先度")
    for key in (same, changed):
        team.type(rows(team)[key].number, "優先度", "高")
        team.type(rows(team)[key].number, "対応状況", "対応中")
        team.type(rows(team)[key].number, "コメント", "＝1+1")
    for run in (SECOND, THIRD, THIRD):
        team.report(reviewed(run, beginner="別の回答です。"), run=run)

        found = rows(team)
        cells = found[same].cells
        assert (cells["run"], cells["carried"]) == (run, FIRST)
        assert (cells["status"], cells["comment"]) == ("doing", "＝1+1")
        assert found[same].others == ("高",)
        of_run = [key for key, row in found.items() if row.cells["run"] == run]
        assert [key for key in of_run if found[key].cells.get("carried")] == [same]
        assert [key for key in of_run if "status" in found[key].cells] == [same]
        assert changed not in of_run


def test_what_the_team_took_back_stays_away(team: Team) -> None:
    """A row that was emptied in one run is empty in the next, whatever an earlier one says."""
    team.report(reviewed(FIRST))
    team.type(row_about(team, FEE).number, "コメント", "勘違い")
    team.report(reviewed(SECOND), run=SECOND)
    assert row_about(team, FEE).cells["comment"] == "勘違い"
    team.type(row_about(team, FEE).number, "コメント", None)
    team.report(reviewed(THIRD), run=THIRD)

    assert not {"comment", "carried"} & row_about(team, FEE).cells.keys()


def test_what_was_said_of_a_mark_does_not_outlive_it(team: Team) -> None:
    """The same answer that is no longer red is a row of its own, in which nobody has written."""
    team.report(reviewed(FIRST))
    before = row_about(team, FEE)
    team.type(before.number, "判定", "採点が誤り")
    team.report(reviewed(SECOND, red=False), run=SECOND)

    now = [row for row in rows(team).values() if row.cells["run"] == SECOND]
    [same] = [row for row in now if row.cells["question"] == before.cells["question"]]
    assert same.cells["answer"] == before.cells["answer"].partition("\n")[2]
    assert "severity" in before.cells
    assert not any({"judge_is", "carried"} & row.cells.keys() for row in now)
