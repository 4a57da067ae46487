"""The report as an Excel workbook: written, read back, and never over what the team wrote in it."""

import contextlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from simulator.core.errors import InputError, RunFileError
from simulator.core.messages import Message, _, say
from simulator.data.files import temporary_path
from simulator.sheets.excel_write import paint
from simulator.sheets.merge import EditedSheet, EditedWorkbook, fingerprint, merged, unedited
from simulator.sheets.model import PulledRow, PulledSheets, Worksheet

NAME = "report.xlsx"
# Hashes of what the program alone would have written, and of what was written with the team's cells.
_FRESH, _WRITTEN = "rehearsal_fresh", "rehearsal_written"
# In these people add rows of their own, without a key.
_KEYLESS = frozenset({"questions"})
_NUMBERED = re.compile(r"report(?:-(\d{1,4}))?\.xlsx")
_MOST_FILES = 1000


def save(worksheets: Sequence[Worksheet], run_file: Path) -> Path:
    """Writes report.xlsx beside the run file, or report-2.xlsx ... once the team has written in one.

    What the team wrote into the newest workbook beside the run file is carried over. A workbook that is
    open in Excel is left alone; stderr says where the report stands instead.
    """
    workbooks = _workbooks(run_file.parent)
    for workbook in workbooks:
        _warn(workbook.fault)
    edited = next((workbook for workbook in workbooks if workbook.edited), None)
    merged_worksheets = worksheets
    if edited and edited.content:
        merged_worksheets = _with_edits(worksheets, edited.path, edited.content)
    return _write_to_first(_free(run_file.parent, workbooks, edited), merged_worksheets, worksheets)


def write(worksheets: Sequence[Worksheet], path: Path) -> Path:
    """Writes a workbook, whole or not at all; raises RunFileError where it cannot be written."""
    _write(worksheets, worksheets, path)
    return path


def merge(worksheets: Sequence[Worksheet], edited: Path) -> Path:
    """Writes a new workbook beside an edited one, with what the team wrote there; the old one stays."""
    merged_worksheets = _with_edits(worksheets, edited, _read(edited))
    folder = edited.parent
    path = next(path for path in _names(folder, 2) if not path.exists() and not _is_open(path))
    _write(merged_worksheets, worksheets, path)
    return path


def pull(path: Path) -> PulledSheets:
    """The rows of every worksheet in a workbook that people may have edited, and notes on ignored cells.

    Raises CaseFileError in one line for a file that is not a readable workbook.
    """
    edited = _read(path)
    notes = list(edited.notes)
    rows = {name: tuple(_pulled(name, sheet, notes)) for name, sheet in edited.sheets.items()}
    return PulledSheets(
        rows=rows, notes=tuple(_("{file}, {note}.", file=path.name, note=note) for note in notes)
    )


def read(path: Path) -> dict[str, list[PulledRow]]:
    """The rows that `pull` returns; its notes go to stderr."""
    pulled = pull(path)
    for note in pulled.notes:
        _warn(note)
    return {name: list(rows) for name, rows in pulled.rows.items()}


def _pulled(name: str, sheet: EditedSheet, notes: list[Message | str]) -> Iterator[PulledRow]:
    """The rows with a key, and rows without one where people may add them."""
    for row, _unused in sheet.rows:
        cells = {key: text.strip() for key, text in row.cells.items()}
        if row.key or (cells and name in _KEYLESS):
            yield row.model_copy(update={"cells": cells})
        elif cells:
            notes.append(
                _("{tab}, row {number:d}: it has no key; passed over", tab=sheet.tab, number=row.number)
            )


@dataclass(frozen=True)
class _ExistingWorkbook:
    """A workbook beside the run file.

    `edited`: it holds something that the team wrote. `touched`: it is not as the program left it; a workbook
    that cannot be read counts as touched, and `fault` says why it cannot.
    """

    path: Path
    stamp: int
    content: EditedWorkbook | None = None
    edited: bool = False
    touched: bool = True
    fault: Message | str = ""


def _workbooks(folder: Path) -> list[_ExistingWorkbook]:
    """The report workbooks of a folder, the newest first."""
    paths = [path for path in folder.glob("report*.xlsx") if path.is_file()]
    return [_existing(path) for path in sorted(paths, key=_stamp, reverse=True)]


