"""The figures of the page: what is red, what stands apart, how low a score can be, what is printed."""

import re

import pytest

from simulator.core.types import RedRules
from simulator.stats.figures import Mean
from tests.report.test_html import painted, rendered
from tests.report.views import render
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


def test_passages_have_their_titles_most_often_red_first() -> None:
    """The others are folded; every one can still be linked to."""
    page = rendered(large(30))
    shelf = page[page.index('<h2 id="shelf"') : page.index('<h2 id="technical"')]
    red = [int(n) for n in re.findall(r"要確認 (\d+) ターン", shelf)]

    assert red == sorted(red, reverse=True)
    assert set(re.findall(r'href="#(p\d+)"', page)) <= set(re.findall(r'id="(p\d+)"', shelf))
