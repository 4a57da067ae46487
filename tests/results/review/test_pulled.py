"""What the team wrote in a sheet or a workbook, as verdicts."""

from typing import Any

import pytest

from simulator.core.types import Language, Results
from simulator.report.worksheets import worksheets
from simulator.results.review import blind_sample, review_findings, review_keys
from simulator.results.review_files import ReviewTarget, Taken, Written, grade_of
from simulator.sheets.model import PulledRow
from tests.report.test_worksheets import report_context
from tests.reviewed_runs import FEE, summary_of
from tests.sample_runs import rehearsed

RUN = rehearsed().run.id
# The Blind worksheet has a row for each turn.
BLIND = f"{RUN}/{FEE[0]}/{FEE[1]}"
TWIN = ("calm/cancel-03-ja#1", 1)


def review_key(results: Results) -> str:
    """The key of the row in which the answer of FEE is reviewed."""
    conversation = next(talk for talk in results.conversations if talk.id == FEE[0])
    return review_keys(results, summary_of(results))(conversation, conversation.turns[FEE[1] - 1])


KEY = review_key(rehearsed())


def wanted(results: Results | None = None, language: Language = "ja", **known: Any) -> ReviewTarget:
    """The rehearsed run."""
    results = results or rehearsed(language)
    return ReviewTarget(results, summary_of(results), language, **known)


def read(name: str, *rows: tuple[str, dict[str, str]], results: Results | None = None) -> Taken:
    """What these rows of a worksheet give."""
    pulled = [PulledRow(key=key, cells=cells, number=n) for n, (key, cells) in enumerate(rows, 2)]
    return Written("", {name: pulled}).taken(wanted(results))


def said(taken: Taken) -> list[dict[str, Any]]:
    """The verdicts, without the time at which they were read."""
    assert all(verdict.given for verdict in taken.verdicts)
    return [verdict.model_dump(exclude_defaults=True, exclude={"given"}) for verdict in taken.verdicts]


def faults(taken: Taken) -> list[tuple[str, str]]:
    """The places of what cannot be used, and why."""
    return [(str(place), str(why)) for place, why in taken.faults]


def test_a_row_of_the_review_is_a_verdict() -> None:
    """All that the team wrote, nobody's name; what the program wrote is left aside."""
    cells = {
        "question": "解約金は", "judge_is": "right", "cause": "invented",
        "correct_answer": "4,800円　です。\n税込み",
        "comment": "資料にある", "assignee": "佐藤", "status": "mended",
    }  # fmt: skip

    assert said(read("review", (KEY, cells))) == [
        {"conversation": FEE[0], "turn": 1, "source": "review", "red": True}
        | {k: v for k, v in cells.items() if k != "question"}
    ]


def twice(*, red: bool = True) -> Results:
    """The rehearsed run with a second customer who got the answer of FEE, red or not."""
    run = rehearsed()
    told = next(talk for talk in run.conversations if talk.id == FEE[0])
    twin = told.model_copy(update={"id": TWIN[0], "persona": "calm", "turns": told.turns[:1]})
    marked = {} if red else {"raw": 5, "value": 1.0, "detail": {}}
    scores = [
        score.model_copy(update={"conversation": TWIN[0], **marked})
        for score in run.scores
        if (score.conversation, score.turn) == FEE
    ]
    conversations, scores = (*run.conversations, twin), [*run.scores, *scores]
    return run.model_copy(update={"conversations": conversations, "scores": tuple(scores)})


@pytest.mark.parametrize("red", [True, False])
def test_a_row_counts_for_every_customer_who_got_its_answer(red: bool) -> None:
    """What it says of the mark only where there is one; and it is one answer, whoever got it."""
    results = twice(red=red)
    sheet = next(s for s in worksheets(report_context("ja", results)) if s.name == "review")
    rows = [row for row in sheet.rows if row.cells["persona"].text.startswith("怒っているお客様、")]
    assert [row.cells["persona"].text for row in rows] == ["怒っているお客様、落ち着いたお客様"]

    said = {"cause": "invented", "status": "open", "assignee": "佐藤"}
    taken = read("review", (rows[0].key, {"judge_is": "right", **said}), results=results)
    assert {(v.conversation, v.turn): v.judge_is for v in taken.verdicts} == {
        FEE: "right", TWIN: "right" if red else None
    }  # fmt: skip
    assert all(said.items() <= verdict.model_dump().items() for verdict in taken.verdicts)
    results = results.model_copy(update={"verdicts": tuple(taken.verdicts)})
    found = review_findings(results, summary_of(results))
    assert found is not None
    assert (len(found.turns), found.judged) == (2, 1)
    assert (found.marks("right"), found.pending) == (1, {"佐藤": 1})


