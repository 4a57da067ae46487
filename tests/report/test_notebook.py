"""What a run shows of itself in a notebook."""

import re
from dataclasses import replace

from simulator.report.notebook import notebook_html
from tests.report.test_worksheets import report_context
from tests.report.views import context_of


def test_the_severity_is_that_of_the_gravest_mark() -> None:
    """Whatever the order of the rules that mark an answer."""
    known = report_context("en")
    red = known.summary.red
    answers = [replace(answer, marks=answer.marks[::-1]) for answer in red.answers]
    summary = known.summary.model_copy(update={"red": red.model_copy(update={"answers": tuple(answers)})})
    page = notebook_html(context_of(known.results, summary, known.gate, "en"))

    assert any(answer.marks[0].severity != answer.marks[-1].severity for answer in answers)
    assert re.findall(r"<th scope=\"row\">(\w+)</th>", page) == [
        *["Serious"] * 5, *["Moderate"] * 3,
    ]  # fmt: skip


def test_ten_answers_are_shown_and_the_others_counted() -> None:
    """With the page that has them; of a run without any it says so."""
    known = report_context("en")
    red = known.summary.red
    pages = []
    for n in (0, 10, 12):
        answers = (red.answers * 2)[:n]
        summary = known.summary.model_copy(update={"red": red.model_copy(update={"answers": answers})})
        context = replace(known, summary=summary, page="runs/x/report.html")
        pages.append(notebook_html(context))
    none, ten, twelve = pages

    assert "No answer needs review." in none
    assert [page.count('<th scope="row">') for page in pages] == [0, 10, 10]
    assert "more in" not in none + ten
    assert "2 more in runs/x/report.html" in twelve
