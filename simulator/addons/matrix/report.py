"""The report of a matrix or chain, and its worksheets."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from simulator.addons.matrix.figures import (
    CellFigures,
    DataFigures,
    JudgeFigures,
    MatrixFigures,
    deciding,
    is_best,
)
from simulator.addons.matrix.plan import CellId
from simulator.addons.matrix.record import State
from simulator.core.document import (
    TERMINAL,
    Block,
    Cell,
    Chart,
    Line,
    Notes,
    Report,
    Section,
    Series,
    Table,
    Tone,
    count_cell,
    local_time,
)
from simulator.core.templates import Texts, read_toml
from simulator.core.translations import Words
from simulator.core.types import PASSED, Language
from simulator.report.comparison import signed
from simulator.runner.chains import WHOLE
from simulator.sheets.model import Column, Mark, Row, SheetCell, Worksheet, text_cell
from simulator.stats.comparison import FEWEST_CASES

TEXTS = Texts(Path(__file__).with_name("matrix.toml"))
CHAIN_TEXTS = Texts(Path(__file__).with_name("chain.toml"))
NOTHING = "–"
_MARKS = (0, 0.25, 0.5, 0.75, 1)
# The marks of cells that are not finished, on a worksheet.
_STATES: dict[State, Mark] = {"failed": "failed", "begun": "warn", "planned": "warn"}


def views(figures: MatrixFigures, language: Language | None = None) -> "MatrixViews":
    """The report and worksheets of a matrix or chain, in the language of most rows unless given."""
    return (ChainViews if figures.chain else MatrixViews)(figures, language)


class _Field(NamedTuple):
    """A column of a worksheet, and what a cell of the matrix has in it."""

    column: Column
    cell_of: Callable[[CellFigures], SheetCell]


class MatrixViews:
    """The report and worksheets of a matrix in one language."""

    def __init__(self, figures: MatrixFigures, language: Language | None = None) -> None:
        """`language` is that of most rows unless given."""
        self.figures, self.language = figures, language or figures.language
        self.words = Words(self.language)

    def say(self, key: str, /, **values: object) -> str:
        """A text of matrix.toml."""
        return TEXTS(self.language, key, **values)

    @property
    def title(self) -> str:
        """The title of the matrix file, or a general one."""
        return self.figures.title or self.say("title")

    def report(self, page: str = "") -> Report:
        """A section for each data set: its result, a picture, its table; `page` is where it is a page."""
        cells, unfinished = self.figures.cells, tuple(self._unfinished())
        seconds = sum(cell.seconds for cell in cells)
        total = self.say("total", cost=self._dollars(self.figures.cost_usd), seconds=f"{seconds:,.1f}")
        headline = self.say("headline", cells=len(cells), finished=len(cells) - len(self.figures.open))
        reading = (Notes(tuple(Line(note, "soft") for note in self._notes())), Line(total))
        next_page = (Line(self.say("next_open", path=page)),) if page else ()
        return Report(
            title=self.title,
            language=self.language,
            about=f"{self.figures.id} · {local_time(self.figures.created):%Y/%m/%d %H:%M}",
            lead=(Line(headline, "strong"), *((Notes(unfinished),) if unfinished else ())),
            sections=(
                *(self._section(data, at) for at, data in enumerate(self.figures.data, 1)),
                Section("reading", self.say("reading"), reading),
                Section("page", "", next_page, views=TERMINAL),
            ),
        )

    def _unfinished(self) -> Iterator[Line]:
        """A line for each cell that is not finished: its state, and why it failed."""
        for cell in self.figures.open:
            name = self.full_name(cell)
            if cell.state == "failed":
                yield Line(self.say("open_failed", cell=name, why=cell.error), "alarm")
            else:
                key = "open_begun" if cell.state == "begun" else "open_planned"
                yield Line(self.say(key, cell=name), "alarm")

    def full_name(self, cell: CellFigures) -> str:
        """Data set, prompt and model of a cell."""
        return " × ".join(filter(None, (cell.cell.data, cell.cell.prompt, cell.cell.model)))

    def judge(self, name: str) -> str:
        """The name of a judge for people."""
        return self.say("passed") if name == PASSED else self.words.name("judge", name)

    def name(self, cell: CellFigures) -> str:
        """The name of a cell within its data set: prompt and model, or the data set where neither varies."""
        return " × ".join(filter(None, (cell.cell.prompt, cell.cell.model))) or cell.cell.data

    def _section(self, data: DataFigures, at: int) -> Section:
        blocks: list[Block] = [Line(self.line(data), "strong"), self.table(data)]
        if chart := self._chart(data):
            blocks.insert(1, chart)
        return Section(f"data-{at}", data.name, tuple(blocks))

    def _primary(self, data: DataFigures) -> str:
        """What the deciding figure is called."""
        return self.say("f1") if data.by_f1 else self.judge(data.primary)

    def line(self, data: DataFigures) -> str:
        """Which cell is best by the deciding figure, or that no difference is shown."""
        leading = next((cell for cell in data.cells if _leads(cell)), None)
        if leading is None or leading.against is None:
            return self.say("line_none")
        mean, say = deciding(leading, data), self.say
        values = {
            "cell": self.name(leading),
            "judge": self._primary(data),
            "mean": figure(mean and mean.mean),
        }
        return {
            "best": say("line_best", **values),
            "highest": say("line_highest", **values, open=leading.against.open),
            "equal": say("line_equal", **values),
            "not_enough": say("line_not_enough", **values, least=FEWEST_CASES),
            "not_comparable": say("line_not_comparable", **values),
        }.get(leading.against.verdict, say("line_alone", **values))

    def table(self, data: DataFigures) -> Table:
        """The cells of a data set by judges, without empty columns."""
        columns = {
            self.judge(name): [self._judged(cell, name) for cell in data.cells] for name in data.judges
        }
        return self._table(data, columns | dict(self._more(data)))

    def _table(self, data: DataFigures, columns: dict[str, list[Cell]]) -> Table:
        """The columns behind the names of the cells, which lead to the pages of their runs."""
        names = [self._name_cell(cell, data) for cell in data.cells]
        words = [at for at, title in enumerate(columns, 1) if title in self._wordy()]
        return Table(
            name="matrix",
            title="",
            columns=(self.say("cell"), *columns),
            rows=tuple(zip(names, *columns.values(), strict=True)),
            words=frozenset(words),
        )

    def _wordy(self) -> tuple[str, ...]:
        """The titles of columns that hold words."""
        return self.say("gate"), self.say("against")

    def _name_cell(self, cell: CellFigures, data: DataFigures) -> Cell:
        href = f"../{quote(cell.run, safe='')}/report.html" if cell.run else ""
        return Cell(text=self.name(cell), href=href, tone=_tone(cell, data))

    def _more(self, data: DataFigures) -> Iterator[tuple[str, list[Cell]]]:
        """Titles and cells of the columns that are not judges, where they hold something."""
        cells = data.cells
        columns: dict[str, list[Cell]] = {}
        if data.by_f1:
            columns[self.say("f1")] = [_labels(cell, "f1", best=data.best) for cell in cells]
            columns[self.say("accuracy")] = [_labels(cell, "accuracy") for cell in cells]
        columns[self.say("not_extracted")] = [_some(cell.not_extracted) for cell in cells]
        columns[self.say("silent")] = [_some(cell.silent) for cell in cells]
        columns[self.say("answers_cost")] = [
            self._money(cell.answers_usd, known=cell.tokens_in > 0) for cell in cells
        ]
        columns[self.say("cost")] = [self._money(cell.graded_usd, known=bool(cell.run)) for cell in cells]
        columns[self.say("seconds")] = [_seconds(cell.answer_seconds) for cell in cells]
        columns[self.say("gate")] = [Cell(text=self._gate(cell)) for cell in cells]
        columns[self.say("against")] = [
            Cell(text=self._verdict(cell), tone=_tone(cell, data)) for cell in cells
        ]
        yield from ((title, listed) for title, listed in columns.items() if _has_text(listed))

    def _judged(self, cell: CellFigures, name: str) -> Cell:
        """The mean of a judge with error and number of rows; a star where it is best beyond chance."""
        judge = cell.judges.get(name)
        if judge is None or judge.mean is None:
            return Cell(text=NOTHING)
        star = "★ " if is_best(cell, name) else ""
        return Cell(text=f"{star}{mean_text(judge)}", number=judge.mean, note=self._rows(judge))

    def _rows(self, judge: JudgeFigures) -> str:
        return self.say("of", n=judge.n, planned=judge.planned)

    def _verdict(self, cell: CellFigures) -> str:
        """How the cell compares with the highest one by the deciding figure, or that it is not finished."""
        if cell.state != "finished":
            graded = max((judge.n for judge in cell.judges.values()), default=0)
            return self.say(cell.state, n=graded)
        against = cell.against
        if against is None or against.verdict == "alone":
            return NOTHING
        return self.say(against.verdict, by=signed(against.difference or 0.0), open=against.open)

    def _gate(self, cell: CellFigures) -> str:
        """The gate's verdict of a cell's own run; empty without a target."""
        if cell.passed is None:
            return ""
        if cell.incomplete:
            return self.say("gate_incomplete")
        return self.say("gate_passed") if cell.passed else self.say("gate_missed")

    def _notes(self) -> Iterator[str]:
        """How to read the tables, a sentence each."""
        cells, data_sets = self.figures.cells, self.figures.data
        yield self.say("note_scale")
        paired = [data for data in data_sets if sum(c.state == "finished" for c in data.cells) > 1]
        if not self.figures.chain and not all(data.by_f1 for data in paired):
            yield self.say("note_paired")
        if any(data.by_f1 for data in data_sets):
            yield self.say("note_f1")
        if any(cell.not_extracted for cell in cells):
            yield self.say("note_not_extracted")
        if any(cell.silent for cell in cells):
            yield self.say("note_silent")
        if any(cell.offline for cell in cells):
            yield self.say("note_offline")

    def _chart(self, data: DataFigures) -> Chart | None:
        """The deciding figures with their intervals; None where fewer than two cells have one."""
        known = [(cell, mean) for cell in data.cells if (mean := deciding(cell, data))]
        if len(known) < 2:
            return None
        best = ["★" if data.best == cell.cell.key else "" for cell, _ in known]
        labels = tuple(self.name(cell) for cell, _ in known)
        texts = tuple(
            " ".join(filter(None, (star, figure(mean.mean))))
            for star, (_, mean) in zip(best, known, strict=True)
        )
        title = self.say("picture", data=data.name, judge=self._primary(data))
        points = (
            self.say("picture_point", cell=name, mean=text) for name, text in zip(labels, texts, strict=True)
        )
        low, high = tuple(mean.low for _, mean in known), tuple(mean.high for _, mean in known)
        means = tuple(mean.mean for _, mean in known)
        return Chart(
            kind="ranges",
            title=title,
            description=self.say("picture_told", title=title, cells=self.say("comma").join(points)),
            labels=labels,
            series=(Series("", means, texts, low, high, tuple(best)),),
            marks=tuple((mark, f"{100 * mark:g}") for mark in _MARKS),
            note=self.say("picture_note"),
        )

    def _dollars(self, amount: float | None) -> str:
        """Dollars with the digits that small amounts need."""
        if amount is None:
            return self.say("unknown")
        if amount == 0 or amount >= 1:
            return f"{amount:,.2f}"
        return f"{amount:.4f}" if amount >= 0.01 else f"{amount:.6f}"

    def _money(self, amount: float | None, *, known: bool) -> Cell:
        """What was paid; `known` is whether anything was used, whose price may be unknown."""
        free = amount == 0 or (amount is None and not known)
        return Cell(text=NOTHING) if free else Cell(text=self._dollars(amount), number=amount)

    def worksheet(self) -> Worksheet:
        """A row for each cell of every data set; a resumed matrix updates its rows."""
        return self._worksheet("matrix", self.say("sheet"), self.say("sheet_help"), self.figures.data)

    def worksheets(self) -> tuple[Worksheet, ...]:
        """The workbook: all cells, then each data set with its own judges."""
        first, data_sets = self.worksheet(), self.figures.data
        titles = _sheet_titles([data.name for data in data_sets], first.title)
        return (
            first,
            *(
                self._worksheet(f"matrix_{at}", title, self.say("data_help", data=data.name), [data])
                for at, (data, title) in enumerate(zip(data_sets, titles, strict=True), 1)
            ),
        )

    def _worksheet(self, name: str, title: str, about: str, data_sets: Sequence[DataFigures]) -> Worksheet:
        fields = list(self._fields(data_sets))
        best = {data.best for data in data_sets}
        rows = []
        for cell in (cell for data in data_sets for cell in data.cells):
            cells = {field.column.key: field.cell_of(cell) for field in fields}
            if cell.cell.key in best:
                cells["against"] = text_cell(cells["against"].text, "good")
            filled = {key: shown for key, shown in cells.items() if shown.text}
            rows.append(Row(key=f"{self.figures.id} {cell.cell.key}", cells=filled))
        return Worksheet(
            name=name,
            title=title,
            columns=(Column(key="key", title="key", width=8), *(field.column for field in fields)),
            rows=tuple(rows),
            frozen_columns=4,
            help=about,
        )

    def _fields(self, data_sets: Sequence[DataFigures]) -> Iterator[_Field]:
        """The columns of a worksheet, with what stands in them."""
        yield _texts("data", self.say("data"), 16, lambda cell: cell.cell.data)
        yield _texts("prompt", self.say("prompt"), 16, lambda cell: cell.cell.prompt)
        yield _texts("model", self.say("model"), 20, lambda cell: cell.cell.model)
        yield _Field(Column(key="state", title=self.say("state"), width=10), self._state)
        against = Column(key="against", title=self.say("against"), width=30, wrap=True)
        yield _Field(
            against, lambda cell: text_cell(": ".join(filter(None, (self._verdict(cell), cell.error))))
        )
        for judge in dict.fromkeys(judge for data in data_sets for judge in data.judges):
            yield from self._judge_fields(judge)
        if any(data.by_f1 for data in data_sets):
            for key in ("f1", "accuracy"):
                title = self.say(key)
                yield _numbers(key, title, partial(_label_points, key))
                error = self.say("stderr", name=title)
                yield _numbers(f"{key}_stderr", error, partial(_label_points, f"{key}_stderr"))
        for key in ("rows", "not_extracted", "silent"):
            yield _numbers(key, self.say(key), partial(_run_count, key))
        yield _numbers(
            "answers_cost", self.say("answers_cost"), lambda cell: self._paid(cell.answers_usd, cell)
        )
        yield _numbers("cost", self.say("cost"), lambda cell: self._paid(cell.graded_usd, cell))
        yield _numbers("seconds", self.say("seconds"), lambda cell: _duration(cell.answer_seconds, cell))
        yield _numbers("whole_seconds", self.say("whole_seconds"), lambda cell: _duration(cell.seconds, cell))
        if any(cell.passed is not None for cell in self.figures.cells):
            gate = Column(key="gate", title=self.say("gate"), width=12)
            yield _Field(gate, lambda cell: text_cell(self._gate(cell), "" if cell.passed else "warn"))
        yield _texts("run", self.say("run"), 30, lambda cell: cell.run)

    def _judge_fields(self, name: str) -> Iterator[_Field]:
        """Mean, error and number of rows of a judge."""

        def mean(cell: CellFigures) -> SheetCell:
            judge = cell.judges.get(name)
            return _points(judge.mean if judge else None, "good" if is_best(cell, name) else "")

        def error(cell: CellFigures) -> SheetCell:
            judge = cell.judges.get(name)
            return _points(judge.stderr if judge else None)

        def graded(cell: CellFigures) -> str:
            judge = cell.judges.get(name)
            return self._rows(judge) if judge else ""

        title = self.judge(name)
        yield _numbers(name, title, mean)
        yield _numbers(f"{name}.stderr", self.say("stderr", name=title), error)
        yield _texts(f"{name}.n", self.say("graded", name=title), 12, graded)

    def _state(self, cell: CellFigures) -> SheetCell:
        texts: dict[State, str] = {
            "finished": self.say("state_finished"),
            "begun": self.say("state_begun"),
            "planned": self.say("state_planned"),
            "failed": self.say("state_failed"),
        }
        return text_cell(texts[cell.state], _STATES.get(cell.state, ""), cell.error)

    def _against(self, cell: CellFigures) -> SheetCell:
        return text_cell(": ".join(filter(None, (self._verdict(cell), cell.error))))

    def _paid(self, amount: float | None, cell: CellFigures) -> SheetCell:
        if amount is None or not cell.run:
            return SheetCell()
        return SheetCell(text=self._dollars(amount), number=amount)


def figure(value: float | None) -> str:
    """A mean (0..1) out of 100, with one decimal."""
    return NOTHING if value is None else f"{100 * value:.1f}"


def mean_text(judge: JudgeFigures) -> str:
    """`82.5 ± 3.1`; a mean of one row has no error."""
    return figure(judge.mean) if judge.stderr is None else f"{figure(judge.mean)} ± {figure(judge.stderr)}"


def _leads(cell: CellFigures) -> bool:
    """Whether this is the cell with which the others are compared."""
    return cell.against is not None and cell.against.to in {"", cell.cell.key}


def _tone(cell: CellFigures, data: DataFigures) -> Tone:
    return "alarm" if cell.state == "failed" else "good" if data.best == cell.cell.key else ""


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


def _has_text(cells: Iterable[Cell]) -> bool:
    return any(cell.text not in (NOTHING, "") for cell in cells)


def _texts(key: str, title: str, width: int, text_of: Callable[[CellFigures], str]) -> _Field:
    return _Field(Column(key=key, title=title, width=width), lambda cell: text_cell(text_of(cell)))


def _numbers(key: str, title: str, cell_of: Callable[[CellFigures], SheetCell]) -> _Field:
    return _Field(Column(key=key, title=title, kind="number", width=12), cell_of)


def _points(value: float | None, mark: Mark = "") -> SheetCell:
    """A value (0..1) out of 100: one decimal in its text, two in its number."""
    return SheetCell() if value is None else SheetCell(figure(value), round(100 * value, 2), mark)


def _label_points(key: str, cell: CellFigures) -> SheetCell:
    return _points(getattr(cell.labels, key)) if cell.labels else SheetCell()


def _run_count(key: str, cell: CellFigures) -> SheetCell:
    n = getattr(cell, key)
    return SheetCell(f"{n:,}", n) if cell.run else SheetCell()


def _duration(seconds: float | None, cell: CellFigures) -> SheetCell:
    if seconds is None or not cell.run:
        return SheetCell()
    return SheetCell(f"{seconds:.2f}", round(seconds, 3))


def _sheet_titles(names: Sequence[str], first: str) -> Iterator[str]:
    """Titles that a workbook accepts for its worksheets: short, without reserved characters, unique."""
    used = {first.casefold(), "history"}
    for name in names:
        stem = "".join("_" if letter in "[]:*?/\\" else letter for letter in name).strip("' ")[:24] or "data"
        number, title = 2, stem
        while title.casefold() in used:
            title, number = f"{stem} {number}", number + 1
        used.add(title.casefold())
        yield title


class ChainViews(MatrixViews):
    """The views of a chain in one language: one table, in which no run is compared with another."""

    def __init__(self, figures: MatrixFigures, language: Language | None = None) -> None:
        """`figures` has each link as a data set of its own."""
        super().__init__(figures, language)
        self._deciding = {data.name: _deciding_judge(data) for data in figures.data}
        self.figures = _one_table(figures, self.title)

    def say(self, key: str, /, **values: object) -> str:
        """A text of chain.toml, else of matrix.toml."""
        own = key in _chain_keys()
        return CHAIN_TEXTS(self.language, key, **values) if own else super().say(key, **values)

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
            return self.say("line_both", **values) if whole else self.say("line_links", **values)
        return self.say("line_one", **values) if links or whole else self.say("line_none")

    def table(self, data: DataFigures) -> Table:
        """A row for each link and one for the whole: rows, share that passed, means of its judges."""
        columns = {
            self.say("rows"): [count_cell(cell.rows) for cell in data.cells],
            self.say("passed"): [self._judged(cell, PASSED) for cell in data.cells],
            self.say("judges"): [self._judges(cell, data) for cell in data.cells],
        }
        columns = {title: cells for title, cells in columns.items() if _has_text(cells)}
        more = {title: cells for title, cells in self._more(data) if title != self.say("against")}
        return self._table(data, columns | more)

    def _wordy(self) -> tuple[str, ...]:
        return self.say("judges"), self.say("gate")

    def _judges(self, cell: CellFigures, data: DataFigures) -> Cell:
        """The judges of a run, each with its mean."""
        if cell.error:
            return Cell(text=self.say("failed"))
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
