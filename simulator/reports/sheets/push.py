"""Worksheets into a spreadsheet in which people work: each push changes only what is not there yet.

A push reads (worksheets and metadata, keys, the rows it may have to mend), writes, and looks again.
People sort, insert and type meanwhile, and Google has no transaction over a read and a write, so:

- New rows are inserted and filled in one atomic batch: no cell that was there is written.
- Cells of rows that were there are written by the metadata of their column, which Google looks up as it
  writes: inserted, moved or renamed columns cannot lead a value into a column of the team's.
- Only the row is told by its number. When a sort came between reading and writing, the program's cells
  of another row may be hit; afterwards the keys are read again, and all is compared and mended anew. A row
  of another run that may have been hit is named in the notes: pushing that run writes it again.
- Fills and notes have no metadata to go by and are sent first, right after the reading.
- A write that failed or whose reply was lost is never repeated blindly: reading comes first again.
"""

from collections.abc import Sequence
from typing import Any

from simulator.core.errors import InputError
from simulator.core.types import Language, Value
from simulator.reports.layouts import language_of
from simulator.reports.sheets.address import Target
from simulator.reports.sheets.changes import Changes, batches, changes, created, is_the_teams
from simulator.reports.sheets.door import Door
from simulator.reports.sheets.layout import runs
from simulator.reports.sheets.standing import (
    HEAD,
    SPREADSHEETS,
    WORKSHEET,
    Book,
    Cells,
    Standing,
    Tab,
    area,
    book,
    cells,
    identity,
    recognised,
    standing,
)
from simulator.reports.sheets.titles import Titles
from simulator.reports.sheets.trouble import Conflict, SinkUnavailable, is_known, is_refusal
from simulator.reports.sheets.verify import look_again
from simulator.reports.worksheet import Worksheet

Json = dict[str, Any]
_KEYS = "userEnteredValue,note"
_HELD = "userEnteredValue,note,userEnteredFormat(backgroundColorStyle)"
# Rows between two that are wanted are read, too, rather than told apart.
_GAP = 50
_REFUSALS = 2


class Pushed(Value):
    """What a push did: worksheets it made, rows it added, cells of older rows it changed, requests.

    `notes` are lines for people: what was left out, and what to look at.
    """

    url: str
    worksheets: tuple[str, ...] = ()
    rows: int = 0
    cells: int = 0
    reads: int = 0
    writes: int = 0
    notes: tuple[str, ...] = ()


def push(
    worksheets: Sequence[Worksheet],
    target: Target,
    *,
    language: Language | None = None,
    door: Door | None = None,
) -> Pushed:
    """Paints the worksheets into the spreadsheet; what is there already is left or mended in place.

    `language` is that of marks in texts that were too long; without it, that of the titles.
    Raises InputError for what people can mend, and SinkUnavailable when Google stays away.
    """
    door = door or Door()
    work = _Push(door, worksheets, target, language or language_of(worksheets))
    try:
        door.persist(work.round, f"sheet {target.key}", writing=lambda: work.wrote)
    except SinkUnavailable as error:
        msg = f"{error} The run is complete; 'report RUN --to sheets' writes the sheet later."
        raise SinkUnavailable(msg) from None
    return work.pushed()


