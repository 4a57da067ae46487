"""A Google Sheet: our worksheets in it, wherever people moved them, and what a report writes into them.

A worksheet and its columns are found by developer metadata, which follows them through renames, moves and
insertions. Rows are found by their key cell, which moves along when people sort; Google does not promise that
for metadata of rows.

A push goes in rounds: it reads the sheet, writes what is missing, and reads again, for people may sort or
insert in between. Text is never a formula. One round:

    1. read   which worksheets there are, and their metadata (`read_spreadsheet`)
    2. read   what stands in them (`read_sheets`)
    3. read   the rows whose keys are pushed (`read_cells`)
    4. merge  what becomes of each worksheet (`sheets/merge.py`), as groups of requests (`Changes`)
    5. write  :batchUpdate with structure, new rows, fills and notes; then values by column metadata
    6. read   keys and columns again (`_verify`); what is not where it was written raises MovedCells
    7. delete rows that are over, and stand in the archive by now

MovedCells starts the next round, at most eight of them (`SheetsClient.persist`). So does a lost connection: a
batch is atomic at Google's, and what has arrived is found by its key, so that no row is written twice. A push
that has nothing to change makes three reads and no write, however long the sheet is.

Numbers: Google counts rows and columns from 0 and leaves ends out, and so do `Tab`, `box`, `Span` and
`Changes`. `EditedSheet` and `PulledRow` count from 1, as people do; the step between the two is `n - 1`.
"""

import json
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, count
from typing import Any, NamedTuple, TypeVar

from simulator.cases.row import WorksheetRow
from simulator.core.errors import InputError
from simulator.core.messages import Message, _, quote
from simulator.core.types import Language
from simulator.sheets.google_api import (
    PROTECTED,
    GoogleRefused,
    MovedCells,
    SheetsClient,
    SinkUnavailable,
    Target,
    worksheet_of,
)
from simulator.sheets.merge import (
    OTHER,
    EditedSheet,
    EditedSheets,
    Merged,
    MergedRow,
    cell_text,
    closing_line,
    day_of,
    edited_sheet,
    merge_all,
    replaced_lines,
)
from simulator.sheets.model import (
    FILLS,
    HEADINGS,
    Column,
    Layout,
    SheetRow,
    Worksheet,
    decimals_of,
    folded,
    layout_of,
    layouts,
)

Item = TypeVar("Item")
Json = dict[str, Any]
# Google's `CellData` by row and column, from 0.
Cells = dict[tuple[int, int], Json]
# From the first index up to the second, which is not included; None goes to the end of the worksheet.
Span = tuple[int, int | None]
SPREADSHEETS = "https://sheets.googleapis.com/v4/spreadsheets"
# The keys of our metadata, with what their values are. A worksheet has the first two, a column the last.
#     rehearsal:worksheet   review Team Tokyo       its name, and the suffix of --worksheet
#     rehearsal:id          1729384756              its sheetId; a worksheet with another one is a copy
#     rehearsal:column      severity                the key of the column
WORKSHEET, OWN_ID, COLUMN = "rehearsal:worksheet", "rehearsal:id", "rehearsal:column"
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


@dataclass(frozen=True)
class Tab:
    """A worksheet of the spreadsheet, ours or not; `rows` is how many it has.

    `tags` is its metadata, `places` are its columns by key, counted from 0, `tag_ids` the ids of their
    metadata; `cells` are those that were read, by row and column from 0.
    """

    id: int
    title: str
    rows: int
    tags: dict[str, str] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)
    tag_ids: dict[str, int] = field(default_factory=dict)
    cells: Cells = field(default_factory=dict)


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


def box(sheet_id: int, rows: Span = (0, None), columns: Span = (0, None)) -> Json:
    """A part of a worksheet as Google's `GridRange`, counted from 0; ends are left out, None is an open one.

    (7, (1, None), (0, 2)) -> {sheetId: 7, startRowIndex: 1, startColumnIndex: 0, endColumnIndex: 2}
    """
    ends = {"endRowIndex": rows[1], "endColumnIndex": columns[1]}
    start = {"sheetId": sheet_id, "startRowIndex": rows[0], "startColumnIndex": columns[0]}
    return start | {name: end for name, end in ends.items() if end is not None}


