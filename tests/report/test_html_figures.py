"""The figures of the page: what is red, what stands apart, how low a score can be, what is printed."""

import re

import pytest

from simulator.core.types import RedRules
from simulator.stats.figures import Mean
from tests.report.test_html import painted, rendered
from tests.report.views import render
from tests.sample_pages import full
from tests.sample_runs import large, rehearsed


def map_of(*overall: float, limit: float = 0.7) -> str:
    """The page with the heat map of customers with these means, ten conversations each."""
    results, summary, gate = painted(rehearsed("en"))
    (each, *_), judges = summary.personas, {"turn": summary.judges["turn"]}
    rows = tuple(
        each.model_copy(update={"score": m, "judges": {"turn": Mean(mean=m, n=10, planned=10)}})
        for m in overall
    )
    changes = {"personas": rows, "judges": judges, "rules": RedRules(overall=limit)}
    return render(results, summary.model_copy(update=changes), gate, "en")


@pytest.mark.parametrize(
    ("overall", "named"),
    [((0.56, 0.57, 0.58, 0.59), False), ((0.4, 0.57, 0.58), True), ((0.56,), False), ((0.8, 0.9), False)],
)
def test_no_cell_is_named_that_does_not_stand_apart(overall: tuple[float, ...], named: bool) -> None:
    """The lowest of customers who are alike is lowest by chance, and one alone stands apart from nobody."""
    assert ('<p class="firstline">' in map_of(*overall)) == named


def test_figures_that_read_the_same_are_equally_red() -> None:
    """69.6 of 70 is not shown as 70, nor coloured as if it were."""
    cells = re.findall(r'class="h(\d)(?: first)?"><a [^>]*>([^<]+)<', map_of(0.696, 0.7004, 0.5951, 0.6049))

    # A score and the grade of the judge for each customer.
    assert cells[1:8:2] == [("2", "▲69.6"), ("3", "70"), ("2", "▲60"), ("2", "▲60")]


def test_the_lowest_score_is_marked_where_there_is_one() -> None:
    """Grades of 1 to 5 are divided by 5; shares begin at 0."""
    graded = full("en")
    shares = [s.model_copy(update={"scale": (0, 1)}) for s in graded.scores]
    page, without = (rendered(run, "en") for run in (graded, graded.model_copy(update={"scores": shares})))

    assert "The lowest possible score is 20 (grades 1 to 5, divided by 5)." in page
    assert ">min. 20</text>" in page
    assert "lowest possible score" not in without


def test_passages_have_their_titles_most_often_red_first() -> None:
    """The others are folded; every one can still be linked to."""
    page = rendered(large(30))
    shelf = page[page.index('<h2 id="shelf"') : page.index('<h2 id="technical"')]
    red = [int(n) for n in re.findall(r"要確認 (\d+) ターン", shelf)]

    assert red == sorted(red, reverse=True)
    assert set(re.findall(r'href="#(p\d+)"', page)) <= set(re.findall(r'id="(p\d+)"', shelf))