def test_half_a_row_counts() -> None:
    """A word that is none of the choices is named; the rest of the row stays. Causes may be one's own."""
    taken = read("review", (KEY, {"judge_is": "たぶん", "comment": "見ました", "cause": "連携先の障害"}))

    place = "Review, row 2, column Is the judge right?"
    assert faults(taken) == [
        (place, "'たぶん' is none of the choices (Judge is right, Judge is wrong, Unsure)")
    ]
    assert said(taken) == [
        {
            "conversation": FEE[0], "turn": 1, "source": "review", "comment": "見ました",
            "cause": "連携先の障害", "silent": frozenset({"judge_is"}),
        }
    ]  # fmt: skip
    alone = read("review", (KEY, {"judge_is": "たぶん"}))
    assert (len(alone.faults), alone.verdicts, alone.empty) == (1, [], 0)


def test_two_reviewers_grade_blind() -> None:
    """A verdict each, with the share of the run that the turn was sampled from."""
    chance = blind_sample(rehearsed(), summary_of(rehearsed()))[FEE]
    at = {"conversation": FEE[0], "turn": 1, "source": "blind", "sampled": chance}
    cells = {"grade_1": "4", "comment_1": "丁寧", "grade_2": "２点"}

    assert said(read("blind", (BLIND, cells))) == [
        at | {"reviewer": "1", "grade": 4, "comment": "丁寧"}, at | {"reviewer": "2", "grade": 2}
    ]  # fmt: skip
    taken = read("blind", (BLIND, {"comment_2": "読めません"}), (BLIND, {"comment_1": " "}))
    assert said(taken) == [at | {"reviewer": "2", "comment": "読めません"}]
    assert taken.empty == 1, "of the rows in which nobody wrote"


@pytest.mark.parametrize(
    ("typed", "grade"),
    [
        ("4", 4), ("４", 4), ("4点", 4), (" ４ 点 ", 4), ("4.0", 4), ("3.5", 3.5), ("0", None), ("6", None),
        ("四", None), ("4/5", None), ("2026-04-05", None), ("nan", None),
    ],
)  # fmt: skip
def test_grades_as_people_type_them(typed: str, grade: float | None) -> None:
    """From 1 to 5, in any width, with or without 点; anything else is none, and named by its heading."""
    taken = read("blind", (BLIND, {"grade_1": typed, "grade_2": "5"}))

    assert grade_of(typed) == grade
    assert [verdict.grade for verdict in taken.verdicts] == ([5] if grade is None else [grade, 5])
    named = [] if grade is not None else ["Blind, row 2, column Grade, reviewer 1"]
    assert [place for place, _why in faults(taken)] == named


def test_rows_of_other_runs_and_unknown_keys() -> None:
    """Others are counted and left out; a key that names no turn is named, a row without a key as well."""
    taken = read(
        "review",
        ("20260101-000000000-calm-0000/calm/001#1/1", {"comment": "前の実行"}),
        ("answer-0123456789abcdef-first-0123456789abcdef-red", {"comment": "前の回答"}),
        (f"{RUN}/nobody#0/1", {"comment": "a"}),
        ("合計", {"comment": "b"}),
        ("", {"comment": "コピーした行"}),
        ("", {"question": "x"}),
        (f" {KEY} ", {"comment": "c"}),
    )

    assert (taken.other_runs, taken.empty, len(taken.verdicts)) == (2, 0, 1)
    assert [str(place) for place, _why in taken.faults] == ["Review, row 4", "Review, row 5", "Review, row 6"]
    assert "names no answer of this run" in str(taken.faults[0][1])
    assert "it has no key" in str(taken.faults[2][1])


def test_a_column_that_somebody_deleted_says_nothing() -> None:
    """What was said there before is not taken back."""
    row = PulledRow(key=KEY, cells={"comment": "見ました"}, number=2)
    taken = Written("", {"review": [row]}, frozenset({"status"})).taken(wanted())

    assert [verdict.silent for verdict in taken.verdicts] == [frozenset({"status"})]


def test_the_decision_in_the_summary_is_newer_than_that_in_the_archive() -> None:
    """A run whose summary was written anew is in both."""
    summary = PulledRow(key=f"{RUN}/decision", cells={"decision": "go"}, number=2)
    archive = PulledRow(key=f"summary/{RUN}/decision", cells={"decision": "conditional"}, number=2)

    assert Written("", {"summary": [summary], "archive": [archive]}).decisions[RUN].verdict == "go"
