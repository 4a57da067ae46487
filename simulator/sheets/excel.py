"""The report as an Excel workbook: written, read back, and never over what the team wrote in it."""

import contextlib
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from simulator.core.errors import InputError, RunFileError
from simulator.data.files import beside
from simulator.sheets.excel_write import paint
from simulator.sheets.merge import EditedSheet, EditedWorkbook, as_found, fingerprint, merged
from simulator.sheets.model import PulledRow, PulledSheets, Worksheet

NAME = "report.xlsx"
# Hashes of what the program alone would have written, and of what was written with the team's cells.
_FRESH, _WRITTEN = "rehearsal_fresh", "rehearsal_written"
# Here people add rows of their own.
_ADDED = frozenset({"questions"})
_NUMBERED = re.compile(r"report(?:-(\d{1,4}))?\.xlsx")
_MOST_FILES = 1000


def save(worksheets: Sequence[Worksheet], run_file: Path) -> Path:
    """Writes report.xlsx beside the run file, or report-2.xlsx ... once the team has written in one.

    What the team wrote into the newest workbook beside the run file is carried over. A workbook that is
    open in Excel is left alone; stderr says where the report stands instead.
    """
    found = _workbooks(run_file.parent)
    for each in found:
        _say(each.why)
    edited = next((each for each in found if each.theirs), None)
    whole = worksheets
    if edited and edited.content:
        whole = _carried(worksheets, edited.path, edited.content)
    return _onto_the_first(_free(run_file.parent, found, edited), whole, worksheets)


def write(worksheets: Sequence[Worksheet], path: Path) -> Path:
    """Writes a workbook, whole or not at all; raises RunFileError where that cannot be."""
    _write(worksheets, worksheets, path)
    return path


def merge(worksheets: Sequence[Worksheet], edited: Path) -> Path:
    """Writes a new workbook beside an edited one, with what the team wrote there; the old one stays."""
    whole = _carried(worksheets, edited, _read(edited))
    folder = edited.parent
    path = next(path for path in _names(folder, 2) if not path.exists() and not _is_open(path))
    _write(whole, worksheets, path)
    return path


def pull(path: Path) -> PulledSheets:
    """The rows of every worksheet in a workbook that people may have edited, and what was passed over.

    Raises CaseFileError in one line for what is no readable workbook.
    """
    edited = _read(path)
    notes = list(edited.notes)
    rows = {name: tuple(_pulled(name, sheet, notes)) for name, sheet in edited.sheets.items()}
    return PulledSheets(rows=rows, notes=tuple(f"{path.name}, {note}." for note in notes))


def read(path: Path) -> dict[str, list[PulledRow]]:
    """The rows that `pull` gives; what was passed over goes to stderr."""
    pulled = pull(path)
    for note in pulled.notes:
        _say(note)
    return {name: list(rows) for name, rows in pulled.rows.items()}


def _pulled(name: str, sheet: EditedSheet, notes: list[str]) -> Iterator[PulledRow]:
    """Rows without a key only where people are to add some."""
    for row, _ in sheet.rows:
        cells = {key: text.strip() for key, text in row.cells.items()}
        if row.key or (cells and name in _ADDED):
            yield row.model_copy(update={"cells": cells})
        elif cells:
            notes.append(f"{sheet.tab}, row {row.number}: it has no key; passed over")


@dataclass(frozen=True)
class _ExistingWorkbook:
    """A workbook beside the run file; one that cannot be read counts as touched, `why` says why."""

    path: Path
    stamp: int
    content: EditedWorkbook | None = None
    theirs: bool = False
    touched: bool = True
    why: str = ""


def _workbooks(folder: Path) -> list[_ExistingWorkbook]:
    """The report workbooks of a folder, the newest first."""
    paths = [path for path in folder.glob("report*.xlsx") if path.is_file()]
    return [_found(path) for path in sorted(paths, key=_stamp, reverse=True)]


