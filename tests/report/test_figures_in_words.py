"""Figures as people read them: grades, differences, shares, colours and charts."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from simulator.core.document import Chart, Report, Section, Text
from simulator.core.types import Case, Score
from simulator.report.comparison import p_text
from simulator.report.conversations import cut
from simulator.report.painters.charts import bar_lengths, line_chart
from simulator.report.painters.html import shade
from simulator.report.run import run_argument
from simulator.report.tables import (
    expected_at,
    feeling_text,
    figure_cell,
    grade_text,
    signed,
    signed_points,
    with_error,
)
from tests.texts import said, terminal


def graded(raw: float | None, low: float = 1, high: float = 5, state: Any = "scored") -> Score:
    """A grade on a judge's own scale."""
    return Score(
        judge="j", conversation="c", turn=1, state=state, value=raw and 0.5, raw=raw, scale=(low, high)
    )


@pytest.mark.parametrize(("show", "value", "words"), [
    (p_text, None, "–"), (p_text, 0.0009, "< 0.001"), (p_text, 0.001, "= 0.001"), (p_text, 0.0996, "= 0.100"),
    (p_text, 0.1, "= 0.10"), (p_text, 0.3, "= 0.30"),
    (signed, None, "–"), (signed, 12.34, "+12.3"), (signed, -0.5, "−0.5"), (signed, 1, "+1"),
    (signed, -0.04, "0"), (signed, 100, "+100"),
    (signed_points, None, "–"), (signed_points, 0.092, "+9.2"), (signed_points, -0.03, "−3"),
    (signed_points, 0.0, "±0"),
    (with_error, None, "–"), (with_error, 0.95791, "0.9579"),
    (feeling_text, -2.6, "angry"), (feeling_text, -1.4, "discontent"), (feeling_text, 0, "neutral"),
    (feeling_text, 1, "relieved"), (feeling_text, 7, "glad"),
    (shade, None, "none"), (shade, 0.0, "0"), (shade, 0.494, "0"), (shade, 0.5, "1"), (shade, 0.79, "3"),
    (shade, 0.9, "5"), (shade, 1.0, "5"),
    (grade_text, graded(4), "4 / 5"), (grade_text, graded(4.256), "4.3 / 5"),
    (grade_text, graded(0.846, 0, 1), "85 %"), (grade_text, graded(2, 0, 3), "2 / 3"),
    (grade_text, graded(1, -2, 2), "+1"), (grade_text, graded(-1, -2, 2), "−1"),
    (grade_text, graded(None, state="failed"), "not graded"),
    (grade_text, graded(None, state="skipped"), "skipped"),
])  # fmt: skip
def test_a_figure_is_as_short_as_it_may_be(show: Callable[[Any], Text], value: Any, words: str) -> None:
    """With a sign or a unit where it has one, and a dash where it is not known."""
    assert said(show(value)) == words


@pytest.mark.parametrize(("more", "end"), [(0, "x"), (1, "x… (1 more characters are in the run file)")])
def test_a_page_has_six_thousand_characters_of_a_text(more: int, end: str) -> None:
    """And says how many were left out."""
    shown = said(cut("x" * (6000 + more)))

    assert shown.startswith("x" * 6000)
    assert shown[5999:] == end


def test_a_standard_error_stands_beside_its_figure() -> None:
    """The number behind the text is rounded as in --json."""
    cell = figure_cell(0.95791234, 0.0069)

    assert (cell.text, cell.number) == ("0.9579 ± 0.0069", 0.9579)


@pytest.mark.parametrize(("page", "named"), [
    ("", "x-1"), ("runs/x-1/report.html", "x-1"), ("/other/a b/x-1/report.html", "'/other/a b/x-1'"),
])  # fmt: skip
def test_a_command_names_the_run_or_its_folder(page: str, named: str) -> None:
    """Quoted, where it is not in the usual place."""
    assert run_argument(page, "x-1") == named


