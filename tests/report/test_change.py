"""Better than last time? One pair of numbers on the page, in --json, on the terminal and in the workbook."""

import json
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from simulator.cli.app import main
from simulator.core.messages import shown
from simulator.results.history import last_comparable
from simulator.sheets.model import TABS
from tests.diff_runs import a_result, grades_of, side_of, stored, with_cases

BEFORE, NOW = [0.4, 0.6, 0.8, 0.8, 1.0, 1.0], [0.8, 0.6, 0.8, 1.0, 1.0, 1.0]
PAIR = "要確認の質問2件 → 1件、点数 77 → 87"


def reported(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What `report` prints of the newest run."""
    assert main(["report", "latest", *arguments]) == 0
    return capsys.readouterr().out


def changed(capsys: pytest.CaptureFixture[str]) -> Any:
    """The pair of the newest run in --json."""
    return json.loads(reported(capsys, "--json"))["change"]


def two_runs(**cases: Any) -> None:
    """`cases` are fields that the later run has otherwise."""
    stored(a_result(grades_of(BEFORE), "1-before"))
    stored(with_cases(a_result(grades_of(NOW), "2-now", days=1), **cases))


@pytest.mark.parametrize(("corrected", "questions", "score", "said"), [
    (0, (2, 1), (0.7667, 0.8667), PAIR),
    (2, (0, 0), (0.9, 0.95), "要確認の質問0件 → 0件、点数 90 → 95（どちらにも数えない質問2件を除く）"),
    (6, (0, 0), (None, None), "比べられる質問が残っていません"),
])  # fmt: skip
def test_every_view_shows_the_same_pair(
    capsys: pytest.CaptureFixture[str],
    corrected: int,
    questions: tuple[int, int],
    score: tuple[float | None, float | None],
    said: str,
) -> None:
    """Two of six questions before, one now; the page links to the one that shows both runs.

    Questions whose reference was corrected are in neither number.
    """
    two_runs(**{f"case_{at}": {"references": (("いいえ",),)} for at in range(corrected)})
    pair = changed(capsys)
    text = reported(capsys, "--to", "xlsx")
    page = Path("runs/2-now/report.html").read_text(encoding="utf-8")
    rows = openpyxl.load_workbook("runs/2-now/report.xlsx").worksheets[0].iter_rows(values_only=True)
    assert main(["diff", "1", "2", "--json"]) == (0 if corrected < 6 else 3)
    compared = json.loads(capsys.readouterr().out)

    assert pair == compared["change"] == {
        "earlier": "1-before", "later": "2-now", "asked": 6 - corrected, "apart": corrected, "rubrics": [],
        "questions": dict(zip(("before", "now"), questions, strict=True)),
        "score": dict(zip(("before", "now"), score, strict=True)),
    }  # fmt: skip
    assert said in compared["said"]
    assert said in page
    assert 'href="side-by-side.html"' in page
    assert said in "".join(text.split("\n")).replace("  ", "")
    assert any(said in str(cell) for row in rows for cell in row)
    assert said in Path("runs/2-now/side-by-side.html").read_text(encoding="utf-8")


def test_a_first_run_has_no_pair(capsys: pytest.CaptureFixture[str]) -> None:
    """Nor a page that shows it beside another one."""
    stored(a_result(grades_of(BEFORE), "1-before"))

    assert changed(capsys) is None
    assert "side-by-side" not in Path("runs/1-before/report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("other", [
    {"limit": 6}, {"adapter": "other"}, {"rubric": "another"}, {"judges": ("relevance",)},
])  # fmt: skip
def test_a_run_that_cannot_be_compared_is_passed_over(
    capsys: pytest.CaptureFixture[str], other: dict[str, Any]
) -> None:
    """A try with a limit, another bot or another judge, or with other questions: the run before it counts."""
    stored(a_result(grades_of(BEFORE), "1-before"))
    stored(a_result(grades_of([0.2] * 6), "2-try", days=1, **other))
    stored(a_result(grades_of({"x": 0.2}), "3-others", days=2))
    stored(a_result(grades_of(NOW), "4-now", days=3))

    assert changed(capsys)["earlier"] == "1-before"


@pytest.mark.parametrize(("others", "is_there"), [(19, True), (20, False)])
def test_the_run_before_is_looked_for_among_twenty(others: int, is_there: bool) -> None:
    """Damaged ones count; a run that is not in the folder's list has none before it."""
    stored(a_result(grades_of(BEFORE), "00-before"))
    for n in range(others):
        path = stored(a_result(grades_of(NOW), f"{n + 1:02}-other", days=n, adapter="other"))
    path.write_bytes(b"broken")
    now = a_result(grades_of(NOW), "99-now", days=30)
    found = last_comparable(side_of(now), stored(now))

    assert (found and found.results.run.id) == ("00-before" if is_there else None)
    away = a_result(grades_of(NOW), "98-away")
    assert last_comparable(side_of(away), Path("runs/98-away/run.sqlite")) is None


def test_a_review_keeps_the_pair_on_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    """`review` writes the page again, with everything that was on it."""
    two_runs()
    assert main(["review", "2-now"]) == 0
    capsys.readouterr()

    assert PAIR in Path("runs/2-now/report.html").read_text(encoding="utf-8")


def test_a_limit_that_moved_makes_no_question_red(capsys: pytest.CaptureFixture[str]) -> None:
    """Both runs are counted by the later one's rules."""
    stored(a_result(grades_of([0.8] * 6), "1-before"))
    stored(a_result(grades_of([0.8] * 6), "2-now", days=1, red={"overall": 0.9}))

    assert changed(capsys)["questions"] == {"before": 6, "now": 6}


def test_a_workbook_lists_every_run_of_the_folder() -> None:
    """Also those of which nobody wrote a workbook, and a try that is in no trend; the oldest first."""
    two_runs()
    stored(a_result(grades_of({"x": 0.2}), "3-try", days=2))
    stored(a_result(grades_of(NOW), "4-now", days=3))
    stored(a_result(grades_of(NOW), "5-later", days=4))
    assert main(["report", "4-now", "--to", "xlsx"]) == 0
    book = openpyxl.load_workbook("runs/4-now/report.xlsx")
    rows = list(book[shown(TABS["history"], "ja")].iter_rows(min_row=2, values_only=True))

    assert [row[0] for row in rows] == ["1-before", "2-now", "3-try", "4-now"]
    assert [row[2] for row in rows] == [76.7, 86.7, 20, 86.7]
