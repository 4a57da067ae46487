"""`history`: the runs of a folder, quickly read, and a fall that no odd run can hide."""

import json
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from simulator.cli.app import main
from simulator.core.settings import stored_settings
from simulator.core.types import Language
from simulator.report.history import history_report
from simulator.results.figures import CaseSummary
from simulator.results.history import (
    History,
    PastRun,
    RunKind,
    history,
    history_json,
    past_run,
    past_runs,
    question_courses,
)
from simulator.results.summary import figures_of
from simulator.storage.run_file import read_run
from tests.diff_runs import START, a_result, grades_of, stored, with_cases
from tests.texts import said, terminal

KIND = RunKind(cases=frozenset("ab"), customers=frozenset(), adapter="demo", primary="turn", rubric=("r",))


def other(**more: Any) -> RunKind:
    """A kind that differs in one thing."""
    return KIND.model_copy(update=more)


def a_past(score: float, day: int, reach: float = 0.05, **more: Any) -> PastRun:
    known: dict[str, Any] = {
        "run": f"run-{day:02}", "created": START + timedelta(days=day), "status": "finished",
        "offline": False, "trial": False,
        "model": "m", "kind": KIND,
        "language": "ja", "replay_of": None, "score": score, "interval": (score - reach, score + reach),
        "questions": 0, "red": 1, "turns": 9, "graded": 3, "no_answer": 0, "seconds": 0.0, "cost_usd": None,
        "limited": False, "gate": None, "cases": (), "asked": {},
        "ends": (0.2, 1.0), "release_decision": None,
    }  # fmt: skip
    return PastRun(**(known | more))


def series(scores: Sequence[float], **more: Any) -> list[PastRun]:
    return [a_past(score, day, **more) for day, score in enumerate(scores)]


def shown(found: History) -> str:
    """The history as a terminal shows it, in Japanese."""
    return terminal(history_report(found, "ja"), 120)


def rows(found: History, language: Language) -> list[list[str]]:
    """The table of the runs, newest first."""
    ((table,),) = (section.tables for section in history_report(found, language).sections)
    return [[said(cell.text, language) for cell in row] for row in table.rows]


def test_a_slow_decline_is_flagged() -> None:
    """Each step within chance, all of them together not: the best run is named."""
    found = history(series([0.9, 0.89, 0.87, 0.86, 0.84, 0.82]))

    assert found.fall is not None
    assert (found.fall.earlier, found.fall.later) == ("run-00", "run-05")
    assert "90 █▇▅▅▃▁ 82" in shown(found)
    assert "run-00" in shown(found)
    assert history(series([0.9, 0.86, 0.85])).fall is None
    # Two half widths of .05 leave .0707 to chance.
    assert [history(series([0.9, later])).fall is None for later in (0.83, 0.829)] == [True, False]
    few = [a_past(0.9, 0, interval=None), a_past(0.2, 1)]
    assert history(few).fall is history([few[1], few[0]]).fall is None
    sure = history(series([0.9, 0.8], reach=0.0)).fall
    assert sure
    assert [sure.by, sure.best] == pytest.approx([0.1, 0.9])
    assert history(series([0.8, 0.8], reach=0.0)).fall is None
    # Without commands nothing is said of a command line.
    pages = [terminal(history_report(found, "en", commands=commands), 120) for commands in (True, False)]
    assert ["Compare them: python run.py diff run-00 run-05" in page for page in pages] == [True, False]


def test_of_runs_that_all_differ_the_newest_is_followed() -> None:
    """Alone: there is no line."""
    found = history(
        [a_past(0.9, 0, kind=other(adapter="x")), a_past(0.8, 1), a_past(0.7, 2, kind=other(adapter="y"))]
    )

    assert (found.followed, found.fall) == (("run-02",), None)
    assert history([]).followed == ()
    some = [a_past(0.9, 0), a_past(0.8, 1, limited=True), a_past(0.8, 2, kind=other(adapter="y"))]
    assert history(some).followed == ("run-00", "run-01")


def test_only_runs_like_the_newest_are_followed() -> None:
    """Other cases, another bot or another rubric are shown and left out; so is what is long past."""
    others = [
        a_past(0.1, 1, kind=other(cases=frozenset("x"))), a_past(0.1, 2, kind=other(adapter="other")),
        a_past(0.1, 3, kind=other(rubric=("q",))), a_past(0.1, 4, kind=other(customers=frozenset("c"))),
        a_past(0.1, 5).model_copy(update={"score": None}),
    ]  # fmt: skip
    found = history([*others, *(a_past(0.8, day) for day in range(6, 28))])

    assert len(found.runs) == 27
    assert found.followed == tuple(f"run-{day:02}" for day in range(8, 28))
    assert history_json(found)["comparable"] == 20
    assert [run["comparable"] for run in history_json(found)["runs"]].count(True) == 20


@pytest.mark.parametrize("odd", [
    [a_past(0.2, 6, kind=other(cases=frozenset("xyz")))],
    [a_past(0.2, day, kind=other(cases=frozenset("a")), limited=True) for day in (6, 7)],
])  # fmt: skip
def test_a_try_with_other_questions_leaves_the_history_alone(odd: list[PastRun]) -> None:
    """One with another file, and any number with a limit, are listed and not followed."""
    whole = series([0.9, 0.88, 0.86, 0.84, 0.82])
    found = history([*whole, *odd])

    assert (found.fall, len(found.runs)) == (history(whole).fall, 5 + len(odd))
    assert found.followed == tuple(run.run for run in whole)
    assert [row[-2] for row in rows(found, "ja")][: len(odd)] == ["比較外"] * len(odd)


