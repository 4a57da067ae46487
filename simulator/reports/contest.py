"""Contest scoring for reports: the metrics with their total, and what each of them cost."""

from collections.abc import Sequence
from pathlib import Path

from simulator.core.settings import dollars
from simulator.core.templates import Texts
from simulator.core.translations import plain
from simulator.core.types import Language, Results, Spending
from simulator.grading.panel import RequestedMetrics, contest, is_contest
from simulator.models.pricing import together
from simulator.reports.section import Section
from simulator.reports.table import Cell, Table, count

TEXT = Texts(Path(__file__).with_suffix(".toml"))


def section(results: Results, language: Language) -> Section | None:
    """The contest's result; None in a run that was not scored so."""
    if not is_contest(results):
        return None
    found = contest(results)
    total = found.total_score
    shown = "–" if total is None else f"{total:.3f}"
    graded = [each for each in found.metrics if each.mean is not None]
    notes = [] if found.cost else [TEXT(language, "no_cost")]
    if any("," in name for name in found.cost):
        notes.append(TEXT(language, "combined"))
    return Section(
        key="contest",
        title=TEXT(language, "title"),
        line=TEXT(language, "line", total=shown, of=str(5 * len(graded))),
        tables=(_metrics(found, language), *([_cost(found, language)] if found.cost else [])),
        notes=tuple(notes),
        figures=found.as_json(),
    )


def _metrics(found: RequestedMetrics, language: Language) -> Table:
    rows = [
        (
            Cell(text=each.name),
            Cell(text="–" if each.mean is None else f"{round(each.mean, 4):g}", number=each.mean),
            count(each.n),
            count(each.planned),
        )
        for each in found.metrics
    ]
    return _table("metrics", ("metric", "mean", "graded", "rows"), rows, language)


def _cost(found: RequestedMetrics, language: Language) -> Table:
    whole = {TEXT(language, "all"): together(list(found.cost.values()))} if len(found.cost) > 1 else {}
    rows = [_spent(name, each, language) for name, each in (found.cost | whole).items()]
    return _table("cost", ("metric", "usd", "calls", "cached", "tokens_in", "tokens_out"), rows, language)


def _spent(name: str, spent: Spending, language: Language) -> tuple[Cell, ...]:
    usd = spent.cost_usd
    figure = Cell(text=TEXT(language, "unknown") if usd is None else dollars(usd), number=usd)
    counts = (spent.calls, spent.cached, spent.tokens_in, spent.tokens_out)
    return Cell(text=plain(name)), figure, *map(count, counts)


def _table(
    name: str, columns: tuple[str, ...], rows: Sequence[tuple[Cell, ...]], language: Language
) -> Table:
    titles = tuple(TEXT(language, f"column_{column}") for column in columns)
    return Table(name=name, title=TEXT(language, name), columns=titles, rows=tuple(rows))
