"""What is written into one worksheet of a Google Sheet, as requests of its API.

A worksheet and its columns are known by developer metadata, which follows them through renames, moves and
insertions. Text is never a formula.

Numbers: Google counts rows and columns from 0 and leaves ends out, and so do `Tab`, `box`, `Span` and
`Painter`. `EditedSheet` and `PulledRow` count from 1, as people do; the step between the two is `n - 1`.
"""

import json
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from simulator.sheets.merge import EditedSheet, Merged
from simulator.sheets.model import (
    FILLS,
    FROZEN,
    HEADINGS,
    Column,
    SheetRow,
    cell_text,
    day_of,
    decimals_of,
    is_added,
)

Item = TypeVar("Item")
Json = dict[str, Any]
# Google's `CellData` by row and column, from 0.
Cells = dict[tuple[int, int], Json]
# From the first index up to the second, which is not included; None goes to the end of the worksheet.
Span = tuple[int, int | None]
# The keys of our metadata, with what their values are. A worksheet has the first two, a column the last.
#     rehearsal:worksheet   review Team Tokyo       its name, and the suffix of --worksheet
#     rehearsal:id          1729384756              its sheetId; a worksheet with another one is a copy
#     rehearsal:column      severity                the key of the column
WORKSHEET, OWN_ID, COLUMN = "rehearsal:worksheet", "rehearsal:id", "rehearsal:column"
# What Google takes in one cell, in UTF-16 units.
LONGEST = 50_000
# Longer notes are cut: they cover the sheet when the pointer rests on their cell.
LONGEST_NOTE = 5_000
# What an update of a cell writes; widths, wraps and number formats stay as people like them.
_FILL, LINK = "userEnteredFormat.backgroundColorStyle", "userEnteredFormat.textFormat.link"
WRITTEN = f"userEnteredValue,note,{_FILL},{LINK}"
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


def entered(cell: Json) -> str | float:
    """What people typed into a cell, or the program; empty for nothing."""
    return next(iter((cell.get("userEnteredValue") or {}).values()), "")


def box(sheet_id: int, rows: Span = (0, None), columns: Span = (0, None)) -> Json:
    """A part of a worksheet as Google's `GridRange`, counted from 0; ends are left out, None is an open one.

    (7, (1, None), (0, 2)) -> {sheetId: 7, startRowIndex: 1, startColumnIndex: 0, endColumnIndex: 2}
    """
    ends = {"endRowIndex": rows[1], "endColumnIndex": columns[1]}
    start = {"sheetId": sheet_id, "startRowIndex": rows[0], "startColumnIndex": columns[0]}
    return start | {name: end for name, end in ends.items() if end is not None}


def color(fill: str) -> Json:
    """RRGGBB as Google's colour style: "FADBDA" -> {rgbColor: {red: 0.98, green: 0.859, blue: 0.855}}."""
    red, green, blue = (int(fill[at : at + 2], 16) / 255 for at in (0, 2, 4))
    return {"rgbColor": {"red": red, "green": green, "blue": blue}}


def new_id() -> int:
    """An id for a worksheet or a piece of metadata."""
    return secrets.randbelow(2**31 - 1) + 1


def _tag(tag: int, key: str, value: str, location: Json) -> Json:
    metadata = {"metadataId": tag, "metadataKey": key, "metadataValue": value, "visibility": "DOCUMENT"}
    return {"createDeveloperMetadata": {"developerMetadata": metadata | {"location": location}}}


def span_of(sheet_id: int, dimension: str, start: int, end: int) -> Json:
    """Rows ("ROWS") or columns ("COLUMNS") as Google's `DimensionRange`, counted from 0."""
    return {"sheetId": sheet_id, "dimension": dimension, "startIndex": start, "endIndex": end}


def spans(indexes: Iterable[int]) -> list[tuple[int, int]]:
    """Indexes as spans without holes, in order; ends are not included: [1, 2, 3, 7] -> [(1, 4), (7, 8)]."""
    blocks: list[tuple[int, int]] = []
    for index in sorted(indexes):
        if blocks and index == blocks[-1][1]:
            blocks[-1] = blocks[-1][0], index + 1
        else:
            blocks.append((index, index + 1))
    return blocks


