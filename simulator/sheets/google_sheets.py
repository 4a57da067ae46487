"""A Google Sheet: our worksheets in it, wherever people moved them, and what a report writes into them.

A worksheet and its columns are found by developer metadata, which follows them through renames, moves and
insertions. Rows are found by their key cell, which moves along when people sort; Google does not promise that
for metadata of rows. A copy of a worksheet has lost its metadata: it is recognised by the note of its key
column's header or by its titles, and its columns by theirs.

A push goes in rounds: it reads the sheet, writes what is missing, and reads again, for people may sort or
insert in between. Text is never a formula.
"""

import json
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Any, NamedTuple, TypeVar

from simulator.core.errors import InputError
from simulator.core.messages import Message, _
from simulator.core.types import Language
from simulator.data.files import quote
from simulator.data.values import WorksheetRow
from simulator.sheets.google_api import Conflict, SheetsClient, SinkUnavailable, Target, worksheet_of
from simulator.sheets.merge import (
    OTHER,
    EditedSheet,
    EditedSheets,
    Merged,
    by_title,
    cell_text,
    edited_sheet,
    merge,
    team_kept,
    visible,
)
from simulator.sheets.model import (
    FILLS,
    Chart,
    Column,
    Layout,
    Row,
    Worksheet,
    folded,
    layout_of,
    layouts,
)

Item = TypeVar("Item")
Json = dict[str, Any]
Cells = dict[tuple[int, int], Json]
Span = tuple[int, int | None]
SPREADSHEETS = "https://sheets.googleapis.com/v4/spreadsheets"
# The keys of our metadata: what a worksheet is, its id (that of a copy differs), its columns ever, a column.
WORKSHEET, OWN_ID, EVER, COLUMN = (
    "rehearsal:worksheet", "rehearsal:id", "rehearsal:columns", "rehearsal:column",
)  # fmt: skip
# Rows in which a header is looked for.
_HEAD = 12
_METADATA = "developerMetadata(metadataId,metadataKey,metadataValue)"
_LISTED = (
    "spreadsheetUrl,"
    "sheets(properties(sheetId,title,index,sheetType,gridProperties(rowCount,frozenRowCount)),"
    f"merges,{_METADATA},data(startRow,startColumn,columnMetadata({_METADATA})"
)
_SHOWN = "userEnteredValue,effectiveValue,formattedValue,note"


@dataclass(frozen=True)
class Tab:
    """A worksheet of the spreadsheet, ours or not; `rows` is how many it has.

    `tags` is its metadata, `places` are its columns by key, counted from 0, `tag_ids` the ids of the metadata
    of both; `cells` are those that were read, by row and column from 0.
    """

    id: int
    title: str
    rows: int
    frozen: int
    tags: Mapping[str, str]
    places: Mapping[str, int]
    tag_ids: Mapping[str, int]
    merges: Sequence[Json]
    cells: Cells


class Spreadsheet(NamedTuple):
    """A spreadsheet's worksheets, in their order."""

    url: str
    tabs: tuple[Tab, ...]

    def tab(self, identity: str) -> Tab | None:
        """The worksheet with that identity in its metadata; the original before its copies."""
        found = [tab for tab in self.tabs if tab.tags.get(WORKSHEET) == identity]
        return min(found, key=lambda tab: tab.tags.get(OWN_ID) != str(tab.id), default=None)


def identity(name: str, suffix: str) -> str:
    """What the metadata of a worksheet names it by."""
    return f"{name} {suffix}".rstrip()


def read_spreadsheet(
    client: SheetsClient, key: str, areas: Sequence[Json] | None = None, mask: str = ""
) -> Spreadsheet:
    """The spreadsheet's worksheets: one read. With `areas` only those that they lie in, and their cells."""
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
    grid = properties.get("gridProperties", {})
    tags, tag_ids = _tags(sheet)
    places, cells = dict[str, int](), Cells()
    for data in sheet.get("data", ()):
        top, left = int(data.get("startRow", 0)), int(data.get("startColumn", 0))
        for index, column in enumerate(data.get("columnMetadata", ()), left):
            values, ids = _tags(column)
            if (key := values.get(COLUMN)) and key not in places:
                places[key], tag_ids[key] = index, ids[COLUMN]
        for row, line in enumerate(data.get("rowData", ()), top):
            cells |= {(row, n): cell for n, cell in enumerate(line.get("values", ()), left) if cell}
    return Tab(
        id=int(properties.get("sheetId", 0)),
        title=str(properties["title"]),
        rows=int(grid.get("rowCount", 0)),
        frozen=int(grid.get("frozenRowCount", 0)),
        tags=tags,
        places=places,
        tag_ids=tag_ids,
        merges=sheet.get("merges", ()),
        cells=cells,
    )


