"""What people's own cells survive: the same in an Excel workbook and in a Google Sheet."""

from simulator.report.worksheets import worksheets
from simulator.sheets.model import PulledRow
from tests.report.test_worksheets import report_context
from tests.sheets.desk import Team, Workbook
from tests.sheets_sink import review

QUESTIONS = next(sheet for sheet in worksheets(report_context()) if sheet.name == "questions")


def rows(team: Team, name: str = "review") -> dict[str, PulledRow]:
    """The rows that are read back, by key."""
    return {row.key: row for row in team.edited().rows[name]}


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
    """Beside their rows: in a sheet where they were, in the next workbook behind all others."""
    team.report(review())
    team.insert_column("採点への意見", "優先度")
    team.type(3, "優先度", "高")
    team.report(review(turns=2, question="変わった"))

    usual = ["キー", "質問", "回答1", "回答2", "採点への意見", "コメント", "承認日", "点"]
    place = 8 if isinstance(team, Workbook) else 4
    assert team.headings() == [*usual[:place], "優先度", *usual[place:]]
    assert [row.cells.get("other.優先度") for row in rows(team).values()] == [None, "高", None]


def test_columns_that_the_team_deleted_stay_out(team: Team) -> None:
    """The program's and the team's, however often the report is made; a note names the team's."""
    team.report(review(turns=2))
    team.type(2, "コメント", "私見")
    team.delete_column("回答1")
    team.delete_column("採点への意見")
    for question in ("変わった", "また"):
        team.report(review(question=question, turns=3))

        assert team.headings() == ["キー", "質問", "回答2", "回答3", "コメント", "承認日", "点"]
        assert rows(team)["r1/a"].cells["comment"] == "私見"
        assert "確認: no column Is the judge right?" in (str(note.text) for note in team.edited().notes)


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
