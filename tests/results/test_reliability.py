"""Questions that were asked several times: always, sometimes and never passed, and pass^k."""

from itertools import combinations
from math import isclose
from pathlib import Path
from statistics import fmean
from typing import Any

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.core.document import Notes
from simulator.core.errors import InputError
from simulator.core.settings import Settings
from simulator.core.types import Ended, Results, Score
from simulator.report.gate import reasons
from simulator.report.repeats import reliability_section
from simulator.results.figures import Reliability, Summary, pass_hat
from simulator.results.gate import Gate
from simulator.results.target import check_gate
from tests.commands import Command
from tests.diff_runs import Grades, a_result, measured
from tests.texts import said

GOOD, BAD = [1.0, 0.8], [1.0, 0.4]


@st.composite
def repeats(draw: st.DrawFn) -> list[tuple[int, int]]:
    """Some questions, each with as many finished repeats as the others and some that passed."""
    n = draw(st.integers(1, 7))
    return [(passed, n) for passed in draw(st.lists(st.integers(0, n), min_size=1, max_size=6))]


@given(repeats(), st.data())
def test_pass_k_is_the_share_of_draws_that_all_pass(
    counts: list[tuple[int, int]], data: st.DataObject
) -> None:
    """Of all ways to draw k repeats of a question, counted one by one."""
    k = data.draw(st.integers(1, counts[0][1]))
    for passed, n in counts:
        drawn = [all(place < passed for place in places) for places in combinations(range(n), k)]

        assert isclose(pass_hat(passed, n, k), fmean(drawn))


def asked(
    results: Results | Grades, lost: dict[str, Any] | None = None, target: str = "pass^2 >= .9"
) -> tuple[Summary, Gate]:
    """Figures and gate of a run; `lost` are the endings of some of its conversations."""
    run = results if isinstance(results, Results) else a_result(results, target=target, max_major=1)
    if lost:
        changed = [c.model_copy(update={"ended": lost.get(c.id, c.ended)}) for c in run.conversations]
        run = run.model_copy(update={"conversations": changed})
    return measured(run)


def three_questions(second: list[float] = BAD) -> dict[tuple[str, str, int], list[float]]:
    """Two repeats each: `a` always, `b` sometimes, `c` never."""
    talks = {"a": (GOOD, GOOD), "b": (GOOD, second), "c": (BAD, [0.2])}
    return {(case, "calm", i): grades for case, both in talks.items() for i, grades in enumerate(both, 1)}


def test_a_conversation_passes_when_none_of_its_turns_is_red() -> None:
    """However good the others are."""
    summary, _gate = asked(three_questions())

    assert summary.scores.reliability is not None
    assert summary.scores.reliability.as_json() == {
        "k": 2, "pass": {"1": 0.5, "2": 0.3333}, "always": 1, "sometimes": ["b"], "never": ["c"], "lost": 0,
    }  # fmt: skip


@pytest.mark.parametrize(("of", "shown"), [(50, 50), (51, 50), (0, 0)])
def test_fifty_questions_are_listed(of: int, shown: int) -> None:
    """Those that did not always pass; all are in --json."""
    grades = {**many(0, of), **{("good", "calm", n): GOOD for n in (1, 2)}}
    section = reliability_section(asked(grades)[0])

    assert section
    assert [len(table.rows) for table in section.tables] == ([shown] if of else [])
    assert len(section.figures["sometimes"]) == of


def test_a_question_counts_as_far_as_its_repeats_were_finished() -> None:
    """All three repeats take it into a group, k of them into pass^k; the least reliable comes first."""
    counts = {"a": (2, 3), "b": (1, 3), "c": (3, 3), "d": (0, 3), "e": (1, 2), "f": (0, 0)}

    assert Reliability(k=3, counts=counts, lost=4).as_json() == {
        "k": 3, "pass": {"1": 0.5, "2": 0.2667, "3": 0.25}, "always": 1, "sometimes": ["b", "a"],
        "never": ["d"], "lost": 4,
    }  # fmt: skip
    assert Reliability(k=2, counts={"f": (0, 1)}, lost=1).mean(2) is None


@pytest.mark.parametrize("ended", [None, Ended.USER_FAILED, Ended.BUDGET])
def test_what_was_not_held_to_its_end_counts_as_neither_and_is_told(ended: Ended | None) -> None:
    """The question is in none of the three groups, for nobody knows its second repeat."""
    summary, _gate = asked(three_questions(), {"calm/b#2": ended})
    section = reliability_section(summary)

    assert summary.scores.reliability is not None
    assert (summary.scores.reliability.lost, summary.scores.reliability.sometimes) == (1, [])
    assert summary.scores.reliability.counts["b"] == (1, 1)
    assert section is not None
    last = section.blocks[-1]
    assert isinstance(last, Notes)
    told = " ".join(said(line.text) for line in last.lines)
    assert "so neither: 1" in told


