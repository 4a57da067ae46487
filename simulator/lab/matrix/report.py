"""The report of a matrix.

A table for each data set: a row for each cell, a column for each judge, then what could not be read, money,
time, target and how the cell stands to the highest one. A column in which nothing stands is left out, as "no
answer" where every row was answered. A star is only where chance explains the lead to none of the others.
"""

from collections.abc import Callable, Iterator
from urllib.parse import quote

from simulator.core.document import (
    Cell,
    Line,
    Notes,
    Report,
    Section,
    Table,
    Text,
    Tone,
    count_cell,
    local_time,
    page_section,
)
from simulator.core.messages import Message, _, pgettext, shown
from simulator.core.settings import dollars
from simulator.core.titles import Titles
from simulator.core.types import PASSED, Language
from simulator.lab.matrix.figures import CellFigures, DataFigures, MatrixFigures, Verdict
from simulator.report.gate import verdict
from simulator.report.tables import signed_points
from simulator.results.comparison import FEWEST_CASES
from simulator.sheets.model import Column, SheetCell, SheetRow, Worksheet, text_cell

NOTHING = "–"
# Of the leading cell: what its column says, and the line above the table. "No difference shown" is not
# "equal", and neither sentence says so.
_LEADING: dict[Verdict, tuple[Message, Message]] = {
    "best": (
        _("★ best, beyond chance"),
        _("{cell} is best ({judge} {mean}); chance explains the difference to none of the others."),
    ),
    "highest": (
        _("highest; no difference shown to {open}"),
        _("{cell} has the highest {judge} ({mean}), but no difference is shown to {open} of the others."),
    ),
    "not_enough": (
        _("too few rows to tell"),
        _("{cell} has the highest {judge} ({mean}); there are too few rows to tell ({least} are needed)."),
    ),
    "not_comparable": (
        _("graded by another rubric"),
        _("{cell} has the highest {judge} ({mean}), but the others were graded by another rubric."),
    ),
}


def matrix_report(matrix: MatrixFigures, language: Language, page: str = "") -> Report:
    """A section for each data set; `page` is where it is a page."""
    # What is missing stands above everything that could be concluded.
    unfinished, n = tuple(_unfinished(matrix)), len(matrix.cells)
    headline = _("{finished} of {n} runs finished", finished=n - len(unfinished), n=n)
    total = _("cost {cost} USD", cost=_money(matrix.cost_usd).text)
    sections = []
    for at, data in enumerate(matrix.data, 1):
        blocks = Line(data_line(data), "strong"), _table(data)
        sections.append(Section(f"data-{at}", data.name, blocks))
    return Report(
        title=pgettext("of a matrix", "Comparison"),
        language=language,
        about=f"{matrix.id} · {local_time(matrix.created):%Y/%m/%d %H:%M}",
        lead=(Line(headline, "strong"), *((Notes(unfinished),) if unfinished else ())),
        sections=(
            *sections,
            Section("reading", _("How to read this"), (Notes.of(_notes(matrix), "soft"), Line(total))),
            *page_section(page),
        ),
    )


# --- What is said ---


def _unfinished(matrix: MatrixFigures) -> Iterator[Line]:
    """A line for each cell that is not finished: its state, or why it failed."""
    for cell in matrix.open:
        name: Text = " × ".join(filter(None, (cell.cell.data, cell.cell.prompt, cell.cell.model)))
        yield Line(_("{cell}: {why:sentence}", cell=name, why=cell.error or _verdict(cell)), "alarm")


def _name(cell: CellFigures) -> Text:
    """The name of a cell within its data set: prompt and model, or the data set where neither varies."""
    return " × ".join(filter(None, (cell.cell.prompt, cell.cell.model))) or cell.cell.data


def judge_title(name: str) -> Text:
    """The name of a judge for people."""
    return _("pass rate") if name == PASSED else Titles()("judge", name)


