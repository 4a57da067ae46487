"""The present state of a spreadsheet: our worksheets, columns and rows, wherever people moved them.

A worksheet and its columns are found by developer metadata, which follows them through renames, moves and
insertions. Rows are found by their key cell, which moves along when people sort; Google does not promise that
for metadata of rows. A copy of a worksheet has lost its metadata: it is recognised by the note of its key
column's header or by its titles, and its columns by theirs.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from simulator.sheets.google_api import SheetsClient, fields
from simulator.sheets.model import Titles

Json = dict[str, Any]
SPREADSHEETS = "https://sheets.googleapis.com/v4/spreadsheets"
# The keys of our metadata: what a worksheet is, its id (that of a copy differs), its columns ever, a column.
WORKSHEET, OWN_ID, EVER, COLUMN = (
    "rehearsal:worksheet", "rehearsal:id", "rehearsal:columns", "rehearsal:column",
)  # fmt: skip
# Rows in which a header is looked for.
HEAD = 12
_METADATA = "developerMetadata(metadataId,metadataKey,metadataValue)"
_LISTED = (
    "spreadsheetUrl",
    "sheets(properties(sheetId,title,index,sheetType,gridProperties(rowCount,columnCount,frozenRowCount)),"
    f"merges,{_METADATA},data(columnMetadata({_METADATA})))",
)
Cells = dict[tuple[int, int], Json]


class Tag(NamedTuple):
    """A piece of developer metadata."""

    id: int
    value: str


class ColumnPosition(NamedTuple):
    """Where a column stands, and the id of its metadata (None: it has lost it)."""

    column: int
    tag: int | None


@dataclass(frozen=True)
class Tab:
    """A worksheet of the spreadsheet, ours or not; sizes in rows and columns."""

    id: int
    title: str
    rows: int
    columns: int
    frozen: int
    tags: Mapping[str, Tag]
    places: Mapping[str, ColumnPosition]
    merges: Sequence[Json]


@dataclass(frozen=True)
class Spreadsheet:
    """A spreadsheet's worksheets, in their order."""

    url: str
    tabs: tuple[Tab, ...]

    def tab(self, identity: str) -> Tab | None:
        """The worksheet with that identity in its metadata; the original before its copies."""
        found = [tab for tab in self.tabs if tab.tags.get(WORKSHEET, Tag(0, "")).value == identity]
        return min(found, key=lambda tab: tab.tags.get(OWN_ID, Tag(0, "")).value != str(tab.id), default=None)

    @property
    def titles(self) -> set[str]:
        """The names on the tabs, as Google compares them."""
        return {tab.title.casefold() for tab in self.tabs}


@dataclass
class SheetState:
    """One of our worksheets as it stands: its header's row, its columns, and the row of each key.

    `duplicates` are rows whose key stands in a row above, too.
    """

    tab: Tab
    header: int
    places: dict[str, ColumnPosition]
    keys: dict[str, int] = field(default_factory=dict)
    duplicates: list[tuple[int, str]] = field(default_factory=list)
    cells: Cells = field(default_factory=dict)

    @property
    def ever(self) -> tuple[str, ...]:
        """The keys of all columns it ever had; people may have deleted some."""
        tag = self.tab.tags.get(EVER)
        return tuple(tag.value.split()) if tag else tuple(self.places)


def identity(name: str, suffix: str) -> str:
    """What the metadata of a worksheet names it by."""
    return f"{name} {suffix}".rstrip()


def read_spreadsheet(client: SheetsClient, key: str) -> Spreadsheet:
    """The spreadsheet's worksheets with their metadata: one read."""
    response = client.read(f"{SPREADSHEETS}/{key}", query=fields(*_LISTED))
    sheets = sorted(response.get("sheets", ()), key=lambda sheet: sheet["properties"].get("index", 0))
    grids = [sheet for sheet in sheets if sheet["properties"].get("sheetType", "GRID") == "GRID"]
    return Spreadsheet(str(response.get("spreadsheetUrl", "")), tuple(map(_tab, grids)))


def _tab(sheet: Json) -> Tab:
    properties = sheet["properties"]
    grid = properties.get("gridProperties", {})
    places: dict[str, ColumnPosition] = {}
    columns = next((data.get("columnMetadata", ()) for data in sheet.get("data", ())), ())
    for index, column in enumerate(columns):
        for key, tag in _tags(column).items():
            if key == COLUMN:
                places.setdefault(tag.value, ColumnPosition(index, tag.id))
    return Tab(
        id=int(properties.get("sheetId", 0)),
        title=str(properties["title"]),
        rows=int(grid.get("rowCount", 0)),
        columns=int(grid.get("columnCount", 0)),
        frozen=int(grid.get("frozenRowCount", 0)),
        tags=_tags(sheet),
        places=places,
        merges=sheet.get("merges", ()),
    )


