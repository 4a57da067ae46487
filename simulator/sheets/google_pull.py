"""A Google Sheet as it stands: our worksheets, columns and rows, wherever people moved them, and their cells.

A worksheet and its columns are found by developer metadata, which follows them through renames, moves and
insertions. Rows are found by their key cell, which moves along when people sort; Google does not promise that
for metadata of rows. A copy of a worksheet has lost its metadata: it is recognised by the note of its key
column's header or by its titles, and its columns by theirs.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from simulator.core.errors import InputError
from simulator.core.messages import Message, _
from simulator.data.files import quote
from simulator.data.values import WorksheetRow
from simulator.sheets.google_api import SheetsClient, Target, worksheet_of
from simulator.sheets.merge import EditedSheet, EditedSheets, by_title, edited_sheet
from simulator.sheets.model import Layout, folded, layouts

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
    for merge in tab.merges:
        top, left = merge.get("startRowIndex", 0), merge.get("startColumnIndex", 0)
        if (top, left) in cells:
            shown |= {(row, left): cells[top, left] for row in range(top, merge.get("endRowIndex", 0))}
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
