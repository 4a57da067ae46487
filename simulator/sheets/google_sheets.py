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
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain, count
from typing import Any, NamedTuple, TypeVar

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
    FILLS,
    HEADINGS,
    OTHER,
    Column,
    Layout,
    PulledRow,
    SheetRow,
    Worksheet,
    cell_text,
    day_of,
    decimals_of,
    folded,
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


def whole(_name: str, tab: Tab) -> Iterator[Json]:
    """All of a worksheet."""
    yield box(tab.id)


def read_sheets(
    client: SheetsClient,
    target: Target,
    spreadsheet: Spreadsheet,
    names: Iterable[str],
    parts: Callable[[str, Tab], Iterable[Json]] = whole,
) -> dict[str, tuple[Tab, EditedSheet]]:
    """Our worksheets of these names that are there: one read; `parts` are the areas that are read of each."""
    tabs = {name: tab for name in names if (tab := spreadsheet.tab(identity(name, target.suffix)))}
    cells = read_cells(client, target.key, [part for item in tabs.items() for part in parts(*item)], _SHOWN)
    read = {name: replace(tab, cells=cells.get(tab.id, {})) for name, tab in tabs.items()}
    return {name: (tab, _edited(tab, layouts()[name])) for name, tab in read.items()}


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


class _Painter:
    """What is written into one worksheet: groups of requests that belong into one batch, in their order.

    First come columns and new worksheets, then new rows, then fills and notes of rows that were there.
    `values` are the cells of those by column metadata, written after all groups. `places` are the columns by
    key, `updated` the rows by key, `gone` those that go by index, `top` the row below the header, all from 0
    and once all is done.

    Rows that are there are written in two ways on purpose. Their values go by column metadata, so that a
    column moved since the read still gets its own; only rows may have moved, which `_verify` sees by their
    keys. Google has no such way for fills and notes, which go by place: at worst a colour is off, until the
    next round puts it right.
    """

    def __init__(
        self, name: str, merged: Merged, edited: EditedSheet, tab: Tab | None, links: Mapping[str, str]
    ) -> None:
        """`name` is that in the metadata; the cells of `tab` are those of rows that are there, to compare."""
        self.name, self.sheet, self.edited, self.tab = name, merged.sheet, edited, tab
        self.top, self._links = edited.header, links
        # Ids of worksheets and metadata are ours to choose, so that one batch can make and use them.
        self.id = tab.id if tab else _new_id()
        self.columns = {column.key: column for column in self.sheet.columns}
        self.places, added = _places(edited, self.sheet.columns)
        known = [key for key in self.places if not key.startswith(OTHER)]
        self.tags = {key: (tab and tab.tag_ids.get(key)) or _new_id() for key in known}
        self.new = [row for row in self.sheet.rows if not row.number]
        self.added_keys = {row.key for row in self.new if row.key}
        self.gone = {self._index(row.number): row for row in merged.gone}
        self.updated: dict[str, int] = {}
        self.groups = [[*self._structure(added)]]
        cells = [{place: self._cell(row, key) for key, place in self.places.items()} for row in self.new]
        # The last rows first, for each portion goes to the top.
        self.groups += [[*self._insert_rows(rows)] for rows in reversed(packed(cells))]
        self.values = [*self._change_rows(tab.cells if tab else {})]
        self.groups = [group for group in self.groups if group]

    def links(self) -> dict[str, str]:
        """Where the row of each key is, within the spreadsheet."""
        places = [(row.key, self.top + n) for n, row in enumerate(self.new)]
        places += [(row.key, self._index(row.number)) for row in self.edited.rows]
        return {key: f"#gid={self.id}&range=B{index + 1}" for key, index in places}

    def _index(self, number: int) -> int:
        """Where a row stands once the new ones are below the header; from 0."""
        return number - 1 + len(self.new) * (number > self.top)

    def _cell(self, row: SheetRow, key: str) -> Json:
        """A cell as it is sent, whole: a missing value, fill or note is cleared."""
        cell, body = row.cell(key), Json()
        column = self.columns.get(key)
        if column and column.kind == "date" and (day := day_of(cell.text)):
            body["userEnteredValue"] = {"numberValue": (day - _DAY_ZERO).days}
        elif cell.number is not None:
            # As it is worded: a format would be the team's to choose.
            body["userEnteredValue"] = {"numberValue": round(cell.number, decimals_of(cell.text))}
        elif cell.text:
            body["userEnteredValue"] = {"stringValue": cell_text(cell.text, LONGEST)}
        if cell.note:
            body["note"] = cell_text(cell.note, LONGEST_NOTE)
        look: Json = {"backgroundColorStyle": color(FILLS[cell.mark])} if cell.mark else {}
        if cell.text and (link := self._links.get(cell.row)):
            look["textFormat"] = {"link": {"uri": link}}
        return body | ({"userEnteredFormat": look} if look else {})

    def _structure(self, added: Sequence[tuple[Column, int]]) -> Iterator[Json]:
        """A new worksheet, new columns, and the metadata by which both are known."""
        if self.tab is None:
            added = [(self.sheet.columns[0], 0), *added]
            yield from self._new_worksheet(len(added))
        # A column that lost its mark, as one that was cut and pasted, gets it again.
        for key in self.edited.columns if self.tab else ():
            if self.tab and key not in self.tab.tag_ids:
                yield self._tag_column(key)
        for column, place in added:
            if self.tab:
                # After the last column there is only the one before to take over from.
                span = _span(self.id, "COLUMNS", place, place + 1)
                yield {"insertDimension": {"range": span, "inheritFromBefore": True}}
            yield from self._add_column(column, place)
        for columns in spans(place for column, place in added if column.owner == "program"):
            area = box(self.id, (1, None), columns)
            # A warning, not a lock: whoever has to change something there still can.
            protected = {"range": area, "description": _PROTECTED, "warningOnly": True}
            yield {"addProtectedRange": {"protectedRange": protected}}

    def _new_worksheet(self, columns: int) -> Iterator[Json]:
        whole = {"sheetId": self.id}
        grid = {
            "rowCount": 1 + SPARE_ROWS,
            "columnCount": columns + SPARE_COLUMNS,
            "frozenRowCount": 1,
            "frozenColumnCount": min(self.sheet.frozen_columns, columns - 1),
        }
        yield {"addSheet": {"properties": {**whole, "title": self.sheet.title, "gridProperties": grid}}}
        yield _tag(_new_id(), WORKSHEET, self.name, whole)
        yield _tag(_new_id(), OWN_ID, str(self.id), whole)
        yield {"setBasicFilter": {"filter": {"range": box(self.id, columns=(0, columns))}}}

    def _tag_column(self, key: str) -> Json:
        span = _span(self.id, "COLUMNS", self.places[key], self.places[key] + 1)
        return _tag(self.tags[key], COLUMN, key, {"dimensionRange": span})

    def _add_column(self, column: Column, index: int) -> Iterator[Json]:
        """Header, look, width and metadata of a column that is empty."""
        yield self._tag_column(column.key)
        # What an inserted column takes over from its neighbour goes.
        yield _column_format(column, box(self.id, (self.top, None), (index, index + 1)))
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
        span = _span(self.id, "COLUMNS", index, index + 1)
        update = {"range": span, "properties": properties, "fields": ",".join(properties)}
        yield {"updateDimensionProperties": update}

    def _update(self, row: int, column: int, rows: list[Json], fields: str) -> Json:
        start = {"sheetId": self.id, "rowIndex": row, "columnIndex": column}
        return {"updateCells": {"start": start, "rows": rows, "fields": fields}}

    def _insert_rows(self, rows: Sequence[Mapping[int, Json]]) -> Iterator[Json]:
        """Rows below the header, filled in the same batch: no sort can come between the two.

        The newest run stands at the top, and formulas and charts of the team's that span the table grow.
        """
        new = self.top, self.top + len(rows)
        # Where people deleted all rows there is none below to take over the look of.
        is_last = self.tab is not None and self.top >= self.tab.rows
        span = _span(self.id, "ROWS", *new)
        yield {"insertDimension": {"range": span, "inheritFromBefore": is_last}}
        # The look of the row below is taken over, its colours and choices with it.
        yield {"repeatCell": {"range": box(self.id, new), "cell": {}, "fields": f"{_FILL},{_LINK}"}}
        for key, column in self.columns.items():
            index = self.places[key]
            yield _column_format(column, box(self.id, new, (index, index + 1)))
        for first, end in spans(rows[0]):
            lines = [{"values": [row[index] for index in range(first, end)]} for row in rows]
            yield self._update(self.top, first, lines, WRITTEN)

    def _change_rows(self, now: Cells) -> Iterator[Json]:
        """The values of rows that are there, in the columns that are ours; what is right is left.

        Fills and notes go into `groups`. People's notes on a cell stay where ours has none.
        """
        values: dict[str, dict[int, str | float]] = {}
        for row in self.sheet.rows:
            index = self._index(row.number)
            for key in set(row.ours) & self.places.keys() if row.number else ():
                if key not in row.cells and key not in self.edited.columns:
                    continue
                want = self._cell(row, key)
                have = now.get((row.number - 1, self.edited.columns.get(key, 0) - 1), {})
                value, note = want.get("userEnteredValue") or {}, want.get("note", have.get("note"))
                is_same = value == (have.get("userEnteredValue") or {})
                # So the same run pushed again writes nothing, and a colour that people chose stays.
                if is_same and note == have.get("note") and _uri(want) == _uri(have):
                    continue
                self.updated[row.key] = index
                if not is_same:
                    values.setdefault(key, {})[index] = next(iter(value.values()), "")
                shown = {name: cell for name, cell in want.items() if name != "userEnteredValue"}
                fields = ",".join([*(["note"] if "note" in want else []), _FILL, _LINK])
                self.groups.append([self._update(index, self.places[key], [{"values": [shown]}], fields)])
        for key, rows in values.items():
            # What is null is left alone.
            cells = [rows.get(row) for row in range(max(rows) + 1)]
            tag = {"developerMetadataLookup": {"metadataId": self.tags[key]}}
            yield {"dataFilter": tag, "majorDimension": "COLUMNS", "values": [cells]}


