"""The report of a matrix or chain: words and tables, shown on a terminal, as Markdown, a page and sheets."""

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import quote

from markupsafe import Markup
from rich.console import Console

from simulator.addons.matrix.figures import CellFigures, DataFigures, JudgeFigures, MatrixFigures, is_best
from simulator.addons.matrix.plan import CellId
from simulator.core.document import Cell, Section, Table, count_cell, escape_markdown, local_time
from simulator.core.errors import RunFileError
from simulator.core.messages import _
from simulator.core.templates import Texts, read_toml
from simulator.core.translations import Words, safe_text
from simulator.core.types import PASSED, Language
from simulator.data.files import temporary_path
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
    """The words and tables of a matrix in one language."""

    def __init__(self, figures: MatrixFigures, language: Language | None = None) -> None:
        """`language` is that of most rows unless given."""
        self.figures, self.language = figures, language or figures.language
        self.words = Words(self.language)

    def say(self, key: str, /, **values: object) -> str:
        """A text of matrix.toml, with its numbers formatted."""
        return TEXTS(self.language, key, **_formatted(values))

    @property
    def title(self) -> str:
        """The title of the matrix file, or a general one."""
        return safe_text(self.figures.title) or self.say("title")

    def headline(self) -> str:
        """How many cells are finished."""
        cells = self.figures.cells
        return self.say("headline", cells=len(cells), finished=len(cells) - len(self.figures.open))

    def total(self) -> str:
        """Cost and time of all runs."""
        seconds = sum(cell.seconds for cell in self.figures.cells)
        return self.say("total", cost=self.dollars(self.figures.cost_usd), seconds=f"{seconds:,.1f}")

    def unfinished(self) -> Iterator[str]:
        """A line for each cell that is not finished: its state, and why it failed."""
        for cell in self.figures.open:
            why = {"why": safe_text(cell.error)} if cell.state == "failed" else {}
            yield self.say(f"open_{cell.state}", cell=self.full_name(cell), **why)

    def full_name(self, cell: CellFigures) -> str:
        """Data set, prompt and model of a cell."""
        return safe_text(" × ".join(filter(None, (cell.cell.data, cell.cell.prompt, cell.cell.model))))

    def judge(self, name: str) -> str:
        """The name of a judge for people."""
        return self.say("passed") if name == PASSED else self.words.name("judge", name)

    def name(self, cell: CellFigures) -> str:
        """The name of a cell within its data set: prompt and model, or the data set where neither varies."""
        parts = [part for part in (cell.cell.prompt, cell.cell.model) if part]
        return safe_text(" × ".join(parts) or cell.cell.data)

    def sections(self) -> tuple[Section, ...]:
        """A section for each data set."""
        return tuple(self.section(data, at) for at, data in enumerate(self.figures.data, 1))

    def section(self, data: DataFigures, at: int) -> Section:
        """The section of a data set: its result in one line, and its table."""
        return Section(
            key=f"data-{at}",
            title=safe_text(data.name),
            line=self.line(data),
            tables=(self.table(data),),
        )

    def line(self, data: DataFigures) -> str:
        """Which cell is best by the deciding figure, or that no difference is shown."""
        leading = next((cell for cell in data.cells if _leads(cell)), None)
        if leading is None or leading.against is None:
            return self.say("line_none")
        against, mean = leading.against, deciding(leading, data)
        judge = self.say("f1") if data.by_f1 else self.judge(data.primary)
        values = {"cell": self.name(leading), "judge": judge, "mean": figure(mean)}
        if against.verdict == "highest":
            values["open"] = str(against.open)
        if against.verdict == "not_enough":
            values["least"] = str(FEWEST_CASES)
        return self.say(f"line_{against.verdict}", **values)

    def table(self, data: DataFigures) -> Table:
        """The cells of a data set by judges, without empty columns."""
        titles = [self.say("cell"), *map(self.judge, data.judges)]
        columns = [
            [Cell(text=self.name(cell)) for cell in data.cells],
            *([self.judged(cell, name) for cell in data.cells] for name in data.judges),
        ]
        for key, cells in self._more(data):
            if _has_text(cells):
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
        yield "answers_cost", [self._money(cell.answers_usd, known=cell.tokens_in > 0) for cell in cells]
        yield "cost", [self._money(cell.graded_usd, known=bool(cell.run)) for cell in cells]
        yield "seconds", [_seconds(cell.answer_seconds) for cell in cells]
        yield "gate", [Cell(text=self.gate(cell)) for cell in cells]
        yield "against", [Cell(text=self.verdict(cell)) for cell in cells]

    def judged(self, cell: CellFigures, name: str) -> Cell:
        """The mean of a judge with error and number of rows; a star where it is best beyond chance."""
        judge = cell.judges.get(name)
        if judge is None or judge.mean is None:
            return Cell(text=NOTHING)
        star = "★ " if is_best(cell, name) else ""
        rows = self.say("of", n=judge.n, planned=judge.planned)
        return Cell(text=f"{star}{mean_text(judge)}", number=judge.mean, note=rows)

    def verdict(self, cell: CellFigures) -> str:
        """How the cell compares with the highest one by the deciding figure, or that it is not finished."""
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
        """How to read the tables, a sentence each."""
        cells = self.figures.cells
        yield self.say("note_scale")
        paired = [data for data in self.figures.data if sum(c.state == "finished" for c in data.cells) > 1]
        if not all(data.by_f1 for data in paired):
            yield self.say("note_paired")
        conditions = {
            "note_f1": any(data.by_f1 for data in self.figures.data),
            "note_not_extracted": any(cell.not_extracted for cell in cells),
            "note_silent": any(cell.silent for cell in cells),
            "note_offline": any(cell.offline for cell in cells),
        }
        yield from (self.say(key) for key, holds in conditions.items() if holds)

    def dollars(self, amount: float | None) -> str:
        """Dollars with the digits that small amounts need."""
        if amount is None:
            return self.say("unknown")
        if amount == 0 or amount >= 1:
            return f"{amount:,.2f}"
        return f"{amount:.4f}" if amount >= 0.01 else f"{amount:.6f}"

    def _money(self, amount: float | None, *, known: bool) -> Cell:
        """What was paid; `known` is whether anything was used, whose price may be unknown."""
        free = amount == 0 or (amount is None and not known)
        return Cell(text=NOTHING) if free else Cell(text=self.dollars(amount), number=amount)