class Painter:
    """What is written into one worksheet: groups of requests that belong into one batch, in their order.

    First come columns and new worksheets, then new rows, then fills and notes of rows that were there.
    `values` are the cells of those by column metadata, written after all groups, and `sent` what they say, by
    column and key of the row. `places` are the columns by key, `top` the row below the header, both from 0
    and once all is done. `gone` are the rows that go in a later round.

    Rows that are there are written in two ways on purpose. Their values go by column metadata, so that a
    column moved since the read still gets its own; only rows may have moved, which `misplaced` sees by their
    keys. Google has no such way for fills and notes, which go by place: at worst a colour is off, until the
    next round puts it right.
    """

    def __init__(
        self, name: str, merged: Merged, edited: EditedSheet, tab: Tab | None, links: Mapping[str, str]
    ) -> None:
        """`name` is that in the metadata."""
        self.name, self.sheet, self.edited, self.tab = name, merged.sheet, edited, tab
        self.top, self._links = edited.header, links
        # Ids of worksheets and metadata are ours to choose, so that one batch can make and use them.
        self.id = tab.id if tab else new_id()
        self.columns = {column.key: column for column in self.sheet.columns}
        self.places, added = _places(edited, self.sheet.columns)
        named = [key for key in self.places if not is_added(key)]
        self.tags = {key: (tab and tab.tag_ids.get(key)) or new_id() for key in named}
        new = [row for row in self.sheet.rows if not row.number]
        # What needs no review stands below all that is there.
        is_below = tab is not None and "severity" in self.columns
        self.below = [row for row in new if is_below and not row.cell("severity").text]
        self.above = [row for row in new if not is_below or row.cell("severity").text]
        self.end = max([self.top, *(row.number for row in edited.rows)])
        self.added_keys = {row.key for row in new if row.key}
        self.gone = merged.gone
        self.sent: dict[str, dict[str, str | float]] = {}
        self.groups = [[*self._structure(added)]]
        # The last rows first, for each portion goes before those that are there.
        for at, rows in ((self.end, self.below), (self.top, self.above)):
            cells = [{place: self._cell(row, key) for key, place in self.places.items()} for row in rows]
            self.groups += [[*self._insert_rows(at, portion)] for portion in reversed(packed(cells))]
        self.values = [*self._change_rows()]
        self.groups = [group for group in self.groups if group]

    def links(self) -> dict[str, str]:
        """Where the row of each key is, within the spreadsheet."""
        places = [(row.key, self.top + n) for n, row in enumerate(self.above)]
        places += [(row.key, self.end + len(self.above) + n) for n, row in enumerate(self.below)]
        places += [(row.key, self._index(row.number)) for row in self.edited.rows]
        return {key: f"#gid={self.id}&range=B{index + 1}" for key, index in places}

    def _index(self, number: int) -> int:
        """Where a row stands once the new ones are below the header; from 0."""
        return number - 1 + len(self.above) * (number > self.top)

    def _cell(self, row: SheetRow, key: str) -> Json:
        """A cell as it is sent, whole: a missing value, fill or note is cleared."""
        cell, body = row.cell(key), Json()
        column = self.columns.get(key)
        text = column.shown(cell.text) if column else cell.text
        if column and column.kind == "date" and (day := day_of(cell.text)):
            body["userEnteredValue"] = {"numberValue": (day - _DAY_ZERO).days}
        elif cell.number is not None:
            # As it is worded: a format would be the team's to choose.
            body["userEnteredValue"] = {"numberValue": round(cell.number, decimals_of(cell.text))}
        elif text:
            body["userEnteredValue"] = {"stringValue": cell_text(text, LONGEST)}
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
            if self.tab and key not in self.tab.tag_ids and not is_added(key):
                yield self._tag_column(key)
        for column, place in added:
            if self.tab:
                # After the last column there is only the one before to take over from.
                span = span_of(self.id, "COLUMNS", place, place + 1)
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
            "frozenColumnCount": min(FROZEN, columns - 1),
        }
        yield {"addSheet": {"properties": {**whole, "title": self.sheet.title, "gridProperties": grid}}}
        yield _tag(new_id(), WORKSHEET, self.name, whole)
        yield _tag(new_id(), OWN_ID, str(self.id), whole)
        yield {"setBasicFilter": {"filter": {"range": box(self.id, columns=(0, columns))}}}

    def _tag_column(self, key: str) -> Json:
        span = span_of(self.id, "COLUMNS", self.places[key], self.places[key] + 1)
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
        span = span_of(self.id, "COLUMNS", index, index + 1)
        update = {"range": span, "properties": properties, "fields": ",".join(properties)}
        yield {"updateDimensionProperties": update}

    def _update(self, row: int, column: int, rows: list[Json], fields: str) -> Json:
        start = {"sheetId": self.id, "rowIndex": row, "columnIndex": column}
        return {"updateCells": {"start": start, "rows": rows, "fields": fields}}

    def _insert_rows(self, at: int, rows: Sequence[Mapping[int, Json]]) -> Iterator[Json]:
        """Rows before the one at an index, filled in the same batch: no sort can come between the two.

        The newest run stands at the top, and formulas and charts of the team's that span the table grow.
        """
        new = at, at + len(rows)
        # Behind the last row there is none below to take over the look of.
        is_last = self.tab is not None and at >= self.tab.rows
        span = span_of(self.id, "ROWS", *new)
        yield {"insertDimension": {"range": span, "inheritFromBefore": is_last}}
        # The look of the row below is taken over, its colours and choices with it.
        yield {"repeatCell": {"range": box(self.id, new), "cell": {}, "fields": f"{_FILL},{LINK}"}}
        for key, column in self.columns.items():
            index = self.places[key]
            yield _column_format(column, box(self.id, new, (index, index + 1)))
        for first, end in spans(rows[0]):
            lines = [{"values": [row[index] for index in range(first, end)]} for row in rows]
            yield self._update(at, first, lines, WRITTEN)

    def _change_rows(self) -> Iterator[Json]:
        """The values of rows that are there, in the columns that are ours; what is right is left.

        Fills and notes go into `groups`. People's notes on a cell stay where ours has none.
        """
        values: dict[str, dict[int, str | float]] = {}
        for row in self.sheet.rows:
            index = self._index(row.number)
            for key in row.ours if row.number else ():
                if key not in self.places or (key not in row.cells and key not in self.edited.columns):
                    continue
                want = self._cell(row, key)
                have = self._was(row.number, key)
                note, is_same = want.get("note", have.get("note")), entered(want) == entered(have)
                # So the same run pushed again writes nothing, and a colour that people chose stays.
                if is_same and note == have.get("note") and _uri(want) == _uri(have):
                    continue
                if not is_same:
                    values.setdefault(key, {})[index] = entered(want)
                    self.sent.setdefault(key, {})[row.key] = entered(want)
                shown = {name: cell for name, cell in want.items() if name != "userEnteredValue"}
                fields = ",".join([*(["note"] if "note" in want else []), _FILL, LINK])
                self.groups.append([self._update(index, self.places[key], [{"values": [shown]}], fields)])
        for key, rows in values.items():
            yield _of_column(self.tags[key], rows)

    def misplaced(self, tab: Tab, edited: EditedSheet) -> Iterator[Json]:
        """What stood in cells that got the value of another row, because people sorted rows meanwhile."""
        before = {row.key: row.number for row in self.edited.rows if row.key}
        for column, sent in self.sent.items():
            wrong, values = dict[int, str | float](), {*sent.values()}
            for row in edited.rows:
                if row.key in before and column in edited.columns:
                    now = entered(tab.cells.get((row.number - 1, edited.columns[column] - 1), {}))
                    old = entered(self._was(before[row.key], column))
                    if now in values and now not in (old, sent.get(row.key)):
                        wrong[row.number - 1] = old
            if wrong and column in tab.tag_ids:
                yield _of_column(tab.tag_ids[column], wrong)

    def _was(self, number: int, column: str) -> Json:
        """A cell as it was read."""
        place = number - 1, self.edited.columns.get(column, 0) - 1
        return self.tab.cells.get(place, {}) if self.tab else {}


def _of_column(tag: int, rows: Mapping[int, str | float]) -> Json:
    """Values of a column, known by its metadata, by row; what is null is left alone."""
    cells = [rows.get(row) for row in range(max(rows) + 1)]
    lookup = {"developerMetadataLookup": {"metadataId": tag}}
    return {"dataFilter": lookup, "majorDimension": "COLUMNS", "values": [cells]}


def _uri(cell: Json) -> str:
    """Where a cell leads; the empty text for nowhere."""
    look = cell.get("userEnteredFormat", {}).get("textFormat", {})
    return str(look.get("link", {}).get("uri", ""))


def _places(
    edited: EditedSheet, columns: Sequence[Column]
) -> tuple[dict[str, int], list[tuple[Column, int]]]:
    """Where all columns are once those are added, in their order, that are not there; from 0."""
    places = {key: place - 1 for key, place in edited.columns.items()}
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