def _tags(resource: Json) -> tuple[dict[str, str], dict[str, int]]:
    """The developer metadata of a worksheet or a column by its keys, and its ids."""
    listed = resource.get("developerMetadata", ())
    values = {tag["metadataKey"]: str(tag.get("metadataValue", "")) for tag in listed}
    return values, {tag["metadataKey"]: int(tag["metadataId"]) for tag in listed}


def box(sheet_id: int, rows: Span = (0, None), columns: Span = (0, None)) -> Json:
    """A part of a worksheet, counted from 0; ends are left out, and None is an open one."""
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
    """What people typed into the cell, as text; whole numbers without a point."""
    value = cell.get("userEnteredValue") or {}
    if "numberValue" in value:
        return f"{value['numberValue']:.15g}"
    return str(value.get("stringValue", ""))


def read_sheets(
    client: SheetsClient,
    target: Target,
    found: Spreadsheet,
    layouts: Mapping[str, Layout],
    *,
    parts: Callable[[str, Tab], Iterable[Json]],
    mask: str,
) -> tuple[dict[str, Tab], EditedSheets]:
    """Our worksheets of these names that are there: one read, or two where there are copies.

    `parts` are the areas that are read of each; copies, which have lost their metadata, are read whole.
    """
    tabs = {name: tab for name in layouts if (tab := found.tab(identity(name, target.suffix)))}
    untagged = [tab for tab in found.tabs if WORKSHEET not in tab.tags]
    lost = [name for name in layouts if name not in tabs]
    areas = [part for name, tab in tabs.items() for part in parts(name, tab)]
    areas += [head(tab) for tab in untagged if lost]
    cells = read_cells(client, target.key, areas, mask)
    copies = []
    for name in lost:
        if copy := _recognised(untagged, cells, identity(name, target.suffix), layouts[name]):
            tabs[name] = copy
            copies.append(box(copy.id))
            untagged.remove(copy)
    cells |= read_cells(client, target.key, copies, mask)
    sheets = {name: _edited(tab, cells.get(tab.id, {}), layouts[name]) for name, tab in tabs.items()}
    return tabs, EditedSheets(sheets)


def _recognised(tabs: Sequence[Tab], heads: Mapping[int, Cells], identity: str, layout: Layout) -> Tab | None:
    """A copy that has lost its metadata: by the note on its key header, else by most of its titles."""
    for tab in tabs:
        if f"rehearsal:{identity}" in map(_marker, heads.get(tab.id, {}).values()):
            return tab
    for tab in tabs if " " not in identity else ():
        keys = {layout.column(text_of(cell)) for cell in heads.get(tab.id, {}).values()} - {None}
        if "key" in keys and len(keys) >= layout.least:
            return tab
    return None


def _marker(cell: Json) -> str:
    first = str(cell.get("note", "")).partition("\n")[0]
    return first if first.startswith("rehearsal:") else ""


def _edited(tab: Tab, cells: Cells, layout: Layout) -> EditedSheet:
    """The header is where the key's is: by its note, by its title, else in the last frozen row."""
    columns = {key: index + 1 for key, index in tab.places.items()}
    lines = _lines(tab, cells)
    copied = WORKSHEET not in tab.tags
    header = max(tab.frozen, 1)
    if copied or "key" in columns:
        titled = ((line.number, n) for line in lines for n, text in line.texts.items()
                  if line.number <= _HEAD and layout.column(text) == "key")  # fmt: skip
        marked = ((row + 1, column + 1) for (row, column), cell in sorted(cells.items()) if _marker(cell))
        heads = (at for at in (*marked, *titled) if at[1] == columns.get("key", at[1]))
        header, columns["key"] = next(heads, (header, columns.get("key", 1)))
    if copied:
        titles = next((line.texts for line in lines if line.number == header), {})
        columns = by_title(titles, layout, columns)
    known = frozenset(tab.tags[EVER].split() if EVER in tab.tags else columns)
    return edited_sheet(tab.title, lines, header, columns, layout=layout, ever=known)


