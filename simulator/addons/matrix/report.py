"""The report of a matrix or chain, and its worksheets."""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal
from urllib.parse import quote

from simulator.addons.matrix.figures import CellFigures, DataFigures, JudgeFigures, MatrixFigures, Verdict
from simulator.addons.matrix.record import State
from simulator.core.document import (
    Block,
    Cell,
    Chart,
    Line,
    Notes,
    Report,
    Section,
    Series,
    Table,
    Text,
    Tone,
    count_cell,
    local_time,
    page_section,
)
from simulator.core.messages import Message, _, pgettext, shown
from simulator.core.titles import Titles
from simulator.core.types import PASSED
from simulator.report.tables import signed_points
from simulator.runner.chains import WHOLE
from simulator.sheets.model import Column, Mark, Row, SheetCell, Worksheet, text_cell
from simulator.stats.comparison import FEWEST_CASES

NOTHING = "–"
# What the worksheets say of a cell, and how they mark one that is not finished.
_STATES: dict[State, tuple[Message, Mark]] = {
    "finished": (_("finished"), ""),
    "begun": (_("unfinished"), "warn"),
    "planned": (_("not begun"), "warn"),
    "failed": (_("failed"), "failed"),
}
# What a column says of a cell by its verdict, and of the leading cell the line above the table.
_VERDICTS: dict[Verdict, tuple[Text, Message]] = {
    "best": (
        _("★ best, beyond chance"),
        _("{cell} is best ({judge} {mean}); chance explains the difference to none of the others."),
    ),
    "highest": (
        _("highest; no difference shown to {open}"),
        _("{cell} has the highest {judge} ({mean}), but no difference is shown to {open} of the others."),
    ),
    "equal": (_("all the same"), _("Every cell has the same {judge} ({mean}).")),
    "not_enough": (
        _("too few rows to tell"),
        _("{cell} has the highest {judge} ({mean}); there are too few rows to tell ({least} are needed)."),
    ),
    "not_comparable": (
        _("graded by another rubric"),
        _("{cell} has the highest {judge} ({mean}), but the others were graded by another rubric."),
    ),
    "alone": (NOTHING, _("{cell}: {judge} {mean}")),
}


def matrix_report(matrix: MatrixFigures, page: str = "") -> Report:
    """A section for each data set, or one for all of a chain; `page` is where it is a page."""
    whole = _as_shown(matrix)
    cells, unfinished = whole.cells, tuple(_unfinished(whole))
    done = {"finished": len(cells) - len(unfinished), "n": len(cells)}
    if matrix.chain:
        lines = [_chain_line(matrix)]
        headline = _("{finished} of {n} runs finished (each link alone, then the whole)", **done)
    else:
        lines, headline = list(map(data_line, matrix.data)), _("{finished} of {n} cells finished", **done)
    total = _(
        "cost {cost} USD, {seconds} s with grading",
        cost=_money(whole.cost_usd).text,
        seconds=f"{sum(cell.seconds for cell in cells):,.1f}",
    )
    sections = [
        Section(f"data-{at}", data.name, (Line(line, "strong"), *_charts(data, whole), _table(data, whole)))
        for at, (data, line) in enumerate(zip(whole.data, lines, strict=True), 1)
    ]
    return Report(
        title=_title(matrix),
        language=matrix.language,
        about=f"{matrix.id} · {local_time(matrix.created):%Y/%m/%d %H:%M}",
        lead=(Line(headline, "strong"), *((Notes(unfinished),) if unfinished else ())),
        sections=(
            *sections,
            Section("reading", _("How to read this"), (Notes.of(_notes(whole), "soft"), Line(total))),
            *page_section(page),
        ),
    )


def _title(matrix: MatrixFigures) -> Text:
    """The title of the matrix file, or a general one."""
    return matrix.title or (
        _("Evaluation of the chain") if matrix.chain else pgettext("of a matrix", "Comparison")
    )


def _as_shown(matrix: MatrixFigures) -> MatrixFigures:
    """A chain as one table, which has the title of the chain."""
    return matrix.as_one_table(shown(_title(matrix), matrix.language)) if matrix.chain else matrix


# --- What is said ---


