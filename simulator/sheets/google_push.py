"""Pushes worksheets to a Google Sheet: cells, requests for new and changed worksheets, and the push itself.

A round reads the sheet, writes what is missing, and reads again: people may sort or insert in between. Text
is never a formula.
"""

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple, TypeVar

from simulator.core.errors import InputError
from simulator.core.messages import Message, _
from simulator.core.types import Language, Value
from simulator.sheets.google_api import (
    Conflict,
    SheetsClient,
    SinkUnavailable,
    Target,
    is_refusal,
    size,
)
from simulator.sheets.google_pull import (
    COLUMN,
    EVER,
    HEAD,
    OWN_ID,
    SPREADSHEETS,
    WORKSHEET,
    Cells,
    Spreadsheet,
    Tab,
    area,
    identity,
    read_cells,
    read_sheets,
    read_spreadsheet,
    text_of,
)
from simulator.sheets.merge import OTHER, EditedSheet, Merged, cell_text, merge, team_kept, visible
from simulator.sheets.model import (
    FILLS,
    Chart,
    Column,
    Row,
    SheetCell,
    Worksheet,
    language_of,
    layout_of,
)

Json = dict[str, Any]
T = TypeVar("T")
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
# A column as narrow as this holds keys that mean nothing to people: it is hidden.
HIDDEN_WIDTH = 8
_PIXELS_A_CHARACTER, _MARGIN = 7, 16
_PROTECTED = "Rehearsal writes this column anew; write in the blue columns. / 自動で書き直される列です"
# Google recommends at most 2 MB a request.
LARGEST = 1_900_000
_KEYS = "userEnteredValue,note"
_CONTENT_FIELDS = "userEnteredValue,note,userEnteredFormat(backgroundColorStyle)"
# Gaps of so many rows are read along: fewer, larger areas.
_GAP = 50
_REFUSALS = 2


class CellContent(NamedTuple):
    """What the program writes into a cell; `fill` is RRGGBB, "" for none."""

    value: str | float = ""
    note: str = ""
    fill: str = ""


def cell_content(cell: SheetCell, language: Language) -> CellContent:
    """What a cell of ours is to hold."""
    value = cell.number if cell.number is not None else cell_text(cell.text, language, LONGEST)
    note = cell_text(cell.note, language, LONGEST_NOTE)
    return CellContent(value, note, FILLS[cell.mark] if cell.mark else "")


def cell_body(want: CellContent) -> Json:
    """The whole cell as it is sent; a missing fill or note is cleared."""
    made: Json = {"note": want.note} if want.note else {}
    if want.fill:
        made["userEnteredFormat"] = {"backgroundColorStyle": color(want.fill)}
    if want.value != "":
        kind = "stringValue" if isinstance(want.value, str) else "numberValue"
        made["userEnteredValue"] = {kind: want.value}
    return made


def color(fill: str) -> Json:
    """RRGGBB as Google's colour style."""
    red, green, blue = (int(fill[at : at + 2], 16) / 255 for at in (0, 2, 4))
    return {"rgbColor": {"red": red, "green": green, "blue": blue}}


def content_of(cell: Json) -> CellContent:
    """The content of a cell that was read; a formula or an error reads as U+FFFD, which we never write."""
    value = cell.get("userEnteredValue") or {}
    entered = value.get("stringValue", value.get("numberValue", "\ufffd" if value else ""))
    style = (cell.get("userEnteredFormat") or {}).get("backgroundColorStyle") or {}
    rgb = style.get("rgbColor")
    fill = "theme" if style else ""
    if rgb is not None:
        fill = "".join(f"{round(255 * float(rgb.get(part, 0))):02X}" for part in ("red", "green", "blue"))
    return CellContent(entered, str(cell.get("note", "")), "" if fill == "FFFFFF" else fill)


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


def _box(sheet_id: int, column: int, top: int, bottom: int | None = None) -> Json:
    box = {
        "sheetId": sheet_id,
        "startColumnIndex": column,
        "endColumnIndex": column + 1,
        "startRowIndex": top,
    }
    return box if bottom is None else box | {"endRowIndex": bottom}