def _lines(tab: Tab, cells: Cells) -> list[WorksheetRow]:
    """The filled rows; each cell of a merged area shows what its upper left one does."""
    shown = dict(cells)
    for area in tab.merges:
        top, left = area.get("startRowIndex", 0), area.get("startColumnIndex", 0)
        if (top, left) in cells:
            shown |= {(row, left): cells[top, left] for row in range(top, area.get("endRowIndex", 0))}
    lines: dict[int, tuple[dict[int, str], dict[int, Message | str]]] = {}
    for (row, column), cell in sorted(shown.items()):
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
        found = read_spreadsheet(client, target.key)
        named = {name: layouts()[name] for name in names}
        return read_sheets(client, target, found, named, parts=lambda _, tab: [box(tab.id)], mask=_SHOWN)[1]

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
        exact = [tab for tab in tabs if name in (None, tab.title)]
        alike = [tab for tab in tabs if name and folded(tab.title) == folded(name)]
        if not (tab := next(iter(exact or alike), None)):
            what = _("there is no worksheet {name}", name=name or "with cells")
            msg = _(
                "{address}: {what}; its name stands on the tab at the bottom of the sheet.",
                address=address,
                what=what,
            )
            raise InputError(msg)
        cells = read_cells(client, key, [box(tab.id)], "userEnteredValue,formattedValue").get(tab.id, {})
        return tab.title, {line.number: line.texts for line in _lines(tab, cells) if line.texts}

    return client.persist(read, address)


# --- Pushing ---

# What Google takes in one cell, in UTF-16 units.
LONGEST = 50_000
LONGEST_NOTE = 5_000
# What an update of a cell writes; widths, wraps and number formats stay as people like them.
_FILL = "userEnteredFormat.backgroundColorStyle"
WRITTEN = f"userEnteredValue,note,{_FILL}"
GREY, BLUE = "EFEFEF", "CFE2F3"
# Rows below the last one and columns beside it in which people may write; a chart takes more of these.
SPARE_ROWS, SPARE_COLUMNS, CHART_COLUMNS = 100, 2, 9
# So long that wrapped rows would fill the screen: they are cut where the cell ends.
CLIPPED = frozenset({"passages", "earlier", "config"})
_PIXELS_A_CHARACTER, _MARGIN = 7, 16
_PROTECTED = "Rehearsal writes this column anew; write in the blue columns. / 自動で書き直される列です"
# Google recommends at most 2 MB a request. Rows that are inserted bring the looks of their columns along.
LARGEST = 1_900_000
_PORTION = 1_500_000
_KEYS = "userEnteredValue,note"
_CONTENT_FIELDS = "userEnteredValue,note,userEnteredFormat(backgroundColorStyle)"
# Gaps of so many rows are read along: fewer, larger areas.
_GAP = 50


def color(fill: str) -> Json:
    """RRGGBB as Google's colour style."""
    red, green, blue = (int(fill[at : at + 2], 16) / 255 for at in (0, 2, 4))
    return {"rgbColor": {"red": red, "green": green, "blue": blue}}


def _fill_of(cell: Json) -> str:
    """The fill of a cell as RRGGBB, "" for none or white; a colour of the spreadsheet's theme has a name."""
    style = (cell.get("userEnteredFormat") or {}).get("backgroundColorStyle") or {}
    if "rgbColor" not in style:
        return "theme" if style else ""
    parts = (float(style["rgbColor"].get(part, 0)) for part in ("red", "green", "blue"))
    fill = "".join(f"{round(255 * part):02X}" for part in parts)
    return "" if fill == "FFFFFF" else fill


def _looks(want: Json, have: Json) -> list[str]:
    """The fields to write; a note or a colour of the team's own stays where ours has nothing to say."""
    note = ["note"] if want.get("note", have.get("note")) != have.get("note") else []
    fill, current = _fill_of(want), _fill_of(have)
    return [*note, _FILL] if fill != current and (fill or current in FILLS.values()) else note


