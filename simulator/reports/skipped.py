"""The rows of a data set that were left out, for reports: how many, which, and why."""

from pathlib import Path

from simulator.core.templates import Texts
from simulator.core.translations import plain, told_in
from simulator.core.types import Language, Results
from simulator.data.datasets import SkippedRows
from simulator.reports.section import Section
from simulator.reports.table import Cell, Table, count

TEXT = Texts(Path(__file__).with_suffix(".toml"))
# So many reasons are listed; the rows are in the run file and in --json.
SHOWN = 20
# Of one reason, so many places.
PLACES = 4


def section(results: Results, language: Language) -> Section | None:
    """What was left out; None where every row was asked."""
    skipped = SkippedRows.of(results.notes)
    if not skipped.count:
        return None
    first = plain(told_in(language, str(skipped.listed[0])))
    told = {"rows": f"{skipped.rows:,}", "count": f"{skipped.count:,}", "first": first}
    left = skipped.count - len(skipped.listed)
    more = (TEXT(language, "more", n=f"{left:,}"),) if left > 0 else ()
    return Section(
        key="rows_skipped",
        title=TEXT(language, "title"),
        line=TEXT(language, "line", **told),
        tables=(_table(skipped, language),),
        notes=(*more, TEXT(language, "counted")),
        figures=skipped.as_json(),
    )


def _table(skipped: SkippedRows, language: Language) -> Table:
    """What is wrong, with how many rows, and where these stand."""
    found: dict[str, list[str]] = {}
    for row in skipped.listed:
        found.setdefault(row.why, []).append(row.place)
    rows = tuple(
        (Cell(text=plain(told_in(language, why))), count(len(places)), Cell(text=_places(places, language)))
        for why, places in list(found.items())[:SHOWN]
    )
    columns = tuple(TEXT(language, key) for key in ("why", "rows", "where"))
    return Table(name="rows_skipped", title="", columns=columns, rows=rows)


def _places(places: list[str], language: Language) -> str:
    told = [told_in(language, place) for place in places[:PLACES]]
    return TEXT(language, "comma").join(told) + (" …" if len(places) > PLACES else "")