def _existing(path: Path) -> _ExistingWorkbook:
    stamp = _stamp(path)
    try:
        content = _read(path)
    except InputError as error:
        return _ExistingWorkbook(path, stamp, fault=_("{error} It is left alone.", error=error))
    if not content.sheets:
        return _ExistingWorkbook(path, stamp)
    now = fingerprint(content.sheets)
    fresh, written = (
        content.properties.get(name) == now and not content.foreign for name in (_FRESH, _WRITTEN)
    )
    return _ExistingWorkbook(path, stamp, content, edited=not fresh, touched=not written)


def _read(path: Path) -> EditedWorkbook:
    """A workbook as people left it; most runs have none yet, and do not load what reads one."""
    from simulator.sheets.excel_read import read_edited

    return read_edited(path)


def _stamp(path: Path) -> int:
    """When the file was last written, in nanoseconds."""
    return path.stat().st_mtime_ns


def _first_number(edited: _ExistingWorkbook) -> int:
    """The number of the workbook itself if nobody wrote in it since it was made, else the next one."""
    number = _NUMBERED.fullmatch(edited.path.name)
    return int((number and number[1]) or 1) + edited.touched


def _free(
    folder: Path, workbooks: Sequence[_ExistingWorkbook], edited: _ExistingWorkbook | None
) -> Iterator[tuple[Path, int | None]]:
    """Paths that are free, or whose file can be replaced without losing edits; and that file's time stamp."""
    existing = {workbook.path: workbook for workbook in workbooks}
    for path in _names(folder, _first_number(edited) if edited else 1):
        workbook = existing.get(path)
        if workbook is None:
            yield path, None
        elif not workbook.touched and (workbook is edited or not workbook.edited):
            yield path, workbook.stamp


def _write_to_first(
    paths: Iterable[tuple[Path, int | None]], worksheets: Sequence[Worksheet], fresh: Sequence[Worksheet]
) -> Path:
    for path, stamp in paths:
        try:
            if _is_open(path):
                raise _LockedFile(path)
            _write(worksheets, fresh, path, stamp)
        except _LockedFile:
            _warn(_("{path} is open in another program; the report goes into the next one.", path=path.name))
        else:
            return path
    msg = _(
        "{most_files} workbooks of this run and none to write to; move them away.", most_files=_MOST_FILES
    )
    raise RunFileError(msg)


def _names(folder: Path, number: int) -> Iterator[Path]:
    for n in range(number, number + _MOST_FILES):
        yield folder / (NAME if n == 1 else f"report-{n}.xlsx")


def _with_edits(worksheets: Sequence[Worksheet], path: Path, edited: EditedWorkbook) -> tuple[Worksheet, ...]:
    for note in edited.notes:
        _warn(_("{file}, {note}.", file=path.name, note=note))
    for name in edited.foreign:
        _warn(_("{path}: the worksheet {name} is your own; it stays there.", path=path.name, name=name))
    return merged(worksheets, edited)


class _LockedFile(RunFileError):
    """A file that another program holds open, or has just written."""

    def __init__(self, path: Path) -> None:
        super().__init__(_("{path}: open in another program; close it there.", path=path))


def _write(
    worksheets: Sequence[Worksheet], fresh: Sequence[Worksheet], path: Path, stamp: int | None = None
) -> None:
    """Written beside the old file, then renamed: whole or not at all, readable by its owner only."""
    new = temporary_path(path)
    fresh_hash = fingerprint(unedited(fresh))
    written_hash = fresh_hash if worksheets is fresh else fingerprint(unedited(worksheets))
    properties = {_FRESH: fresh_hash, _WRITTEN: written_hash}
    try:
        os.close(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
        paint(worksheets, new, properties)
        _replace(new, path, stamp)
    except OSError as error:
        msg = _(
            "{path}: cannot be written ({strerror}). The run is safe: paint it again with `report`.",
            path=path,
            strerror=error.strerror,
        )
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
    """Whether Excel or LibreOffice has the file open: each then keeps a lock file beside it."""
    return any(
        path.with_name(f"{mark}{path.name}{end}").exists() for mark, end in (("~$", ""), (".~lock.", "#"))
    )


def _warn(line: Message | str) -> None:
    if line:
        say(line)
