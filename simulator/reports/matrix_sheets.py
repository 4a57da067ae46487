"""A matrix as worksheets: all cells on one, and for a workbook one more for each data set."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from simulator.core.errors import RunFileError
from simulator.data.files import beside
from simulator.matrix.figures import CellFigures, DataFigures
from simulator.reports.matrix_words import Told, figure
from simulator.sheets.excel_write import paint
from simulator.sheets.model import Column, Row, SheetCell, Worksheet, text_cell

NAME = "matrix"
_STATES = {"failed": "failed", "begun": "warn", "planned": "warn"}


def matrix_sheet(told: Told) -> Worksheet:
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


def worksheets(told: Told) -> tuple[Worksheet, ...]:
    """The workbook: all cells, then every data set with the judges that it has."""
    titles = _titles([data.name for data in told.found.data], told.say("sheet"))
    named = enumerate(zip(told.found.data, titles, strict=True), 1)
    return (matrix_sheet(told), *(_data_sheet(told, at, *each) for at, each in named))


def save(told: Told, path: Path) -> Path:
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


def _data_sheet(told: Told, at: int, data: DataFigures, title: str) -> Worksheet:
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


def _head(told: Told, *, data: bool = False) -> Iterator[Column]:
    if data:
        yield Column(key="data", title=told.say("data"), width=16)
    yield Column(key="prompt", title=told.say("prompt"), width=16)
    yield Column(key="model", title=told.say("model"), width=20)
    yield Column(key="state", title=told.say("state"), width=10)
    yield Column(key="against", title=told.say("against"), width=30, wrap=True)


def _judged(told: Told, judges: Sequence[str]) -> Iterator[Column]:
    for name in judges:
        title = told.judge(name)
        yield Column(key=name, title=title, kind="number", width=12)
        yield Column(key=f"{name}.stderr", title=told.say("stderr", name=title), kind="number", width=10)
        yield Column(key=f"{name}.n", title=told.say("graded", name=title), width=12)


def _tail(told: Told, shown: Sequence[DataFigures]) -> Iterator[Column]:
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


def _row(told: Told, data: DataFigures, cell: CellFigures) -> Row:
    key = f"{told.found.id} {cell.cell.key}"
    names = {"data": cell.cell.data, "prompt": cell.cell.prompt, "model": cell.cell.model, "run": cell.run}
    cells = {name: text_cell(text) for name, text in names.items() if text}
    state = told.say(f"state_{cell.state}")
    cells["state"] = text_cell(state, _STATES.get(cell.state, ""), cell.error)  # type: ignore[arg-type]
    verdict = ": ".join(filter(None, (told.verdict(cell), cell.error)))
    cells["against"] = text_cell(verdict, "good" if data.best == cell.cell.key else "")
    if gate := told.gate(cell):
        cells["gate"] = text_cell(gate, "" if cell.passed else "warn")
    return Row(key=key, cells=cells | dict(_figures(told, cell)) | dict(_means(told, cell)))


def _means(told: Told, cell: CellFigures) -> Iterator[tuple[str, SheetCell]]:
    for name, judge in cell.judges.items():
        shown = told.judged(cell, name)
        if judge.mean is not None:
            best = "good" if shown.text.startswith("★") else ""
            yield name, _points(judge.mean, best)
        if judge.stderr is not None:
            yield f"{name}.stderr", _points(judge.stderr)
        yield f"{name}.n", text_cell(told.say("of", n=judge.n, planned=judge.planned))


def _figures(told: Told, cell: CellFigures) -> Iterator[tuple[str, SheetCell]]:
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