def head(tab: Tab) -> Json:
    """The rows of a worksheet in which its header is looked for."""
    return box(tab.id, (0, min(_HEAD, tab.rows)))


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


def read_sheets(
    client: SheetsClient,
    target: Target,
    spreadsheet: Spreadsheet,
    layouts: Mapping[str, Layout],
    parts: Callable[[str, Tab], Iterable[Json]],
) -> dict[str, tuple[Tab, EditedSheet]]:
    """Our worksheets of these names that are there: one read; `parts` are the areas that are read of each."""
    tabs = {name: tab for name in layouts if (tab := spreadsheet.tab(identity(name, target.suffix)))}
    cells = read_cells(client, target.key, [part for item in tabs.items() for part in parts(*item)], _SHOWN)
    return {name: (tab, _edited(tab, cells.get(tab.id, {}), layouts[name])) for name, tab in tabs.items()}


def _edited(tab: Tab, cells: Cells, layout: Layout) -> EditedSheet:
    columns = {key: index + 1 for key, index in tab.places.items()}
    return edited_sheet(tab.title, _lines(cells), layout, columns, header=1)


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
        named = {name: layouts()[name] for name in names}
        sheets = read_sheets(client, target, spreadsheet, named, lambda _name, tab: [box(tab.id)])
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

# What Google takes in one cell, in UTF-16 units.
LONGEST = 50_000
# Longer notes are cut: they cover the sheet when the pointer rests on their cell.
LONGEST_NOTE = 5_000
# What an update of a cell writes; widths, wraps and number formats stay as people like them.
_FILL, _LINK = "userEnteredFormat.backgroundColorStyle", "userEnteredFormat.textFormat.link"
WRITTEN = f"userEnteredValue,note,{_FILL},{_LINK}"
# Rows below the last one and columns beside it in which people may write.
SPARE_ROWS, SPARE_COLUMNS = 100, 2
# The day from which Google counts days.
_DAY_ZERO = datetime(1899, 12, 30)
# So long that wrapped rows would fill the screen: they are cut where the cell ends.
CLIPPED = frozenset({"passages", "earlier"})
# Widths are kept in narrow characters: 34 of them are 16 + 7 * 34 = 254 pixels.
_PIXELS_A_CHARACTER, _MARGIN = 7, 16
_PROTECTED = "Rehearsal writes this column anew; write in the blue columns. / 自動で書き直される列です"
# Bytes. Google recommends at most 2 MB a request. Rows that are inserted bring the looks of their columns
# along, so a portion of new rows stays well below that.
_PORTION = 1_500_000
# Gaps of so many rows are read along: fewer, larger areas. Rows of one run stand together unless people sort.
_GAP = 50


def color(fill: str) -> Json:
    """RRGGBB as Google's colour style: "FADBDA" -> {rgbColor: {red: 0.98, green: 0.859, blue: 0.855}}."""
    red, green, blue = (int(fill[at : at + 2], 16) / 255 for at in (0, 2, 4))
    return {"rgbColor": {"red": red, "green": green, "blue": blue}}


def _new_id() -> int:
    """An id for a worksheet or a piece of metadata."""
    return secrets.randbelow(2**31 - 1) + 1


def _tag(tag: int, key: str, value: str, location: Json) -> Json:
    metadata = {"metadataId": tag, "metadataKey": key, "metadataValue": value, "visibility": "DOCUMENT"}
    return {"createDeveloperMetadata": {"developerMetadata": metadata | {"location": location}}}


def _span(sheet_id: int, dimension: str, start: int, end: int) -> Json:
    return {"sheetId": sheet_id, "dimension": dimension, "startIndex": start, "endIndex": end}


def spans(indexes: Iterable[int], gap: int = 0) -> list[tuple[int, int]]:
    """Indexes as spans without holes wider than `gap`, in order; ends are not included.

    [1, 2, 3, 7, 9]  -> [(1, 4), (7, 8), (9, 10)]
    [1, 4, 9], gap 3 -> [(1, 5), (9, 10)]
    """
    blocks: list[tuple[int, int]] = []
    for index in sorted(indexes):
        if blocks and index - blocks[-1][1] <= gap:
            blocks[-1] = blocks[-1][0], index + 1
        else:
            blocks.append((index, index + 1))
    return blocks