def _formatted(values: Mapping[str, object]) -> dict[str, str]:
    return {name: f"{value:,}" if isinstance(value, int) else str(value) for name, value in values.items()}


def figure(value: float | None) -> str:
    """A mean (0..1) out of 100, with one decimal."""
    return NOTHING if value is None else f"{100 * value:.1f}"


def mean_text(judge: JudgeFigures) -> str:
    """`82.5 ± 3.1`; a mean of one row has no error."""
    return figure(judge.mean) if judge.stderr is None else f"{figure(judge.mean)} ± {figure(judge.stderr)}"


def deciding(cell: CellFigures, data: DataFigures) -> float | None:
    """The figure (0..1) by which the cells of a data set are compared: F1, or the deciding judge's mean."""
    if data.by_f1:
        return cell.labels.f1 if cell.labels else None
    judge = cell.judges.get(data.primary)
    return judge.mean if judge else None


def _leads(cell: CellFigures) -> bool:
    """Whether this is the cell with which the others are compared."""
    return cell.against is not None and cell.against.to in {"", cell.cell.key}


def _labels(cell: CellFigures, key: str, best: str = "") -> Cell:
    """With two decimals, because classifiers are often close together."""
    if cell.labels is None:
        return Cell(text=NOTHING)
    value, stderr = getattr(cell.labels, key), getattr(cell.labels, f"{key}_stderr")
    shown = " ± ".join(f"{100 * each:.2f}" for each in (value, stderr) if each is not None)
    return Cell(text=f"★ {shown}" if best == cell.cell.key else shown, number=value)


