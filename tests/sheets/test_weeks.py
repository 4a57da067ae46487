"""Three weeks at a desk: the same questions every week, and what becomes of the rows that people work in."""

from collections.abc import Mapping, Sequence
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from simulator.cases.cases import read_cases
from simulator.core.messages import shown
from simulator.core.types import Answer, Conversation, Dispute, RedRules, Results, Turn
from simulator.report.review import SavedTests
from simulator.report.worksheets import worksheets
from simulator.results.history import PastRun
from simulator.results.review import review_findings
from simulator.results.review_files import ReviewTarget, Taken, Written
from simulator.results.summary import summarise
from simulator.sheets.merge import EditedSheets
from simulator.sheets.model import CHOICES, COLUMNS, TABS, PulledRow, Worksheet, answer_key
from simulator.testset.failures import save_tests
from tests.report.views import context_of
from tests.sample_runs import decide, rehearsed
from tests.sheets.desk import FIRST, SECOND, THIRD, GoogleSheet, Team, team_at
from tests.sheets_sink import pushed

FEE, CANCEL, MOVING, PHONE, OPENING = (
    "送料はいくらですか", "解約金はいくらですか", "引っ越しできますか", "電話番号は", "開店は何時ですか",
)  # fmt: skip
TAB = shown(TABS["review"], "ja")
# Those of the question that every question here is made of.
TAGS = rehearsed("ja").conversations[0].case.tags
# What becomes of rows is decided in one place for both: where no more than that is tried, one is enough.
IN_A_WORKBOOK = pytest.mark.parametrize("team", ["xlsx"], indirect=True)
IN_A_GOOGLE_SHEET = pytest.mark.parametrize("team", ["Google"], indirect=True)


class Said(NamedTuple):
    """What the bot answered to whom, and the grade, 1 to 5."""

    question: str
    answer: str
    grade: int
    persona: str = "calm"


WEEK_1 = (
    Said(FEE, "送料は8,000円です。", 1, "angry"),
    Said(FEE, "送料は8,000円です。", 1),
    Said(CANCEL, "解約金はありません。", 1),
    Said(MOVING, "引っ越しはできません。", 2),
    Said(PHONE, "存じません。", 2),
    Said(OPENING, "10時です。", 5),
)
WEEK_2 = (
    Said(FEE, "送料は550円です。", 5),
    Said(CANCEL, "解約金はありません。", 1),
    Said(MOVING, "お引っ越しには対応しておりません。", 2),
    Said(OPENING, "20時です。", 1),
)
WEEK_3 = (
    Said(FEE, "送料は8,000円です。", 1),
    *(Said(question, "そのとおりです。", 5) for question in (CANCEL, MOVING, PHONE, OPENING)),
)


def week(run: str, *said: Said) -> Results:
    """A run in which that was said, a conversation each."""
    base = rehearsed("ja", id=run)
    talk, score = base.conversations[0], next(s for s in base.scores if s.judge == "turn")
    talks, scores = list[Conversation](), []
    for number, (question, answer, grade, persona) in enumerate(said):
        case = talk.case.model_copy(
            update={"id": f"q-{question[:2]}", "question": question, "references": ()}
        )
        id_ = f"{persona}/{case.id}#{number}"
        turns = (Turn(index=1, user=question, answer=Answer(text=answer)),)
        new: dict[str, Any] = {"id": id_, "case": case, "persona": persona, "turns": turns}
        talks.append(talk.model_copy(update=new))
        graded: dict[str, Any] = {
            "conversation": id_,
            "turn": 1,
            "raw": grade,
            "value": grade / 5,
            "detail": {},
        }
        scores.append(score.model_copy(update=graded | {"reason": f"{grade}点の理由"}))
    changed: dict[str, Any] = {"conversations": tuple(talks), "scores": tuple(scores), "planned": len(talks)}
    return base.model_copy(update=changed)


@cache
def made(run: str, *said: Said) -> tuple[Worksheet, ...]:
    """The worksheets of a run."""
    return of_run(week(run, *said))


def of_run(results: Results, past: Sequence[PastRun] = ()) -> tuple[Worksheet, ...]:
    """The same of its results."""
    summary = summarise(results, rules=RedRules(), judges=("turn",), seed=42)
    return worksheets(context_of(results, summary, decide(summary, 0.9), "ja"), past)