def _new_id() -> int:
    """An id for a worksheet or a piece of metadata."""
    return secrets.randbelow(2**31 - 1) + 1


def _tag(tag: int, key: str, value: str, location: Json) -> Json:
    metadata = {"metadataId": tag, "metadataKey": key, "metadataValue": value, "visibility": "DOCUMENT"}
    return {"createDeveloperMetadata": {"developerMetadata": metadata | {"location": location}}}


def _by_tag(tag: int) -> Json:
    """The data filter of what has this piece of metadata."""
    return {"developerMetadataLookup": {"metadataId": tag}}


def _span(sheet_id: int, dimension: str, start: int, end: int) -> Json:
    return {"sheetId": sheet_id, "dimension": dimension, "startIndex": start, "endIndex": end}


def spans(indexes: Iterable[int], gap: int = 0) -> list[tuple[int, int]]:
    """Indexes as spans without holes wider than `gap`, in order; ends are not included."""
    found: list[tuple[int, int]] = []
    for index in sorted(indexes):
        if found and index - found[-1][1] <= gap:
            found[-1] = found[-1][0], index + 1
        else:
            found.append((index, index + 1))
    return found


def column_format(column: Column, box: Json) -> Json:
    """How cells of a column look, and what may be picked in them; other entries are never refused."""
    wrap = "WRAP" if column.wrap and column.key not in CLIPPED else "CLIP"
    look: Json = {"wrapStrategy": wrap, "verticalAlignment": "TOP"}
    if column.kind == "date":
        look["numberFormat"] = {"type": "DATE", "pattern": "yyyy/mm/dd"}
    cell: Json = {"userEnteredFormat": look}
    condition: Json = {}
    if column.choices:
        values = [{"userEnteredValue": choice.title} for choice in column.choices]
        condition = {"type": "ONE_OF_LIST", "values": values}
    elif column.kind == "date" and column.owner == "team":
        condition = {"type": "DATE_IS_VALID"}
    if condition:
        cell["dataValidation"] = {"condition": condition, "strict": False, "showCustomUi": True}
    return {"repeatCell": {"range": box, "cell": cell, "fields": "userEnteredFormat,dataValidation"}}