def test_new_questions_begin_a_new_story_with_their_second_run() -> None:
    """So do runs with a limit where there are no others of which two are alike."""
    new = [a_past(0.5, day, kind=other(cases=frozenset("xyz"))) for day in (6, 7)]
    limited = [run.model_copy(update={"limited": True}) for run in new]

    assert history([*series([0.9] * 5), *new]).followed == ("run-06", "run-07")
    assert history([a_past(0.9, 1), *limited]).followed == ("run-06", "run-07")


def test_a_run_that_broke_off_is_marked_and_no_reference() -> None:
    """The others stay comparable with each other."""
    for day in range(5):
        stored(a_result(grades_of([0.8] * 6), f"{day}-whole", days=day))
    broken_off = a_result(grades_of([0.7] * 6), "6-cut", days=6)
    stored(broken_off.model_copy(update={"run": broken_off.run.model_copy(update={"status": "interrupted"})}))
    found = history(past_runs(Path("runs"))[0])
    notes = {row[-1]: row for row in rows(found, "ja")}

    assert found.followed == tuple(f"{day}-whole" for day in range(5))
    assert notes["6-cut"][-2] == "比較外、途中"
    assert notes["0-whole"][-2] == ""


def test_the_figures_are_those_of_the_report() -> None:
    """By the run's own rules for red, and with a judge's failure."""
    judged = a_result(grades_of([0.8, 0.4] * 3), "1-run", red={"overall": 0.5})
    failed = judged.scores[4].model_copy(update={"state": "failed", "value": None, "raw": None})
    path = stored(judged.model_copy(update={"scores": (*judged.scores[:4], failed, *judged.scores[5:])}))
    results, past = read_run(path), past_run(path)
    summary = figures_of(results, stored_settings(results.run.settings))

    assert (past.score, past.interval) == (summary.scores.score, summary.scores.interval)
    rest = past.without({"asked in another run"})
    assert rest.score == pytest.approx(past.score)
    assert rest.interval == pytest.approx(past.interval)
    assert (past.red, past.turns, past.graded) == (3, 6, 5)
    assert past.kind.primary == summary.scores.primary
    assert past.kind.cases == {case.case for case in summary.scores.cases}
    assert set(past.kind.rubric) == set(summary.scores.judges["turn"].rubrics)


def test_a_question_is_followed_over_the_runs_that_were_graded_as_the_newest() -> None:
    """Whatever else they asked; what was not graded keeps what it had, and what fell most comes first."""

    def a_run(day: int, kind: RunKind = KIND, **scores: float | None) -> PastRun:
        cases = (CaseSummary(case, f"{case}?", score, 1, 1, 0) for case, score in scores.items())
        return a_past(0.5, day, kind=kind, cases=tuple(cases))

    runs = [
        a_run(1, other(rubric=("q",)), a=1.0, b=1.0), a_run(2, a=0.8, b=0.4),
        a_run(3, other(cases=frozenset("abc")), a=0.6, b=0.9, c=1.0), a_run(4, a=None, b=0.8),
    ]  # fmt: skip

    assert [(course.question, course.scores, course.run) for course in question_courses(runs)] == [
        ("a?", (0.8, 0.6), "run-03"), ("b?", (0.4, 0.9, 0.8), "run-04"), ("c?", (1.0,), "run-03")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "fallen", "is_fall", "said_of_it"),
    [
        (
            range(4),
            range(4),
            False,
            "模範回答・期待すること・印が変わった質問4件（case-0、case-1、case-2、case-3）",
        ),
        (range(4), range(4, 12), True, "推移に数えていません"),
        (range(12), range(12), False, "比べられる質問が残っていません"),
    ],
)
def test_a_question_with_another_right_answer_is_no_fall_of_the_bot(
    changed: range, fallen: range, is_fall: bool, said_of_it: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is left out of line and fall and named, and its own course begins anew; the others still count."""
    for day in range(2):
        stored(a_result(grades_of([0.9 + 0.01 * day] * 12), f"{day}-run", days=day))
    later = a_result(grades_of([0.2 if n in fallen else 0.9 for n in range(12)]), "2-run", days=2)
    corrected = {f"case_{n}": {"references": (("いいえ",),)} for n in changed}
    stored(with_cases(later, **corrected))
    assert main(["history"]) == 0
    text = capsys.readouterr().out
    assert main(["history", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)

    assert said_of_it in "".join(text.split())
    assert found["apart"] == [f"case-{n}" for n in changed]
    assert ("点数の推移" in text) is (len(changed) < 12)
    assert (found["fall"] is not None, found["comparable"]) == (is_fall, 3)
    courses = question_courses(past_runs(Path("runs"))[0])
    assert all(len(course.scores) == (1 if course.case in found["apart"] else 3) for course in courses)


def test_the_command_filters_and_prints_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    """By adapter; the page has the picture."""
    for day in range(6):
        stored(a_result(grades_of([0.9 - 0.1 * day] * 8), f"{day}-run", days=day))
    stored(a_result(grades_of({"x": 0.5}), "7-other", days=7, adapter="other"))

    assert main(["history", "--adapter", "demo", "--json", "--html", "page.html"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (len(found["runs"]), found["fall"]["earlier"]) == (6, "0-run")
    page = Path("page.html").read_text(encoding="utf-8")
    assert "0-run" in page
    assert page.count("<circle") == 6