def _some(n: int) -> Cell:
    return count_cell(n) if n else Cell(text=NOTHING)


def _seconds(value: float | None) -> Cell:
    if value is None:
        return Cell(text=NOTHING)
    return Cell(text=f"{value:.2f}" if value < 10 else f"{value:.1f}", number=value)


CHAIN_TEXTS = Texts(Path(__file__).with_name("chain.toml"))


class ChainReport(MatrixReport):
    """The runs of a chain in one language: one table, in which none is compared with another."""

    def __init__(self, figures: MatrixFigures, language: Language | None = None) -> None:
        """`figures` has each link as a data set of its own."""
        super().__init__(figures, language)
        self._deciding = {data.name: _deciding_judge(data) for data in figures.data}
        self.figures = _one_table(figures, self.title)

    def say(self, key: str, /, **values: object) -> str:
        """A text of chain.toml, else of matrix.toml."""
        if key not in _chain_keys():
            return super().say(key, **values)
        return CHAIN_TEXTS(self.language, key, **_formatted(values))

    def name(self, cell: CellFigures) -> str:
        """The name of a link, or that of the whole."""
        return self.say("whole") if cell.cell.prompt == WHOLE else super().name(cell)

    def full_name(self, cell: CellFigures) -> str:
        """The same: all runs are of one chain."""
        return self.name(cell)

    def line(self, data: DataFigures) -> str:
        """The mean of the whole, and the link with the lowest mean by itself."""
        graded = [cell for cell in data.cells if self._mean(cell) is not None]
        whole = next((cell for cell in graded if cell.cell.prompt == WHOLE), None)
        links = [cell for cell in graded if cell is not whole]
        lowest = min(links, key=lambda cell: self._mean(cell) or 0.0, default=None)
        values = {"whole": self._mean_of(whole), "link": self._mean_of(lowest)}
        if lowest and len(links) > 1:
            return self.say("line_both" if whole else "line_links", **values)
        return self.say("line_one", **values) if links or whole else self.say("line_none")

    def table(self, data: DataFigures) -> Table:
        """A row for each link and one for the whole: rows, share that passed, means of its judges."""
        columns = {
            "cell": [Cell(text=self.name(cell)) for cell in data.cells],
            "rows": [count_cell(cell.rows) for cell in data.cells],
            "passed": [self.judged(cell, PASSED) for cell in data.cells],
            "judges": [self._judges(cell, data) for cell in data.cells],
            **dict(self._more(data)),
        }
        shown = {key: cells for key, cells in columns.items() if _has_text(cells) and key != "against"}
        titles = tuple(self.say(key) for key in shown)
        return Table(name="chain", title="", columns=titles, rows=tuple(zip(*shown.values(), strict=True)))

    def notes(self) -> Iterator[str]:
        """How to read the table, in which nothing is compared."""
        paired = self.say("note_paired")
        yield from (note for note in super().notes() if note != paired)

    def _judges(self, cell: CellFigures, data: DataFigures) -> Cell:
        """The judges of a run, each with its mean."""
        if cell.error:
            return Cell(text=self.say("failed", why=safe_text(cell.error)))
        means = {name: cell.judges[name] for name in data.judges if name in cell.judges and name != PASSED}
        shown = [self.say("mean", judge=self.judge(name), mean=mean_text(j)) for name, j in means.items()]
        return Cell(text=self.say("comma").join(shown) or NOTHING)

    def _mean_of(self, cell: CellFigures | None) -> str:
        if cell is None:
            return ""
        judge = self.judge(self._deciding[cell.cell.prompt])
        return self.say("mean_of", name=self.name(cell), judge=judge, mean=figure(self._mean(cell)))

    def _mean(self, cell: CellFigures) -> float | None:
        judge = cell.judges.get(self._deciding[cell.cell.prompt])
        return judge.mean if judge else None


@cache
def _chain_keys() -> frozenset[str]:
    return frozenset(read_toml(CHAIN_TEXTS.path)["ja"])


