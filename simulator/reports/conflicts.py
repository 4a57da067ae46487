"""Questions whose reference contradicts what the bot retrieved: somebody has to fix one of the two."""

from collections.abc import Sequence
from pathlib import Path

from simulator.core.templates import Texts
from simulator.core.translations import plain
from simulator.core.types import Language, Results
from simulator.reports.section import Section
from simulator.reports.table import Cell, Table, count
from simulator.stats.red import Undecided, undecided

TEXT = Texts(Path(__file__).with_suffix(".toml"))
# So many questions are listed; all are in --json.
SHOWN = 20


def section(results: Results, language: Language) -> Section | None:
    """The questions, those with most turns first; None where a judge found none."""
    by_case: dict[str, list[Undecided]] = {}
    for each in undecided(results):
        by_case.setdefault(each.case.id, []).append(each)
    if not by_case:
        return None
    ranked = sorted(by_case.values(), key=lambda turns: -len(turns))
    told = {"cases": f"{len(ranked):,}", "turns": f"{sum(map(len, ranked)):,}"}
    left = len(ranked) - SHOWN
    return Section(
        key="conflicts",
        title=TEXT(language, "title"),
        line=TEXT(language, "line", **told),
        tables=(_table(ranked[:SHOWN], language),),
        notes=(TEXT(language, "more", n=f"{left:,}"),) if left > 0 else (),
        figures={
            "cases": [
                {
                    "case": turns[0].case.id,
                    "reference": turns[0].reference,
                    "passages": turns[0].passages,
                    "retrieved": _articles(turns),
                    "turns": len(turns),
                }
                for turns in ranked
            ]
        },
    )


def _table(ranked: Sequence[Sequence[Undecided]], language: Language) -> Table:
    columns = ("case", "asked", "reference", "passages", "articles", "turns")
    rows = tuple(
        (
            *(Cell(text=plain(text)) for text in (first.case.id, first.case.question, first.reference)),
            *(Cell(text=plain(text)) for text in (first.passages, ", ".join(_articles(turns)))),
            count(len(turns)),
        )
        for turns in ranked
        for first in turns[:1]
    )
    titles = tuple(TEXT(language, column) for column in columns)
    return Table(name="conflicts", title="", columns=titles, rows=rows, counts=len(columns) - 1)


def _articles(turns: Sequence[Undecided]) -> list[str]:
    """The ids of the passages that these turns retrieved."""
    return list(dict.fromkeys(passage.id for each in turns for passage in each.turn.answer.passages))
