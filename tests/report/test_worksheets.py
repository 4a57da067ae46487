"""The worksheets of a run: what stands in them, for whom, in which order; and no cell of a table computes."""

import csv
import io
from dataclasses import replace
from statistics import fmean
from typing import Any

import pytest

from simulator.core.types import Answer, Ended, Language, Results, Turn
from simulator.report.context import ReportContext
from simulator.report.files import csv_bytes
from simulator.report.worksheets import worksheets
from simulator.results.red import red_questions
from simulator.results.review import review_keys
from simulator.sheets.model import LATER, TABS, Worksheet, question_key
from tests.diff_runs import a_result, grades_of
from tests.report.views import context_of
from tests.sample_runs import decide, rehearsed, summed

NAMES = tuple(TABS)


def report_context(
    language: Language = "ja", results: Results | None = None, **settings: Any
) -> ReportContext:
    """What the worksheets of the rehearsed run are made from."""
    results = results or rehearsed(language)
    summary = summed(results)
    return context_of(results, summary, decide(summary, 0.9), language, **settings)


def sheets(*args: Any, **settings: Any) -> dict[str, Worksheet]:
    """The worksheets by name."""
    return {sheet.name: sheet for sheet in worksheets(report_context(*args, **settings))}


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("ja", "お客様：怒っているお客様 質問：fees-01-ja 2026/11/21 09:04 UTC 実行："),
        ("en", "Customer: Angry customer Question: fees-01-en 2026/11/21 09:04 UTC Run: "),
    ],
)
def test_a_conversation_says_what_it_was_in_words(language: Language, said: str) -> None:
    """Who came with which question, when by a clock that is named, and in which run."""
    cell = sheets(language)["conversations"].rows[0].cells["config"]

    assert cell.text.replace("\n", " ") == f"{said}20261121-090400-mixed-3f2a"


@pytest.mark.parametrize("language", ["ja", "en"])
def test_every_row_and_column_has_a_key_of_its_own(language: Language) -> None:
    """Keys are what rows and columns are known by, whatever people do to a worksheet."""
    found = worksheets(report_context(language))

    assert tuple(sheet.name for sheet in found) == NAMES
    for sheet in found:
        # What is over is put into the archive when a sheet is written in which it was.
        assert len({row.key for row in sheet.rows}) == len(sheet.rows) >= (sheet.name != "archive")
        assert len({column.key for column in sheet.columns}) == len(sheet.columns)
        assert sheet.columns[0].key == "key"
        for row in sheet.rows:
            assert set(row.cells) <= {column.key for column in sheet.columns[1:]}


def test_the_scores_of_conversations_are_those_of_which_the_score_is_the_mean() -> None:
    """Also where a judge graded the conversations as such."""
    results = rehearsed()
    score = next(iter(results.scores)).model_copy(update={"judge": "conversation", "value": 0.0})
    wholes = tuple(
        score.model_copy(update={"conversation": talk.id, "turn": len(talk.turns)})
        for talk in results.conversations
    )
    changed = results.model_copy(update={"scores": (*results.scores, *wholes)})
    rows = sheets("ja", changed)["conversations"].rows

    assert fmean(row.cells["score"].number or 0 for row in rows) == pytest.approx(
        100 * (summed(changed).scores.score or 0)
    )


def test_as_many_turns_as_there_are() -> None:
    """Past column Z, too."""
    results = rehearsed()
    first = results.conversations[0]
    many = tuple(Turn(index=n, user=f"質問{n}", answer=Answer(text=f"回答{n}")) for n in range(1, 13))
    longer = first.model_copy(update={"turns": many})
    changed = results.model_copy(update={"conversations": (longer, *results.conversations[1:])})
    sheet = sheets("ja", changed)["conversations"]

    assert len(sheet.columns) == 4 + 3 * 12
    assert sheet.rows[0].cells["assistant12"].text == "回答12"


def test_the_review_ranks_red_answers_as_the_page_does() -> None:
    """Question by question, the gravest first, then what is not red; the team's columns are empty."""
    sheet, context = sheets()["review"], report_context()
    key_of = review_keys(context.results, context.summary)
    talks = {talk.id: talk for talk in context.results.conversations}
    ranked = [red for turns in red_questions(context.summary) for red in turns]
    red = [key_of(talks[r.conversation], talks[r.conversation].turns[r.turn - 1]) for r in ranked]
    team = {column.key for column in sheet.columns if column.owner == "team"}

    assert [row.key for row in sheet.rows if row.cells["severity"].text] == red
    assert [row.key for row in sheet.rows][: len(red)] == red
    assert ranked != list(context.summary.red.answers)
    assert len(sheet.rows) == context.summary.turns
    assert team == {
        "judge_is",
        "correct_answer",
        "cause",
        "comment",
        "assignee",
        "status",
        "make_test",
    }
    assert not any(team & set(row.cells) for row in sheet.rows)
    [status] = [column for column in sheet.columns if column.key == "status"]
    assert [*status.choices.values()][:2] == ["未対応", "対応中"]


def review_of(results: Results) -> Worksheet:
    """The worksheet Review of a run with the judge of turns."""
    summary = summed(results, ("turn",))
    sheets = worksheets(context_of(results, summary, decide(summary, None), "en"))
    return next(sheet for sheet in sheets if sheet.name == "review")