def past_run(results: Results) -> PastRun:
    """A run as the history of a later one has it."""
    summary = summarise(results, rules=RedRules(), judges=("turn",), seed=42)
    return PastRun.of(results, summary, decide(summary, 0.9), "ja")


def report(team: Team, run: str, *said: Said) -> str:
    """The run's worksheets, written where the team works; what is said of it."""
    return team.report(*made(run, *said), run=run)


class Week(NamedTuple):
    """What stood there after a run."""

    sheets: EditedSheets

    def edited(self) -> EditedSheets:
        """What was read back."""
        return self.sheets


def rows(team: Team | Week, name: str = "review") -> list[PulledRow]:
    """The rows as they are read back."""
    return list(team.edited().rows.get(name, ()))


def row(team: Team | Week, question: str) -> PulledRow:
    """The row of the red answer to a question."""
    return next(r for r in rows(team) if r.cells.get("question") == question and "severity" in r.cells)


def states(team: Team | Week) -> dict[str, str]:
    """What this run says of every red row, by question."""
    return {r.cells["question"]: r.cells["state"] for r in rows(team) if "severity" in r.cells}


def counted(team: Team | Week) -> dict[str, tuple[str, str]]:
    """The figures in the summary on what became of the rows."""
    of = {r.key: (r.cells.get("value", ""), r.cells.get("explanation", "")) for r in rows(team, "summary")}
    return {key: of[key] for key in ("closed", "fixed_again", "not_asked")}


def write(team: Team, question: str, seen: Week | None = None, **texts: Any) -> None:
    """Types into the row of a question, by the keys of columns; `seen` is what was read there before."""
    team.fill(row(seen or team, question).number, {heading(key): text for key, text in texts.items()}, TAB)


def heading(key: str) -> str:
    """What a column is called; of people's own what they call it."""
    return shown(COLUMNS[key].title, "ja") if key in COLUMNS else key


def work_in_the_first(team: Team) -> None:
    """The first run, and a team that works in it."""
    report(team, FIRST, *WEEK_1)
    seen = Week(team.edited())
    write(team, FEE, seen, comment="値段表が古い", assignee="佐藤", status="対応中")
    write(
        team, CANCEL, seen, judge_is="〇", correct_answer="4,800円です。", assignee="鈴木", status="反映済み"
    )
    write(team, MOVING, seen, judge_is="採点は正しい", assignee="佐藤", comment="言い回しが毎回違う")
    write(team, PHONE, seen, assignee="高橋")


@pytest.fixture(scope="module")
def desks(tmp_path_factory: pytest.TempPathFactory) -> Mapping[type[Team], Any]:
    """A workbook and a Google Sheet in which a team has worked after the first run."""
    worked_in = dict[type[Team], Any]()
    for kind in ("xlsx", "Google"):
        folder = tmp_path_factory.mktemp("first")
        with pytest.MonkeyPatch.context() as patch, team_at(kind, folder, patch) as team:
            work_in_the_first(team)
            worked_in[type(team)] = team
    return worked_in


@pytest.fixture
def first_week(team: Team, desks: Mapping[type[Team], Any]) -> None:
    """The team has worked in the first run."""
    team.go_on_from(desks[type(team)])


@pytest.fixture(scope="module", params=["xlsx", "Google"])
def weeks(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    desks: Mapping[type[Team], Any],
) -> tuple[Week, Week, Week]:
    """Three runs, one after the other: the team works in the first, and leaves the others as they are."""
    with (
        pytest.MonkeyPatch.context() as patch,
        team_at(request.param, tmp_path_factory.mktemp("weeks"), patch) as team,
    ):
        team.go_on_from(desks[type(team)])
        first = Week(team.edited())
        report(team, SECOND, *WEEK_2)
        second = Week(team.edited())
        report(team, THIRD, *WEEK_3)
        return first, second, Week(team.edited())


def taken_from(team: Team, results: Results) -> Taken:
    """What the team's worksheets say of a run as they stand."""
    summary = summarise(results, rules=RedRules(), judges=("turn",), seed=42)
    return Written("", team.edited().rows).taken(ReviewTarget(results, summary, "ja"))


def reviewed_into(path: Path, team: Team, results: Results) -> SavedTests | None:
    """The file of tests after a review of the run as the team's worksheets stand."""
    summary = summarise(results, rules=RedRules(), judges=("turn",), seed=42)
    taken = taken_from(team, results)
    results = results.model_copy(update={"verdicts": tuple(taken.verdicts)})
    return save_tests(results, review_findings(results, summary), taken.closed, path)