@pytest.mark.parametrize(("case", "turn", "expected"), [
    ({"references": (("It is 5.",),)}, 1, "Reference answer: It is 5."),
    ({"references": (("It is 5.",),)}, 2, "Reference answer: It is 5."),
    ({"references": (("5.",), ("6.",)), "script": ("And then?",)}, 2, "Reference answer: 6."),
    ({"references": (("It is 5.",),), "script": ("And then?",)}, 2, ""),
    ({"label": "refund", "references": (("It is 5.",),)}, 1, "Reference answer: refund"),
    ({"answerable": False}, 1, "Reference answer: Say that it is not in the material"),
    ({"answerable": False}, 2, ""), ({"answerable": True}, 1, ""), ({}, 1, ""),
])  # fmt: skip
def test_what_was_expected_stands_beside_an_answer(case: dict[str, Any], turn: int, expected: str) -> None:
    """Customers stay after their first question, unless each line of a script asks another one."""
    asked = Case(id="q", question="How much?", language="en", **case)

    assert said(expected_at(asked, turn, 500)) == expected


LINE = Chart(
    "line", "Scores", "", ("a", "b", "c"), (0.5, None, 1.0), ("50", "", "100"), (0.25, None, None),
    (0.75, None, None), ((0.0, "0"), (0.5, "50"), (1.0, "100")),
)  # fmt: skip


def test_a_line_has_a_dot_for_each_value_and_none_where_there_is_none() -> None:
    """On the whole scale, 0 at 166 and 1 at 22 pixels, from 5 to 95 % of the width."""
    chart, whole = line_chart(LINE), line_chart(replace(LINE, values=(0.5, 0.75, 1.0)))

    assert chart["ticks"] == [(166.0, "0"), (94.0, "50"), (22.0, "100")]
    assert [(dot["x"], dot["y"], dot["above"], dot["text"], dot["label"]) for dot in chart["dots"]] == [
        (5.0, 94.0, 83.0, "50", "a"), (95.0, 22.0, 11.0, "100", "c"),
    ]  # fmt: skip
    assert [(dot["low"], dot["high"]) for dot in chart["dots"]] == [(130.0, 58.0), (22.0, 22.0)]
    assert chart["path"] == []
    assert whole["path"] == [(5.0, 94.0, 50.0, 58.0), (50.0, 58.0, 95.0, 22.0)]


def test_bars_are_shares_of_the_longest() -> None:
    """Also where there is nothing to count."""
    assert bar_lengths(Chart.bars("", {"a": 3, "b": 1})) == [100.0, 33.3]
    assert bar_lengths(Chart.bars("", {"a": 0})) == [0.0]
    assert bar_lengths(Chart.bars("", {})) == []


def drawn(*blocks: Any, width: int = 60) -> list[str]:
    """The lines that a terminal shows of a section with these blocks, without blank ones."""
    shown = terminal(Report("", "en", sections=(Section("s", "", blocks),)), width)
    return [line for line in shown.splitlines() if line.strip()]


@pytest.mark.parametrize(("values", "bars"), [
    ((0.56, 0.66, 0.74), "▁▅█"), ((0.7, 0.71, None, 0.7), "▄▅▄"), ((0.7, None), None), ((0.0, 1.0), "▁█"),
])  # fmt: skip
def test_a_terminal_has_a_line_as_a_row_of_bars(values: tuple[float | None, ...], bars: str | None) -> None:
    """Never so narrow that little looks steep; one value is no line."""
    texts = tuple("" if value is None else f"{100 * value:.0f}" for value in values)
    chart = Chart("line", "Score", "", ("x",) * len(values), values, texts)
    first, *_others, last = ["", *filter(None, texts)] if bars is None else filter(None, texts)

    assert drawn(chart) == ([] if bars is None else [f"Score  {first} {bars} {last}"])


def test_a_terminal_has_bars_as_rows_of_marks() -> None:
    """Labels end in one column; the longest bar has twelve marks."""
    assert drawn(Chart.bars("", {"left": 3, "gave up": 1})) == [
        f"   left  {'■' * 12} 3",
        f"gave up  {'■' * 4} 1",
    ]