def _tags(resource: Json) -> dict[str, Tag]:
    listed = resource.get("developerMetadata", ())
    return {t["metadataKey"]: Tag(int(t["metadataId"]), str(t.get("metadataValue", ""))) for t in listed}


def area(tab: Tab, *, rows: tuple[int, int] | None = None, columns: tuple[int, int] | None = None) -> Json:
    """A part of a worksheet as a data filter; ends are left out, and lie within the grid."""
    top, bottom = rows or (0, tab.rows)
    left, right = columns or (0, tab.columns)
    bounds = {"startRowIndex": top, "endRowIndex": min(bottom, tab.rows)}
    bounds |= {"startColumnIndex": left, "endColumnIndex": min(right, tab.columns)}
    return {"gridRange": {"sheetId": tab.id, **bounds}}


def cells(client: SheetsClient, key: str, areas: Sequence[Json], mask: str) -> dict[int, Cells]:
    """The cells of these parts, by worksheet and place: one read, or none for no parts."""
    if not areas:
        return {}
    query = fields(f"sheets(properties(sheetId),data(startRow,startColumn,rowData(values({mask}))))")
    response = client.read(
        f"{SPREADSHEETS}/{key}:getByDataFilter", query=query, body={"dataFilters": list(areas)}
    )
    found: dict[int, Cells] = {}
    for sheet in response.get("sheets", ()):
        sheet_cells = found.setdefault(int(sheet["properties"].get("sheetId", 0)), {})
        for data in sheet.get("data", ()):
            sheet_cells.update(placed(data))
    return found


def placed(data: Json) -> Cells:
    """The cells of a part that was read, by row and column."""
    top, left = int(data.get("startRow", 0)), int(data.get("startColumn", 0))
    return {
        (top + row, left + column): cell
        for row, line in enumerate(data.get("rowData", ()))
        for column, cell in enumerate(line.get("values", ()))
        if cell
    }


def text_of(cell: Json) -> str:
    """What people typed into the cell, as text; whole numbers without a point."""
    value = cell.get("userEnteredValue") or {}
    if "numberValue" in value:
        return f"{value['numberValue']:.15g}"
    return str(value.get("stringValue", ""))


def sheet_state(tab: Tab, cells: Cells, titles: Titles) -> SheetState | None:
    """The state of a worksheet; None when its column of keys was deleted.

    `titles` finds the columns of a copy, which has lost their metadata.
    """
    copied = WORKSHEET not in tab.tags
    found = _key_header(tab, cells, titles if copied or "key" in tab.places else None)
    if found is None:
        return None
    header, column = found
    places = {"key": ColumnPosition(column, None), **tab.places}
    if copied:
        taken = {place.column for place in places.values()}
        places = {**_by_title(cells, header, titles, taken), **places}
    state = SheetState(tab, header, places, cells=cells)
    for (row, index), cell in sorted(cells.items()):
        text = text_of(cell) if index == column and row != header else ""
        if text in state.keys:
            state.duplicates.append((row, text))
        elif text:
            state.keys[text] = row
    return state


def _key_header(tab: Tab, cells: Cells, titles: Titles | None) -> tuple[int, int] | None:
    """Row and column of the key's header: by its note, by its title, else in the last frozen row."""
    place = tab.places.get("key")
    candidates = [(at, cell) for at, cell in sorted(cells.items()) if place is None or at[1] == place.column]
    marked = [at for at, cell in candidates if _marker_of(cell)]
    titled = [at for at, cell in candidates if at[0] < HEAD and titles and titles(text_of(cell)) == "key"]
    if marked or titled:
        return (marked or titled)[0]
    return (max(tab.frozen - 1, 0), place.column) if place else None


def _by_title(cells: Cells, row: int, titles: Titles, taken: set[int]) -> dict[str, ColumnPosition]:
    found: dict[str, ColumnPosition] = {}
    for (line, index), cell in sorted(cells.items()):
        key = titles(text_of(cell)) if line == row else None
        if key and index not in taken:
            found.setdefault(key, ColumnPosition(index, None))
    return found


def _marker_of(cell: Json) -> str:
    first = str(cell.get("note", "")).partition("\n")[0]
    return first if first.startswith("rehearsal:") else ""


def recognised_copy(
    tabs: Iterable[Tab], heads: Mapping[int, Cells], identity: str, titles: Titles
) -> Tab | None:
    """A copy that has lost its metadata: by the note on its key header, else by most of its titles."""
    untagged = [tab for tab in tabs if WORKSHEET not in tab.tags]
    for tab in untagged:
        if f"rehearsal:{identity}" in map(_marker_of, heads.get(tab.id, {}).values()):
            return tab
    for tab in untagged if " " not in identity else ():
        keys = {titles(text_of(cell)) for cell in heads.get(tab.id, {}).values()} - {None}
        if "key" in keys and len(keys) >= titles.least:
            return tab
    return None
