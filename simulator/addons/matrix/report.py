"""A matrix in words: titles, the table of each data set and what it says, shared by every view."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import quote

from markupsafe import Markup
from rich.console import Console

from simulator.addons.matrix.figures import CellFigures, DataFigures, JudgeFigures, MatrixFigures, is_best
from simulator.addons.matrix.plan import Cell as Place
from simulator.core.document import Cell, Section, Table, count, escaped, local
from simulator.core.errors import RunFileError
from simulator.core.templates import Texts, read_toml
from simulator.core.translations import Words, plain
from simulator.core.types import PASSED, Language
from simulator.data.files import beside
from simulator.report import html
from simulator.report.comparison import ConsoleLines, signed
from simulator.report.console import paint_sections
from simulator.report.markdown import section_text
from simulator.runner.chains import WHOLE
from simulator.sheets.excel_write import paint
from simulator.sheets.model import Column, Row, SheetCell, Worksheet, text_cell
from simulator.stats.comparison import FEWEST_CASES
from simulator.stats.summary import excerpt

TEXTS = Texts(Path(__file__).with_name("matrix.toml"))
NOTHING = "–"


class MatrixReport:
    """A matrix in one language."""

    def __init__(self, found: MatrixFigures, language: Language | None = None) -> None:
        self.found, self.language = found, language or found.language
        self.words = Words(self.language)

    def say(self, key: str, /, **values: object) -> str:
        """A text of matrix.toml."""
        shown = {name: f"{v:,}" if isinstance(v, int) else str(v) for name, v in values.items()}
        return TEXTS(self.language, key, **shown)

    @property
    def title(self) -> str:
        """What the whole is called."""
        return plain(self.found.title) or self.say("title")

    def headline(self) -> str:
        """How much of it is done."""
        cells = self.found.cells
        return self.say("headline", cells=len(cells), finished=len(cells) - len(self.found.open))

    def total(self) -> str:
        """Money and time of all runs."""
        seconds = sum(cell.seconds for cell in self.found.cells)
        return self.say("total", cost=self.dollars(self.found.cost_usd), seconds=f"{seconds:,.1f}")

    def unfinished(self) -> Iterator[str]:
        """What became of the cells that are not finished, a line each."""
        for each in self.found.open:
            why = {"why": plain(each.error)} if each.state == "failed" else {}
            name = " × ".join(filter(None, (each.cell.data, each.cell.prompt, each.cell.model)))
            yield self.say(f"open_{each.state}", cell=plain(name), **why)

    def judge(self, name: str) -> str:
        """A judge as people call it."""
        return self.say("passed") if name == PASSED else self.words.name("judge", name)

    def name(self, cell: CellFigures) -> str:
        """A cell within its data set: prompt and model, or the data set where neither varies."""
        parts = [part for part in (cell.cell.prompt, cell.cell.model) if part]
        return plain(" × ".join(parts) or cell.cell.data)

    def sections(self) -> tuple[Section, ...]:
        """One for each data set."""
        return tuple(self.section(data, at) for at, data in enumerate(self.found.data, 1))

    def section(self, data: DataFigures, at: int) -> Section:
        """A data set: what it says in one line, and its table."""
        return Section(
            key=f"data-{at}",
            title=plain(data.name),
            line=self.line(data),
            tables=(self.table(data),),
        )

    def line(self, data: DataFigures) -> str:
        """Which cell is best by what decides, or that nobody can tell."""
        leading = next((cell for cell in data.cells if _leads(cell)), None)
        if leading is None or leading.against is None:
            return self.say("line_none")
        against, mean = leading.against, deciding(leading, data)
        named = self.say("f1") if data.by_f1 else self.judge(data.primary)
        told = {"cell": self.name(leading), "judge": named, "mean": figure(mean)}
        if against.verdict == "highest":
            told["open"] = str(against.open)
        if against.verdict == "not_enough":
            told["least"] = str(FEWEST_CASES)
        return self.say(f"line_{against.verdict}", **told)

    def table(self, data: DataFigures) -> Table:
        """The cells of a data set by judges; columns in which nothing stands are left out."""
        titles = [self.say("cell"), *map(self.judge, data.judges)]
        columns = [
            [Cell(text=self.name(cell)) for cell in data.cells],
            *([self.judged(cell, name) for cell in data.cells] for name in data.judges),
        ]
        for key, cells in self._more(data):
            if any(cell.text not in (NOTHING, "") for cell in cells):
                titles.append(self.say(key))
                columns.append(cells)
        rows = tuple(zip(*columns, strict=True))
        return Table(name="matrix", title="", columns=tuple(titles), rows=rows)

    def _more(self, data: DataFigures) -> Iterator[tuple[str, list[Cell]]]:
        cells = data.cells
        if data.by_f1:
            yield "f1", [_labels(cell, "f1", best=data.best) for cell in cells]
            yield "accuracy", [_labels(cell, "accuracy") for cell in cells]
        yield "not_extracted", [_some(cell.not_extracted) for cell in cells]
        yield "silent", [_some(cell.silent) for cell in cells]
        yield "answers_cost", [self._money(cell.answers_usd, told=cell.tokens_in > 0) for cell in cells]
        yield "cost", [self._money(cell.graded_usd, told=bool(cell.run)) for cell in cells]
        yield "seconds", [_seconds(cell.answer_seconds) for cell in cells]
        yield "gate", [Cell(text=self.gate(cell)) for cell in cells]
        yield "against", [Cell(text=self.verdict(cell)) for cell in cells]

    def judged(self, cell: CellFigures, name: str) -> Cell:
        """A mean with its error, how many rows it rests on, and a star where it is best beyond chance."""
        judge = cell.judges.get(name)
        if judge is None or judge.mean is None:
            return Cell(text=NOTHING)
        star = "★ " if is_best(cell, name) else ""
        rests = self.say("of", n=judge.n, planned=judge.planned)
        return Cell(text=f"{star}{mean_text(judge)}", number=judge.mean, note=rests)

    def verdict(self, cell: CellFigures) -> str:
        """How the cell stands to the highest one by what decides, or that it is not finished."""
        if cell.state == "failed":
            return self.say("failed")
        if cell.state != "finished":
            graded = max((judge.n for judge in cell.judges.values()), default=0)
            return self.say(cell.state, **({"n": graded} if cell.state == "begun" else {}))
        against = cell.against
        if against is None or against.verdict == "alone":
            return NOTHING
        if against.verdict in {"worse", "no_difference"}:
            return self.say(against.verdict, by=signed(against.difference))
        return self.say(against.verdict, **({"open": against.open} if against.verdict == "highest" else {}))

    def gate(self, cell: CellFigures) -> str:
        """The gate's verdict of a cell's own run; empty without a target."""
        if cell.passed is None:
            return ""
        key = "incomplete" if cell.incomplete else "passed" if cell.passed else "missed"
        return self.say(f"gate_{key}")

    def notes(self) -> Iterator[str]:
        """How to read the tables."""
        cells = self.found.cells
        yield self.say("note_scale")
        paired = [data for data in self.found.data if sum(c.state == "finished" for c in data.cells) > 1]
        if not all(data.by_f1 for data in paired):
            yield self.say("note_paired")
        held = {
            "note_f1": any(data.by_f1 for data in self.found.data),
            "note_not_extracted": any(cell.not_extracted for cell in cells),
            "note_silent": any(cell.silent for cell in cells),
            "note_offline": any(cell.offline for cell in cells),
        }
        yield from (self.say(key) for key, holds in held.items() if holds)

    def dollars(self, amount: float | None) -> str:
        """Dollars with the digits that small amounts need."""
        if amount is None:
            return self.say("unknown")
        return (
            f"{amount:,.2f}"
            if amount == 0 or amount >= 1
            else f"{amount:.4f}"
            if amount >= 0.01
            else f"{amount:.6f}"
        )

    def _money(self, amount: float | None, *, told: bool) -> Cell:
        """What was paid; nothing where nothing was, and unknown where only the price is."""
        free = amount == 0 or (amount is None and not told)
        return Cell(text=NOTHING) if free else Cell(text=self.dollars(amount), number=amount)


def figure(value: float | None) -> str:
    """A mean (0..1) out of 100, with one decimal."""
    return NOTHING if value is None else f"{100 * value:.1f}"


def mean_text(judge: JudgeFigures) -> str:
    """`82.5 ± 3.1`; without an error where one row has none."""
    return figure(judge.mean) if judge.stderr is None else f"{figure(judge.mean)} ± {figure(judge.stderr)}"


def deciding(cell: CellFigures, data: DataFigures) -> float | None:
    """The figure (0..1) by which the cells of a data set are held against each other."""
    if data.by_f1:
        return cell.labels.f1 if cell.labels else None
    found = cell.judges.get(data.primary)
    return found.mean if found else None


def _leads(cell: CellFigures) -> bool:
    """Whether this is the cell against which the others are held."""
    return cell.against is not None and cell.against.to in {"", cell.cell.key}


def _labels(cell: CellFigures, key: str, best: str = "") -> Cell:
    """With two decimals: models of labels often lie close together."""
    if cell.labels is None:
        return Cell(text=NOTHING)
    value, stderr = getattr(cell.labels, key), getattr(cell.labels, f"{key}_stderr")
    shown = " ± ".join(f"{100 * each:.2f}" for each in (value, stderr) if each is not None)
    return Cell(text=f"★ {shown}" if best == cell.cell.key else shown, number=value)


def _some(n: int) -> Cell:
    return count(n) if n else Cell(text=NOTHING)


def _seconds(value: float | None) -> Cell:
    if value is None:
        return Cell(text=NOTHING)
    return Cell(text=f"{value:.2f}" if value < 10 else f"{value:.1f}", number=value)


CHAIN_WORDS_TEXTS = Texts(Path(__file__).with_name("chain.toml"))


class ToldChain(MatrixReport):
    """The runs of a chain in one language: they stand in one table, and none is held against another."""

    def __init__(self, found: MatrixFigures, language: Language | None = None) -> None:
        """`found` has each of them as a data set of its own."""
        super().__init__(found, language)
        self._deciding = {data.name: _deciding(data) for data in found.data}
        self.found = _one_table(found, self.title)

    def say(self, key: str, /, **values: object) -> str:
        """A text of chain.toml, else of matrix.toml."""
        if key not in _keys():
            return super().say(key, **values)
        shown = {name: f"{v:,}" if isinstance(v, int) else str(v) for name, v in values.items()}
        return CHAIN_WORDS_TEXTS(self.language, key, **shown)

    def name(self, cell: CellFigures) -> str:
        """A link's name; the whole is called so."""
        return self.say("whole") if cell.cell.prompt == WHOLE else super().name(cell)

    def line(self, data: DataFigures) -> str:
        """What the whole comes to, and which link is lowest by itself."""
        graded = [cell for cell in data.cells if self._mean(cell) is not None]
        whole = next((cell for cell in graded if cell.cell.prompt == WHOLE), None)
        links = [cell for cell in graded if cell is not whole]
        lowest = min(links, key=lambda cell: self._mean(cell) or 0.0, default=None)
        told = {"whole": self._told(whole), "link": self._told(lowest)}
        if lowest and len(links) > 1:
            return self.say("line_both" if whole else "line_links", **told)
        return self.say("line_one", **told) if links or whole else self.say("line_none")

    def table(self, data: DataFigures) -> Table:
        """A row for each link and one for the whole: its rows, how many passed, and what its judges gave."""
        columns = {
            "cell": [Cell(text=self.name(cell)) for cell in data.cells],
            "rows": [count(cell.rows) for cell in data.cells],
            "passed": [self.judged(cell, PASSED) for cell in data.cells],
            "judges": [self._judges(cell, data) for cell in data.cells],
            **dict(self._more(data)),
        }
        shown = {key: cells for key, cells in columns.items() if _says_something(cells) and key != "against"}
        titles = tuple(self.say(key) for key in shown)
        return Table(name="chain", title="", columns=titles, rows=tuple(zip(*shown.values(), strict=True)))

    def unfinished(self) -> Iterator[str]:
        """What became of the runs that are not finished, a line each."""
        for each in self.found.open:
            why = {"why": plain(each.error)} if each.state == "failed" else {}
            yield self.say(f"open_{each.state}", cell=self.name(each), **why)

    def notes(self) -> Iterator[str]:
        """How to read the table; nothing in it is compared with anything."""
        paired = self.say("note_paired")
        yield from (note for note in super().notes() if note != paired)

    def _judges(self, cell: CellFigures, data: DataFigures) -> Cell:
        """Each judge of a run with its mean."""
        if cell.error:
            return Cell(text=self.say("failed", why=plain(cell.error)))
        means = {name: cell.judges[name] for name in data.judges if name in cell.judges and name != PASSED}
        shown = [self.say("mean", judge=self.judge(name), mean=mean_text(j)) for name, j in means.items()]
        return Cell(text=self.say("comma").join(shown) or NOTHING)

    def _told(self, cell: CellFigures | None) -> str:
        if cell is None:
            return ""
        judge = self.judge(self._deciding[cell.cell.prompt])
        return self.say("mean_of", name=self.name(cell), judge=judge, mean=figure(self._mean(cell)))

    def _mean(self, cell: CellFigures) -> float | None:
        found: JudgeFigures | None = cell.judges.get(self._deciding[cell.cell.prompt])
        return found.mean if found else None