def data_line(data: DataFigures) -> Message:
    """Which cell is best by the deciding figure, or that no difference is shown."""
    if not any(cell.state == "finished" for cell in data.cells):
        return _("No cell is finished yet.")
    leading = next((cell for cell in data.cells if cell.against and cell.against.verdict in _LEADING), None)
    if leading is None or leading.against is None:
        return _("Only one cell is finished.")
    # By what the leader leads by.
    figure = leading.labels.f1 if leading.labels else leading.judges[data.primary].mean
    return _LEADING[leading.against.verdict][1].format(
        cell=_name(leading),
        judge="F1" if leading.labels else judge_title(data.primary),
        mean=_mean_text(figure, None),
        open=leading.against.open,
        least=FEWEST_CASES,
    )


def _verdict(cell: CellFigures) -> Text:
    """How the cell compares with the highest one by the deciding figure, or that it is not finished."""
    if cell.state == "failed":
        return _("cannot be run")
    if cell.state == "open":
        return _("not finished")
    if cell.against is None:
        return NOTHING
    # In points of 100, as everywhere; the sign is that of this cell against the highest.
    by = signed_points(cell.against.difference or 0.0)
    if cell.against.verdict == "worse":
        return _("{by}, beyond chance", by=by)
    if cell.against.verdict == "no_difference":
        return _("{by}, no difference shown", by=by)
    return _LEADING[cell.against.verdict][0].format(open=cell.against.open)


def _gate(cell: CellFigures) -> Text:
    """The gate's verdict of a cell's own run; empty without a target."""
    if cell.gate is None or cell.passed is None:
        return ""
    return verdict(cell.gate, trial=cell.trial)


def _notes(matrix: MatrixFigures) -> Iterator[Message]:
    """How to read the tables, a sentence each."""
    yield _("Points are means out of 100 ± their standard error, with how many rows were graded of all.")
    if any(data.best for data in matrix.data):
        yield _("★ is better than every other cell, beyond chance.")
    if any(cell.against for cell in matrix.cells):
        yield _(
            "Cells are compared row by row with the highest (Wilcoxon's signed-rank test; p is multiplied by"
            " the number of pairs of cells, and below 5 % it is beyond chance)."
        )
    if any(data.by_f1 for data in matrix.data):
        yield _(
            "Where rows have labels, cells are sorted by F1 (± a bootstrap standard error), and the highest"
            " F1 leads; differences are of the rows read right."
        )
    if any(cell.not_extracted or cell.silent for cell in matrix.cells):
        yield _("What could not be extracted from an answer counts as 0, no answer as the lowest grade.")
    if any(cell.trial for cell in matrix.cells):
        yield _(
            "In some cells simple versions (no AI) answered or graded. Their points are not "
            "those of a real model."
        )


# --- Figures ---


def _mean_text(mean: float | None, stderr: float | None, places: int = 1) -> str:
    """`82.5 ± 3.1`, out of 100; a mean of one row has no error, and without a mean it is a dash."""
    return " ± ".join(f"{100 * part:.{places}f}" for part in (mean, stderr) if part is not None) or NOTHING


def _money(amount: float | None, *, used: bool = True) -> Cell:
    """Dollars: up to six decimals, for a cell may cost less than a cent; unknown if any were `used`.

    0.000123 -> 0.000123, 1.5 -> 1.50, None -> unknown, or a dash where nothing was used.
    """
    if amount is None:
        return Cell(text=_("unknown") if used else NOTHING)
    return Cell(text=dollars(amount) if amount == 0 or amount >= 0.01 else f"{amount:.6f}", number=amount)


def _seconds(value: float | None) -> Cell:
    if value is None:
        return Cell(text=NOTHING)
    return Cell(text=f"{value:.2f}" if value < 10 else f"{value:.1f}", number=round(value, 3))


# Title and figure of a cell.
_FIGURES: tuple[tuple[Message, Callable[[CellFigures], Cell]], ...] = (
    (_("not extracted"), lambda cell: count_cell(cell.not_extracted)),
    (pgettext("of a column", "no answer"), lambda cell: count_cell(cell.silent)),
    (_("answers USD"), lambda cell: _money(cell.answers_usd, used=False)),
    (_("grading USD"), lambda cell: _money(cell.graded_usd, used=bool(cell.run))),
    (_("answer s"), lambda cell: _seconds(cell.answer_seconds)),
)


