"""A matrix as one page: for each data set what is best, its means as a picture, and its table with links."""

from dataclasses import dataclass
from urllib.parse import quote

from markupsafe import Markup

from simulator.core.document import local
from simulator.matrix.figures import CellFigures, DataFigures
from simulator.report import html
from simulator.report.tables import Cell
from simulator.reports.matrix_words import Told, figure
from simulator.stats.summary import excerpt

WIDTH, LEFT = 720, 210
_RIGHT, _TOP, _ROW, _BOTTOM = 64, 8, 26, 24
# As many letters of a cell's name as fit beside the picture.
_LABEL = 26
# Of a normal distribution, for a range of 95 %.
_REACH = 1.96
_STYLE = (
    ".chart.cells { max-width: 46rem; } .chart.cells text { font-size: 12px; }"
    " .chart .reach { stroke: var(--accent); stroke-width: 2; } .chart .best { fill: var(--good); }"
    " figure + .scroll { margin-top: .75rem; } table.cells { font-size: .875rem; }"
    " .cells td, .cells th { padding: .2rem 1.1rem .2rem 0; vertical-align: top; white-space: nowrap; }"
    " .cells td:last-child { white-space: normal; min-width: 14rem; } .cells small { display: block; }"
    " .cells .best { font-weight: 600; color: var(--good); } .cells .failed { color: var(--red-ink); }"
)


@dataclass(frozen=True, slots=True)
class Dot:
    """A cell in the picture: where its mean stands and how far it reaches, in pixels."""

    label: str
    whole: str
    y: float
    x: float
    low: float
    high: float
    text: str
    best: bool


@dataclass(frozen=True, slots=True)
class Picture:
    """The means of a data set, with a text alternative (`told`)."""

    title: str
    told: str
    height: int
    ticks: list[tuple[float, str]]
    dots: list[Dot]


@dataclass(frozen=True, slots=True)
class Line:
    """A row of a table; `href` is its run's own report, empty where there is none."""

    name: str
    href: str
    cells: tuple[Cell, ...]
    kind: str


@dataclass(frozen=True, slots=True)
class Block:
    """A data set on the page."""

    key: str
    title: str
    line: str
    columns: tuple[str, ...]
    rows: list[Line]
    picture: Picture | None


def page(told: Told) -> str:
    """The whole page as one string of HTML; it needs no network and runs no script."""
    style = f"{html.part('report.css')}\n{_STYLE}"
    return html.template("matrix.html.j2").render(
        told=told,
        say=told.say,
        language=told.language,
        began=f"{local(told.found.created):%Y/%m/%d %H:%M}",
        blocks=[_block(told, data, at) for at, data in enumerate(told.found.data, 1)],
        unfinished=list(told.unfinished()),
        notes=list(told.notes()),
        width=WIDTH,
        left=LEFT,
        style=Markup(style),  # noqa: S704 - ours
        policy=html.policy(style, ""),
    )


def _block(told: Told, data: DataFigures, at: int) -> Block:
    section = told.section(data, at)
    (table,) = section.tables
    return Block(
        key=section.key,
        title=section.title,
        line=section.line,
        columns=table.columns,
        rows=[_line(cell, row, data) for cell, row in zip(data.cells, table.rows, strict=True)],
        picture=_picture(told, data),
    )


def _line(cell: CellFigures, row: tuple[Cell, ...], data: DataFigures) -> Line:
    href = f"../{quote(cell.run, safe='')}/report.html" if cell.run else ""
    kind = "failed" if cell.state == "failed" else "best" if data.best == cell.cell.key else ""
    return Line(name=row[0].text, href=href, cells=row[1:], kind=kind)


def _picture(told: Told, data: DataFigures) -> Picture | None:
    """None where fewer than two cells have a mean."""
    known = [(cell, *found) for cell in data.cells if (found := _figures(cell, data))]
    if len(known) < 2:
        return None
    dots = [
        _dot(told, place, cell, mean, stderr, best=data.best == cell.cell.key)
        for place, (cell, mean, stderr) in enumerate(known)
    ]
    judge = told.say("f1") if data.by_f1 else told.judge(data.primary)
    title = told.say("picture", data=data.name, judge=judge)
    points = [told.say("picture_point", cell=dot.whole, mean=dot.text) for dot in dots]
    return Picture(
        title=title,
        told=told.say("picture_told", title=title, cells=told.say("comma").join(points)),
        height=_TOP + _ROW * len(dots) + _BOTTOM,
        ticks=[(_x(mark / 100), str(mark)) for mark in (0, 25, 50, 75, 100)],
        dots=dots,
    )


def _figures(cell: CellFigures, data: DataFigures) -> tuple[float, float | None] | None:
    """The figure by which the data set is read, with its error: F1 of labels, else the deciding mean."""
    if data.by_f1:
        return (cell.labels.f1, cell.labels.f1_stderr) if cell.labels else None
    judge = cell.judges.get(data.primary)
    return None if judge is None or judge.mean is None else (judge.mean, judge.stderr)


def _dot(told: Told, place: int, cell: CellFigures, mean: float, stderr: float | None, *, best: bool) -> Dot:
    name, reach = told.name(cell), _REACH * (stderr or 0.0)
    return Dot(
        label=excerpt(name, _LABEL),
        whole=name,
        y=round(_TOP + _ROW * (place + 0.5), 1),
        x=_x(mean),
        low=_x(max(0.0, mean - reach)),
        high=_x(min(1.0, mean + reach)),
        text=f"{'★ ' if best else ''}{figure(mean)}",
        best=best,
    )


def _x(value: float) -> float:
    """Pixels from the left."""
    return round(LEFT + value * (WIDTH - LEFT - _RIGHT), 1)
