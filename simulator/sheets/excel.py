"""The report as an Excel workbook: never written over what the team wrote in an earlier one."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path

from simulator.core.errors import InputError, RunFileError
from simulator.core.messages import _, say
from simulator.core.types import Language
from simulator.data.files import replaced
from simulator.sheets.excel_write import DELETED, LONGEST, paint
from simulator.sheets.merge import OTHER, EditedSheet, EditedSheets, cell_text, merge, read_value, visible
from simulator.sheets.model import Column, PulledRow, Row, SheetCell, Worksheet, folded, layout_of, layouts

# Hashes of what the program wrote: alone, and with or without the team's cells.
_FRESH, _WRITTEN = "rehearsal_fresh", "rehearsal_written"
_NUMBERED = re.compile(r"report(?:-(\d{1,4}))?\.xlsx")
_MOST_FILES = 1000
_NUMBER = re.compile(r"-?(0|[1-9]\d{0,9})(\.\d{0,4}[1-9])?")
_FIGURE = re.compile(r"-?[\d,]+(\.\d+)?")
_OTHER_WIDTH = 20
# A worksheet as its fingerprint sees it: its name, its titles and its rows.
_Words = tuple[str, list[str], Iterable[PulledRow]]


def save(worksheets: Sequence[Worksheet], run_file: Path, language: Language = "ja") -> Path:
    """Writes report.xlsx beside the run file, or report-2.xlsx ... once the team has written in one.

    What the team wrote into the newest workbook beside the run file is carried over. A workbook that is
    open in Excel is left alone; stderr says where the report stands instead.
    """
    paths = [path for path in run_file.parent.glob("report*.xlsx") if path.is_file()]
    workbooks = [_existing(path) for path in sorted(paths, key=_stamp, reverse=True)]
    edited = next((workbook for workbook in workbooks if workbook.edited), None)
    carried, properties = tuple(worksheets), dict[str, str]()
    if edited and edited.content:
        source = edited.path.name
        for note in edited.content.notes:
            say(_("{workbook}, {note:sentence}", workbook=source, note=note.text))
        for name in edited.content.foreign:
            say(_("{edited}: the worksheet {name} is your own; it stays there.", edited=source, name=name))
        carried = tuple(_with_edits(sheet, edited.content, properties) for sheet in worksheets)
    for path, stamp in _free(run_file.parent, workbooks, edited):
        try:
            return write(carried, path, language, properties=properties, stamp=stamp, alone=not edited)
        except _LockedFile:
            say(_("{path} is open in another program; the report goes into the next one.", path=path.name))
    msg = _("{n} workbooks of this run and none to write to; move them away.", n=_MOST_FILES)
    raise RunFileError(msg)


@dataclass(frozen=True)
class _ExistingWorkbook:
    """A workbook beside the run file.

    `edited`: it is not what the program alone would have written. `touched`: it is not as the program left
    it; one that cannot be read counts as touched.
    """

    path: Path
    stamp: int
    content: EditedSheets | None = None
    edited: bool = False
    touched: bool = True


def _existing(path: Path) -> _ExistingWorkbook:
    """The workbook as it is now; stderr says so where it cannot be read."""
    from simulator.sheets.excel_read import read_edited  # most runs have no workbook yet

    stamp = _stamp(path)
    try:
        content = read_edited(path)
    except InputError as error:
        say(_("{fault} It is left alone.", fault=error))
        return _ExistingWorkbook(path, stamp)
    if not content.sheets:
        return _ExistingWorkbook(path, stamp)
    words = (
        (name, [title for _place, title in sorted(sheet.titles.items())], sheet.rows)
        for name, sheet in content.sheets.items()
    )
    now = "" if content.foreign else _fingerprint(words)
    fresh, written = (content.properties.get(name) == now for name in (_FRESH, _WRITTEN))
    return _ExistingWorkbook(path, stamp, content, edited=not fresh, touched=not written)


def _stamp(path: Path) -> int:
    """When the file was last written, in nanoseconds."""
    return path.stat().st_mtime_ns


def _free(
    folder: Path, workbooks: Sequence[_ExistingWorkbook], edited: _ExistingWorkbook | None
) -> Iterator[tuple[Path, int | None]]:
    """Paths that are free, or whose file can be replaced without losing edits; and that file's time stamp.

    The first is the edited workbook itself where nobody wrote in it since it was made, else the next one.
    """
    existing = {workbook.path: workbook for workbook in workbooks}
    number = _NUMBERED.fullmatch(edited.path.name) if edited else None
    first = int((number and number[1]) or 1) + (edited is not None and edited.touched)
    for n in range(first, first + _MOST_FILES):
        path = folder / ("report.xlsx" if n == 1 else f"report-{n}.xlsx")
        workbook = existing.get(path)
        if workbook is None:
            yield path, None
        elif not workbook.touched and (workbook is edited or not workbook.edited):
            yield path, workbook.stamp


class _LockedFile(Exception):
    """A file that another program holds open, or has just written."""


def write(
    worksheets: Sequence[Worksheet],
    path: Path,
    language: Language = "ja",
    *,
    properties: Mapping[str, str] | None = None,
    stamp: int | None = None,
    alone: bool = True,
) -> Path:
    """Writes a workbook with hashes that tell edits; `alone` says that nothing in it is the team's.

    Raises RunFileError where it cannot be written; _LockedFile where the old file is open, or is no longer
    that of the `stamp`.
    """
    # Excel and LibreOffice each keep a lock file beside a workbook that they have open.
    if any(path.with_name(name).exists() for name in (f"~${path.name}", f".~lock.{path.name}#")):
        raise _LockedFile
    now = _fingerprint(_unedited(worksheets, language))
    hashes = {_WRITTEN: now, **({_FRESH: now} if alone else {})}
    try:
        with replaced(path) as new:
            paint(worksheets, new, {**(properties or {}), **hashes}, language)
            if stamp is not None and path.exists() and _stamp(path) != stamp:
                raise _LockedFile
    except RunFileError as error:
        # On Windows a file that another program holds open cannot be replaced.
        if isinstance(error.__cause__, PermissionError) and path.exists():
            raise _LockedFile from None
        raise
    return path


def _unedited(worksheets: Sequence[Worksheet], language: Language) -> Iterator[_Words]:
    """The worksheets as they are read back while nobody has edited them."""
    for sheet in worksheets:
        titles = [visible(column.title) for column in sheet.columns if column.title.strip()]
        yield sheet.name, titles, _unedited_rows(sheet, language)


def _unedited_rows(sheet: Worksheet, language: Language) -> Iterator[PulledRow]:
    layout = layout_of(sheet)
    for number, row in enumerate(sheet.rows, 2):
        cells, others = {}, []
        for column in sheet.columns:
            cell = row.cells.get(column.key, SheetCell())
            text = cell_text(cell.text, language, LONGEST)
            if column.key.startswith(OTHER):
                others.append(text if text.strip() else "")
            elif text.strip() and (column.owner == "team" or cell.number is None):
                cells[column.key] = read_value(column.key, text, layout)
        yield PulledRow(key=visible(row.key), number=number, cells=cells, others=tuple(others))


def _fingerprint(sheets: Iterable[_Words]) -> str:
    """A hash of titles, rows, columns and their order, and of all cells but the program's figures."""
    digest = hashlib.sha256()
    for name, titles, rows in sorted(sheets, key=itemgetter(0)):
        digest.update(json.dumps([name, titles]).encode())
        team = layouts()[name].team
        # A row at a time: the JSON of all worksheets is larger than the workbook.
        for row in rows:
            words = {k: t for k, t in sorted(row.cells.items()) if k in team or not _FIGURE.fullmatch(t)}
            digest.update(json.dumps([row.key, words, row.others]).encode())
    return digest.hexdigest()