def _unfinished(matrix: MatrixFigures) -> Iterator[Line]:
    """A line for each cell that is not finished: its state, or why it failed."""
    for cell in matrix.open:
        name: Text = " × ".join(filter(None, (cell.cell.data, cell.cell.prompt, cell.cell.model)))
        if matrix.chain:
            name = _name(cell, chain=True)
        yield Line(_("{cell}: {why:sentence}", cell=name, why=cell.error or _verdict(cell)), "alarm")


def _name(cell: CellFigures, *, chain: bool = False) -> Text:
    """The name of a cell within its data set: prompt and model, or the data set where neither varies."""
    if chain and cell.cell.prompt == WHOLE:
        return _("the whole")
    return " × ".join(filter(None, (cell.cell.prompt, cell.cell.model))) or cell.cell.data


def judge_title(name: str) -> Text:
    """The name of a judge for people."""
    return _("pass rate") if name == PASSED else Titles()("judge", name)


def _deciding_title(data: DataFigures) -> Text:
    return "F1" if data.by_f1 else judge_title(data.primary)


def data_line(data: DataFigures) -> Message:
    """Which cell is best by the deciding figure, or that no difference is shown."""
    leading = next((c for c in data.cells if c.against and c.against.to in {"", c.cell.key}), None)
    if leading is None or leading.against is None:
        return _("No cell is finished yet.")
    figure = data.deciding(leading)
    return _VERDICTS[leading.against.verdict][1].format(
        cell=_name(leading),
        judge=_deciding_title(data),
        mean=_hundredths(figure and figure[0]),
        open=leading.against.open,
        least=FEWEST_CASES,
    )


def _chain_line(chain: MatrixFigures) -> Message:
    """The mean of the whole, and the link with the lowest mean by itself."""
    links: dict[str, tuple[float, Message]] = {}
    for data in chain.data:
        judge = PASSED if PASSED in data.judges else data.primary
        for mean in (cell.judges[judge].mean for cell in data.cells if judge in cell.judges):
            if mean is not None:
                name = _("the whole") if data.name == WHOLE else data.name
                values = {"name": name, "judge": judge_title(judge), "mean": _hundredths(mean)}
                links[data.name] = mean, _("{name} ({judge} {mean})", **values)
    if not links:
        return _("No row has been graded yet.")
    whole = links.pop(WHOLE, None)
    if len(links) < 2:
        return whole[1] if whole else next(iter(links.values()))[1]
    lowest = min(links.values(), key=lambda link: link[0])[1]
    if whole is None:
        return _("The lowest link alone is {link}.", link=lowest)
    return _("{whole}. The lowest link alone is {link}.", whole=whole[1], link=lowest)


def _verdict(cell: CellFigures) -> Text:
    """How the cell compares with the highest one by the deciding figure, or that it is not finished."""
    if cell.state == "failed":
        return _("cannot be run")
    if cell.state != "finished":
        n = max((judge.n for judge in cell.judges.values()), default=0)
        return _("unfinished (rows graded: {n})", n=n) if cell.state == "begun" else _("not begun")
    if cell.against is None:
        return NOTHING
    by = signed_points(cell.against.difference or 0.0)
    if cell.against.verdict == "worse":
        return _("{by}, beyond chance", by=by)
    if cell.against.verdict == "no_difference":
        return _("{by}, no difference shown", by=by)
    text = _VERDICTS[cell.against.verdict][0]
    return text.format(open=cell.against.open)


def _gate(cell: CellFigures) -> Text:
    """The gate's verdict of a cell's own run; empty without a target."""
    if cell.passed is None:
        return ""
    if cell.incomplete:
        return _("undecided")
    return _("passed") if cell.passed else _("missed")