class Changes:
    """What is written into one worksheet: groups of requests that belong into one batch, in their order.

    First come columns and new worksheets, then new rows, then fills and notes of rows that were there.
    `values` are the cells of those by column metadata, written after all groups. `places` are the columns by
    key, `updated` the rows by key, `top` the row below the header, all from 0 and once all is done.
    """

    def __init__(
        self,
        sheet: Worksheet,
        called: str,
        tab: Tab | None,
        edited: EditedSheet,
        merged: Merged,
        *,
        now: Mapping[int, Cells],
        language: Language,
    ) -> None:
        self.sheet, self.called, self.title, self.top = sheet, called, edited.tab, edited.header
        self.language = language
        self.created, self.sheet_id = tab is None, tab.id if tab else _new_id()
        self.places = {key: n - 1 for key, n in merged.places.items() if not key.startswith(OTHER)}
        self.tags = {key: (tab and tab.tag_ids.get(key)) or _new_id() for key in self.places}
        columns = {self.places[c.key]: c for c in sheet.columns if c.key in self.places}
        self.added = [{n: self._cell(row, column.key) for n, column in columns.items()} for row in merged.new]
        structure = [*(self._columns(tab, edited, merged) if tab else self._new_worksheet())]
        if tab and self.added and self.top >= tab.rows:
            below = {"sheetId": tab.id, "dimension": "ROWS", "length": SPARE_ROWS}
            structure.append({"appendDimension": below})
        # The last rows first, for each portion goes to the top.
        portions = reversed(packed(self.added, _PORTION))
        rows = ([*self._insert_rows(columns, portion)] for portion in portions)
        self.groups = [group for group in (structure, *rows) if group]
        if self.created and sheet.chart:
            self.groups.append([self._chart(sheet.chart)])
        self.values: list[Json] = []
        self.updated: dict[str, int] = {}
        self._change_rows(merged.changed, edited.columns, now.get(self.sheet_id, {}))

    def _cell(self, row: Row, key: str) -> Json:
        """A cell of ours as it is sent, whole: a missing value, fill or note is cleared."""
        cell, body = row.cell(key), Json()
        if cell.number is not None:
            body["userEnteredValue"] = {"numberValue": cell.number}
        elif cell.text:
            body["userEnteredValue"] = {"stringValue": cell_text(cell.text, self.language, LONGEST)}
        if cell.note:
            body["note"] = cell_text(cell.note, self.language, LONGEST_NOTE)
        if cell.mark:
            body["userEnteredFormat"] = {"backgroundColorStyle": color(FILLS[cell.mark])}
        return body

    def _columns(self, tab: Tab, edited: EditedSheet, merged: Merged) -> Iterator[Json]:
        """Metadata that a copy has lost, and new columns."""
        if WORKSHEET not in tab.tags:
            yield from self._tag_worksheet()
        for key, place in edited.columns.items():
            if key not in tab.tag_ids:
                yield self._tag_column(key, place - 1)
        for column, place in merged.added:
            # After the last column there is only the one before to take over from.
            span = _span(self.sheet_id, "COLUMNS", place - 1, place)
            yield {"insertDimension": {"range": span, "inheritFromBefore": True}}
            yield from self._add_column(column, place - 1)
            if column.owner == "program":
                yield self._protect((place - 1, place))
        if merged.added and EVER in tab.tags:
            value = " ".join((tab.tags[EVER], *(column.key for column, _unused in merged.added)))
            update = {"developerMetadata": {"metadataValue": value}, "fields": "metadataValue"}
            yield {"updateDeveloperMetadata": {"dataFilters": [_by_tag(tab.tag_ids[EVER])], **update}}

    def _tag_worksheet(self) -> Iterator[Json]:
        """What it is, that it is no copy, and its columns."""
        columns = " ".join(column.key for column in self.sheet.columns)
        for key, value in ((WORKSHEET, self.called), (OWN_ID, str(self.sheet_id)), (EVER, columns)):
            yield _tag(_new_id(), key, value, {"sheetId": self.sheet_id})

    def _tag_column(self, key: str, index: int) -> Json:
        span = _span(self.sheet_id, "COLUMNS", index, index + 1)
        return _tag(self.tags[key], COLUMN, key, {"dimensionRange": span})

    def _add_column(self, column: Column, index: int) -> Iterator[Json]:
        """Header, look, width and metadata of a column that is empty."""
        yield self._tag_column(column.key, index)
        # What an inserted column takes over from its neighbour goes.
        yield column_format(column, box(self.sheet_id, (self.top, None), (index, index + 1)))
        note = f"rehearsal:{self.called}" if column.key == "key" else column.help
        if column == self.sheet.columns[min(1, len(self.sheet.columns) - 1)]:
            note = "\n".join(filter(None, (note, self.sheet.help)))
        look = {
            "backgroundColorStyle": color(BLUE if column.owner == "team" else GREY),
            "textFormat": {"bold": True},
            "wrapStrategy": "WRAP",
            "verticalAlignment": "MIDDLE",
        }
        header: Json = {"userEnteredValue": {"stringValue": column.title}, "userEnteredFormat": look}
        if note:
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

    def _protect(self, columns: Span) -> Json:
        area = box(self.sheet_id, (1, None), columns)
        protected = {"range": area, "description": _PROTECTED, "warningOnly": True}
        return {"addProtectedRange": {"protectedRange": protected}}

    def _insert_rows(
        self, columns: Mapping[int, Column], rows: Sequence[Mapping[int, Json]]
    ) -> Iterator[Json]:
        """Rows below the header, filled in the same batch: no sort can come between the two."""
        new = self.top, self.top + len(rows)
        yield {"insertDimension": {"range": _span(self.sheet_id, "ROWS", *new)}}
        # The look of the row below is taken over, its colours and choices with it.
        yield {"repeatCell": {"range": box(self.sheet_id, new), "cell": {}, "fields": _FILL}}
        for index, column in columns.items():
            yield column_format(column, box(self.sheet_id, new, (index, index + 1)))
        for first, last in spans(columns):
            lines = [{"values": [row[index] for index in range(first, last)]} for row in rows]
            yield self._update(self.top, first, lines, WRITTEN)

    def _new_worksheet(self) -> Iterator[Json]:
        """The worksheet with its header, looks, filter, and the metadata that it is known by."""
        sheet, columns = self.sheet, self.sheet.columns
        grid = {"rowCount": 1 + SPARE_ROWS, "frozenRowCount": 1}
        grid["columnCount"] = len(columns) + (CHART_COLUMNS if sheet.chart else SPARE_COLUMNS)
        grid["frozenColumnCount"] = min(sheet.frozen_columns, len(columns) - 1)
        properties = {"sheetId": self.sheet_id, "title": self.title, "gridProperties": grid}
        yield {"addSheet": {"properties": properties}}
        yield from self._tag_worksheet()
        for index, column in enumerate(columns):
            yield from self._add_column(column, index)
        for span in spans(index for index, column in enumerate(columns) if column.owner == "program"):
            yield self._protect(span)
        yield {"setBasicFilter": {"filter": {"range": box(self.sheet_id, columns=(0, len(columns)))}}}

    def _chart(self, chart: Chart) -> Json:
        """Beside the table; it grows with the rows. The newest is at the top, and so at the right."""

        def source(key: str) -> Json:
            rows, index = (0, 1 + SPARE_ROWS + len(self.added)), self.places[key]
            return {"sourceRange": {"sources": [box(self.sheet_id, rows, (index, index + 1))]}}

        basic: Json = {
            "chartType": "LINE",
            "legendPosition": "BOTTOM_LEGEND",
            "headerCount": 1,
            "domains": [{"domain": source(chart.x), "reversed": True}],
            "series": [{"series": source(key), "targetAxis": "LEFT_AXIS"} for key in chart.ys],
        }
        corner = {"sheetId": self.sheet_id, "rowIndex": 1, "columnIndex": len(self.sheet.columns) + 1}
        place = {"overlayPosition": {"anchorCell": corner, "widthPixels": 600, "heightPixels": 320}}
        return {
            "addChart": {"chart": {"spec": {"title": chart.title, "basicChart": basic}, "position": place}}
        }

    def _change_rows(self, changed: Mapping[int, Row], columns: Mapping[str, int], now: Cells) -> None:
        """Cells of rows that are there; one whose values are right is left.

        Values go by column metadata, wherever it is by then; fills and notes by place.
        """
        values: dict[str, dict[int, str | float]] = {}
        looks = []
        for number, row in changed.items():
            cells = [
                (key, self._cell(row, key), now.get((number - 1, columns.get(key, 0) - 1), {}))
                for key in row.cells
            ]
            wrong = [key for key, want, have in cells if _entered(want) != _entered(have)]
            if not wrong:
                continue
            index = number - 1 + len(self.added) * (number > self.top)
            self.updated[visible(row.key)] = index
            for key, want, have in cells:
                value = want.pop("userEnteredValue", {"stringValue": ""})
                if key in wrong:
                    values.setdefault(key, {})[index] = next(iter(value.values()))
                if names := _looks(want, have):
                    looks.append(self._update(index, self.places[key], [{"values": [want]}], ",".join(names)))
        self.groups += [looks] if looks else []
        for key, rows in values.items():
            # What is null is left alone.
            line = [rows.get(row) for row in range(max(rows) + 1)]
            tag = _by_tag(self.tags[key])
            self.values.append({"dataFilter": tag, "majorDimension": "COLUMNS", "values": [line]})