@pytest.mark.parametrize(("red", "counted"), [(False, (1, 1)), (True, (1, 2))])
def test_an_ungraded_turn_hides_whether_it_passed_unless_another_is_red(
    red: bool, counted: tuple[int, int]
) -> None:
    """A conversation with a red turn has not passed, whatever else is missing."""
    run = a_result(three_questions([0.2 if red else 1.0, 1.0]))
    broken = Score(judge="turn", conversation="calm/b#2", turn=2, state="failed", reason="timeout: no reply")
    kept = [s for s in run.scores if (s.conversation, s.turn) != (broken.conversation, broken.turn)]
    summary, _gate = asked(run.model_copy(update={"scores": (*kept, broken)}))

    assert summary.scores.reliability is not None
    assert summary.scores.reliability.counts["b"] == counted


def many(passing: int, of: int, repeats: int = 2) -> Grades:
    """So many questions whose repeats all pass; of the others the last one does not."""
    return {
        (f"q{n}", "calm", i): BAD if n >= passing and i == repeats else GOOD
        for n in range(of)
        for i in range(1, repeats + 1)
    }


@pytest.mark.parametrize(
    ("passing", "of", "target", "confidence", "decision"),
    [
        (9, 10, "pass^2 >= .9", None, "passed"),
        (8, 10, "pass^2 >= .9", None, "missed"),
        (8, 10, "pass^1 >= .9", None, "passed"),
        (4, 4, "pass^2 >= .9", None, "undecided"),
        (10, 10, "pass^2 >= .9", 0.95, "undecided"),
    ],
)
def test_a_target_may_ask_for_repeats_that_all_pass(
    passing: int, of: int, target: str, confidence: float | None, decision: str
) -> None:
    """On five questions at least, like any other share; ten of ten are not yet 90 % for certain."""
    run = a_result(many(passing, of), target=target, max_major=1, confidence=confidence)

    assert asked(run)[1].conditions[0].decision == decision


@pytest.mark.parametrize(
    ("grades", "lost", "reason"),
    [
        (many(10, 10), {}, "Passed 3 times of 3 (pass^3): values missing 10 of 10"),
        (many(10, 10, 3), {"calm/q3#2": Ended.USER_FAILED}, "values missing 1 of 10"),
        (many(10, 10, 1), {}, "values missing 10 of 10"),
    ],
)
def test_too_few_finished_repeats_reach_no_target(grades: Grades, lost: dict[str, Any], reason: str) -> None:
    """And the reason says so."""
    _summary, gate = asked(grades, lost, "pass^3 >= .9")

    assert (gate.decision, gate.passed) == ("undecided", False)
    assert reason in " ".join(map(said, reasons(gate)))


def test_a_target_that_no_run_of_these_settings_can_reach_is_refused() -> None:
    """Before anything is paid, with what to add; a replay has the repeats of the run that it replays."""
    with pytest.raises(InputError, match=r"takes 3 repeats of each question: add --repeats 3"):
        check_gate(Settings(target="pass^3 >= .9", repeats=2), lambda _name: False)
    check_gate(Settings(target="pass^3 >= .9", repeats=3), lambda _name: False)
    check_gate(Settings(target="pass^3 >= .9", replay="latest"), lambda _name: False)


BOT = """
import itertools

asked = itertools.count()

def answer(question):
    if "delivery" in question:
        return "Delivery costs 550 yen.", ["Delivery costs 550 yen."]
    if "open" in question and next(asked) % 2:
        return "We open at 10:00.", ["We open at 10:00."]
    return "Bananas are yellow and cost 12 dollars.", ["We open at 10:00."]
"""
ROWS = """id,question,references
fee,How much is delivery?,Delivery costs 550 yen.
hours,When do you open?,We open at 10:00.
cards,Do you take cards?,"Yes, we take cards."
"""


def test_a_run_with_repeats_tells_what_is_reliable(command: Command) -> None:
    """On the terminal, the page, in the workbook and in `--json`; a missed pass^k is exit code 1."""
    Path("bot.py").write_text(BOT, encoding="utf-8")
    Path("rows.csv").write_text(ROWS, encoding="utf-8")
    done = command(
        "--offline", "--cases", "rows.csv", "--adapter", "bot.py:answer", "--persona", "calm", "--turns", "1",
        "--judges", "turn", "--repeats", "4", "--target", "pass^2 >= .9", "--to", "xlsx", "--json",
    )  # fmt: skip
    folder = Path("runs", done.run.run.id)
    line = "Always passed 1, sometimes 1, never 1 of 3 questions; pass^1 50 %, pass^4 33 %."
    book = openpyxl.load_workbook(folder / "report.xlsx")
    cells = {str(cell.value) for row in book.worksheets[0].iter_rows() for cell in row}

    assert done.code == 1
    found = done.json["reliability"]
    assert (found["always"], found["sometimes"], found["never"]) == (1, ["hours"], ["cards"])
    assert found["pass"] == {"1": 0.5, "2": 0.3889, "3": 0.3333, "4": 0.3333}
    assert any("(pass^2)" in reason for reason in done.json["reasons"])
    assert line in " ".join(done.err.split())
    assert line in (folder / "report.html").read_text(encoding="utf-8")
    assert line in cells