@IN_A_WORKBOOK
def test_a_test_whose_row_closed_itself_must_not_break(team: Team, tmp_path: Path) -> None:
    """The archive keeps the team's word; the next review marks the test, which is still one."""
    path = tmp_path / "tests.jsonl"
    report(team, FIRST, *WEEK_1)
    seen = Week(team.edited())
    write(team, FEE, seen, make_test="する", correct_answer="550円です。")
    write(team, CANCEL, seen, make_test="する")
    assert reviewed_into(path, team, week(FIRST, *WEEK_1)) == (path, 2, 0, 0)
    assert {case.question: case.tags for case in read_cases(path)} == {FEE: TAGS, CANCEL: TAGS}
    marked = path.read_text(encoding="utf-8")

    report(team, SECOND, *WEEK_2)
    assert reviewed_into(path, team, week(SECOND, *WEEK_2)) == (path, 0, 1, 1)
    assert {case.question: case.tags for case in read_cases(path)} == {
        FEE: (*TAGS, "must-not-break"), CANCEL: TAGS
    }  # fmt: skip
    # Also where nothing in the review of this run is marked.
    path.write_text(marked, encoding="utf-8")
    results = week(SECOND, *WEEK_2)
    assert save_tests(results, None, taken_from(team, results).closed, path) == (path, 0, 0, 1)
    report(team, THIRD, *WEEK_3)
    assert row(team, FEE).cells["make_test"] == "yes"


def test_one_row_stands_for_one_wrong_answer(weeks: tuple[Week, Week, Week]) -> None:
    """However many customers got it; it says who, and in which conversations."""
    first, *_later = weeks

    assert states(first) == dict.fromkeys((FEE, CANCEL, MOVING, PHONE), "new")
    fee = row(first, FEE).cells
    assert fee["conversation"].splitlines() == ["angry/q-送料#0 (1)", "calm/q-送料#1 (1)"]
    assert counted(first) == dict.fromkeys(("closed", "fixed_again", "not_asked"), ("0", ""))


def test_conversations_have_the_form_of_a_sheet_of_questions_and_answers(
    weeks: tuple[Week, Week, Week],
) -> None:
    """A row each: config, score and ending, then user, assistant and check of every turn."""
    first, *_later = weeks
    columns = first.edited().sheets["conversations"].columns
    order = sorted(columns, key=lambda key: columns[key])

    assert order == ["key", "config", "score", "ended", "user1", "assistant1", "check1"]
    assert rows(first, "conversations")[0].cells["score"] == "20"


def test_a_row_leads_to_its_conversation(team: Team) -> None:
    """To its row among the conversations of this run, also when people have sorted these."""
    report(team, FIRST, *WEEK_1)
    tab = shown(TABS["conversations"], "ja")
    team.sort(heading("config"), tab)
    report(team, SECOND, *WEEK_2)

    second = Week(team.edited())
    for question in (CANCEL, MOVING, OPENING):
        answer = row(second, question)
        title, number = team.led_to(answer.number, heading("conversation"), TAB)
        [talk] = [r for r in rows(second, "conversations") if r.number == number]
        assert (title, talk.cells["user1"]) == (tab, question)
        assert talk.key == f"{SECOND}/{answer.cells['conversation'].removesuffix(' (1)')}"
    assert {r.key.partition("/")[0] for r in rows(second, "conversations")} == {SECOND}


def test_the_second_week_shows_this_run_and_only_this_run(weeks: tuple[Week, Week, Week]) -> None:
    """What is right now is closed, what is wrong again says so, what was not asked waits in the archive."""
    _first, second, _third = weeks

    assert states(second) == {
        OPENING: "new", CANCEL: "fixed_again", MOVING: "reworded",
    }  # fmt: skip
    assert counted(second) == {
        "closed": ("1", "佐藤 1件"), "fixed_again": ("1", "鈴木 1件"), "not_asked": ("1", "高橋 1件"),
    }  # fmt: skip
    assert {r.cells["run"] for r in rows(second)} == {SECOND}
    # What needs review is above all that does not.
    severities = [bool(r.cells.get("severity")) for r in rows(second)]
    assert severities == sorted(severities, reverse=True)
    assert len({*severities}) == 2
    waits, over = sorted(rows(second, "archive"), key=lambda r: r.cells["outcome"])
    assert (waits.cells["subject"], waits.cells["outcome"], waits.cells["assignee"]) == (
        PHONE, "not_asked", "高橋",
    )  # fmt: skip
    assert {k: over.cells[k] for k in ("outcome", "closed", "subject", "comment", "assignee", "status")} == {
        "outcome": "right", "closed": SECOND, "subject": FEE, "comment": "値段表が古い", "assignee": "佐藤",
        "status": "doing",
    }  # fmt: skip