@cache
def _keys() -> frozenset[str]:
    return frozenset(read_toml(CHAIN_WORDS_TEXTS.path)["ja"])


def _deciding(data: DataFigures) -> str:
    """By what a run is read: the share that passed its thresholds, else the judge that decides."""
    return PASSED if PASSED in data.judges else data.primary


def _one_table(found: MatrixFigures, title: str) -> MatrixFigures:
    """All runs as the cells of one data set, in the order of the chain."""
    judges = tuple(dict.fromkeys(judge for data in found.data for judge in data.judges))
    cells = tuple(
        cell.model_copy(
            update={
                "cell": Place(data=title, prompt=data.name),
                "against": None,
                "judges": {n: j.model_copy(update={"against": None}) for n, j in cell.judges.items()},
            }
        )
        for data in found.data
        for cell in data.cells
    )
    primary = PASSED if PASSED in judges else next((data.primary for data in found.data), "")
    return found.model_copy(
        update={"data": (DataFigures(name=title, judges=judges, primary=primary, cells=cells),)}
    )


def _says_something(cells: list[Cell]) -> bool:
    return any(cell.text not in (NOTHING, "") for cell in cells)


def matrix_console_paint(told: MatrixReport, console: Console, page: str = "") -> None:
    """Prints the comparison; `page` is where it was written as a page."""
    lines = ConsoleLines(console)
    lines.title(f"{told.title}  {told.found.id}")
    lines.line(told.headline(), "bold")
    paint_sections(told.sections(), told.words, console)
    if unfinished := list(told.unfinished()):
        lines.title(told.say("open_title"))
        for text in unfinished:
            lines.item("! ", text, "bold red")
    lines.line("")
    for text in told.notes():
        lines.item("- ", text, "dim", "dim")
    lines.line("")
    lines.line(told.total())
    if page:
        lines.line(told.say("next_open", path=page))