def column_format(column: Column, area: Json) -> Json:
    """How cells of a column look, and what may be picked in them; other entries are never refused.

    `strict: False` lets people write a status of their own, which is counted as it stands.
    """
    wrap = "WRAP" if column.wrap and column.key not in CLIPPED else "CLIP"
    look: Json = {"wrapStrategy": wrap, "verticalAlignment": "TOP"}
    condition: Json = {}
    if column.kind == "date":
        look["numberFormat"] = {"type": "DATE", "pattern": "yyyy/mm/dd"}
        condition = {"type": "DATE_IS_VALID"}
    if column.choices:
        values = [{"userEnteredValue": choice.title} for choice in column.choices]
        condition = {"type": "ONE_OF_LIST", "values": values}
    cell: Json = {"userEnteredFormat": look}
    if condition:
        cell["dataValidation"] = {"condition": condition, "strict": False, "showCustomUi": True}
    return {"repeatCell": {"range": area, "cell": cell, "fields": "userEnteredFormat,dataValidation"}}


class _There(NamedTuple):
    """A worksheet as it is in the spreadsheet: its tab, None of a new one, and the cells to compare."""

    tab: Tab | None
    edited: EditedSheet
    now: Cells


class Changes:
    """What is written into one worksheet: groups of requests that belong into one batch, in their order.

    First come columns and new worksheets, then new rows, then fills and notes of rows that were there.
    `values` are the cells of those by column metadata, written after all groups. `places` are the columns by
    key, `updated` the rows by key, `top` the row below the header, all from 0 and once all is done.

    Rows that are there are written in two ways on purpose. Their values go by column metadata, so that a
    column moved since the read still gets its own; only rows may have moved, which `_verify` sees by their
    keys. Google has no such way for fills and notes, which go by place: at worst a colour is off, until the
    next round puts it right.
    """

    def __init__(self, push: "_Push", sheet: Worksheet, merged: Merged, there: "_There") -> None:
        tab, edited, now = there
        self.sheet, self.title, self.top = sheet, edited.tab, edited.header
        # Ids of worksheets and metadata are ours to choose, so that one batch can make and use them.
        self.called, self.language = identity(sheet.name, push.target.suffix), push.language
        self.created, self.sheet_id = tab is None, tab.id if tab else _new_id()
        keys = {key: n - 1 for key, n in merged.places.items()}
        self.places = {key: n for key, n in keys.items() if not key.startswith(OTHER)}
        self.tags = {key: (tab and tab.tag_ids.get(key)) or _new_id() for key in self.places}
        self.columns = {self.places[c.key]: c for c in sheet.columns if c.key in self.places}
        new = [line.row for line in (*merged.rows, *merged.kept) if not line.number]
        self.new = len(new)
        by_place = {n: key for key, n in keys.items() if n in self.columns or key.startswith(OTHER)}
        # The conversations come first, and the others lead to their rows.
        if sheet.name == "conversations":
            places = [(row.key, self.top + n) for n, row in enumerate(new)]
            standing = ((row.key, self._index(row.number)) for row in edited.rows)
            push.goals = {key: f"#gid={self.sheet_id}&range=B{n + 1}" for key, n in (*places, *standing)}
        self.goals = push.goals
        self.added = [{n: self._cell(row, key) for n, key in by_place.items()} for row in new]
        self.added_keys = {row.key for row in new if row.key}
        # The rows that go, by key; they stand lower by then, below the new ones.
        keys_by_number = {row.number: row.key for row in edited.rows}
        self.gone = {keys_by_number[number]: self._index(number) for number in merged.gone if number}
        self.groups = [[*self._structure(tab, edited, merged)]]
        # The last rows first, for each portion goes to the top.
        last = tab is not None and self.top >= tab.rows
        self.groups += [[*self._insert_rows(rows, last)] for rows in reversed(packed(self.added))]
        self.values: list[Json] = []
        self.updated: dict[str, int] = {}
        self._change_rows([*merged.rows, *merged.kept], edited.columns, now)
        self.groups = [group for group in self.groups if group]

    def _index(self, number: int) -> int:
        """Where a row stands once the new ones are below the header; from 0."""
        return number - 1 + self.new * (number > self.top)

    def _cell(self, row: SheetRow, key: str) -> Json:
        """A cell as it is sent, whole: a missing value, fill or note is cleared."""
        cell, body = row.cell(key), Json()
        is_day = any(column.key == key and column.kind == "date" for column in self.sheet.columns)
        if is_day and (day := day_of(cell.text)):
            body["userEnteredValue"] = {"numberValue": (day - _DAY_ZERO).days}
        elif cell.number is not None:
            # As it is worded: a format would be the team's to choose.
            body["userEnteredValue"] = {"numberValue": round(cell.number, decimals_of(cell.text))}
        elif cell.text:
            body["userEnteredValue"] = {"stringValue": cell_text(cell.text, self.language, LONGEST)}
        if cell.note:
            body["note"] = cell_text(cell.note, self.language, LONGEST_NOTE)
        look: Json = {"backgroundColorStyle": color(FILLS[cell.mark])} if cell.mark else {}
        if cell.text and (goal := self.goals.get(cell.row)):
            look["textFormat"] = {"link": {"uri": goal}}
        return body | ({"userEnteredFormat": look} if look else {})

    def _structure(self, tab: Tab | None, edited: EditedSheet, merged: Merged) -> Iterator[Json]:
        """A new worksheet, new columns, and the metadata by which both are known."""
        sheet, whole = self.sheet, {"sheetId": self.sheet_id}
        added = [*merged.added] if tab else [(sheet.columns[0], 1), *merged.added]
        if tab is None:
            grid = {"rowCount": 1 + SPARE_ROWS, "frozenRowCount": 1}
            grid["columnCount"] = len(added) + SPARE_COLUMNS
            grid["frozenColumnCount"] = min(sheet.frozen_columns, len(added) - 1)
            yield {"addSheet": {"properties": {**whole, "title": self.title, "gridProperties": grid}}}
            yield _tag(_new_id(), WORKSHEET, self.called, whole)
            yield _tag(_new_id(), OWN_ID, str(self.sheet_id), whole)
            filtered = box(self.sheet_id, columns=(0, len(added)))
            yield {"setBasicFilter": {"filter": {"range": filtered}}}
        # A column that lost its mark, as one that was cut and pasted, gets it again.
        for key, place in edited.columns.items():
            if tab and key not in tab.tag_ids:
                yield self._tag_column(key, place - 1)
        for column, place in added:
            if tab:
                # After the last column there is only the one before to take over from.
                span = _span(self.sheet_id, "COLUMNS", place - 1, place)
                yield {"insertDimension": {"range": span, "inheritFromBefore": True}}
            yield from self._add_column(column, place - 1)
        for columns in spans(self.places[c.key] for c, _unused in added if c.owner == "program"):
            area = box(self.sheet_id, (1, None), columns)
            # A warning, not a lock: whoever has to change something there still can.
            protected = {"range": area, "description": _PROTECTED, "warningOnly": True}
            yield {"addProtectedRange": {"protectedRange": protected}}

    def _tag_column(self, key: str, index: int) -> Json:
        span = _span(self.sheet_id, "COLUMNS", index, index + 1)
        return _tag(self.tags[key], COLUMN, key, {"dimensionRange": span})

    def _add_column(self, column: Column, index: int) -> Iterator[Json]:
        """Header, look, width and metadata of a column that is empty."""
        yield self._tag_column(column.key, index)
        # What an inserted column takes over from its neighbour goes.
        yield column_format(column, box(self.sheet_id, (self.top, None), (index, index + 1)))
        look = {
            "backgroundColorStyle": color(HEADINGS[column.owner]),
            "textFormat": {"bold": True},
            "wrapStrategy": "WRAP",
            "verticalAlignment": "MIDDLE",
        }
        header: Json = {"userEnteredValue": {"stringValue": column.title}, "userEnteredFormat": look}
        if note := self.sheet.note(column):
            header["note"] = note
        fields = "userEnteredValue,note,userEnteredFormat,dataValidation"
        yield self._update(self.top - 1, index, [{"values": [header]}], fields)
        properties: Json = {"pixelSize": _MARGIN + _PIXELS_A_CHARACTER * column.width}
        if column.hidden:
            properties["hiddenByUser"] = True
        span = _span(self.sheet_id, "COLUMNS", index, index + 1)
        update = {"range": span, "properties": properties, "fields": ",".join(properties)}
        yield {"updateDimensionProperties": update}

    def _update(self, row: int, column: int, rows: list[Json], fields: str) -> Json:
        start = {"sheetId": self.sheet_id, "rowIndex": row, "columnIndex": column}
        return {"updateCells": {"start": start, "rows": rows, "fields": fields}}

    def _insert_rows(self, rows: Sequence[Mapping[int, Json]], last: bool) -> Iterator[Json]:
        """Rows below the header, filled in the same batch: no sort can come between the two.

        The newest run stands at the top, and formulas and charts of the team's that span the table grow.

        `last`: there is none below to take over the look of, for people deleted them all.
        """
        new = self.top, self.top + len(rows)
        span = _span(self.sheet_id, "ROWS", *new)
        yield {"insertDimension": {"range": span, "inheritFromBefore": last}}
        # The look of the row below is taken over, its colours and choices with it.
        yield {"repeatCell": {"range": box(self.sheet_id, new), "cell": {}, "fields": f"{_FILL},{_LINK}"}}
        for index, column in self.columns.items():
            yield column_format(column, box(self.sheet_id, new, (index, index + 1)))
        for first, end in spans(rows[0]):
            lines = [{"values": [row[index] for index in range(first, end)]} for row in rows]
            yield self._update(self.top, first, lines, WRITTEN)

    def _change_rows(self, lines: Iterable[MergedRow], columns: Mapping[str, int], now: Cells) -> None:
        """The program's cells of rows that are there; what is right is left.

        Values go by column metadata, wherever it is by then; fills and notes by place. People's notes on a
        cell stay where ours has none.
        """
        values: dict[str, dict[int, str | float]] = {}
        for row, number, ours in lines:
            for key in ours if number else ():
                if key not in self.places or (key not in row.cells and key not in columns):
                    continue
                want = self._cell(row, key)
                have = now.get((number - 1, columns.get(key, 0) - 1), {})
                note = want.get("note", have.get("note"))
                # So the same run pushed again writes nothing, and a colour that people chose stays.
                if _entered(want) == _entered(have) and note == have.get("note") and _uri(want) == _uri(have):
                    continue
                index = self._index(number)
                self.updated[row.key] = index
                if _entered(want) != _entered(have):
                    value = want.get("userEnteredValue", {"stringValue": ""})
                    values.setdefault(key, {})[index] = next(iter(value.values()))
                shown = {name: cell for name, cell in want.items() if name != "userEnteredValue"}
                fields = ",".join([*(["note"] if "note" in want else []), _FILL, _LINK])
                self.groups.append([self._update(index, self.places[key], [{"values": [shown]}], fields)])
        for key, rows in values.items():
            # What is null is left alone.
            cells_of_column = [rows.get(row) for row in range(max(rows) + 1)]
            tag = {"developerMetadataLookup": {"metadataId": self.tags[key]}}
            self.values.append({"dataFilter": tag, "majorDimension": "COLUMNS", "values": [cells_of_column]})


