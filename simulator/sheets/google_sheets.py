"""A Google Sheet: our worksheets in it, wherever people moved them, and what a report writes into them.

A worksheet and its columns are found by developer metadata, which follows them through renames, moves and
insertions. Rows are found by their key cell, which moves along when people sort; Google does not promise that
for metadata of rows.

A push goes in rounds until one finds nothing to write, for people may sort or insert meanwhile. One round:

    1. read   which worksheets there are, and their metadata
    2. read   what stands in them
    3. mend   what went into wrong cells in the round before, because people moved rows or columns (`_mend`)
    4. merge  what becomes of each worksheet (`sheets/merge.py`), as groups of requests (`Painter`)
    5. write  :batchUpdate with structure, new rows, fills and notes; then values by column metadata
       or delete rows that are over, where nothing is to be written: they stand in the archive by now

A lost connection starts a round anew: a batch is atomic at Google's, and what has arrived is found by its
key, so that no row is written twice. A push that has nothing to change makes two reads and no write. Text is
never a formula.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, count
from typing import NamedTuple

from simulator.cases.row import WorkbookSheet, WorksheetRow
from simulator.core.errors import InputError
from simulator.core.messages import Message, _, quote
from simulator.sheets.google_api import (
    PROTECTED,
    GoogleRefused,
    SheetsClient,
    SinkUnavailable,
    Target,
    worksheet_of,
)
from simulator.sheets.google_painter import (
    COLUMN,
    LINK,
    OWN_ID,
    WORKSHEET,
    Cells,
    Json,
    Painter,
    Tab,
    box,
    entered,
    packed,
    span_of,
    spans,
)
from simulator.sheets.merge import (
    EditedSheet,
    EditedSheets,
    Merged,
    edited_sheet,
    merge_all,
    replaced_lines,
)
from simulator.sheets.model import PulledRow, Worksheet, folded, layouts

SPREADSHEETS = "https://sheets.googleapis.com/v4/spreadsheets"
# The fields of a spreadsheet that are asked for (a partial response): without a mask Google sends every
# format of every cell. Cells are added where worksheets are named, see `read_spreadsheet`.
_METADATA = "developerMetadata(metadataId,metadataKey,metadataValue)"
_LISTED = (
    "spreadsheetUrl,"
    "sheets(properties(sheetId,title,index,sheetType,gridProperties(rowCount)),"
    f"{_METADATA},data(columnMetadata({_METADATA})"
)
# What people read in a cell, and what a push compares: colours are left as they are, so none is asked for.
_SHOWN = "effectiveValue,formattedValue,userEnteredValue"
_COMPARED = f"{_SHOWN},note,{LINK}"
# Rounds of a push: so often people may move what is being written.
ROUNDS = 8


class Spreadsheet(NamedTuple):
    """A spreadsheet's worksheets, in their order."""

    url: str
    tabs: tuple[Tab, ...]

    def tab(self, identity: str) -> Tab | None:
        """The worksheet with that identity in its metadata; the original before its copies."""
        # Where a duplicate kept the metadata, it has another id than these say.
        tabs = [tab for tab in self.tabs if tab.tags.get(WORKSHEET) == identity]
        return min(tabs, key=lambda tab: tab.tags.get(OWN_ID) != str(tab.id), default=None)


def identity(name: str, suffix: str) -> str:
    """What the metadata of a worksheet names it by: ("review", "Team Tokyo") -> "review Team Tokyo"."""
    return f"{name} {suffix}".rstrip()


def read_spreadsheet(
    client: SheetsClient, key: str, ids: Iterable[int] | None = None, cell: str = _SHOWN
) -> Spreadsheet:
    """The spreadsheet's worksheets: one read. With `ids` only these, and their cells.

    `cell` names the fields of a cell that are asked for. Charts on a tab of their own are no worksheets here.
    Raises what gspread and requests raise: `persist` turns it into one line.
    """
    if ids is None:
        response = client.read(f"{SPREADSHEETS}/{key}", query={"fields": f"{_LISTED}))"})
    else:
        query = {"fields": f"{_LISTED},rowData(values({cell}))))"}
        body = {"dataFilters": [{"gridRange": box(sheet_id)} for sheet_id in ids]}
        response = client.read(f"{SPREADSHEETS}/{key}:getByDataFilter", query=query, body=body)
    sheets = sorted(response.get("sheets", ()), key=lambda sheet: sheet["properties"].get("index", 0))
    grids = [sheet for sheet in sheets if sheet["properties"].get("sheetType", "GRID") == "GRID"]
    return Spreadsheet(str(response.get("spreadsheetUrl", "")), tuple(map(_tab, grids)))


