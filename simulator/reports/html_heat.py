"""The heat map: customers by judges, how far to trust each judge, and the cell to mend first."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from simulator.core.translations import Words, points
from simulator.core.types import Language
from simulator.reports import standing, table
from simulator.reports.html_talks import FEELING, PAGE
from simulator.reports.standing import Standings
from simulator.stats.figures import Mean, Summary

_LEVELS = ("well", "fair", "weak", "doubtful", "few", "not_calibrated")
# A cell is worth mending first only where these judges are low: they are what turns an answer red.
_REDDENING = ("groundedness", "claims", "facts")
# And only where it stands apart from the other customers' mean by as much: the lowest of ten that are
# alike is lowest by chance. Single customers have no interval of their own that could be asked instead.
_APART = 0.05


@dataclass(frozen=True, slots=True)
class Column:
    """The head of a column; `judge` is its number for filters, empty for the score; `trust` in words."""

    title: str
    judge: str = ""
    trust: str = ""
    warned: bool = False


@dataclass(frozen=True, slots=True)
class Square:
    """One mean; `red` when it is below the limit, `first` where most points are lost.

    Without `graded` it says how customers felt, which is no grade of the bot and has no colour.
    """

    text: str
    value: float | None
    note: str
    red: bool
    first: bool
    judge: str
    graded: bool


@dataclass(frozen=True, slots=True)
class Row:
    """One customer (`persona` is its number for filters), or all of them."""

    title: str
    conversations: int | None
    persona: str
    red: str
    squares: list[Square]


@dataclass(frozen=True, slots=True)
class Heat:
    """The whole map; `first` names the cell to mend first, empty when none is low."""

    columns: list[Column]
    rows: list[Row]
    first: str
    first_persona: str
    first_judge: str


def heat_map(summary: Summary, known: Standings, judges: Sequence[str], words: Words) -> Heat:
    """The map of a run; `judges` are all of them in the order in which filters count them."""
    first, language = _first(summary), words.language
    numbers = {name: str(judges.index(name)) for name in summary.judges}
    columns = [Column(words("score"))]
    columns += [_column(name, numbers[name], known, words) for name in summary.judges]
    rows = list(_rows(summary, first, numbers, language))
    if first is None:
        return Heat(columns, rows, "", "", "")
    place, judge, mean = first
    told = {"persona": words.name("persona", summary.personas[place].persona), "n": f"{mean.n:,}"}
    told["value"] = points(mean.mean, against=summary.rules.overall)
    line = PAGE(language, "first_line", judge=words.name("judge", judge), **told)
    return Heat(columns, rows, line, str(place + 1), numbers[judge])


def _first(summary: Summary) -> tuple[int, str, Mean] | None:
    """Persona, judge and mean of the cell that loses most points, of those that are low and stand apart."""
    limit = summary.rules.overall
    deciding = [name for name in (summary.primary, *_REDDENING) if name in summary.judges]
    cells = [
        (place, judge, persona.judges[judge])
        for place, persona in enumerate(summary.personas)
        for judge in deciding
    ]
    low = [c for c in cells if limit is not None and c[2].mean is not None and c[2].mean < limit]
    apart = [cell for cell in low if _apart(cell, cells)]
    return max(apart, key=lambda cell: _lost(cell[2]), default=None)


def _apart(cell: tuple[int, str, Mean], cells: Sequence[tuple[int, str, Mean]]) -> bool:
    """Whether a mean is well below that of all other customers together; one customer alone is not."""
    place, judge, mean = cell
    others = [each for at, name, each in cells if name == judge and at != place and each.n]
    graded = sum(each.n for each in others)
    if mean.mean is None or not graded:
        return False
    together = sum((each.mean or 0.0) * each.n for each in others) / graded
    return together - mean.mean >= _APART - 1e-9


def _lost(mean: Mean) -> float:
    """How far all graded turns together are from full marks."""
    return (1 - (mean.mean or 0.0)) * mean.n


def _column(name: str, number: str, known: Standings, words: Words) -> Column:
    trust, warned = "", False
    if known.judges:
        each = known.judges.get(name)
        key = "rule" if each is None else _level(each.level, words.language)
        trust = PAGE(words.language, f"trust_{key}") if key else each.level if each else ""
        warned = bool(each and each.warnings)
    return Column(words.name("judge", name), number, trust, warned)


def _level(text: str, language: Language) -> str:
    """The level that a text of a standing stands for; empty when it is none of ours."""
    return next((key for key in _LEVELS if standing.TEXTS(language, key) == text), "")


def _rows(
    summary: Summary, first: tuple[int, str, Mean] | None, numbers: dict[str, str], language: Language
) -> Iterator[Row]:
    judges = ["", *summary.judges]
    for place, cells in enumerate(table.personas_table(summary, language).rows):
        name, score, red, *rest = cells
        persona = str(place + 1) if place < len(summary.personas) else ""
        squares = [
            Square(
                text=cell.text,
                value=cell.number,
                note=cell.note,
                red=cell.red,
                first=first is not None and (place, judge) == first[:2],
                judge=numbers.get(judge, ""),
                graded=judge.partition("@")[0] != FEELING,
            )
            for judge, cell in zip(judges, (score, *rest), strict=True)
        ]
        yield Row(name.text, None if name.number is None else int(name.number), persona, red.text, squares)