def _entered(cell: Json) -> Json:
    """What stands in a cell: a text, a number, a formula, or nothing."""
    return cell.get("userEnteredValue") or {}


def packed(items: Iterable[Item], room: int = LARGEST) -> list[list[Item]]:
    """Items in lists, each of at most `room` bytes in a request's body; a larger item is alone."""
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
    """The sheet's address, how many rows were added, and lines for people: what to look at."""

    url: str
    rows: int
    notes: tuple[Message | str, ...]


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
    return PushSummary(work.url, len(work.rows), tuple(work.notes))


class _Push:
    """One push, and what it did; every round reads the sheet again and writes what is still missing."""

    def __init__(
        self, client: SheetsClient, worksheets: Sequence[Worksheet], target: Target, language: Language
    ) -> None:
        self.client, self.target, self.language = client, target, language
        self.worksheets = {sheet.name: sheet for sheet in worksheets}
        self.url = ""
        # The names of worksheets and the keys of rows that were added: once each, in however many rounds.
        self.rows: set[tuple[str, str]] = set()
        self.notes: dict[Message | str, None] = {}
        # The columns that this push made, for what a broken connection leaves to the next round.
        self._fresh: dict[str, set[str]] = {name: set() for name in self.worksheets}

    def round(self) -> None:
        """Reads heads and keys, then the rows whose keys are pushed; compares, writes, and verifies."""
        found = read_spreadsheet(self.client, self.target.key)
        self.url = found.url
        layouts = {name: layout_of(sheet) for name, sheet in self.worksheets.items()}
        tabs, edited = read_sheets(self.client, self.target, found, layouts, parts=self._parts, mask=_KEYS)
        areas = []
        for name, tab in tabs.items():
            pushed = {visible(row.key) for row in self.worksheets[name].rows}
            rows = [row.number - 1 for row in edited.sheets[name].rows if row.key in pushed]
            areas += [box(tab.id, span) for span in spans(rows, _GAP)]
        now = read_cells(self.client, self.target.key, areas, _CONTENT_FIELDS)
        work = [
            changes
            for name, sheet in self.worksheets.items()
            if (changes := self._changes(sheet, found, tabs.get(name), edited.sheets.get(name), now))
            and (changes.groups or changes.values)
        ]
        if work:
            self._write(work, found)
            self._verify(work)

    def _parts(self, name: str, tab: Tab) -> Iterator[Json]:
        """A worksheet's head, its keys, and what tells rows without a key apart."""
        sheet = self.worksheets[name]
        yield head(tab)
        for key in ("key", sheet.columns[1].key) if team_kept(sheet) else ("key",):
            if key in tab.places:
                yield box(tab.id, columns=(tab.places[key], tab.places[key] + 1))

    def _changes(
        self,
        sheet: Worksheet,
        found: Spreadsheet,
        tab: Tab | None,
        edited: EditedSheet | None,
        now: Mapping[int, Cells],
    ) -> Changes | None:
        """What is to be written into a worksheet; None where its rows cannot be told apart."""
        fresh = self._fresh[sheet.name]
        if tab is None or edited is None:
            fresh.add("key")
            stem, taken = identity(sheet.title, self.target.suffix), {t.title.casefold() for t in found.tabs}
            names = chain([stem], (f"{stem} ({number})" for number in count(2)))
            title = next(name for name in names if name.casefold() not in taken)
            columns = {column.key: place for place, column in enumerate(sheet.columns, 1)}
            edited = EditedSheet(title, 1, columns)
        elif "key" not in edited.columns:
            note = _(
                "{title}: its column of keys (キー) was deleted, so its rows cannot be told apart; undo that"
                " in the version history (変更履歴), or delete the worksheet, and push again.",
                title=sheet.title,
            )
            self.notes[note] = None
            return None
        merged = merge(sheet, edited, fresh=fresh)
        fresh |= {column.key for column, _unused in merged.added}
        for column in merged.deleted:
            note = _(
                "{tab}: the column {title} was deleted and is left out.", tab=edited.tab, title=column.title
            )
            self.notes[note] = None
        called = identity(sheet.name, self.target.suffix)
        return Changes(sheet, called, tab, edited, merged, now=now, language=self.language)

    def _write(self, work: Sequence[Changes], found: Spreadsheet) -> None:
        groups = [group for changes in work for group in changes.groups]
        if self.target.fresh and any(changes.created for changes in work):
            groups += [[{"deleteSheet": {"sheetId": tab.id}}] for tab in found.tabs if not tab.tags]
        for batch in packed(groups):
            self._send(":batchUpdate", {"requests": [*chain.from_iterable(batch)]})
        for values in packed(values for changes in work for values in changes.values):
            self._send("/values:batchUpdateByDataFilter", {"valueInputOption": "RAW", "data": values})
        for changes in work:
            index = changes.places["key"]
            self.rows |= {(changes.sheet.name, text_of(row[index])) for row in changes.added}

    def _send(self, method: str, body: Json) -> None:
        self.client.write(f"{SPREADSHEETS}/{self.target.key}{method}", body)

    def _read(self, areas: Sequence[Json]) -> dict[int, Tab]:
        found = read_spreadsheet(self.client, self.target.key, areas, "userEnteredValue")
        return {tab.id: tab for tab in found.tabs}

    def _verify(self, work: Sequence[Changes]) -> None:
        """Reads keys and columns again; raises Conflict where something is not where it was written."""
        heads = [box(changes.sheet_id, (changes.top - 1, changes.top)) for changes in work]
        keys = [box(c.sheet_id, columns=(c.places["key"], c.places["key"] + 1)) for c in work]
        tabs = self._read([*heads, *keys])
        moved = []
        for changes in work:
            tab = tabs.get(changes.sheet_id)
            if tab is None or any(tab.places.get(key) != place for key, place in changes.places.items()):
                self._remove_misplaced(changes)
                moved.append(changes.title)
                continue
            index = changes.places["key"]
            rows = {row: text_of(cell) for (row, column), cell in tab.cells.items() if column == index}
            hit = [row for key, row in changes.updated.items() if rows.get(row) != key]
            pushed = {visible(row.key) for row in changes.sheet.rows}
            # Rows of other runs, or of people's own, that may show what was meant for another row.
            for row in hit:
                if rows.get(row) not in pushed:
                    how = _("push {key} again", key=rows[row]) if rows.get(row) else _("look at it")
                    note = _(
                        "{worksheet}: people sorted it meanwhile,"
                        " and row {row:d} may show another row's figures; {how}.",
                        worksheet=changes.title,
                        row=row + 1,
                        how=how,
                    )
                    self.notes[note] = None
            if hit or not {text_of(row[index]) for row in changes.added} <= set(rows.values()):
                moved.append(changes.title)
        if moved:
            raise Conflict(", ".join(moved))

    def _remove_misplaced(self, changes: Changes) -> None:
        """Removes the new rows that were filled by an older order of the columns, and hold nothing else.

        Where the columns were moved only after the rows were written, the rows are right and none is found.
        """
        if not changes.added:
            return
        area = box(changes.sheet_id, (changes.top, changes.top + len(changes.added)))
        lines: dict[int, dict[int, Json]] = {}
        for tab in self._read([area]).values():
            for (row, column), cell in tab.cells.items():
                if entered := _entered(cell):
                    lines.setdefault(row, {})[column] = entered
        written = [{n: _entered(cell) for n, cell in row.items() if _entered(cell)} for row in changes.added]
        wrong = [row for row, line in lines.items() if line in written]
        delete = [
            {"deleteDimension": {"range": _span(changes.sheet_id, "ROWS", *span)}}
            for span in reversed(spans(wrong))
        ]
        if delete:
            self._send(":batchUpdate", {"requests": delete})