def spans(indexes: Iterable[int], gap: int = 0) -> Iterator[tuple[int, int]]:
    """Indexes as spans without holes wider than `gap`, in order; ends are not included."""
    first = last = None
    for index in sorted(indexes):
        if first is None or last is None:
            first = index
        elif index - last > gap + 1:
            yield first, last + 1
            first = index
        last = index
    if first is not None and last is not None:
        yield first, last + 1


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
    """What is written into one worksheet: requests in groups that belong into one batch, in their order.

    `first` changes columns, fills and notes; `values` are cells of rows that were there, by column
    metadata; `last` makes new rows and worksheets. `places` are the columns by key, `updated` the rows by
    key, `top` the row below the header, all from 0 and once all is done.
    """

    def __init__(
        self, sheet: Worksheet, called: str, tab: Tab | None, edited: EditedSheet, merged: Merged
    ) -> None:
        self.sheet, self.called, self.title, self.top = sheet, called, edited.tab, edited.header
        self.created, self.sheet_id = tab is None, tab.id if tab else _new_id()
        self.places = {key: n - 1 for key, n in merged.places.items() if not key.startswith(OTHER)}
        self.tags = {key: (tab and tab.column_tags.get(key)) or _new_id() for key in self.places}
        self.first = [*self._columns(tab, edited, merged)] if tab else []
        self.values: list[Json] = []
        self.last: list[list[Json]] = []
        self.added: list[dict[int, CellContent]] = []
        self.updated: dict[str, int] = {}
        self.cells = 0

    def _columns(self, tab: Tab, edited: EditedSheet, merged: Merged) -> Iterator[Json]:
        """Metadata that a copy has lost, and new columns."""
        if WORKSHEET not in tab.tags:
            yield from self._tag_worksheet()
        for key, place in edited.columns.items():
            if key not in tab.column_tags:
                yield self._tag_column(key, place - 1)
        for column, place in merged.added:
            # After the last column there is only the one before to take over from.
            span = _span(self.sheet_id, "COLUMNS", place - 1, place)
            yield {"insertDimension": {"range": span, "inheritFromBefore": True}}
            yield from self._add_column(column, place - 1)
            if column.owner == "program":
                yield self._protect(place - 1, place)
        if merged.added and (ever := tab.tags.get(EVER)):
            value = " ".join((ever.value, *(column.key for column, _unused in merged.added)))
            update = {"developerMetadata": {"metadataValue": value}, "fields": "metadataValue"}
            yield {"updateDeveloperMetadata": {"dataFilters": [_by_tag(ever.id)], **update}}

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
        yield column_format(column, _box(self.sheet_id, index, self.top))
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
        if column.key == "key" and column.width <= HIDDEN_WIDTH:
            properties["hiddenByUser"] = True
        span = _span(self.sheet_id, "COLUMNS", index, index + 1)
        update = {"range": span, "properties": properties, "fields": ",".join(properties)}
        yield {"updateDimensionProperties": update}

    def _update(self, row: int, column: int, rows: list[Json], fields: str) -> Json:
        start = {"sheetId": self.sheet_id, "rowIndex": row, "columnIndex": column}
        return {"updateCells": {"start": start, "rows": rows, "fields": fields}}

    def _protect(self, start: int, end: int) -> Json:
        box = {"sheetId": self.sheet_id, "startRowIndex": 1, "startColumnIndex": start, "endColumnIndex": end}
        protected = {"range": box, "description": _PROTECTED, "warningOnly": True}
        return {"addProtectedRange": {"protectedRange": protected}}

    def change_rows(
        self, changed: Mapping[int, Row], columns: Mapping[str, int], now: Cells, language: Language
    ) -> None:
        """Cells of rows that are there; one whose values are right is left.

        Values go by column metadata, wherever it is by then; fills and notes by place.
        """
        values: dict[str, dict[int, str | float]] = {}
        for number, row in changed.items():
            pairs = [
                (
                    key,
                    cell_content(cell, language),
                    content_of(now.get((number - 1, columns.get(key, 0) - 1), {})),
                )
                for key, cell in row.cells.items()
            ]
            wrong = [(key, want.value) for key, want, have in pairs if want.value != have.value]
            for key, value in wrong:
                values.setdefault(key, {})[number - 1] = value
            if wrong:
                self.updated[visible(row.key)] = number - 1
                self.first += [
                    self._update(number - 1, self.places[key], [{"values": [body]}], ",".join(names))
                    for key, want, have in pairs
                    if (names := _looks(want, have))
                    for body in [cell_body(want._replace(value=""))]
                ]
        self.cells = sum(map(len, values.values()))
        for key, rows in values.items():
            # What is null is left alone.
            line = [rows.get(row) for row in range(max(rows) + 1)]
            tag = _by_tag(self.tags[key])
            self.values.append({"dataFilter": tag, "majorDimension": "COLUMNS", "values": [line]})

    def add_rows(self, rows: Iterable[Row], language: Language) -> None:
        """New rows in groups of less than a request; the last rows first, for each group goes to the top."""
        columns = {self.places[c.key]: c for c in self.sheet.columns if c.key in self.places}
        for row in rows:
            cells = {
                n: cell_content(row.cells[c.key], language) for n, c in columns.items() if c.key in row.cells
            }
            self.added.append(cells | {self.places["key"]: CellContent(visible(row.key))})
        self.updated = {key: row + len(self.added) * (row >= self.top) for key, row in self.updated.items()}
        room = LARGEST - size(self._insert_rows(columns, [])) - 4096
        sized = [
            (row, size({"values": cell_body(cell)} for cell in row.values()) + 4 * len(columns))
            for row in self.added
        ]
        self.last = [[*self._insert_rows(columns, portion)] for portion in reversed(packed(sized, room))]

    def _insert_rows(
        self, columns: Mapping[int, Column], rows: Sequence[Mapping[int, CellContent]]
    ) -> Iterator[Json]:
        """Rows below the header, filled in the same batch: no sort can come between the two."""
        end = self.top + len(rows)
        yield {"insertDimension": {"range": _span(self.sheet_id, "ROWS", self.top, end)}}
        # The look of the row below is taken over, its colours and choices with it.
        plain = {"sheetId": self.sheet_id, "startRowIndex": self.top, "endRowIndex": end}
        yield {"repeatCell": {"range": plain, "cell": {}, "fields": _FILL}}
        for index, column in columns.items():
            yield column_format(column, _box(self.sheet_id, index, self.top, end))
        for first, last in spans(columns):
            lines = [
                {"values": [cell_body(row.get(c, CellContent())) for c in range(first, last)]} for row in rows
            ]
            yield self._update(self.top, first, lines, WRITTEN)

    def add_worksheet(self) -> None:
        """The worksheet with its header, looks, filter, picture, and the metadata that it is known by."""
        sheet, sheet_id = self.sheet, self.sheet_id
        width = len(sheet.columns) + (CHART_COLUMNS if sheet.chart else SPARE_COLUMNS)
        grid = {"rowCount": 1 + SPARE_ROWS, "columnCount": width, "frozenRowCount": 1}
        grid["frozenColumnCount"] = min(sheet.frozen_columns, len(sheet.columns) - 1)
        properties = {"sheetId": sheet_id, "title": self.title, "gridProperties": grid}
        made: list[Json] = [{"addSheet": {"properties": properties}}, *self._tag_worksheet()]
        for index, column in enumerate(sheet.columns):
            made += self._add_column(column, index)
        for owner, run in groupby(enumerate(sheet.columns), key=lambda each: each[1].owner):
            if owner == "program":
                indexes = [index for index, _unused in run]
                made.append(self._protect(indexes[0], indexes[-1] + 1))
        box = {"sheetId": sheet_id, "startRowIndex": 0, "startColumnIndex": 0}
        made.append({"setBasicFilter": {"filter": {"range": box | {"endColumnIndex": len(sheet.columns)}}}})
        self.last = self.last or [[]]
        self.last[0][:0] = made
        if sheet.chart:
            self.last[-1].append(self._chart(sheet.chart))

    def _chart(self, chart: Chart) -> Json:
        """Beside the table; it grows with the rows. The newest is at the top, and so at the right."""

        def source(key: str) -> Json:
            box = _box(self.sheet_id, self.places[key], 0, 1 + SPARE_ROWS + len(self.added))
            return {"sourceRange": {"sources": [box]}}

        basic: Json = {
            "chartType": chart.kind.upper(),
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


def _looks(want: CellContent, have: CellContent) -> list[str]:
    """The fields to write; a note or a colour of the team's own stays where ours has nothing to say."""
    note = ["note"] if want.note and want.note != have.note else []
    filled = want.fill != have.fill and (want.fill or have.fill in FILLS.values())
    return [*note, _FILL] if filled else note


def packed(items: Iterable[tuple[T, int]], room: int) -> list[list[T]]:
    """Items with their sizes in lists, each of which fits the room; a larger item is alone."""
    lists: list[list[T]] = []
    left = 0
    for item, needed in items:
        if not lists or needed > left:
            lists.append([])
            left = room
        lists[-1].append(item)
        left -= needed
    return lists


class PushSummary(Value):
    """What a push did: worksheets it made, rows it added, cells of older rows it changed, requests.

    `notes` are lines for people: what was left out, and what to look at.
    """

    url: str
    worksheets: tuple[str, ...] = ()
    rows: int = 0
    cells: int = 0
    reads: int = 0
    writes: int = 0
    notes: tuple[Message | str, ...] = ()


def push(
    worksheets: Sequence[Worksheet],
    target: Target,
    *,
    language: Language | None = None,
    client: SheetsClient | None = None,
) -> PushSummary:
    """Writes the worksheets into the spreadsheet; existing rows are left, or updated in place.

    `language` is that of the marks in cut texts; by default that of the titles.
    Raises InputError for what people can fix, and SinkUnavailable when Google cannot be reached.
    """
    client = client or SheetsClient()
    work = _Push(client, worksheets, target, language or language_of(worksheets))
    try:
        client.persist(work.round, f"sheet {target.key}", writing=lambda: work.wrote)
    except SinkUnavailable as error:
        msg = _("{error} The run is complete; 'report RUN --to sheets' writes the sheet later.", error=error)
        raise SinkUnavailable(msg) from None
    return PushSummary(
        url=work.url,
        worksheets=tuple(work.made),
        rows=len(work.rows),
        cells=work.cells,
        reads=client.reads,
        writes=client.writes,
        notes=tuple(work.notes),
    )


class _Push:
    """One push, and what it did; every round reads the sheet again and writes what is still missing."""

    def __init__(
        self, client: SheetsClient, worksheets: Sequence[Worksheet], target: Target, language: Language
    ) -> None:
        self.client, self.target, self.language = client, target, language
        self.worksheets = {sheet.name: sheet for sheet in worksheets}
        self.url, self.wrote, self.cells = "", False, 0
        self.made: dict[str, None] = {}
        self.rows: set[tuple[str, str]] = set()
        self.notes: dict[Message | str, None] = {}
        self._begun: set[str] = set()
        self._fresh: dict[str, set[str]] = {name: set() for name in self.worksheets}
        self._refusals = 0

    def round(self) -> None:
        """Reads, compares, writes, and verifies."""
        found = read_spreadsheet(self.client, self.target.key)
        self.url, self.wrote = found.url, False
        layouts = {name: layout_of(sheet) for name, sheet in self.worksheets.items()}
        tabs, edited = read_sheets(self.client, self.target, found, layouts, parts=self._parts, mask=_KEYS)
        now = self._now(tabs, edited.sheets)
        work = [
            made
            for name, sheet in self.worksheets.items()
            if (made := self._changes(sheet, found, tabs.get(name), edited.sheets.get(name), now))
            and (made.first or made.values or made.last)
        ]
        self._write(work, found)
        if work:
            self._verify(work)

    def _parts(self, name: str, tab: Tab) -> Iterator[Json]:
        """A worksheet's head, its keys, and what tells rows without a key apart."""
        sheet = self.worksheets[name]
        wanted = ("key", sheet.columns[1].key) if team_kept(sheet) else ("key",)
        yield area(tab, rows=(0, HEAD))
        for key in wanted:
            if key in tab.places:
                yield area(tab, columns=(tab.places[key], tab.places[key] + 1))

    def _now(self, tabs: Mapping[str, Tab], edited: Mapping[str, EditedSheet]) -> dict[int, Cells]:
        """The rows whose keys are pushed, as far as the program's columns go."""
        areas = []
        for name, tab in tabs.items():
            sheet, columns = self.worksheets[name], edited[name].columns
            if team_kept(sheet) and not self._fresh[name]:
                continue
            pushed = {visible(row.key) for row in sheet.rows}
            rows = [row.number - 1 for row in edited[name].rows if row.key in pushed]
            ours = [columns[column.key] for column in sheet.columns if column.key in columns]
            wide = (min(ours) - 1, max(ours)) if ours else (0, 0)
            areas += [area(tab, rows=span, columns=wide) for span in spans(rows, _GAP)]
        return read_cells(self.client, self.target.key, areas, _CONTENT_FIELDS)

    def _changes(
        self,
        sheet: Worksheet,
        found: Spreadsheet,
        tab: Tab | None,
        edited: EditedSheet | None,
        now: Mapping[int, Cells],
    ) -> Changes | None:
        called = identity(sheet.name, self.target.suffix)
        if tab is None or edited is None:
            # What a broken connection cut off is filled for the first time in the next round, too.
            self._begun.add(sheet.name)
            stem, taken = identity(sheet.title, self.target.suffix), {t.title.casefold() for t in found.tabs}
            names = (stem, *(f"{stem} ({number})" for number in range(2, len(taken) + 3)))
            title = next(name for name in names if name.casefold() not in taken)
            columns = {column.key: place for place, column in enumerate(sheet.columns, 1)}
            edited = EditedSheet(title, 1, {}, columns, frozenset(), (), ())
        elif "key" not in edited.columns:
            note = _(
                "{title}: its column of keys (キー) was deleted, so its rows cannot be told apart; undo that"
                " in the version history (変更履歴), or delete the worksheet, and push again.",
                title=sheet.title,
            )
            self.notes[note] = None
            return None
        fresh = self._fresh[sheet.name]
        merged = merge(sheet, edited, first=sheet.name in self._begun, fresh=fresh)
        fresh |= {column.key for column, _unused in merged.added}
        for column in merged.deleted:
            self.notes[
                _(
                    "{tab}: the column {title} was deleted and is left out.",
                    tab=edited.tab,
                    title=column.title,
                )
            ] = None
        made = Changes(sheet, called, tab, edited, merged)
        made.change_rows(merged.changed, edited.columns, now.get(made.sheet_id, {}), self.language)
        made.add_rows(merged.new, self.language)
        if tab is None:
            made.add_worksheet()
        elif made.last and made.top >= tab.rows:
            below = {"sheetId": tab.id, "dimension": "ROWS", "length": SPARE_ROWS}
            made.last[0].insert(0, {"appendDimension": below})
        return made

    def _write(self, work: Sequence[Changes], found: Spreadsheet) -> None:
        last = [group for made in work for group in made.last]
        if self.target.fresh and any(made.created for made in work):
            last += [[{"deleteSheet": {"sheetId": tab.id}}] for tab in found.tabs if not tab.tags]
        for requests in _batches(made.first for made in work if made.first):
            self._send(":batchUpdate", {"requests": requests})
        for values in packed(((one, size([one])) for made in work for one in made.values), LARGEST):
            self._send("/values:batchUpdateByDataFilter", {"valueInputOption": "RAW", "data": values})
        self.cells += sum(made.cells for made in work)
        for requests in _batches(last):
            self._send(":batchUpdate", {"requests": requests})
        self.made |= dict.fromkeys(made.title for made in work if made.created)
        for made in work:
            index = made.places["key"]
            self.rows |= {(made.sheet.name, str(row[index].value)) for row in made.added}

    def _send(self, method: str, body: Json) -> None:
        self.wrote = True
        address = f"{SPREADSHEETS}/{self.target.key}{method}"
        self._or_conflict(lambda: self.client.write(address, body))

    def _or_conflict(self, request: Callable[[], T]) -> T:
        """A refusal as Conflict: somebody may have deleted what it names, and looking again tells."""
        from gspread.exceptions import APIError

        try:
            return request()
        except APIError as error:
            if is_refusal(error) and self._refusals < _REFUSALS:
                self._refusals += 1
                raise Conflict(str(error)) from None
            raise

    def _read(self, areas: Sequence[Json]) -> Spreadsheet:
        filters = [{"gridRange": one} for one in areas]
        return self._or_conflict(
            lambda: read_spreadsheet(self.client, self.target.key, filters, "userEnteredValue")
        )

    def _verify(self, work: Sequence[Changes]) -> None:
        """Reads keys and columns again; raises Conflict where something is not where it was written."""
        heads = [{"sheetId": m.sheet_id, "startRowIndex": m.top - 1, "endRowIndex": m.top} for m in work]
        keys = [_box(made.sheet_id, made.places["key"], 0) for made in work]
        tabs = {tab.id: tab for tab in self._read([*heads, *keys]).tabs}
        moved = []
        for made in work:
            tab = tabs.get(made.sheet_id)
            if tab is None or any(tab.places.get(key) != place for key, place in made.places.items()):
                self._remove_misplaced(made)
                moved.append(made.title)
                continue
            index = made.places["key"]
            rows = {row: text_of(cell) for (row, column), cell in tab.cells.items() if column == index}
            hit = [row for key, row in made.updated.items() if rows.get(row) != key]
            self._note_hits(made, rows, hit)
            if hit or not {row[index].value for row in made.added} <= set(rows.values()):
                moved.append(made.title)
        if moved:
            raise Conflict(", ".join(moved))

    def _note_hits(self, made: Changes, rows: Mapping[int, str], hit: Sequence[int]) -> None:
        """Rows of other runs, or of people's own, that may show what was meant for another row."""
        pushed = {visible(row.key) for row in made.sheet.rows} if hit else set()
        for row in hit:
            if rows.get(row) not in pushed:
                how = f"push {rows[row]} again" if rows.get(row) else "look at it"
                what = f"people sorted it meanwhile, and row {row + 1} may show another row's figures; {how}."
                self.notes[f"{made.title}: {what}"] = None

    def _remove_misplaced(self, made: Changes) -> None:
        """Removes the new rows that were filled by an older order of the columns, and hold nothing else.

        Where the columns were moved only after the rows were written, the rows are right and none is found.
        """
        if not made.added:
            return
        end = made.top + len(made.added)
        box = {"sheetId": made.sheet_id, "startRowIndex": made.top, "endRowIndex": end}
        lines: dict[int, dict[int, str | float]] = {}
        for tab in self._read([box]).tabs:
            for (row, column), cell in tab.cells.items():
                if (value := content_of(cell).value) != "":
                    lines.setdefault(row, {})[column] = value
        planned = {
            frozenset((n, cell.value) for n, cell in row.items() if cell.value != "") for row in made.added
        }
        wrong = [row for row, line in lines.items() if frozenset(line.items()) in planned]
        delete = [
            {"deleteDimension": {"range": _span(made.sheet_id, "ROWS", first, last)}}
            for first, last in reversed([*spans(wrong)])
        ]
        if delete:
            self.client.write(f"{SPREADSHEETS}/{self.target.key}:batchUpdate", {"requests": delete})


def _batches(groups: Iterable[list[Json]]) -> Iterator[list[Json]]:
    """The groups in requests of at most 2 MB; a group is never split."""
    for batch in packed(((group, size(group)) for group in groups), LARGEST):
        yield [request for group in batch for request in group]


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
        return client.once(make, _("new sheet {title}", title=title))
    except SinkUnavailable as error:
        msg = _(
            "{error} It may have been made: look for {title} in Drive first, and give it with --sheet.",
            error=error,
            title=title,
        )
        raise SinkUnavailable(msg) from None