def markdown(told: MatrixReport) -> str:
    """The table of each data set with what it says, and what is not finished."""
    parts = [f"## {escaped(told.title)}", escaped(told.headline()), *map(section_text, told.sections())]
    if unfinished := list(told.unfinished()):
        listed = "\n".join(f"- {escaped(text)}" for text in unfinished)
        parts.append(f"### {escaped(told.say('open_title'))}\n\n{listed}")
    parts.append("\n".join(f"- {escaped(text)}" for text in told.notes()))
    parts += [escaped(told.total()), f"`{told.found.id}`"]
    return "\n\n".join(parts) + "\n"


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
class MatrixRow:
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
    rows: list[MatrixRow]
    picture: Picture | None


def page(told: MatrixReport) -> str:
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


def _block(told: MatrixReport, data: DataFigures, at: int) -> Block:
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


def _line(cell: CellFigures, row: tuple[Cell, ...], data: DataFigures) -> MatrixRow:
    href = f"../{quote(cell.run, safe='')}/report.html" if cell.run else ""
    kind = "failed" if cell.state == "failed" else "best" if data.best == cell.cell.key else ""
    return MatrixRow(name=row[0].text, href=href, cells=row[1:], kind=kind)


def _picture(told: MatrixReport, data: DataFigures) -> Picture | None:
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