def test_words_stay_beside_their_question(weeks: tuple[Week, Week, Week]) -> None:
    """Beside the same answer all of them; beside another wrong answer all but what is about the old one."""
    _first, second, _third = weeks
    same, other = (row(second, question).cells for question in (CANCEL, MOVING))
    assert (same["judge_is"], same["correct_answer"], same["since"]) == ("right", "4,800円です。", FIRST)
    assert (other["answer"].splitlines()[-1], other["comment"]) == (WEEK_2[2].answer, "言い回しが毎回違う")
    assert (other["assignee"], "judge_is" in other) == ("佐藤", False)


@IN_A_GOOGLE_SHEET
@pytest.mark.usefixtures("first_week")
def test_what_was_not_asked_comes_back_as_if_it_had_never_left(team: Team) -> None:
    """With all words of the team, and the run since which it is there; after a run cut short by --limit."""
    team.insert_column(heading("judge_is"), "優先度", TAB)
    write(team, PHONE, 優先度="高", comment="電話は別の窓口")
    report(team, SECOND, WEEK_1[0])
    second = Week(team.edited())
    assert states(second) == {FEE: "again"}
    assert counted(second)["not_asked"] == ("3", "佐藤 1件 · 鈴木 1件 · 高橋 1件")

    report(team, THIRD, *WEEK_1)
    third = Week(team.edited())
    assert states(third) == {FEE: "again", CANCEL: "fixed_again", MOVING: "again", PHONE: "again"}
    phone = row(third, PHONE)
    assert {k: phone.cells[k] for k in ("assignee", "comment", "since")} == {
        "assignee": "高橋", "comment": "電話は別の窓口", "since": FIRST,
    }  # fmt: skip
    assert phone.cells["other.優先度"] == "高"
    assert counted(third)["not_asked"] == ("0", "")


@IN_A_WORKBOOK
def test_what_was_not_asked_waits_also_where_nobody_wrote(team: Team) -> None:
    """It still needs review, also where no column says so any more; so does what people wrote beside."""
    report(team, FIRST, *WEEK_1)
    unmarked = next(r.number for r in rows(team) if r.cells["question"] == OPENING)
    team.fill(unmarked, {heading("comment"): "見落とし"}, TAB)
    team.delete_column(heading("severity"), TAB)
    report(team, SECOND, WEEK_1[0])

    outcomes = {r.cells["subject"]: r.cells["outcome"] for r in rows(team, "archive")}
    assert outcomes == dict.fromkeys((CANCEL, MOVING, PHONE, OPENING), "not_asked")


@IN_A_WORKBOOK
@pytest.mark.usefixtures("first_week")
def test_another_wrong_answer_takes_over_the_words_of_one_that_waits(team: Team) -> None:
    """It was not asked in the run between."""
    report(team, SECOND, WEEK_1[0])
    report(team, THIRD, *WEEK_2)

    third = Week(team.edited())
    assert states(third)[MOVING] == "reworded"
    assert row(third, MOVING).cells["comment"] == "言い回しが毎回違う"


def test_what_is_over_and_comes_back_has_its_words(weeks: tuple[Week, Week, Week]) -> None:
    """Out of the archive; what was closed in the second week is not counted in the third."""
    *_earlier, third = weeks

    assert states(third) == {FEE: "back"}
    back = row(third, FEE).cells
    assert (back["comment"], back["assignee"], back["since"]) == ("値段表が古い", "佐藤", FIRST)
    assert counted(third)["closed"] == ("4", "担当者なし 1件 · 佐藤 1件 · 鈴木 1件 · 高橋 1件")
    outcome = {r.cells["subject"]: r.cells["outcome"] for r in rows(third, "archive")}
    assert outcome == {FEE: "back"} | dict.fromkeys((CANCEL, MOVING, PHONE, OPENING), "right")