def _found(path: Path) -> _ExistingWorkbook:
    stamp = _stamp(path)
    try:
        content = _read(path)
    except InputError as error:
        return _ExistingWorkbook(path, stamp, why=f"{error} It is left alone.")
    if not content.sheets:
        return _ExistingWorkbook(path, stamp)
    now = fingerprint(content.sheets)
    fresh, written = (
        content.properties.get(name) == now and not content.foreign for name in (_FRESH, _WRITTEN)
    )
    return _ExistingWorkbook(path, stamp, content, theirs=not fresh, touched=not written)


def _read(path: Path) -> EditedWorkbook:
    """A workbook as people left it; most runs have none yet, and need not know how one is read."""
    from simulator.sheets.excel_read import read_edited

    return read_edited(path)


def _stamp(path: Path) -> int:
    """When the file was last written, in nanoseconds."""
    return path.stat().st_mtime_ns


def _first_number(edited: _ExistingWorkbook) -> int:
    """A workbook in which nobody wrote since it was made may be made anew; another one stays."""
    number = _NUMBERED.fullmatch(edited.path.name)
    return int((number and number[1]) or 1) + edited.touched


def _free(
    folder: Path, found: Sequence[_ExistingWorkbook], edited: _ExistingWorkbook | None
) -> Iterator[tuple[Path, int | None]]:
    """Names that nobody uses, or under which nothing of the team's would be lost, with what is there now."""
    there = {each.path: each for each in found}
    for path in _names(folder, _first_number(edited) if edited else 1):
        known = there.get(path)
        if known is None:
            yield path, None
        elif not known.touched and (known is edited or not known.theirs):
            yield path, known.stamp


def _onto_the_first(
    free: Iterable[tuple[Path, int | None]], whole: Sequence[Worksheet], fresh: Sequence[Worksheet]
) -> Path:
    for path, stamp in free:
        try:
            if _is_open(path):
                raise _LockedFile(path)
            _write(whole, fresh, path, stamp)
        except _LockedFile:
            _say(f"{path.name} is open in another program; the report goes into the next one.")
        else:
            return path
    msg = f"{_MOST_FILES} workbooks of this run and none to write to; move them away."
    raise RunFileError(msg)


def _names(folder: Path, number: int) -> Iterator[Path]:
    for each in range(number, number + _MOST_FILES):
        yield folder / (NAME if each == 1 else f"report-{each}.xlsx")


def _carried(worksheets: Sequence[Worksheet], path: Path, edited: EditedWorkbook) -> tuple[Worksheet, ...]:
    for note in edited.notes:
        _say(f"{path.name}, {note}.")
    for name in edited.foreign:
        _say(f"{path.name}: the worksheet {name} is your own; it stays there.")
    return merged(worksheets, edited)


class _LockedFile(RunFileError):
    """A file that another program holds open, or has just written."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path}: open in another program; close it there.")


def _write(
    worksheets: Sequence[Worksheet], fresh: Sequence[Worksheet], path: Path, stamp: int | None = None
) -> None:
    """The whole file or the old one: written beside it, then renamed; readable by its owner only."""
    new = beside(path)
    fresh_print = fingerprint(as_found(fresh))
    written = fresh_print if worksheets is fresh else fingerprint(as_found(worksheets))
    properties = {_FRESH: fresh_print, _WRITTEN: written}
    try:
        os.close(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
        paint(worksheets, new, properties)
        _replace(new, path, stamp)
    except OSError as error:
        msg = f"{path}: cannot be written ({error.strerror}). The run is safe: paint it again with `report`."
        raise RunFileError(msg) from None
    finally:
        with contextlib.suppress(OSError):
            new.unlink(missing_ok=True)


def _replace(new: Path, path: Path, stamp: int | None) -> None:
    if stamp is not None and path.exists() and _stamp(path) != stamp:
        raise _LockedFile(path)
    try:
        new.replace(path)
    except PermissionError:
        raise _LockedFile(path) from None


def _is_open(path: Path) -> bool:
    """Whether Excel or LibreOffice has the file open, as the files say that they put beside it."""
    return any(
        path.with_name(f"{mark}{path.name}{end}").exists() for mark, end in (("~$", ""), (".~lock.", "#"))
    )


def _say(line: str) -> None:
    if line:
        sys.stderr.write(line + "\n")