def _deciding_judge(data: DataFigures) -> str:
    """The share that passed its thresholds where there is one, else the judge that decides."""
    return PASSED if PASSED in data.judges else data.primary


def _one_table(figures: MatrixFigures, title: str) -> MatrixFigures:
    """All runs as the cells of one data set, in the order of the chain."""
    judges = tuple(dict.fromkeys(judge for data in figures.data for judge in data.judges))
    cells = tuple(
        cell.model_copy(
            update={
                "cell": CellId(data=title, prompt=data.name),
                "against": None,
                "judges": {n: j.model_copy(update={"against": None}) for n, j in cell.judges.items()},
            }
        )
        for data in figures.data
        for cell in data.cells
    )
    primary = PASSED if PASSED in judges else next((data.primary for data in figures.data), "")
    return figures.model_copy(
        update={"data": (DataFigures(name=title, judges=judges, primary=primary, cells=cells),)}
    )


def _has_text(cells: list[Cell]) -> bool:
    return any(cell.text not in (NOTHING, "") for cell in cells)


def print_report(report: MatrixReport, console: Console, page: str = "") -> None:
    """Prints the comparison; `page` is the path of its page, empty for none."""
    lines = ConsoleLines(console)
    lines.title(f"{report.title}  {report.figures.id}")
    lines.line(report.headline(), "bold")
    paint_sections(report.sections(), report.words, console)
    if unfinished := list(report.unfinished()):
        lines.title(report.say("open_title"))
        for text in unfinished:
            lines.item("! ", text, "bold red")
    lines.line("")
    for text in report.notes():
        lines.item("- ", text, "dim", "dim")
    lines.line("")
    lines.line(report.total())
    if page:
        lines.line(report.say("next_open", path=page))


def markdown(report: MatrixReport) -> str:
    """The report as Markdown: the table of each data set with its result, and what is not finished."""
    parts = [
        f"## {escape_markdown(report.title)}",
        escape_markdown(report.headline()),
        *map(section_text, report.sections()),
    ]
    if unfinished := list(report.unfinished()):
        listed = "\n".join(f"- {escape_markdown(text)}" for text in unfinished)
        parts.append(f"### {escape_markdown(report.say('open_title'))}\n\n{listed}")
    parts.append("\n".join(f"- {escape_markdown(text)}" for text in report.notes()))
    parts += [escape_markdown(report.total()), f"`{report.figures.id}`"]
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
    """A cell in the picture: its mean and the ends of its interval, in pixels from the left."""

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
    """The means of a data set, with a text alternative."""

    title: str
    alternative: str
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


def page(report: MatrixReport) -> str:
    """The page as HTML; it needs no network and runs no script."""
    style = f"{html.part('report.css')}\n{_STYLE}"
    return html.template("matrix.html.j2").render(
        matrix=report,
        say=report.say,
        language=report.language,
        began=f"{local_time(report.figures.created):%Y/%m/%d %H:%M}",
        blocks=[_block(report, data, at) for at, data in enumerate(report.figures.data, 1)],
        unfinished=list(report.unfinished()),
        notes=list(report.notes()),
        width=WIDTH,
        left=LEFT,
        style=Markup(style),  # noqa: S704 - ours
        policy=html.policy(style, ""),
    )


def _block(report: MatrixReport, data: DataFigures, at: int) -> Block:
    section = report.section(data, at)
    (table,) = section.tables
    return Block(
        key=section.key,
        title=section.title,
        line=section.line,
        columns=table.columns,
        rows=[_line(cell, row, data) for cell, row in zip(data.cells, table.rows, strict=True)],
        picture=_picture(report, data),
    )


def _line(cell: CellFigures, row: tuple[Cell, ...], data: DataFigures) -> MatrixRow:
    href = f"../{quote(cell.run, safe='')}/report.html" if cell.run else ""
    kind = "failed" if cell.state == "failed" else "best" if data.best == cell.cell.key else ""
    return MatrixRow(name=row[0].text, href=href, cells=row[1:], kind=kind)