@pytest.mark.parametrize(("n", "shown"), [(5, 5), (6, 5)])
def test_an_answer_that_many_customers_got_is_one_row(n: int, shown: int) -> None:
    """With who got it how often, and the first five places."""
    grades = {("fee", "calm", at): [0.2] for at in range(1, n)} | {("fee", "angry", 1): [0.2]}
    (row,) = review_of(a_result(grades)).rows
    places = row.cells["conversation"].text.splitlines()

    assert row.cells["persona"].text in (f"Calm × {n - 1}, Angry", f"Angry, Calm × {n - 1}")
    assert len([place for place in places if place.endswith("(1)")]) == shown
    assert places[shown:] == ["…"] * (n - shown)


@pytest.mark.parametrize(("good", "shown"), [(20, 20), (21, 20)])
def test_of_answers_that_need_no_review_the_worst_twenty_stand_below(good: int, shown: int) -> None:
    """What is not graded comes first among them."""
    results = a_result(grades_of([0.2, 1.0, *[0.8] * (good - 1)]))
    ungraded = results.conversations[-1].id
    scores = tuple(score for score in results.scores if score.conversation != ungraded)
    rows = review_of(results.model_copy(update={"scores": scores})).rows
    names = [row.cells["conversation"].text for row in rows]

    assert [bool(row.cells["severity"].text) for row in rows] == [True] + [False] * shown
    assert names[1] == f"{ungraded} (1)"
    assert ("calm/case-1#1 (1)" in names) is (good == shown)


def test_a_sheet_knows_which_questions_were_asked_to_their_end() -> None:
    """With every answer graded; what broke off, or has no grade, shows no answer to be right."""
    grades = {"one": [1.0], "two": [1.0, 0.4], "cut": [1.0, 1.0], "lost": [1.0, 1.0], "failed": [1.0, 1.0]}
    grades |= {"half": [1.0, 1.0]}
    run = a_result(
        {(case, "calm", 1): values for case, values in grades.items()} | {("half", "angry", 1): [1.0]}
    )
    keys = {talk.case.id: question_key(talk.case) for talk in run.conversations}
    talks = [
        talk.model_copy(update={"ended": Ended.BUDGET})
        if talk.case.id == "cut" or (talk.case.id, talk.persona) == ("half", "angry")
        else talk
        for talk in run.conversations
    ]
    lost = {"state": "failed", "value": None, "raw": None}
    scores = [
        score.model_copy(update=lost if "failed" in score.conversation and score.turn == 2 else {})
        for score in run.scores
        if "lost" not in score.conversation
    ]
    run = run.model_copy(update={"conversations": tuple(talks), "scores": tuple(scores)})
    summary = summed(run, ("turn",))
    sheet = worksheets(context_of(run, summary, decide(summary, None), "en"))[0]

    assert sheet.asked == {keys["one"], keys["two"], f"{keys['two']}{LATER}"}
    assert sheet.red == {keys["two"]}


@pytest.mark.parametrize(("language", "turn"), [("ja", " → 2回目："), ("en", " → message 2: ")])
def test_a_later_turn_says_which_question_it_belongs_to(language: Language, turn: str) -> None:
    """A line like "yes but I need more" says nothing by itself; first lines stand as they are."""
    talks = rehearsed(language).conversations
    rows = sheets(language)["review"].rows
    asked = [row.cells["question"].text for row in rows]

    for talk in talks:
        assert talk.turns[0].user in asked
        for later in talk.turns[1:2]:
            assert f"{talk.case.question}{turn}{later.user}" in asked
            # The customer is still after the answer to the first question, as on the page.
            [row] = [row for row in rows if row.cells["question"].text.endswith(f"{turn}{later.user}")]
            assert row.cells["reference"].text == "\n".join(talk.case.references_at(1))


def test_the_blind_worksheet_shows_no_score() -> None:
    """Neither a grade, nor a mark, nor a note; and its order does not tell red from not red."""
    sheet = sheets()["blind"]

    assert {column.key for column in sheet.columns} == {
        "key", "earlier", "question", "passages", "answer", "grade_1", "comment_1", "grade_2", "comment_2",
    }  # fmt: skip
    for row in sheet.rows:
        assert not any(cell.mark or cell.note for cell in row.cells.values())
        assert "▲" not in row.cells["answer"].text


FORMULAS = ("=1+1", "+1", "-1", "@SUM(1)", "\t=1", "\r=1", "\n=1", " \n =1", "＝1", "\x1b\n=1")


@pytest.mark.parametrize("said", FORMULAS)
def test_no_cell_of_the_table_is_a_formula(said: str) -> None:
    """Whatever blanks, line breaks and control codes stand before it."""
    context = report_context()
    (talk, *_) = context.results.conversations
    turn = talk.turns[0]
    hostile = turn.model_copy(update={"answer": turn.answer.model_copy(update={"text": said})})
    talks = (talk.model_copy(update={"turns": (hostile,)}),)
    told = csv_bytes(replace(context, results=context.results.model_copy(update={"conversations": talks})))
    cells = [cell for row in csv.reader(io.StringIO(told.decode("utf-8-sig"))) for cell in row]

    assert any(cell.endswith(said[-2:]) for cell in cells)
    assert [cell for cell in cells if cell.lstrip()[:1] in set("=+-@＝")] == []