def _notes(matrix: MatrixFigures) -> Iterator[Message]:
    """How to read the tables, a sentence each."""
    if matrix.chain:
        yield _(
            "Points are means out of 100 ± their standard error. A link alone is told what the links before"
            " it should have come to, from its data; the whole is told what they did come to."
        )
    else:
        yield _("Points are means out of 100 ± their standard error, with how many rows were graded of all.")
    paired = [data for data in matrix.data if sum(cell.state == "finished" for cell in data.cells) > 1]
    if not matrix.chain and not all(data.by_f1 for data in paired):
        yield _(
            "★ and differences compare row by row with the highest cell (Wilcoxon's signed-rank test;"
            " p is multiplied by the number of pairs of cells, and below 5 % it is beyond chance)."
        )
    if any(data.by_f1 for data in matrix.data):
        yield _(
            "Sorted by F1, the highest first; the highest, ★ and differences go by F1, too (a permutation"
            " test: whose answer is whose is exchanged row by row; p times the pairs of cells, below 5 %)."
            " Its ± is a bootstrap standard error."
        )
    if any(cell.not_extracted for cell in matrix.cells):
        yield _(
            "Not extracted: what was looked for (JSON, key, letter, label) could not be read from the answer."
            " It counts as 0."
        )
    if any(cell.silent for cell in matrix.cells):
        yield _("No answer: the model gave none. It counts as the lowest grade.")
    if any(cell.offline for cell in matrix.cells):
        yield _(
            "In some cells stand-ins without a model answered or graded."
            " Their points are not those of a real model."
        )


# --- Figures ---


def _hundredths(value: float | None) -> str:
    """A mean (0..1) out of 100, with one decimal."""
    return NOTHING if value is None else f"{100 * value:.1f}"


def _mean_text(judge: JudgeFigures) -> str:
    """`82.5 ± 3.1`; a mean of one row has no error."""
    error = "" if judge.stderr is None else f" ± {_hundredths(judge.stderr)}"
    return _hundredths(judge.mean) + error


def _money(amount: float | None, *, used: bool = True) -> Cell:
    """Dollars: up to six decimals, for a cell may cost less than a cent; unknown if any were `used`."""
    if amount is None:
        return Cell(text=_("unknown") if used else NOTHING)
    places = 2 if amount == 0 or amount >= 1 else 4 if amount >= 0.01 else 6
    return Cell(text=f"{amount:,.{places}f}", number=amount)


def _seconds(value: float | None) -> Cell:
    if value is None:
        return Cell(text=NOTHING)
    return Cell(text=f"{value:.2f}" if value < 10 else f"{value:.1f}", number=round(value, 3))


# What tables and worksheets have in common: key, title and figure of a cell.
_FIGURES: tuple[tuple[str, Message, Callable[[CellFigures], Cell]], ...] = (
    ("not_extracted", _("not extracted"), lambda cell: count_cell(cell.not_extracted)),
    ("silent", pgettext("of a column", "no answer"), lambda cell: count_cell(cell.silent)),
    ("answers_cost", _("answers USD"), lambda cell: _money(cell.answers_usd, used=cell.tokens_in > 0)),
    ("cost", _("grading USD"), lambda cell: _money(cell.graded_usd, used=bool(cell.run))),
    ("seconds", _("answer s"), lambda cell: _seconds(cell.answer_seconds)),
)


# --- Tables and pictures ---


def _table(data: DataFigures, matrix: MatrixFigures) -> Table:
    """The names of the cells, which lead to the pages of their runs, and all columns that hold something."""
    names = []
    for cell in data.cells:
        href = f"../{quote(cell.run, safe='')}/report.html" if cell.run else ""
        names.append(Cell(text=_name(cell, chain=matrix.chain), href=href, tone=_tone(cell, data)))
    columns = [
        column
        for column in _columns(data, chain=matrix.chain)
        if any(cell.text not in {NOTHING, ""} for cell in column[1])
    ]
    if not matrix.chain:
        judges = [(judge_title(name), [_judged(cell, name) for cell in data.cells]) for name in data.judges]
        columns = [*((title, cells, False) for title, cells in judges), *columns]
    return Table.of(
        "matrix",
        (_("link") if matrix.chain else pgettext("of a column", "cell"), *(c[0] for c in columns)),
        zip(names, *(column[1] for column in columns), strict=True),
        words=frozenset(at for at, column in enumerate(columns, 1) if column[2]),
    )