def _picture(report: MatrixReport, data: DataFigures) -> Picture | None:
    """None where fewer than two cells have a mean."""
    known = [(cell, *values) for cell in data.cells if (values := _mean_and_error(cell, data))]
    if len(known) < 2:
        return None
    dots = [
        _dot(report, place, cell, mean, stderr, best=data.best == cell.cell.key)
        for place, (cell, mean, stderr) in enumerate(known)
    ]
    judge = report.say("f1") if data.by_f1 else report.judge(data.primary)
    title = report.say("picture", data=data.name, judge=judge)
    points = [report.say("picture_point", cell=dot.whole, mean=dot.text) for dot in dots]
    return Picture(
        title=title,
        alternative=report.say("picture_told", title=title, cells=report.say("comma").join(points)),
        height=_TOP + _ROW * len(dots) + _BOTTOM,
        ticks=[(_x(mark / 100), str(mark)) for mark in (0, 25, 50, 75, 100)],
        dots=dots,
    )


def _mean_and_error(cell: CellFigures, data: DataFigures) -> tuple[float, float | None] | None:
    """The deciding figure of a cell with its error; None where it has none."""
    if data.by_f1:
        return (cell.labels.f1, cell.labels.f1_stderr) if cell.labels else None
    judge = cell.judges.get(data.primary)
    return None if judge is None or judge.mean is None else (judge.mean, judge.stderr)


def _dot(
    report: MatrixReport, place: int, cell: CellFigures, mean: float, stderr: float | None, *, best: bool
) -> Dot:
    name, reach = report.name(cell), _REACH * (stderr or 0.0)
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


def matrix_sheet(report: MatrixReport) -> Worksheet:
    """A worksheet with a row for each cell of every data set; a resumed matrix updates its rows."""
    judges = tuple(dict.fromkeys(judge for data in report.figures.data for judge in data.judges))
    return Worksheet(
        name=NAME,
        title=report.say("sheet"),
        columns=(
            *_first_columns(report, data=True),
            *_judge_columns(report, judges),
            *_last_columns(report, report.figures.data),
        ),
        rows=tuple(_row(report, data, cell) for data in report.figures.data for cell in data.cells),
        frozen_columns=4,
        help=report.say("sheet_help"),
    )


def worksheets(report: MatrixReport) -> tuple[Worksheet, ...]:
    """The workbook: all cells, then each data set with its own judges."""
    titles = _titles([data.name for data in report.figures.data], report.say("sheet"))
    numbered = enumerate(zip(report.figures.data, titles, strict=True), 1)
    return (matrix_sheet(report), *(_data_sheet(report, at, data, title) for at, (data, title) in numbered))


def save(report: MatrixReport, path: Path) -> Path:
    """Writes the workbook, whole or not at all, over an earlier one, in which people have no columns."""
    temporary = temporary_path(path)
    try:
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
        paint(worksheets(report), temporary, {}, report.language)
        temporary.replace(path)
    except OSError as error:
        msg = _(
            "{path}: cannot be written ({strerror}). If it is open, close it and try again.",
            path=path,
            strerror=error.strerror,
        )
        raise RunFileError(msg) from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
    return path


def _data_sheet(report: MatrixReport, at: int, data: DataFigures, title: str) -> Worksheet:
    return Worksheet(
        name=f"{NAME}_{at}",
        title=title,
        columns=(
            *_first_columns(report),
            *_judge_columns(report, data.judges),
            *_last_columns(report, [data]),
        ),
        rows=tuple(_row(report, data, cell) for cell in data.cells),
        frozen_columns=3,
        help=report.say("data_help", data=data.name),
    )


def _titles(names: Sequence[str], first: str) -> Iterator[str]:
    """Titles that a workbook accepts for its worksheets: short, without reserved characters, unique."""
    used = {first.casefold(), "history"}
    for name in names:
        stem = "".join("_" if letter in "[]:*?/\\" else letter for letter in name).strip("' ")[:24] or "data"
        number, title = 2, stem
        while title.casefold() in used:
            title, number = f"{stem} {number}", number + 1
        used.add(title.casefold())
        yield title