def _tab(sheet: Json) -> Tab:
    properties = sheet["properties"]
    rows = int(properties.get("gridProperties", {}).get("rowCount", 0))
    tab = Tab(int(properties.get("sheetId", 0)), str(properties["title"]), rows)
    for tag in sheet.get("developerMetadata", ()):
        tab.tags[tag["metadataKey"]] = str(tag.get("metadataValue", ""))
    for data in sheet.get("data", ()):
        for index, column in enumerate(data.get("columnMetadata", ())):
            # Should two columns carry one key, the left one counts.
            for tag in column.get("developerMetadata", ()):
                if tag["metadataKey"] == COLUMN and (key := str(tag["metadataValue"])) not in tab.places:
                    tab.places[key], tab.tag_ids[key] = index, int(tag["metadataId"])
        for row, line in enumerate(data.get("rowData", ())):
            tab.cells.update({(row, n): cell for n, cell in enumerate(line.get("values", ())) if cell})
    return tab


def read_sheets(
    client: SheetsClient, target: Target, spreadsheet: Spreadsheet, names: Iterable[str], cell: str = _SHOWN
) -> dict[str, tuple[Tab, EditedSheet]]:
    """Our worksheets of these names that are there, each with its columns as they are: one read."""
    tabs = {name: tab for name in names if (tab := spreadsheet.tab(identity(name, target.suffix)))}
    name_of = {tab.id: name for name, tab in tabs.items()}
    read = read_spreadsheet(client, target.key, name_of, cell).tabs if tabs else ()
    there: dict[str, tuple[Tab, EditedSheet]] = {}
    for tab in read:
        columns = {key: index + 1 for key, index in tab.places.items()}
        layout = layouts()[name_of[tab.id]]
        there[name_of[tab.id]] = tab, edited_sheet(tab.title, _lines(tab.cells), layout, columns, header=1)
    return there


def _lines(cells: Cells) -> list[WorksheetRow]:
    """The filled rows, as people see them.

    A formula counts by what it shows, but one that shows an error (#REF!) is a fault of its cell.
    """
    lines: dict[int, tuple[dict[int, str], dict[int, Message | str]]] = {}
    filled = (
        place for place, cell in cells.items() if "userEnteredValue" in cell or "formattedValue" in cell
    )
    for row, column in sorted(filled):
        cell = cells[row, column]
        texts, faults = lines.setdefault(row + 1, ({}, {}))
        text = str(cell["formattedValue"] if "formattedValue" in cell else entered(cell))
        if text.strip():
            texts[column + 1] = text
        if "errorValue" in (cell.get("effectiveValue") or {}):
            faults[column + 1] = _("it shows {text}; fix the formula", text=quote(text))
    return [WorksheetRow(number, *line) for number, line in lines.items()]


def pull(target: Target, names: Sequence[str], *, client: SheetsClient | None = None) -> EditedSheets:
    """Reads these worksheets (review, questions, ...) back; one that is not there is left out.

    Raises InputError for what people can fix, and SinkUnavailable when Google cannot be reached.
    """
    client = client or SheetsClient()

    def read() -> EditedSheets:
        spreadsheet = read_spreadsheet(client, target.key)
        sheets = read_sheets(client, target, spreadsheet, names)
        return EditedSheets({name: edited for name, (_tab, edited) in sheets.items()})

    return client.persist(read, _("sheet {key}", key=target.key))


def worksheet_values(address: str, *, client: SheetsClient | None = None) -> WorkbookSheet:
    """The filled rows of the worksheet in `sheet:KEY#worksheet`; without a name of the first one.

    Raises InputError in one line that says what to click or to set.
    """
    key, name = worksheet_of(address)
    client = client or SheetsClient()

    def read() -> WorkbookSheet:
        tabs = read_spreadsheet(client, key).tabs
        named = (tab for tab in tabs if name is None or folded(tab.title) == folded(name))
        if (tab := next(named, None)) is None:
            what = _("no worksheet {name}", name=name or "with cells")
            msg = _(
                "{address}: {what}; its name is on the tab at the bottom of the sheet.",
                address=address,
                what=what,
            )
            raise InputError(msg)
        (tab,) = read_spreadsheet(client, key, [tab.id]).tabs
        return WorkbookSheet(tab.title, tuple(line for line in _lines(tab.cells) if line.texts))

    return client.persist(read, address)


# --- Pushing ---


class PushSummary(NamedTuple):
    """The sheet's address, how many rows were added, and lines for people: what to look at.

    `rows` counts over all worksheets; rows that were there and only changed are not among them. `before` are
    the worksheets as people had left them, without what a push need not look at.
    """

    url: str
    rows: int
    notes: tuple[Message | str, ...]
    before: EditedSheets = EditedSheets({})