def _entered(cell: Json) -> Json:
    """What stands in a cell: a text, a number, a formula, or nothing."""
    return cell.get("userEnteredValue") or {}


def _uri(cell: Json) -> str:
    """Where a cell leads; the empty text for nowhere."""
    look = cell.get("userEnteredFormat", {}).get("textFormat", {})
    return str(look.get("link", {}).get("uri", ""))


def packed(items: Iterable[Item], room: int = _PORTION) -> list[list[Item]]:
    """Items in lists, each of at most `room` bytes in a request's body; a larger item is alone.

    ["aaaa", "bb", "c" * 20, "d"], room 16 -> [["aaaa", "bb"], ["c" * 20], ["d"]]

    Order is kept. A group of requests is one item: what has to happen at once is never parted.
    """
    lists: list[list[Item]] = []
    left = 0
    for item in items:
        needed = len(json.dumps(item, ensure_ascii=False).encode()) + 2
        if not lists or needed > left:
            lists.append([])
            left = room
        lists[-1].append(item)
        left -= needed
    return lists


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
    worksheets: Sequence[Worksheet],
    target: Target,
    *,
    language: Language = "ja",
    client: SheetsClient | None = None,
) -> PushSummary:
    """Writes the worksheets into the spreadsheet; existing rows are left, or updated in place.

    `language` is that of the marks in cut texts.
    Raises InputError for what people can fix, and SinkUnavailable when Google cannot be reached.
    """
    client = client or SheetsClient()
    work = _Push(client, worksheets, target, language)
    try:
        client.persist(work.round, _("sheet {key}", key=target.key))
    except SinkUnavailable as error:
        msg = _("{error} The run is complete; 'report RUN --to sheets' writes the sheet later.", error=error)
        raise SinkUnavailable(msg) from None
    except GoogleRefused as error:
        if error.reason != PROTECTED:
            raise
        areas = client.persist(lambda: _protected(client, target.key), _("sheet {key}", key=target.key))
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
            if locked.get("warningOnly") or client.account.email in editors:
                continue
            title, size = sheet["properties"]["title"], sheet["properties"]["gridProperties"]
            first = rowcol_to_a1(area.get("startRowIndex", 0) + 1, area.get("startColumnIndex", 0) + 1)
            # An end that is open is that of the worksheet.
            ends = area.get("endRowIndex", size["rowCount"]), area.get("endColumnIndex", size["columnCount"])
            is_whole = area.keys() <= {"sheetId"}
            areas.append(title if is_whole else f"{title}!{first}:{rowcol_to_a1(*ends)}")
    return _("{parts}", parts=areas)