def _columns(data: DataFigures, *, chain: bool) -> Iterator[tuple[Text, list[Cell], bool]]:
    """Title and cells of the columns that may be empty, and whether they hold words."""
    cells = data.cells
    if chain:
        yield _("rows"), [count_cell(cell.rows) for cell in cells], False
        yield judge_title(PASSED), [_judged(cell, PASSED) for cell in cells], False
        yield _("mean of each judge"), [_judges(cell, data) for cell in cells], True
    if data.by_f1:
        yield "F1", [_labels(cell, "f1", best=cell.cell.key == data.best) for cell in cells], False
        yield _("accuracy"), [_labels(cell, "accuracy") for cell in cells], False
    for _key, title, cell_of in _FIGURES:
        figures = map(cell_of, cells)
        yield title, [Cell(text=NOTHING) if each.number == 0 else each for each in figures], False
    yield _("target"), [Cell(text=_gate(cell)) for cell in cells], True
    if not chain:
        verdicts = [Cell(text=_verdict(cell), tone=_tone(cell, data)) for cell in cells]
        yield _("against the highest"), verdicts, True


def _tone(cell: CellFigures, data: DataFigures) -> Tone:
    return "alarm" if cell.state == "failed" else "good" if data.best == cell.cell.key else ""


def _judged(cell: CellFigures, name: str) -> Cell:
    """The mean of a judge with error and number of rows; a star where it is best beyond chance."""
    judge = cell.judges.get(name)
    if judge is None or judge.mean is None:
        return Cell(text=NOTHING)
    star = "★ " if cell.is_best(name) else ""
    return Cell(text=star + _mean_text(judge), number=judge.mean, note=f"{judge.n:,}/{judge.planned:,}")


def _judges(cell: CellFigures, data: DataFigures) -> Cell:
    """The judges of a run, each with its mean."""
    if cell.error:
        return Cell(text=_("cannot be run"))
    judges = {name: cell.judges[name] for name in data.judges if name in cell.judges and name != PASSED}
    means = [_("{name} {value}", name=judge_title(n), value=_mean_text(j)) for n, j in judges.items()]
    return Cell(text=_("{parts}", parts=means) if means else NOTHING)


def _labels(cell: CellFigures, key: str, *, best: bool = False) -> Cell:
    """With two decimals, because classifiers are often close together."""
    if cell.labels is None:
        return Cell(text=NOTHING)
    value, stderr = getattr(cell.labels, key), getattr(cell.labels, f"{key}_stderr")
    text = " ± ".join(f"{100 * each:.2f}" for each in (value, stderr) if each is not None)
    return Cell(text=f"★ {text}" if best else text, number=value)


def _charts(data: DataFigures, matrix: MatrixFigures) -> Iterator[Block]:
    """The deciding figures with their intervals; nothing where fewer than two cells have one."""
    figures = [(cell, figure) for cell in data.cells if (figure := data.deciding(cell))]
    if len(figures) < 2:
        return
    best = tuple("★" if data.best == cell.cell.key else "" for cell, _figure in figures)
    labels = tuple(_name(cell, chain=matrix.chain) for cell, _figure in figures)
    means, low, high = zip(*(figure for _cell, figure in figures), strict=True)
    texts = tuple(f"{star} {_hundredths(mean)}".lstrip() for star, mean in zip(best, means, strict=True))
    points = [_("{name} {value}", name=n, value=v) for n, v in zip(labels, texts, strict=True)]
    title = _("{judge} of {data}", data=data.name, judge=_deciding_title(data))
    yield Chart(
        kind="ranges",
        title=title,
        description=_("{title}: {points}", title=title, points=points),
        labels=labels,
        series=(Series("", means, texts, low, high, best),),
        marks=tuple((mark, f"{100 * mark:g}") for mark in (0, 0.25, 0.5, 0.75, 1)),
        note=_("The dot is the mean, the line its 95 % range (± 1.96 standard errors)."),
    )


# --- Worksheets ---

# Columns of words, with their widths; the others hold figures.
_WIDTHS = {"data": 16, "prompt": 16, "model": 20, "state": 10, "against": 30, "gate": 12, "run": 30}