def _with_edits(sheet: Worksheet, content: EditedSheets, properties: dict[str, str]) -> Worksheet:
    """A worksheet with the team's cells, rows, columns, their order and their titles.

    Rows that the report lacks stay where people wrote in them.
    """
    edited = content.sheets.get(sheet.name)
    if edited is None:
        return sheet
    merged = merge(sheet, edited)
    if merged.deleted:
        properties[DELETED + sheet.name] = " ".join(column.key for column in merged.deleted)
    columns = _columns(sheet, edited, merged.places)
    by_key = {column.key: column for column in columns}
    team = {column.key for column in columns if column.owner == "team"}
    rows = []
    for row in edited.rows:
        ours = merged.changed.get(row.number)
        if row.key and not ours and not any(row.others) and not team & row.cells.keys():
            continue
        cells = {key: _cell(by_key[key], text) for key, text in row.cells.items() if key in by_key}
        cells |= {
            f"{OTHER}{n}": SheetCell(text=text, number=float(text) if _NUMBER.fullmatch(text) else None)
            for n, text in enumerate(row.others)
            if text
        }
        rows.append(Row(ours.key if ours else row.key, cells | (dict(ours.cells) if ours else {})))
    ordered = _ordered([visible(row.key) for row in sheet.rows], merged.new, rows)
    # One of our own titles may be in the other language.
    known = any(folded(edited.tab) in layout.tabs for layout in layouts().values())
    title = sheet.title if known else edited.tab
    return sheet.model_copy(update={"title": title, "columns": columns, "rows": tuple(ordered)})


def _columns(sheet: Worksheet, edited: EditedSheet, places: Mapping[str, int]) -> tuple[Column, ...]:
    """The columns in the order that people gave them, under the titles that people gave them; keys first."""
    layout = layout_of(sheet)
    known = {column.key: column for column in sheet.columns}
    columns = [known["key"]]
    theirs = {**edited.columns, **{f"{OTHER}{n}": place for n, place in enumerate(edited.others)}}
    for key in sorted(places.keys() - {"key"}, key=places.__getitem__):
        title = edited.titles.get(theirs.get(key, 0), "")
        if key in known:
            own = title and layout.column(title) is None
            columns.append(known[key].model_copy(update={"title": title}) if own else known[key])
        elif key in layout.team or key.startswith(OTHER):
            columns.append(Column(key=key, title=title, owner="team", width=_OTHER_WIDTH, wrap=True))
    return tuple(columns)


def _cell(column: Column, text: str) -> SheetCell:
    titles = {choice.id: choice.title for choice in column.choices}
    title = titles.get(text, text)
    # A grade is a number, as it is when people type it.
    return SheetCell(text=title, number=float(title) if text in titles and title.isdecimal() else None)


def _ordered(order: list[str], new: list[Row], rows: list[Row]) -> list[Row]:
    """In the program's `order`; where the team sorted, its order below the new rows."""
    place = {key: number for number, key in enumerate(order)}
    keys = [place[visible(row.key)] for row in rows if visible(row.key) in place]
    if keys != sorted(keys):
        return [*new, *rows]
    ranks, last = [], -1
    for row in rows:
        last = place.get(visible(row.key), last)
        ranks.append((last, 1, row))
    ranks += [(place[visible(row.key)], 0, row) for row in new]
    return [row for *_unused, row in sorted(ranks, key=lambda each: each[:2])]