def _first_columns(report: MatrixReport, *, data: bool = False) -> Iterator[Column]:
    yield Column(key="key", title="key", width=8)
    if data:
        yield Column(key="data", title=report.say("data"), width=16)
    yield Column(key="prompt", title=report.say("prompt"), width=16)
    yield Column(key="model", title=report.say("model"), width=20)
    yield Column(key="state", title=report.say("state"), width=10)
    yield Column(key="against", title=report.say("against"), width=30, wrap=True)


def _judge_columns(report: MatrixReport, judges: Sequence[str]) -> Iterator[Column]:
    for name in judges:
        title = report.judge(name)
        yield Column(key=name, title=title, kind="number", width=12)
        yield Column(key=f"{name}.stderr", title=report.say("stderr", name=title), kind="number", width=10)
        yield Column(key=f"{name}.n", title=report.say("graded", name=title), width=12)


def _last_columns(report: MatrixReport, shown: Sequence[DataFigures]) -> Iterator[Column]:
    if any(data.by_f1 for data in shown):
        for key in ("f1", "accuracy"):
            yield Column(key=key, title=report.say(key), kind="number", width=10)
            title = report.say("stderr", name=report.say(key))
            yield Column(key=f"{key}_stderr", title=title, kind="number", width=10)
    for key in ("rows", "not_extracted", "silent", "answers_cost", "cost", "seconds", "whole_seconds"):
        yield Column(key=key, title=report.say(key), kind="number", width=12)
    if any(cell.passed is not None for cell in report.figures.cells):
        yield Column(key="gate", title=report.say("gate"), width=12)
    yield Column(key="run", title=report.say("run"), width=30)


def _row(report: MatrixReport, data: DataFigures, cell: CellFigures) -> Row:
    key = f"{report.figures.id} {cell.cell.key}"
    names = {"data": cell.cell.data, "prompt": cell.cell.prompt, "model": cell.cell.model, "run": cell.run}
    cells = {name: text_cell(text) for name, text in names.items() if text}
    state = report.say(f"state_{cell.state}")
    cells["state"] = text_cell(state, _STATES.get(cell.state, ""), cell.error)  # type: ignore[arg-type]
    verdict = ": ".join(filter(None, (report.verdict(cell), cell.error)))
    cells["against"] = text_cell(verdict, "good" if data.best == cell.cell.key else "")
    if gate := report.gate(cell):
        cells["gate"] = text_cell(gate, "" if cell.passed else "warn")
    return Row(key=key, cells=cells | dict(_figure_cells(report, cell)) | dict(_mean_cells(report, cell)))


def _mean_cells(report: MatrixReport, cell: CellFigures) -> Iterator[tuple[str, SheetCell]]:
    for name, judge in cell.judges.items():
        shown = report.judged(cell, name)
        if judge.mean is not None:
            best = "good" if shown.text.startswith("★") else ""
            yield name, _points(judge.mean, best)
        if judge.stderr is not None:
            yield f"{name}.stderr", _points(judge.stderr)
        yield f"{name}.n", text_cell(report.say("of", n=judge.n, planned=judge.planned))


def _figure_cells(report: MatrixReport, cell: CellFigures) -> Iterator[tuple[str, SheetCell]]:
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
            yield key, SheetCell(text=report.dollars(amount), number=amount)
    for key, seconds in (("seconds", cell.answer_seconds), ("whole_seconds", cell.seconds)):
        if seconds is not None:
            yield key, SheetCell(text=f"{seconds:.2f}", number=round(seconds, 3))


def _points(value: float, mark: str = "") -> SheetCell:
    """A value (0..1) out of 100: one decimal in its text, two in its number."""
    return SheetCell(text=figure(value), number=round(100 * value, 2), mark=mark)  # type: ignore[arg-type]