def matrix_worksheets(matrix: MatrixFigures) -> tuple[Worksheet, ...]:
    """The workbook: all cells, then each data set with its own judges; a resumed matrix updates its rows."""
    title = shown(pgettext("of a worksheet", "Comparison"), matrix.language)
    if matrix.chain:
        about = _("A row for each link, then the whole chain. Points are means out of 100.")
        matrix = _as_shown(matrix)
        return (_worksheet(matrix, "matrix", title, about, matrix.data),)
    about = _("One row for each combination of data set, prompt and model. Points are means out of 100.")
    sheets = [_worksheet(matrix, "matrix", title, about, matrix.data)]
    titles = _sheet_titles([data.name for data in matrix.data], title)
    for at, (data, name) in enumerate(zip(matrix.data, titles, strict=True), 1):
        about = _("One row for each combination on {data}. Points are means out of 100.", data=data.name)
        sheets.append(_worksheet(matrix, f"matrix_{at}", name, about, [data]))
    return tuple(sheets)


def _worksheet(
    matrix: MatrixFigures, name: str, title: str, about: Message, data_sets: Sequence[DataFigures]
) -> Worksheet:
    """A row for each cell of these data sets."""
    titles: dict[str, Text] = {
        "data": _("data"),
        "prompt": _("link") if matrix.chain else _("prompt"),
        "model": _("model"),
        "state": _("state"),
        "against": _("against the highest"),
    }
    for judge in dict.fromkeys(judge for data in data_sets for judge in data.judges):
        shown_as = judge_title(judge)
        titles[judge], titles[f"{judge}.stderr"] = shown_as, _("{name} ±", name=shown_as)
        titles[f"{judge}.n"] = _("{name} graded", name=shown_as)
    if any(data.by_f1 for data in data_sets):
        for key, shown_as in (("f1", "F1"), ("accuracy", _("accuracy"))):
            titles[key], titles[f"{key}_stderr"] = shown_as, _("{name} ±", name=shown_as)
    titles |= {"rows": _("rows")} | {key: words for key, words, _cell in _FIGURES}
    titles["whole_seconds"] = _("whole s")
    if any(cell.passed is not None for cell in matrix.cells):
        titles["gate"] = _("target")
    titles["run"] = _("run")
    columns = [Column(key="key", title="key", width=8)]
    for key, words in titles.items():
        kind: Literal["text", "number"] = "text" if key in _WIDTHS or key.endswith(".n") else "number"
        width, wrap = _WIDTHS.get(key, 12), key == "against"
        columns.append(
            Column(key=key, title=shown(words, matrix.language), width=width, kind=kind, wrap=wrap)
        )
    return Worksheet(
        name=name,
        title=title,
        columns=tuple(columns),
        rows=tuple(_sheet_row(cell, data, matrix) for data in data_sets for cell in data.cells),
        frozen_columns=4,
        help=shown(about, matrix.language),
    )


def _sheet_row(cell: CellFigures, data: DataFigures, matrix: MatrixFigures) -> Row:
    """What a cell has in each column; means out of 100, with one decimal in the text, two in the number."""

    def text(words: Text) -> str:
        return shown(words, matrix.language)

    state, mark = _STATES[cell.state]
    against = ": ".join(filter(None, (text(_verdict(cell)), cell.error)))
    row = {
        "data": text_cell(cell.cell.data),
        "prompt": text_cell(cell.cell.prompt),
        "model": text_cell(cell.cell.model),
        "state": text_cell(text(state), mark, cell.error),
        "against": text_cell(against, "good" if data.best == cell.cell.key else ""),
        "gate": text_cell(text(_gate(cell)), "" if cell.passed else "warn"),
        "run": text_cell(cell.run),
    }
    means: dict[str, float | None] = cell.labels.model_dump() if cell.labels else {}
    for name, judge in cell.judges.items():
        means[name], means[f"{name}.stderr"] = judge.mean, judge.stderr
        row[f"{name}.n"] = text_cell(f"{judge.n:,}/{judge.planned:,}")
    for key, mean in means.items():
        if mean is not None:
            best: Mark = "good" if cell.is_best(key) else ""
            row[key] = SheetCell(_hundredths(mean), round(100 * mean, 2), best)
    figures = {"rows": count_cell(cell.rows), "whole_seconds": _seconds(cell.seconds)}
    figures |= {key: figure_of(cell) for key, _title, figure_of in _FIGURES}
    for key, figure in figures.items():
        if cell.run and figure.number is not None:
            row[key] = SheetCell(text(figure.text), figure.number)
    return Row(f"{matrix.id} {cell.cell.key}", {key: each for key, each in row.items() if each.text})


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