# --- Tables ---


def _table(data: DataFigures) -> Table:
    """The names of the cells, which lead to the pages of their runs, and all columns that hold something."""
    names = []
    for cell in data.cells:
        # The page of the cell's run, from the folder of the matrix.
        href = f"../{quote(cell.run, safe='')}/report.html" if cell.run else ""
        names.append(Cell(text=_name(cell), href=href, tone=_tone(cell, data)))
    columns = [
        column for column in _columns(data) if any(cell.text not in {NOTHING, ""} for cell in column[1])
    ]
    return Table.of(
        "matrix",
        (pgettext("of a column", "cell"), *(c[0] for c in columns)),
        zip(names, *(column[1] for column in columns), strict=True),
        words=frozenset(at for at, column in enumerate(columns, 1) if column[2]),
    )


def _columns(data: DataFigures) -> Iterator[tuple[Text, list[Cell], bool]]:
    """Title and cells of the columns that may be empty, and whether they hold words."""
    cells = data.cells
    for name in data.judges:
        yield judge_title(name), [_judged(cell, data, name) for cell in cells], False
    if data.by_f1:
        yield "F1", [_labels(cell, "f1", best=cell.cell.key == data.best) for cell in cells], False
        yield _("accuracy"), [_labels(cell, "accuracy") for cell in cells], False
    for title, cell_of in _FIGURES:
        # A column of zeros is as good as an empty one.
        figures = map(cell_of, cells)
        yield title, [Cell(text=NOTHING) if figure.number == 0 else figure for figure in figures], False
    yield _("target"), [Cell(text=_gate(cell)) for cell in cells], True
    verdicts = [Cell(text=_verdict(cell), tone=_tone(cell, data)) for cell in cells]
    yield _("against the highest"), verdicts, True


def _tone(cell: CellFigures, data: DataFigures) -> Tone:
    return "alarm" if cell.state == "failed" else "good" if data.best == cell.cell.key else ""


def _judged(cell: CellFigures, data: DataFigures, name: str) -> Cell:
    """The mean of a judge with error and number of rows; a star where the cell is best by what decides."""
    judge = cell.judges.get(name)
    if judge is None or judge.mean is None:
        return Cell(text=NOTHING)
    text = _mean_text(judge.mean, judge.stderr)
    counts = f"{judge.n:,}/{judge.planned:,}"
    is_best = name == data.primary and cell.cell.key == data.best
    return Cell(text=f"★ {text}" if is_best else text, note=counts)


def _labels(cell: CellFigures, key: str, *, best: bool = False) -> Cell:
    """With two decimals, because classifiers are often close together."""
    labels = cell.labels.model_dump() if cell.labels else {}
    text = _mean_text(labels.get(key), labels.get(f"{key}_stderr"), 2)
    return Cell(text=f"★ {text}" if best else text)


def matrix_worksheet(matrix: MatrixFigures, language: Language) -> Worksheet:
    """A row for each cell of all data sets: its place, its mean by each judge (out of 100), its verdict."""
    names = dict.fromkeys(name for data in matrix.data for name in data.judges)
    titles: dict[str, Text] = {
        "data": _("data"), "prompt": _("prompt"), "model": _("model"), "against": _("against the highest"),
    }  # fmt: skip
    titles.update((name, judge_title(name)) for name in names)
    rows = []
    for cell in matrix.cells:
        place = {key: text_cell(getattr(cell.cell, key)) for key in ("data", "prompt", "model")}
        means = {
            name: SheetCell(_mean_text(judge.mean, None), round(100 * judge.mean, 2))
            for name, judge in cell.judges.items()
            if judge.mean is not None
        }
        against = {"against": text_cell(cell.error or shown(_verdict(cell), language))}
        rows.append(SheetRow(f"{matrix.id} {cell.cell.key}", place | against | means))
    return Worksheet(
        name="matrix",
        title=shown(pgettext("of a matrix", "Comparison"), language),
        columns=tuple(
            Column(key=key, title=shown(title, language), width=16, kind="number" if key in names else "text")
            for key, title in titles.items()
        ),
        rows=tuple(rows),
    )