def new_sheet(title: str, folder: str = "", client: SheetsClient | None = None) -> str:
    """Makes an empty spreadsheet, shared with nobody, and gives its key.

    It lies in the Drive of the person who signed in, or in `folder`; a service account's needs a folder of
    a shared drive.
    """
    client = client or SheetsClient(drive=bool(folder))
    if client.account.kind == "service" and not folder:
        msg = _(
            "a service account owns no files: give --folder with a folder of a shared drive"
            " (共有ドライブ), or --sheet with a sheet of your own that is shared with it."
        )
        raise InputError(msg)

    def make() -> str:
        if not folder:
            return str(client.write(SPREADSHEETS, {"properties": {"title": title}})["spreadsheetId"])
        kind = "application/vnd.google-apps.spreadsheet"
        metadata = {"name": title, "mimeType": kind, "parents": [folder]}
        address = "https://www.googleapis.com/drive/v3/files"
        return str(client.write(address, metadata, query={"supportsAllDrives": "true"})["id"])

    try:
        return client.persist(make, _("new sheet {title}", title=title), attempts=1)
    except SinkUnavailable as error:
        msg = _(
            "{error} It may have been made: look for {title} in Drive first, and give it with --sheet.",
            error=error,
            title=title,
        )
        raise SinkUnavailable(msg) from None