def _dot(
    told: MatrixReport, place: int, cell: CellFigures, mean: float, stderr: float | None, *, best: bool
) -> Dot:
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


NAME = "matrix"
_STATES = {"failed": "failed", "begun": "warn", "planned": "warn"}


def matrix_sheet(told: MatrixReport) -> Worksheet:
    """One row per cell of every data set; a row is the same one whenever the matrix is gone on with."""
    judges = tuple(dict.fromkeys(judge for data in told.found.data for judge in data.judges))
    return Worksheet(
        name=NAME,
        title=told.say("sheet"),
        columns=(_key(), *_head(told, data=True), *_judged(told, judges), *_tail(told, told.found.data)),
        rows=tuple(_row(told, data, cell) for data in told.found.data for cell in data.cells),
        frozen_columns=4,
        help=told.say("sheet_help"),
    )


def worksheets(told: MatrixReport) -> tuple[Worksheet, ...]:
    """The workbook: all cells, then every data set with the judges that it has."""
    titles = _titles([data.name for data in told.found.data], told.say("sheet"))
    named = enumerate(zip(told.found.data, titles, strict=True), 1)
    return (matrix_sheet(told), *(_data_sheet(told, at, *each) for at, each in named))


def save(told: MatrixReport, path: Path) -> Path:
    """Writes the workbook, whole or not at all; it is made anew each time: nobody's own words are in it."""
    new = beside(path)
    try:
        os.close(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
        paint(worksheets(told), new, {}, told.language)
        new.replace(path)
    except OSError as error:
        msg = f"{path}: cannot be written ({error.strerror}). Close it where it is open, and try again."
        raise RunFileError(msg) from None
    finally:
        with contextlib.suppress(OSError):
            new.unlink(missing_ok=True)
    return path


def _data_sheet(told: MatrixReport, at: int, data: DataFigures, title: str) -> Worksheet:
    return Worksheet(
        name=f"{NAME}_{at}",
        title=title,
        columns=(_key(), *_head(told), *_judged(told, data.judges), *_tail(told, [data])),
        rows=tuple(_row(told, data, cell) for cell in data.cells),
        frozen_columns=3,
        help=told.say("data_help", data=data.name),
    )


def _titles(names: Sequence[str], taken: str) -> Iterator[str]:
    """Names of tabs that a workbook accepts: short, without its own signs, each only once."""
    known = {taken.casefold(), "history"}
    for name in names:
        stem = "".join("_" if letter in "[]:*?/\\" else letter for letter in name).strip("' ")[:24] or "data"
        number, title = 2, stem
        while title.casefold() in known:
            title, number = f"{stem} {number}", number + 1
        known.add(title.casefold())
        yield title


def _key() -> Column:
    return Column(key="key", title="key", width=8)


def _head(told: MatrixReport, *, data: bool = False) -> Iterator[Column]:
    if data:
        yield Column(key="data", title=told.say("data"), width=16)
    yield Column(key="prompt", title=told.say("prompt"), width=16)
    yield Column(key="model", title=told.say("model"), width=20)
    yield Column(key="state", title=told.say("state"), width=10)
    yield Column(key="against", title=told.say("against"), width=30, wrap=True)


def _judged(told: MatrixReport, judges: Sequence[str]) -> Iterator[Column]:
    for name in judges:
        title = told.judge(name)
        yield Column(key=name, title=title, kind="number", width=12)
        yield Column(key=f"{name}.stderr", title=told.say("stderr", name=title), kind="number", width=10)
        yield Column(key=f"{name}.n", title=told.say("graded", name=title), width=12)


def _tail(told: MatrixReport, shown: Sequence[DataFigures]) -> Iterator[Column]:
    if any(data.by_f1 for data in shown):
        for key in ("f1", "accuracy"):
            yield Column(key=key, title=told.say(key), kind="number", width=10)
            title = told.say("stderr", name=told.say(key))
            yield Column(key=f"{key}_stderr", title=title, kind="number", width=10)
    for key in ("rows", "not_extracted", "silent", "answers_cost", "cost", "seconds", "whole_seconds"):
        yield Column(key=key, title=told.say(key), kind="number", width=12)
    if any(cell.passed is not None for cell in told.found.cells):
        yield Column(key="gate", title=told.say("gate"), width=12)
    yield Column(key="run", title=told.say("run"), width=30)


def _row(told: MatrixReport, data: DataFigures, cell: CellFigures) -> Row:
    key = f"{told.found.id} {cell.cell.key}"
    names = {"data": cell.cell.data, "prompt": cell.cell.prompt, "model": cell.cell.model, "run": cell.run}
    cells = {name: text_cell(text) for name, text in names.items() if text}
    state = told.say(f"state_{cell.state}")
    cells["state"] = text_cell(state, _STATES.get(cell.state, ""), cell.error)  # type: ignore[arg-type]
    verdict = ": ".join(filter(None, (told.verdict(cell), cell.error)))
    cells["against"] = text_cell(verdict, "good" if data.best == cell.cell.key else "")
    if gate := told.gate(cell):
        cells["gate"] = text_cell(gate, "" if cell.passed else "warn")
    return Row(key=key, cells=cells | dict(_matrix_sheets_figures(told, cell)) | dict(_means(told, cell)))


def _means(told: MatrixReport, cell: CellFigures) -> Iterator[tuple[str, SheetCell]]:
    for name, judge in cell.judges.items():
        shown = told.judged(cell, name)
        if judge.mean is not None:
            best = "good" if shown.text.startswith("★") else ""
            yield name, _points(judge.mean, best)
        if judge.stderr is not None:
            yield f"{name}.stderr", _points(judge.stderr)
        yield f"{name}.n", text_cell(told.say("of", n=judge.n, planned=judge.planned))


def _matrix_sheets_figures(told: MatrixReport, cell: CellFigures) -> Iterator[tuple[str, SheetCell]]:
    if cell.labels:
        for key, value in cell.labels.model_dump().items():
            if value is not None:
                yield key, _points(value)
    if not cell.run:
        return
    for key in ("rows", "not_extracted", "silent"):
        yield key, SheetCell(text=f"{getattr(cell, key):,}", number=getattr(cell, key))
    for key, amount in (("answers_cost", cell.answers_usd), ("cost", cell.graded_usd)):
        if amount is not None:
            yield key, SheetCell(text=told.dollars(amount), number=amount)
    for key, seconds in (("seconds", cell.answer_seconds), ("whole_seconds", cell.seconds)):
        if seconds is not None:
            yield key, SheetCell(text=f"{seconds:.2f}", number=round(seconds, 3))


def _points(value: float, mark: str = "") -> SheetCell:
    """Out of 100, with one decimal shown and two kept."""
    return SheetCell(text=figure(value), number=round(100 * value, 2), mark=mark)  # type: ignore[arg-type]