class _Push:
    """One push, and what it did; every round reads the sheet again and writes what is still missing."""

    def __init__(
        self, client: SheetsClient, worksheets: Sequence[Worksheet], target: Target, language: Language
    ) -> None:
        self.client, self.target, self.language = client, target, language
        self.worksheets = {sheet.name: sheet for sheet in worksheets}
        self.url, self.before = "", EditedSheets({})
        # The names of worksheets and the keys of rows that were added: once each, in however many rounds.
        self.rows: set[tuple[str, str]] = set()
        self.notes: dict[Message | str, None] = {}
        # Where the row of each conversation is, as a link within the spreadsheet.
        self.goals: dict[str, str] = {}
        # The worksheets that this push made, which a broken connection leaves to the next round to fill.
        self.made = set[str]()

    def round(self) -> None:
        """Reads the worksheets, then the rows whose keys are pushed; compares, writes, verifies, and deletes.

        A worksheet whose key column was deleted is left alone with a note; the others are written all the
        same.
        """
        spreadsheet = read_spreadsheet(self.client, self.target.key)
        self.url = spreadsheet.url
        layouts = {name: layout_of(sheet) for name, sheet in self.worksheets.items()}
        there = read_sheets(self.client, self.target, spreadsheet, layouts, self._parts)
        if not self.before.sheets:
            self.before = EditedSheets({name: sheet for name, (_tab, sheet) in there.items()})
            keyed = (sheet for _tab, sheet in there.values() if "key" in sheet.columns)
            self.notes |= {n.text: None for sheet in keyed for n in sheet.notes if n.about == "cell"}
        edited, tabs = dict[str, EditedSheet](), dict[str, Tab]()
        for name, sheet in self.worksheets.items():
            if name not in there:
                self.made.add(name)
                edited[name] = EditedSheet(self._free_title(sheet, spreadsheet), 1, {"key": 1})
                continue
            tabs[name], edited[name] = there[name]
            if "key" not in edited[name].columns:
                note = _(
                    "{title}: its column of keys (キー) was deleted, so its rows cannot be recognized; "
                    "undo that in the version history (変更履歴), or delete the worksheet, and push again.",
                    title=sheet.title,
                )
                self.notes[note] = None
                del edited[name]
        lost = self.worksheets.keys() & tabs.keys() - edited.keys()
        sheets = [sheet for name, sheet in self.worksheets.items() if name not in lost]
        merged = merge_all(sheets, edited, self.made)
        areas = [
            box(tabs[name].id, span)
            for name, (_unused, plan) in merged.items()
            if name in tabs
            for span in spans((n - 1 for _row, n, ours in (*plan.rows, *plan.kept) if n and ours), _GAP)
        ]
        now = read_cells(self.client, self.target.key, areas, WRITTEN)
        changes_of = dict[str, Changes]()
        # The conversations first, to whose rows the others lead.
        for name in sorted(merged, key="conversations".__ne__):
            tab = tabs.get(name)
            place = _There(tab, edited[name], now.get(tab.id, {}) if tab else {})
            changes_of[name] = Changes(self, *merged[name], place)
        work = [changes_of[name] for name in merged]
        if written := [changes for changes in work if changes.groups or changes.values]:
            self._write(written)
        if written or any(changes.gone for changes in work):
            self._verify([changes for changes in work if changes in written or changes.gone])
        # The last rows first.
        deletions = [
            {"deleteDimension": {"range": _span(changes.sheet_id, "ROWS", *span)}}
            for changes in work
            for span in reversed(spans(changes.gone.values()))
        ]
        if deletions:
            self._send(":batchUpdate", {"requests": deletions})
        closed = closing_line(sheet for sheet, _plan in merged.values())
        # A further round finds nothing more to replace.
        for line in filter(None, (closed, *replaced_lines(plan for _sheet, plan in merged.values()))):
            self.notes[line] = None

    def _parts(self, name: str, tab: Tab) -> Iterator[Json]:
        """What is read of a worksheet; of the conversations, which are those of all runs, head and keys."""
        if name != "conversations":
            yield box(tab.id)
        else:
            yield head(tab)
            yield from (box(tab.id, columns=(at, at + 1)) for at in [tab.places.get("key")] if at is not None)

    def _free_title(self, sheet: Worksheet, spreadsheet: Spreadsheet) -> str:
        """The title of a new worksheet, with a number where people have one of that name."""
        title, taken = (
            identity(sheet.title, self.target.suffix),
            {t.title.casefold() for t in spreadsheet.tabs},
        )
        names = chain([title], (f"{title} ({number})" for number in count(2)))
        return next(name for name in names if name.casefold() not in taken)

    def _write(self, work: Sequence[Changes]) -> None:
        groups = [group for changes in work for group in changes.groups]
        # Structure and new rows before values: these go by the metadata that the first may have made.
        for batch in packed(groups):
            self._send(":batchUpdate", {"requests": [*chain.from_iterable(batch)]})
        for values in packed(values for changes in work for values in changes.values):
            self._send("/values:batchUpdateByDataFilter", {"valueInputOption": "RAW", "data": values})
        self.rows |= {(changes.sheet.name, key) for changes in work for key in changes.added_keys}

    def _send(self, method: str, body: Json) -> None:
        self.client.write(f"{SPREADSHEETS}/{self.target.key}{method}", body)

    def _verify(self, work: Sequence[Changes]) -> None:
        """Reads keys and columns again; raises MovedCells where something is not where it was written.

        People may have sorted the rows, and moved or deleted columns. The next round writes everything anew.
        """
        areas = [box(changes.sheet_id, (changes.top - 1, changes.top)) for changes in work]
        areas += [box(c.sheet_id, columns=(c.places["key"], c.places["key"] + 1)) for c in work]
        spreadsheet = read_spreadsheet(self.client, self.target.key, areas, "userEnteredValue")
        tabs = {tab.id: tab for tab in spreadsheet.tabs}
        moved = []
        for changes in work:
            tab, index = tabs.get(changes.sheet_id), changes.places["key"]
            if tab is None or any(tab.places.get(key) != place for key, place in changes.places.items()):
                moved.append(changes.title)
                continue
            rows = {row: text_of(cell) for (row, column), cell in tab.cells.items() if column == index}
            touched = [*changes.updated.items(), *changes.gone.items()]
            is_added = changes.added_keys <= set(rows.values())
            if not is_added or any(rows.get(row) != key for key, row in touched):
                moved.append(changes.title)
        if moved:
            raise MovedCells(", ".join(moved))


def write_test_cell(client: SheetsClient, key: str) -> None:
    """Writes a cell of a worksheet that is made for it and goes at once: no cell of people's is touched."""
    number = _new_id()
    properties = {"sheetId": number, "title": f"Rehearsal {number}"}
    put = {"userEnteredValue": {"stringValue": "Rehearsal"}}
    requests = [
        {"addSheet": {"properties": properties}},
        {
            "updateCells": {
                "range": box(number, (0, 1), (0, 1)),
                "rows": [{"values": [put]}],
                "fields": "userEnteredValue",
            }
        },
        {"deleteSheet": {"sheetId": number}},
    ]

    def write() -> None:
        client.write(f"{SPREADSHEETS}/{key}:batchUpdate", {"requests": requests})

    client.persist(write, _("sheet {key}", key=key), attempts=2)