def push(
    worksheets: Sequence[Worksheet], target: Target, *, client: SheetsClient | None = None
) -> PushSummary:
    """Writes the worksheets into the spreadsheet; existing rows are left, or updated in place.

    Raises InputError for what people can fix, and SinkUnavailable when Google cannot be reached.
    """
    client = client or SheetsClient()
    work, name = _Push(client, worksheets, target), _("sheet {key}", key=target.key)
    try:
        if not any(client.persist(work.round, name) for _round in range(ROUNDS)):
            raise InputError(_("{name}: people keep moving rows and columns; push again later.", name=name))
    except SinkUnavailable as error:
        msg = _("{error} The run is complete; 'report RUN --to sheets' writes the sheet later.", error=error)
        raise SinkUnavailable(msg) from None
    except GoogleRefused as error:
        if error.reason != PROTECTED:
            raise
        areas = client.persist(lambda: _protected(client, target.key), name)
        raise GoogleRefused(_("{error} Protected: {areas}", error=error, areas=areas), PROTECTED) from None
    return PushSummary(work.url, len(work.rows), tuple(work.notes), work.before)


def _protected(client: SheetsClient, key: str) -> Message:
    """The parts of a spreadsheet that others have locked: "確認!B2:D9"; of a whole worksheet its title."""
    from gspread.utils import rowcol_to_a1

    grid = "gridProperties(rowCount,columnCount)"
    fields = f"sheets(properties(title,{grid}),protectedRanges(range,warningOnly,editors))"
    areas = []
    for sheet in client.read(f"{SPREADSHEETS}/{key}", query={"fields": fields}).get("sheets", ()):
        for locked in sheet.get("protectedRanges", ()):
            area, editors = locked.get("range", {}), locked.get("editors", {}).get("users", ())
            if locked.get("warningOnly") or client.account in editors:
                continue
            title, size = sheet["properties"]["title"], sheet["properties"]["gridProperties"]
            first = rowcol_to_a1(area.get("startRowIndex", 0) + 1, area.get("startColumnIndex", 0) + 1)
            # An end that is open is that of the worksheet.
            ends = area.get("endRowIndex", size["rowCount"]), area.get("endColumnIndex", size["columnCount"])
            is_whole = area.keys() <= {"sheetId"}
            areas.append(title if is_whole else f"{title}!{first}:{rowcol_to_a1(*ends)}")
    return _("{parts}", parts=areas)


# Worksheets that are there, by name.
There = Mapping[str, tuple[Tab, EditedSheet]]