class _Push:
    """One push, and what of it is done; a round reads all anew and writes what is missing."""

    def __init__(
        self, door: Door, worksheets: Sequence[Worksheet], target: Target, language: Language
    ) -> None:
        self.door, self.worksheets, self.target, self.language = door, worksheets, target, language
        self.titles = {sheet.name: Titles(sheet.name, sheet.columns) for sheet in worksheets}
        self.wrote, self._refusals, self._url = False, 0, ""
        self._made: dict[str, None] = {}
        self._rows: set[tuple[str, str]] = set()
        self._notes: dict[str, None] = {}
        self._cells = 0

    def pushed(self) -> Pushed:
        """What was done in all rounds."""
        return Pushed(
            url=self._url,
            worksheets=tuple(self._made),
            rows=len(self._rows),
            cells=self._cells,
            reads=self.door.reads,
            writes=self.door.writes,
            notes=tuple(self._notes),
        )

    def round(self) -> None:
        """Read, compare, write, look again."""
        found = book(self.door, self.target.key)
        self._url, self.wrote = found.url, False
        stands = self._stands(found)
        now = self._rows_of(stands)
        work = [made for sheet in self.worksheets if (made := self._changes(sheet, found, stands, now))]
        for made in work:
            self._notes |= dict.fromkeys(made.notes)
        work = [made for made in work if not made.is_empty]
        self._write(work, found)
        if work:
            look_again(self.door, self.target.key, work, self._notes)

    def _called(self, worksheet: Worksheet) -> str:
        return identity(worksheet.name, self.target.suffix)

    def _stands(self, found: Book) -> dict[str, Standing | None]:
        """Our worksheets that are there; None for one that has lost its column of keys."""
        tabs = {sheet.name: tab for sheet in self.worksheets if (tab := found.tab(self._called(sheet)))}
        strangers = [tab for tab in found.tabs if WORKSHEET not in tab.tags]
        missing = [sheet for sheet in self.worksheets if sheet.name not in tabs]
        areas = [
            one for sheet in self.worksheets if sheet.name in tabs for one in _areas(sheet, tabs[sheet.name])
        ]
        areas += [area(tab, rows=(0, HEAD)) for tab in strangers if missing]
        known = cells(self.door, self.target.key, areas, _KEYS)
        for sheet in missing:
            if tab := recognised(strangers, known, self._called(sheet), self.titles[sheet.name]):
                tabs[sheet.name] = tab
                strangers.remove(tab)
                known |= cells(self.door, self.target.key, [area(tab)], _KEYS)
        return {name: standing(tab, known.get(tab.id, {}), self.titles[name]) for name, tab in tabs.items()}

    def _rows_of(self, stands: dict[str, Standing | None]) -> dict[int, Cells]:
        """The rows whose keys are pushed, as far as the program's columns go."""
        areas = []
        for sheet in self.worksheets:
            stand = stands.get(sheet.name)
            if stand is None or is_the_teams(sheet):
                continue
            ours = [stand.places[c.key].column for c in sheet.columns if c.key in stand.places]
            rows = sorted(stand.keys[row.key] for row in sheet.rows if row.key in stand.keys)
            columns = (min(ours), max(ours) + 1)
            areas += [area(stand.tab, rows=span, columns=columns) for span in runs(rows, _GAP)]
        return cells(self.door, self.target.key, areas, _HELD)

    def _changes(
        self, sheet: Worksheet, found: Book, stands: dict[str, Standing | None], now: dict[int, Cells]
    ) -> Changes | None:
        called = self._called(sheet)
        if sheet.name not in stands:
            return created(sheet, _free(found, sheet.title, self.target.suffix), called, self.language)
        stand = stands[sheet.name]
        if stand is None:
            what = "its column of keys (キー) was deleted, so its rows cannot be told apart; undo that in the"
            how = "version history (変更履歴), or delete the worksheet, and push again."
            self._notes[f"{sheet.title}: {what} {how}"] = None
            return None
        return changes(sheet, stand, called, now.get(stand.tab.id, {}), self.language)

    def _write(self, work: Sequence[Changes], found: Book) -> None:
        first = [group for made in work for group in made.first]
        last = [group for made in work for group in made.last]
        if self.target.fresh and any(made.created for made in work):
            last += [[{"deleteSheet": {"sheetId": tab.id}}] for tab in found.tabs if not tab.tags]
        for batch in batches(first):
            self._send("batchUpdate", {"requests": batch})
        for values in batches([[value] for made in work for value in made.values]):
            body = {"valueInputOption": "RAW", "data": values}
            self._send("values:batchUpdateByDataFilter", body)
        self._cells += sum(made.cells for made in work)
        for batch in batches(last):
            self._send("batchUpdate", {"requests": batch})
        self._made |= dict.fromkeys(made.title for made in work if made.created)
        for made in work:
            index = made.places["key"].column
            self._rows |= {(made.worksheet.name, str(row[index].value)) for row in made.added}

    def _send(self, method: str, body: Json) -> None:
        from gspread.exceptions import APIError

        self.wrote = True
        try:
            self.door.write(
                f"{SPREADSHEETS}/{self.target.key}{'/' if method[0] == 'v' else ':'}{method}", body
            )
        except APIError as error:
            # Somebody may have deleted what the request names; looking again tells.
            if is_refusal(error) and not is_known(error) and self._refusals < _REFUSALS:
                self._refusals += 1
                raise Conflict(str(error)) from None
            raise


def _areas(sheet: Worksheet, tab: Tab) -> list[Json]:
    """Its head, its keys, and what tells rows without a key apart."""
    wanted = [tab.places["key"].column] if "key" in tab.places else []
    if is_the_teams(sheet) and (named := tab.places.get(sheet.columns[1].key)):
        wanted.append(named.column)
    columns = [area(tab, columns=(index, index + 1)) for index in wanted]
    return [area(tab, rows=(0, HEAD)), *columns]


def _free(found: Book, title: str, suffix: str) -> str:
    """A name for a worksheet that no other one has."""
    stem, taken = f"{title} {suffix}".rstrip(), found.titles
    names = (stem, *(f"{stem} ({number})" for number in range(2, len(taken) + 3)))
    return next(name for name in names if name.casefold() not in taken)


def new_sheet(title: str, folder: str = "", door: Door | None = None) -> str:
    """Makes an empty spreadsheet, shared with nobody, and gives its key.

    It lies in the Drive of the person who signed in, or in `folder`; a service account's needs a folder of
    a shared drive.
    """
    door = door or Door(drive=bool(folder))
    if door.account.kind == "service" and not folder:
        msg = (
            "a service account owns no files: give --folder with a folder of a shared drive (共有ドライブ),"
            " or --sheet with a sheet of your own that is shared with it."
        )
        raise InputError(msg)
    try:
        return door.once(lambda: _made(door, title, folder), f"new sheet {title}")
    except SinkUnavailable as error:
        msg = f"{error} It may have been made: look for {title} in Drive first, and give it with --sheet."
        raise SinkUnavailable(msg) from None


def _made(door: Door, title: str, folder: str) -> str:
    if not folder:
        return str(door.write(SPREADSHEETS, {"properties": {"title": title}})["spreadsheetId"])
    told = {"name": title, "mimeType": "application/vnd.google-apps.spreadsheet", "parents": [folder]}
    address = "https://www.googleapis.com/drive/v3/files"
    return str(door.write(address, told, query={"supportsAllDrives": "true"})["id"])