def _uri(cell: Json) -> str:
    """Where a cell leads; the empty text for nowhere."""
    look = cell.get("userEnteredFormat", {}).get("textFormat", {})
    return str(look.get("link", {}).get("uri", ""))


def _places(
    edited: EditedSheet, columns: Sequence[Column]
) -> tuple[dict[str, int], list[tuple[Column, int]]]:
    """Where all columns are once those are added, in their order, that are not there; from 0."""
    others = {f"{OTHER}{title}": place for title, place in edited.others.items()}
    places = {key: place - 1 for key, place in {**edited.columns, **others}.items()}
    added, before = list[tuple[Column, int]](), "key"
    for column in columns:
        if column.key not in places:
            at = places[before] + 1
            places = {key: place + (place >= at) for key, place in places.items()} | {column.key: at}
            added.append((column, at))
        before = column.key
    return places, added


def _column_format(column: Column, area: Json) -> Json:
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
        values = [{"userEnteredValue": title} for title in column.choices.values()]
        condition = {"type": "ONE_OF_LIST", "values": values}
    cell: Json = {"userEnteredFormat": look}
    if condition:
        cell["dataValidation"] = {"condition": condition, "strict": False, "showCustomUi": True}
    return {"repeatCell": {"range": area, "cell": cell, "fields": "userEnteredFormat,dataValidation"}}


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
    ) -> list[_Painter]:
        tabs = {name: tab for name, (tab, _sheet) in there.items()}
        areas = [
            box(tabs[name].id, span)
            for name, each in merged.items()
            if name in tabs
            for span in spans((row.number - 1 for row in each.sheet.rows if row.number and row.ours), _GAP)
        ]
        now = read_cells(self.client, self.target.key, areas, WRITTEN)
        painters, links = dict[str, _Painter](), dict[str, str]()
        # The conversations first, to whose rows the others lead.
        for name in sorted(merged, key="conversations".__ne__):
            tab = replace(tabs[name], cells=now.get(tabs[name].id, {})) if name in tabs else None
            known_as = identity(name, self.target.suffix)
            painters[name] = _Painter(known_as, merged[name], edited[name], tab, links)
            if name == "conversations":
                links = painters[name].links()
        return [painters[name] for name in merged]

    def _write(self, painters: Sequence[_Painter]) -> None:
        # Structure and new rows before values: these go by the metadata that the first may have made.
        for batch in packed(group for painter in painters for group in painter.groups):
            self._send(":batchUpdate", {"requests": [*chain.from_iterable(batch)]})
        for values in packed(values for painter in painters for values in painter.values):
            self._send("/values:batchUpdateByDataFilter", {"valueInputOption": "RAW", "data": values})
        self.rows |= {(painter.sheet.name, key) for painter in painters for key in painter.added_keys}

    def _send(self, method: str, body: Json) -> None:
        self.client.write(f"{SPREADSHEETS}/{self.target.key}{method}", body)

    def _verify(self, painters: Sequence[_Painter]) -> None:
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
            {"deleteDimension": {"range": _span(there[name][0].id, "ROWS", *span)}}
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
            if left & out:
                lost = [row for row in before.rows if _said(row) not in left | out]
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