class _Push:
    """One push, and what it did; every round reads the sheet again and writes what is still missing."""

    def __init__(self, client: SheetsClient, worksheets: Sequence[Worksheet], target: Target) -> None:
        self.client, self.target = client, target
        self.worksheets = {sheet.name: sheet for sheet in worksheets}
        self.url, self.before = "", EditedSheets({})
        # The names of worksheets and the keys of rows that were added: once each, in however many rounds.
        self.rows: set[tuple[str, str]] = set()
        self.notes: dict[Message | str, None] = {}
        # The worksheets that this push made, which a broken connection leaves to the next round to fill.
        self.made = set[str]()
        # What the round before wrote, and deleted; rows that went in the place of others, by worksheet.
        self.written: Sequence[Painter] = ()
        self.deleted: Sequence[Painter] = ()
        self.lost: dict[str, list[PulledRow]] = {}

    def round(self) -> bool:
        """Reads the worksheets, compares, and writes; whether nothing was left to write.

        A worksheet whose key column was deleted is left alone with a note; the others are written all the
        same.
        """
        spreadsheet = read_spreadsheet(self.client, self.target.key)
        self.url = spreadsheet.url
        there = read_sheets(self.client, self.target, spreadsheet, self.worksheets, _COMPARED)
        if self._mend(there):
            return False
        if not self.before.sheets:
            self.before = EditedSheets({name: sheet for name, (_tab, sheet) in there.items()})
            keyed = (sheet for _tab, sheet in there.values() if "key" in sheet.columns)
            self.notes |= {n.text: None for sheet in keyed for n in sheet.notes if n.about == "cell"}
        merged, edited = self._merged(spreadsheet, there)
        painters = self._painters(merged, edited, there)
        # A further round finds nothing more to replace.
        self.notes |= dict.fromkeys(replaced_lines(merged.values()))
        return not (self._write(painters) or self._delete(painters))

    def _mend(self, there: There) -> bool:
        """Puts right what went wrong in the round before, because people moved rows or columns meanwhile.

        Values in other rows give way to what stood there, rows in other columns go, and rows that went in the
        place of others are remembered, for the merge. Whether anything was written.
        """
        deletions, values = list[Json](), list[Json]()
        for painter in (p for p in self.written if p.sheet.name in there):
            tab, edited = there[painter.sheet.name]
            values += painter.misplaced(tab, edited)
            if any(tab.places.get(key) != painter.places[key] for key in painter.tags):
                cells = {row.number: {row.key, *row.cells.values()} for row in edited.rows}
                strays = [number - 1 for number, texts in cells.items() if painter.added_keys & texts]
                deletions += _deletions(tab.id, strays)
        for painter in (p for p in self.deleted if p.sheet.name in there):
            left, out = (set(map(_said, rows)) for rows in (there[painter.sheet.name][1].rows, painter.gone))
            lost = [row for row in painter.edited.rows if _said(row) not in left | out]
            # A row that is still there may be a copy that people made of one that went.
            if lost and left & out:
                self.lost[painter.sheet.name] = [row.model_copy(update={"number": 0}) for row in lost]
                line = _(
                    "{tab}: sorted while rows went; {n} others are put back.",
                    tab=painter.edited.tab,
                    n=len(lost),
                )
                self.notes[line] = None
        self.written = self.deleted = ()
        if deletions:
            self._send(":batchUpdate", {"requests": deletions})
        if values:
            self._send_values(values)
        return bool(deletions or values)

    def _merged(
        self, spreadsheet: Spreadsheet, there: There
    ) -> tuple[dict[str, Merged], dict[str, EditedSheet]]:
        """What becomes of the worksheets that have their keys, and how people left them."""
        edited = dict[str, EditedSheet]()
        for name, sheet in self.worksheets.items():
            if name not in there:
                self.made.add(name)
                edited[name] = EditedSheet(self._free_title(sheet, spreadsheet), 1, {"key": 1})
            elif "key" in (left := there[name][1]).columns:
                # Rows that went in the place of others are as they were, and have no place.
                standing = set(map(_said, left.rows))
                lost = [row for row in self.lost.get(name, ()) if _said(row) not in standing]
                edited[name] = left._replace(rows=[*left.rows, *lost])
            else:
                note = _(
                    "{title}: its column of keys (キー) was deleted, so its rows cannot be recognized; "
                    "undo that in the version history (変更履歴), or delete the worksheet, and push again.",
                    title=sheet.title,
                )
                self.notes[note] = None
        sheets = [sheet for name, sheet in self.worksheets.items() if name in edited]
        return merge_all(sheets, edited, self.made), edited

    def _free_title(self, sheet: Worksheet, spreadsheet: Spreadsheet) -> str:
        """The title of a new worksheet, with a number where people have one of that name."""
        title = identity(sheet.title, self.target.suffix)
        taken = {tab.title.casefold() for tab in spreadsheet.tabs}
        names = chain([title], (f"{title} ({number})" for number in count(2)))
        return next(name for name in names if name.casefold() not in taken)

    def _painters(
        self, merged: Mapping[str, Merged], edited: Mapping[str, EditedSheet], there: There
    ) -> list[Painter]:
        painters, links = dict[str, Painter](), dict[str, str]()
        # The conversations first, to whose rows the others lead.
        for name in sorted(merged, key="conversations".__ne__):
            tab = there[name][0] if name in there else None
            known_as = identity(name, self.target.suffix)
            painters[name] = Painter(known_as, merged[name], edited[name], tab, links)
            if name == "conversations":
                links = painters[name].links()
        return [painters[name] for name in merged]

    def _write(self, painters: Sequence[Painter]) -> bool:
        """Structure and new rows before values: these go by the metadata that the first may have made."""
        self.written = [painter for painter in painters if painter.groups or painter.values]
        for batch in packed(group for painter in self.written for group in painter.groups):
            self._send(":batchUpdate", {"requests": [*chain.from_iterable(batch)]})
        self._send_values([values for painter in self.written for values in painter.values])
        self.rows |= {(painter.sheet.name, key) for painter in self.written for key in painter.added_keys}
        return bool(self.written)

    def _delete(self, painters: Sequence[Painter]) -> bool:
        """Deletes the rows that are over, as they stand: Google deletes what stands in a row by then."""
        self.deleted = [painter for painter in painters if painter.gone]
        deletions = [
            deletion
            for painter in self.deleted
            for deletion in _deletions(painter.id, [row.number - 1 for row in painter.gone])
        ]
        if deletions:
            self._send(":batchUpdate", {"requests": deletions})
        return bool(deletions)

    def _send_values(self, values: Sequence[Json]) -> None:
        for portion in packed(values):
            self._send("/values:batchUpdateByDataFilter", {"valueInputOption": "RAW", "data": portion})

    def _send(self, method: str, body: Json) -> None:
        self.client.write(f"{SPREADSHEETS}/{self.target.key}{method}", body)


def _deletions(sheet_id: int, rows: Iterable[int]) -> list[Json]:
    """Requests that delete rows, the last ones first."""
    return [{"deleteDimension": {"range": span_of(sheet_id, "ROWS", *s)}} for s in reversed(spans(rows))]


def _said(row: PulledRow) -> str:
    """What a row is known by: its key, or all that stands in one that people added."""
    return row.key or str(sorted(row.cells.items()))
