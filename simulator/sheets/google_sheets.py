"""A Google Sheet: our worksheets in it, wherever people moved them, and what a report writes into them.

A worksheet and its columns are found by developer metadata, which follows them through renames, moves and
insertions. Rows are found by their key cell, which moves along when people sort; Google does not promise that
for metadata of rows.

A push goes in rounds: it reads the sheet, writes what is missing, and reads again, for people may sort or
insert in between. Text is never a formula. One round:

    1. read   which worksheets there are, and their metadata (`read_spreadsheet`)
    2. read   what stands in them (`read_sheets`)
    3. read   the rows whose keys are pushed (`read_cells`)
    4. merge  what becomes of each worksheet (`sheets/merge.py`), as groups of requests (`Painter`)
    5. write  :batchUpdate with structure, new rows, fills and notes; then values by column metadata
    6. read   keys and columns again (`_verify`); what is not where it was written raises MovedCells
    7. delete rows that are over, and stand in the archive by now
    8. read   whether just these went; others are put back by the next round

MovedCells starts the next round, at most eight of them (`SheetsClient.persist`). So does a lost connection: a
batch is atomic at Google's, and what has arrived is found by its key, so that no row is written twice. A push
that has nothing to change makes three reads and no write, however long the sheet is.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, count
from typing import NamedTuple

from simulator.cases.row import WorksheetRow
from simulator.core.errors import InputError
from simulator.core.messages import Message, _, quote
from simulator.sheets.google_api import (
    PROTECTED,
    GoogleRefused,
    MovedCells,
    SheetsClient,
    SinkUnavailable,
    Target,
    worksheet_of,
)
from simulator.sheets.google_painter import (
    COLUMN,
    OWN_ID,
    WORKSHEET,
    WRITTEN,
    Cells,
    Json,
    Painter,
    Tab,
    box,
    new_id,
    packed,
    span_of,
    spans,
)
from simulator.sheets.merge import (
    EditedSheet,
    EditedSheets,
    Merged,
    closing_line,
    edited_sheet,
    merge_all,
    replaced_lines,
)
from simulator.sheets.model import (
    Layout,
    PulledRow,
    Worksheet,
    folded,
    layouts,
)

SPREADSHEETS = "https://sheets.googleapis.com/v4/spreadsheets"
# Rows in which a header is looked for: people put titles and notes above it.
_HEAD = 12
# The fields of a spreadsheet that are asked for (a partial response): without a mask Google sends every
# format of every cell. Cells are added where areas are named, see `read_spreadsheet`.
_METADATA = "developerMetadata(metadataId,metadataKey,metadataValue)"
_LISTED = (
    "spreadsheetUrl,"
    "sheets(properties(sheetId,title,index,sheetType,gridProperties(rowCount)),"
    f"{_METADATA},data(startRow,startColumn,columnMetadata({_METADATA})"
)
_SHOWN = "userEnteredValue,effectiveValue,formattedValue"


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
    client: SheetsClient, key: str, areas: Sequence[Json] | None = None, mask: str = ""
) -> Spreadsheet:
    """The spreadsheet's worksheets: one read. With `areas` only those that they lie in, and their cells.

    `mask` names the fields of a cell that are read, such as "userEnteredValue,note". Charts on a tab of their
    own are no worksheets here. Raises what gspread and requests raise: `persist` turns it into one line.
    """
    query = {"fields": _LISTED + (f",rowData(values({mask}))))" if mask else "))")}
    if areas is None:
        response = client.read(f"{SPREADSHEETS}/{key}", query=query)
    else:
        body = {"dataFilters": [{"gridRange": area} for area in areas]}
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
        top, left = int(data.get("startRow", 0)), int(data.get("startColumn", 0))
        for index, column in enumerate(data.get("columnMetadata", ()), left):
            # Should two columns carry one key, the left one counts.
            for tag in column.get("developerMetadata", ()):
                if tag["metadataKey"] == COLUMN and (key := str(tag["metadataValue"])) not in tab.places:
                    tab.places[key], tab.tag_ids[key] = index, int(tag["metadataId"])
        for row, line in enumerate(data.get("rowData", ()), top):
            tab.cells.update({(row, n): cell for n, cell in enumerate(line.get("values", ()), left) if cell})
    return tab


def read_cells(client: SheetsClient, key: str, areas: Sequence[Json], mask: str) -> dict[int, Cells]:
    """The cells of these parts, by worksheet and place: one read, or none for no parts."""
    tabs = read_spreadsheet(client, key, areas, mask).tabs if areas else ()
    return {tab.id: tab.cells for tab in tabs}


def text_of(cell: Json) -> str:
    """What people typed into the cell, as text; whole numbers without a point (3.0 -> "3").

    Empty for a formula: what it shows depends on other cells, and a key is never one.
    """
    value = cell.get("userEnteredValue") or {}
    if "numberValue" in value:
        return f"{value['numberValue']:.15g}"
    return str(value.get("stringValue", ""))


def _whole(_name: str, tab: Tab) -> Iterator[Json]:
    yield box(tab.id)


def read_sheets(
    client: SheetsClient,
    target: Target,
    spreadsheet: Spreadsheet,
    names: Iterable[str],
    parts: Callable[[str, Tab], Iterable[Json]] = _whole,
) -> dict[str, tuple[Tab, EditedSheet]]:
    """Our worksheets of these names that are there, each with its columns as they are: one read.

    `parts` are the areas that are read of each.
    """
    tabs = {name: tab for name in names if (tab := spreadsheet.tab(identity(name, target.suffix)))}
    areas = [part for item in tabs.items() for part in parts(*item)]
    read = read_spreadsheet(client, target.key, areas, _SHOWN).tabs if areas else ()
    name_of = {tab.id: name for name, tab in tabs.items()}
    return {name_of[tab.id]: (tab, _edited(tab, layouts()[name_of[tab.id]])) for tab in read}


def _edited(tab: Tab, layout: Layout) -> EditedSheet:
    columns = {key: index + 1 for key, index in tab.places.items()}
    return edited_sheet(tab.title, _lines(tab.cells), layout, columns, header=1)


def _lines(cells: Cells) -> list[WorksheetRow]:
    """The filled rows, as people see them.

    A formula counts by what it shows, but one that shows an error (#REF!) is a fault of its cell.
    """
    lines: dict[int, tuple[dict[int, str], dict[int, Message | str]]] = {}
    for (row, column), cell in sorted(cells.items()):
        texts, faults = lines.setdefault(row + 1, ({}, {}))
        text = str(cell.get("formattedValue", text_of(cell)))
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


def worksheet_values(
    address: str, *, client: SheetsClient | None = None
) -> tuple[str, dict[int, Mapping[int, str]]]:
    """Name and filled rows of the worksheet in `sheet:KEY#worksheet`; without a name of the first one.

    The rows are texts as shown by column, both from 1.
    Raises InputError in one line that says what to click or to set.
    """
    key, name = worksheet_of(address)
    client = client or SheetsClient()

    def read() -> tuple[str, dict[int, Mapping[int, str]]]:
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
        cells = read_cells(client, key, [box(tab.id)], "userEnteredValue,formattedValue").get(tab.id, {})
        return tab.title, {line.number: line.texts for line in _lines(cells) if line.texts}

    return client.persist(read, address)


# --- Pushing ---

# Gaps of so many rows are read along: fewer, larger areas. Rows of one run stand together unless people sort.
_GAP = 50


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
        client.persist(work.round, name)
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
        # By worksheet: keys of rows that were written while a column moved, so that their cells may stand in
        # others, and rows that went in the place of others, because people sorted them meanwhile.
        self.misplaced: dict[str, set[str]] = {}
        self.lost: dict[str, list[PulledRow]] = {}

    def round(self) -> None:
        """Reads the worksheets, then the rows whose keys are pushed; compares, writes, verifies, and deletes.

        A worksheet whose key column was deleted is left alone with a note; the others are written all the
        same.
        """
        spreadsheet = read_spreadsheet(self.client, self.target.key)
        self.url = spreadsheet.url
        there = read_sheets(self.client, self.target, spreadsheet, self.worksheets, self._parts)
        self._delete_misplaced(there)
        if not self.before.sheets:
            self.before = EditedSheets({name: sheet for name, (_tab, sheet) in there.items()})
            keyed = (sheet for _tab, sheet in there.values() if "key" in sheet.columns)
            self.notes |= {n.text: None for sheet in keyed for n in sheet.notes if n.about == "cell"}
        merged, edited = self._merged(spreadsheet, there)
        painters = self._painters(merged, edited, there)
        if written := [painter for painter in painters if painter.groups or painter.values]:
            self._write(written)
        if changed := [painter for painter in painters if painter in written or painter.gone]:
            self._verify(changed)
        self._delete(there, {painter.sheet.name: painter.gone for painter in painters if painter.gone})
        closed = closing_line(each.sheet for each in merged.values())
        # A further round finds nothing more to replace.
        for line in filter(None, (closed, *replaced_lines(merged.values()))):
            self.notes[line] = None

    def _parts(self, name: str, tab: Tab) -> Iterator[Json]:
        """What is read of a worksheet; of the conversations, which are those of all runs, head and keys."""
        if name != "conversations":
            yield box(tab.id)
        else:
            yield box(tab.id, (0, min(_HEAD, tab.rows)))
            yield from (box(tab.id, columns=(at, at + 1)) for at in [tab.places.get("key")] if at is not None)

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
        tabs = {name: tab for name, (tab, _sheet) in there.items()}
        areas = [
            box(tabs[name].id, span)
            for name, each in merged.items()
            if name in tabs
            for span in spans((row.number - 1 for row in each.sheet.rows if row.number and row.ours), _GAP)
        ]
        now = read_cells(self.client, self.target.key, areas, WRITTEN)
        painters, links = dict[str, Painter](), dict[str, str]()
        # The conversations first, to whose rows the others lead.
        for name in sorted(merged, key="conversations".__ne__):
            tab = replace(tabs[name], cells=now.get(tabs[name].id, {})) if name in tabs else None
            known_as = identity(name, self.target.suffix)
            painters[name] = Painter(known_as, merged[name], edited[name], tab, links)
            if name == "conversations":
                links = painters[name].links()
        return [painters[name] for name in merged]

    def _write(self, painters: Sequence[Painter]) -> None:
        # Structure and new rows before values: these go by the metadata that the first may have made.
        for batch in packed(group for painter in painters for group in painter.groups):
            self._send(":batchUpdate", {"requests": [*chain.from_iterable(batch)]})
        for values in packed(values for painter in painters for values in painter.values):
            self._send("/values:batchUpdateByDataFilter", {"valueInputOption": "RAW", "data": values})
        self.rows |= {(painter.sheet.name, key) for painter in painters for key in painter.added_keys}

    def _send(self, method: str, body: Json) -> None:
        self.client.write(f"{SPREADSHEETS}/{self.target.key}{method}", body)

    def _verify(self, painters: Sequence[Painter]) -> None:
        """Reads keys and columns again; raises MovedCells where something is not where it was written.

        People may have sorted the rows, and moved or deleted columns. The next round writes everything anew.
        """
        areas = [box(painter.id, (painter.top - 1, painter.top)) for painter in painters]
        areas += [box(p.id, columns=(p.places["key"], p.places["key"] + 1)) for p in painters]
        spreadsheet = read_spreadsheet(self.client, self.target.key, areas, "userEnteredValue")
        tabs = {tab.id: tab for tab in spreadsheet.tabs}
        moved = []
        for painter in painters:
            tab, known = tabs.get(painter.id), painter.tags.keys()
            if tab is None or any(tab.places.get(key) != painter.places[key] for key in known):
                self.misplaced.setdefault(painter.sheet.name, set()).update(painter.added_keys)
                moved.append(painter.sheet.title)
                continue
            at = painter.places["key"]
            keys = {row: text_of(cell) for (row, column), cell in tab.cells.items() if column == at}
            touched = {row: key for key, row in painter.updated.items()}
            touched |= {index: row.key for index, row in painter.gone.items()}
            is_added = painter.added_keys <= set(keys.values())
            if not is_added or any(keys.get(row) != key for row, key in touched.items()):
                moved.append(painter.sheet.title)
        if moved:
            raise MovedCells(", ".join(moved))

    def _delete_misplaced(self, there: There) -> None:
        """Deletes rows that were written while a column moved; the next round writes them anew."""
        strays: dict[str, dict[int, PulledRow]] = {}
        for name in self.misplaced.keys() & there.keys():
            keys = self.misplaced[name]
            for row in there[name][1].rows:
                if keys & {row.key, *row.cells.values(), *row.others.values()}:
                    strays.setdefault(name, {})[row.number - 1] = row
        self._delete(there, strays)
        self.misplaced.clear()
        if strays:
            raise MovedCells(", ".join(there[name][1].tab for name in strays))

    def _delete(self, there: There, gone: Mapping[str, Mapping[int, PulledRow]]) -> None:
        """Deletes rows, by worksheet and index; raises MovedCells where others went in their place.

        Google deletes what stands in a row by then, and people may have sorted it there. What went by mistake
        is put back by the next round.
        """
        deletions = [
            {"deleteDimension": {"range": span_of(there[name][0].id, "ROWS", *span)}}
            for name, rows in gone.items()
            for span in reversed(spans(rows))  # the last rows first
        ]
        if not deletions:
            return
        self._send(":batchUpdate", {"requests": deletions})
        areas = [box(there[name][0].id) for name in gone]
        tabs = {tab.id: tab for tab in read_spreadsheet(self.client, self.target.key, areas, _SHOWN).tabs}
        moved = []
        for name, rows in gone.items():
            tab, before = there[name]
            left = set(map(_said, _edited(tabs[tab.id], layouts()[name]).rows)) if tab.id in tabs else set()
            out = set(map(_said, rows.values()))
            lost = [row for row in before.rows if _said(row) not in left | out]
            # A row that is still there may be a copy that people made of one that went.
            if lost and left & out:
                self.lost[name] = [row.model_copy(update={"number": 0}) for row in lost]
                line = _(
                    "{tab}: sorted while rows went; {n} others are put back.", tab=tab.title, n=len(lost)
                )
                self.notes[line] = None
                moved.append(tab.title)
        if moved:
            raise MovedCells(", ".join(moved))


def _said(row: PulledRow) -> str:
    """What a row is known by: its key, or all that stands in one that people added."""
    return row.key or f"{sorted(row.cells.items())} {sorted(row.others.items())}"


def write_test_cell(client: SheetsClient, key: str) -> None:
    """Writes a cell of a worksheet that is made for it and goes at once: no cell of people's is touched."""
    number = new_id()
    cell, area = {"userEnteredValue": {"stringValue": "Rehearsal"}}, box(number, (0, 1), (0, 1))
    requests = [
        {"addSheet": {"properties": {"sheetId": number, "title": f"Rehearsal {number}"}}},
        {"repeatCell": {"range": area, "cell": cell, "fields": "userEnteredValue"}},
        {"deleteSheet": {"sheetId": number}},
    ]
    url = f"{SPREADSHEETS}/{key}:batchUpdate"
    client.persist(lambda: client.write(url, {"requests": requests}), _("sheet {key}", key=key), attempts=2)