@IN_A_WORKBOOK
def test_every_question_shows_how_it_did_over_the_runs(team: Team) -> None:
    """One that was not asked keeps what it had; no run counts twice, and none that was graded differently."""
    weeks = [week(FIRST, *WEEK_1), week(SECOND, *WEEK_2), week(THIRD, *WEEK_3)]
    past = [past_run(results) for results in weeks]
    kind = past[0].kind.model_copy(update={"primary": "cosine"})
    past.append(past[0].model_copy(update={"run": "other-judge", "kind": kind}))
    past.append(past[0].model_copy(update={"run": "trial", "trial": not past[0].trial}))
    for run, results in zip((FIRST, SECOND, THIRD), weeks, strict=True):
        team.report(*of_run(results, past), run=run)

    third = Week(team.edited())
    cells = {r.key: r.cells for r in rows(third, "trends")}
    assert {c["question"]: (c["trend"], c["change"], c["runs"]) for c in cells.values()} == {
        FEE: ("▂█▂", "-80", "3"), CANCEL: ("▂▂█", "80", "3"), MOVING: ("▄▄█", "60", "3"),
        PHONE: ("▄█", "60", "2"), OPENING: ("█▂█", "80", "3"),
    }  # fmt: skip
    assert sorted(r.key for r in rows(third, "history")) == [FIRST, SECOND, THIRD, "other-judge", "trial"]
    trends = next(sheet for sheet in of_run(weeks[-1], past) if sheet.name == "trends")
    assert trends.rows[0].cell("question").text == FEE, "what fell most comes first"


@IN_A_GOOGLE_SHEET
def test_a_fix_that_is_no_longer_found_goes_to_the_archive(team: Team) -> None:
    """It keeps what the team wrote; as right once all that it rests on was asked again."""
    report(team, FIRST, *WEEK_1)
    [fix] = rows(team, "fixes")
    team.type(fix.number, heading("assignee"), "佐藤", shown(TABS["fixes"], "ja"))
    report(team, SECOND, *WEEK_1)
    assert [(r.key, r.cells["assignee"], r.cells["run"]) for r in rows(team, "fixes")] == [
        (fix.key, "佐藤", SECOND)
    ]
    report(team, THIRD, *(said._replace(answer="そのとおりです。", grade=5) for said in WEEK_1))

    third = Week(team.edited())
    assert rows(third, "fixes") == []
    [gone] = [r.cells for r in rows(third, "archive") if r.key.startswith("fixes/")]
    assert (gone["outcome"], gone["closed"], gone["assignee"]) == ("right", THIRD, "佐藤")


@pytest.mark.usefixtures("first_week")
def test_the_same_run_once_more_changes_nothing(team: Team) -> None:
    """Neither states nor counts; what was fixed meanwhile has not been asked again.

    Not one cell of a Google Sheet is written, with figures in it as they are kept there.
    """

    def stand() -> list[list[PulledRow]]:
        seen = Week(team.edited())
        return [rows(seen, name) for name in ("summary", "review", "archive")]

    report(team, SECOND, *WEEK_2)
    write(team, OPENING, status="反映済み")
    before = stand()
    report(team, SECOND, *WEEK_2)

    assert stand() == before
    if isinstance(team, GoogleSheet):
        done = pushed(*made(SECOND, *WEEK_2))
        assert (done.rows, done.cells, done.writes) == (0, 0, 0)
    else:
        report(team, SECOND, *WEEK_2)
    assert stand() == before


@pytest.mark.usefixtures("first_week")
def test_nothing_that_people_did_is_lost(team: Team) -> None:
    """Sorted, a column of their own, one renamed, one deleted, and a row and a table of theirs."""
    team.insert_column(heading("judge_is"), "優先度", TAB)
    seen = Week(team.edited())
    for question in (FEE, PHONE, MOVING):
        write(team, question, seen, 優先度="高")
    team.rename(heading("comment"), "ひとこと", TAB)
    team.delete_column(heading("passages"), TAB)
    team.sort(heading("question"), TAB)
    team.type(len(rows(seen)) + 4, heading("question"), "自分の控え", TAB)
    team.add_sheet("集計")
    report(team, SECOND, *WEEK_2)

    second = Week(team.edited())
    assert row(second, MOVING).cells["other.優先度"] == "高"
    assert "other.優先度" not in row(second, CANCEL).cells
    assert row(second, MOVING).cells["comment"] == "言い回しが毎回違う"
    assert "自分の控え" in [r.cells.get("question") for r in rows(second) if not r.key]
    assert "passages" not in second.edited().sheets["review"].columns
    assert team.has_sheet("集計")
    assert [r.cells["other"] for r in rows(second, "archive")] == ["優先度: 高"] * 2
    report(team, THIRD, *WEEK_3)
    third = Week(team.edited())
    assert row(third, FEE).cells["other.優先度"] == "高"
    assert "自分の控え" in [r.cells.get("question") for r in rows(third) if not r.key]


@IN_A_WORKBOOK
@pytest.mark.usefixtures("first_week")
def test_what_is_disputed_says_so_until_it_is_taken_back(team: Team) -> None:
    """Its answer begins with another sign than those that need review; then it is there again."""
    results = week(SECOND, *WEEK_1)
    case, turn = results.conversations[2].case, results.conversations[2].turns[0]
    dispute = Dispute(
        key=answer_key(case, turn), run=FIRST, language="ja", line=CANCEL, answer=turn.answer.text,
        objection="", comment="無料になった",
    )  # fmt: skip
    team.report(*of_run(results.model_copy(update={"disputes": (dispute,)})), run=SECOND)
    cancel = row(team, CANCEL).cells
    assert cancel["state"] == "disputed"
    assert cancel["disputed"] == f"異議あり（{FIRST}）：無料になった"
    assert cancel["answer"].startswith("△ 異議あり：")

    report(team, THIRD, *WEEK_1)
    cancel = row(team, CANCEL).cells
    assert (cancel["state"], "disputed" in cancel) == ("fixed_again", False)
    assert cancel["answer"].startswith("▲")


@IN_A_WORKBOOK
def test_a_decision_is_kept_with_its_run(team: Team) -> None:
    """The next run asks for one of its own; the last one is in the archive."""
    report(team, FIRST, *WEEK_1)
    cells = {"decision": "○", "approver": "田中", "decided": date(2026, 11, 21), "why": "重大な誤りなし"}
    number = next(r.number for r in rows(team, "summary") if r.key.endswith("/decision"))
    team.fill(number, {heading(key): text for key, text in cells.items()}, shown(TABS["summary"], "ja"))
    report(team, SECOND, *WEEK_2)

    second = Week(team.edited())
    assert not any("decision" in r.cells for r in rows(second, "summary"))
    [kept] = [r.cells for r in rows(second, "archive") if "decision" in r.cells]
    assert (kept["decision"], kept["approver"], kept["decided"]) == ("go", "田中", "2026-11-21")
    assert kept["why"] == "重大な誤りなし"


@IN_A_GOOGLE_SHEET
def test_what_the_team_has_closed_does_not_stay_open(team: Team) -> None:
    """Though its question was not asked, and whichever of the two words it has."""
    report(team, FIRST, *WEEK_1)
    seen = Week(team.edited())
    write(team, PHONE, seen, status=shown(CHOICES["status"]["retested"], "ja"))
    write(team, FEE, seen, status=shown(CHOICES["status"]["wontfix"], "ja"))
    report(team, SECOND, *WEEK_2[1:])

    second = Week(team.edited())
    assert not {PHONE, FEE} & states(second).keys()
    outcomes = {r.cells["subject"]: r.cells["outcome"] for r in rows(second, "archive")}
    assert (outcomes[PHONE], outcomes[FEE]) == ("team", "team")


@IN_A_WORKBOOK
def test_a_follow_up_that_nobody_made_is_not_answered_rightly(team: Team) -> None:
    """The conversation of the second week has one turn: what was wrong in the second turn stays open."""
    results = week(FIRST, *WEEK_1)
    talk = results.conversations[2]
    later = Turn(index=2, user="本当ですか", answer=Answer(text="さあ。"))
    talks = [*results.conversations]
    talks[2] = talk.model_copy(update={"turns": (*talk.turns, later)})
    wrong = results.scores[2].model_copy(update={"turn": 2})
    team.report(
        *of_run(
            results.model_copy(update={"conversations": tuple(talks), "scores": (*results.scores, wrong)})
        )
    )
    report(team, SECOND, *(said._replace(grade=5) for said in WEEK_1))

    assert [
        r.cells["answer"].splitlines()[-1] for r in rows(team, "archive") if r.cells["outcome"] == "not_asked"
    ] == ["さあ。"]
