"""Pushes worksheets to a Google Sheet: cells, requests for new and changed worksheets, and the push itself.

A round reads the sheet, writes what is missing, and reads again: people may sort or insert in between. Text
is never a formula.
"""

import re
import secrets
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple

from simulator.core.errors import InputError
from simulator.core.messages import Message, _
from simulator.core.types import Language, Value
from simulator.sheets.google_api import (
    Conflict,
    SheetsClient,
    SinkUnavailable,
    Target,
    fields,
    is_known,
    is_refusal,
    size,
)
from simulator.sheets.model import (
    FILLS,
    Chart,
    Column,
    Row,
    SheetCell,
    SheetWords,
    Titles,
    Worksheet,
    folded,
    language_of,
)
from simulator.sheets.state import (
    COLUMN,
    EVER,
    HEAD,
    OWN_ID,
    SPREADSHEETS,
    WORKSHEET,
    Cells,
    ColumnPosition,
    SheetState,
    Spreadsheet,
    Tab,
    area,
    cells,
    identity,
    placed,
    read_spreadsheet,
    recognised_copy,
    sheet_state,
    text_of,
)

Json = dict[str, Any]
# What Google takes in one cell, counted as it counts: a character beyond the first plane is two.
LONGEST = 50_000
LONGEST_NOTE = 5_000
# What an update of a cell writes; widths, wraps and number formats stay as people like them.
WRITTEN = "userEnteredValue,note,userEnteredFormat.backgroundColorStyle"
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


class CellContent(NamedTuple):
    """What the program writes into a cell; `fill` is RRGGBB, "" for none."""

    value: str | float = ""
    note: str = ""
    fill: str = ""


def cell_content(cell: SheetCell, language: Language) -> CellContent:
    """What a cell of ours is to hold."""
    value = cell.number if cell.number is not None else printable(cell.text, language)
    note = printable(cell.note, language, LONGEST_NOTE)
    return CellContent(value, note, FILLS[cell.mark] if cell.mark else "")


def printable(text: str, language: Language, longest: int = LONGEST) -> str:
    """The text with control characters made visible, cut with a mark where it is too long."""
    text = text.replace("\r\n", "\n")
    if _CONTROLS.search(text):
        # Through UTF-16 the two surrogates of one character become that character.
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        text = _CONTROLS.sub(_picture, text)
    return text if units(text) <= longest else _cut(text, language, longest)


def units(text: str) -> int:
    """The length in UTF-16 units."""
    return len(text) + sum(character > "\uffff" for character in text)


def _picture(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code == 0x7F:
        return "\u2421"
    return chr(0x2400 + code) if code < 0x20 else "\ufffd"


def _cut(text: str, language: Language, longest: int) -> str:
    words = SheetWords(language)
    room = longest - units(words("text", "left_out", n=len(text)))
    kept, used = 0, 0
    for character in text:
        used += 1 + (character > "\uffff")
        if used > room:
            break
        kept += 1
    while kept and (_joins(text[kept]) or text[kept - 1] == "\u200d"):
        kept -= 1
    return text[:kept] + words("text", "left_out", n=len(text) - kept)


def _joins(character: str) -> bool:
    """Whether a character joins the one before it."""
    return (
        unicodedata.category(character) in ("Mn", "Me", "Mc", "Cf")
        or "\U0001f3fb" <= character <= "\U0001f3ff"
    )


def cell_body(want: CellContent) -> Json:
    """The whole cell as it is sent."""
    made = formatting(want)
    if want.value != "":
        kind = "stringValue" if isinstance(want.value, str) else "numberValue"
        made["userEnteredValue"] = {kind: want.value}
    return made


def formatting(want: CellContent) -> Json:
    """Fill and note of the cell; a missing one is cleared."""
    made: Json = {"note": want.note} if want.note else {}
    if want.fill:
        made["userEnteredFormat"] = {"backgroundColorStyle": color(want.fill)}
    return made


def color(fill: str) -> Json:
    """RRGGBB as Google's colour style."""
    red, green, blue = (int(fill[at : at + 2], 16) / 255 for at in (0, 2, 4))
    return {"rgbColor": {"red": red, "green": green, "blue": blue}}


def content_of(cell: Json) -> CellContent:
    """The content of a cell that was read; a formula or an error reads as U+FFFD, which we never write."""
    value = cell.get("userEnteredValue") or {}
    entered = value.get("stringValue", value.get("numberValue"))
    other = value and entered is None
    style = (cell.get("userEnteredFormat") or {}).get("backgroundColorStyle") or {}
    known: str | float = "\ufffd" if other else "" if entered is None else entered
    return CellContent(known, str(cell.get("note", "")), _fill(style))


def _fill(style: Json) -> str:
    if not style:
        return ""
    rgb = style.get("rgbColor")
    if rgb is None:
        return "theme"
    fill = "".join(f"{round(255 * float(rgb.get(part, 0))):02X}" for part in ("red", "green", "blue"))
    return "" if fill == "FFFFFF" else fill


GREY, BLUE = "EFEFEF", "CFE2F3"
# Rows below the last one and columns beside it in which people may write; a chart takes more of these.
SPARE_ROWS, SPARE_COLUMNS, CHART_COLUMNS = 100, 2, 9
# So long that wrapped rows would fill the screen: they are cut where the cell ends.
CLIPPED = frozenset({"passages", "earlier", "config"})
# A column as narrow as this holds keys that mean nothing to people: it is hidden.
HIDDEN_WIDTH = 8
_PIXELS_A_CHARACTER, _MARGIN = 7, 16
_PROTECTED = "Rehearsal writes this column anew; write in the blue columns. / 自動で書き直される列です"


def new_id() -> int:
    """An id for a worksheet or a piece of metadata."""
    return secrets.randbelow(2**31 - 1) + 1


def add_worksheet(worksheet: Worksheet, sheet_id: int, title: str, called: str) -> Iterator[Json]:
    """An empty worksheet with its header, looks, filter, and the metadata that it is known by."""
    width = len(worksheet.columns) + (CHART_COLUMNS if worksheet.chart else SPARE_COLUMNS)
    grid = {"rowCount": 1 + SPARE_ROWS, "columnCount": width, "frozenRowCount": 1}
    grid["frozenColumnCount"] = min(worksheet.frozen_columns, len(worksheet.columns) - 1)
    yield {"addSheet": {"properties": {"sheetId": sheet_id, "title": title, "gridProperties": grid}}}
    yield from tag_worksheet(sheet_id, called, [column.key for column in worksheet.columns])
    for index, column in enumerate(worksheet.columns):
        yield from add_column(worksheet, column, ColumnPlace(sheet_id, index, 0, called, new_id()))
    for owner, run in groupby(enumerate(worksheet.columns), key=lambda each: each[1].owner):
        if owner == "program":
            yield _protect(sheet_id, [index for index, _unused in run])
    area = {"sheetId": sheet_id, "startRowIndex": 0, "startColumnIndex": 0}
    yield {"setBasicFilter": {"filter": {"range": area | {"endColumnIndex": len(worksheet.columns)}}}}


def tag_worksheet(sheet_id: int, called: str, keys: Sequence[str]) -> Iterator[Json]:
    """The metadata of a worksheet: what it is, that it is no copy, and its columns."""
    for key, value in ((WORKSHEET, called), (OWN_ID, str(sheet_id)), (EVER, " ".join(keys))):
        yield _tag(new_id(), key, value, {"sheetId": sheet_id})


def tag_column(sheet_id: int, index: int, key: str, tag: int) -> Json:
    """The metadata of a column."""
    span = _span(sheet_id, "COLUMNS", index, index + 1)
    return _tag(tag, COLUMN, key, {"dimensionRange": span})


def retag(tag: int, value: str) -> Json:
    """Another value for a piece of metadata."""
    one = {"developerMetadataLookup": {"metadataId": tag}}
    metadata = {"metadataValue": value}
    return {
        "updateDeveloperMetadata": {
            "dataFilters": [one],
            "developerMetadata": metadata,
            "fields": "metadataValue",
        }
    }


def _tag(tag: int, key: str, value: str, location: Json) -> Json:
    metadata = {"metadataId": tag, "metadataKey": key, "metadataValue": value, "visibility": "DOCUMENT"}
    return {"createDeveloperMetadata": {"developerMetadata": metadata | {"location": location}}}


class ColumnPlace(NamedTuple):
    """Where a column goes, the row of its header, whose worksheet it is, and the id of its metadata."""

    sheet_id: int
    column: int
    header: int
    called: str
    tag: int


def insert_column(worksheet: Worksheet, column: Column, spot: ColumnPlace) -> Iterator[Json]:
    """A column that came later, between the others."""
    # After the last column there is only the one before to take over from.
    span = _span(spot.sheet_id, "COLUMNS", spot.column, spot.column + 1)
    yield {"insertDimension": {"range": span, "inheritFromBefore": True}}
    yield from add_column(worksheet, column, spot)
    if column.owner == "program":
        yield _protect(spot.sheet_id, [spot.column])


def add_column(worksheet: Worksheet, column: Column, spot: ColumnPlace) -> Iterator[Json]:
    """Header, look, width and metadata of a column that is empty."""
    yield tag_column(spot.sheet_id, spot.column, column.key, spot.tag)
    # What an inserted column takes over from its neighbour goes.
    yield column_format(column, _box(spot.sheet_id, spot.column, spot.header + 1))
    yield {
        "updateCells": {
            "start": {"sheetId": spot.sheet_id, "rowIndex": spot.header, "columnIndex": spot.column},
            "rows": [{"values": [_header(worksheet, column, spot.called)]}],
            "fields": "userEnteredValue,note,userEnteredFormat,dataValidation",
        }
    }
    properties: Json = {"pixelSize": _MARGIN + _PIXELS_A_CHARACTER * column.width}
    if column.key == "key" and column.width <= HIDDEN_WIDTH:
        properties["hiddenByUser"] = True
    yield {
        "updateDimensionProperties": {
            "range": _span(spot.sheet_id, "COLUMNS", spot.column, spot.column + 1),
            "properties": properties,
            "fields": ",".join(properties),
        }
    }


def _header(worksheet: Worksheet, column: Column, called: str) -> Json:
    fill = BLUE if column.owner == "team" else GREY
    note = f"rehearsal:{called}" if column.key == "key" else column.help
    if column == worksheet.columns[min(1, len(worksheet.columns) - 1)]:
        note = "\n".join(filter(None, (note, worksheet.help)))
    formatting = {
        "backgroundColorStyle": color(fill),
        "textFormat": {"bold": True},
        "wrapStrategy": "WRAP",
        "verticalAlignment": "MIDDLE",
    }
    made: Json = {"userEnteredValue": {"stringValue": column.title}, "userEnteredFormat": formatting}
    return made | ({"note": note} if note else {})


def column_format(column: Column, box: Json) -> Json:
    """How cells of a column look, and what may be picked in them."""
    wrap = "WRAP" if column.wrap and column.key not in CLIPPED else "CLIP"
    formatting: Json = {"wrapStrategy": wrap, "verticalAlignment": "TOP"}
    if column.kind == "date":
        formatting["numberFormat"] = {"type": "DATE", "pattern": "yyyy/mm/dd"}
    cell: Json = {"userEnteredFormat": formatting}
    if rule := _rule(column):
        cell["dataValidation"] = rule
    return {"repeatCell": {"range": box, "cell": cell, "fields": "userEnteredFormat,dataValidation"}}


def _rule(column: Column) -> Json:
    """Other entries are warned of, never refused."""
    if column.choices:
        values = [{"userEnteredValue": choice.title} for choice in column.choices]
        return {"condition": {"type": "ONE_OF_LIST", "values": values}, "strict": False, "showCustomUi": True}
    if column.kind == "date" and column.owner == "team":
        return {"condition": {"type": "DATE_IS_VALID"}, "strict": False, "showCustomUi": True}
    return {}


def _protect(sheet_id: int, indexes: Sequence[int]) -> Json:
    area = {"sheetId": sheet_id, "startRowIndex": 1}
    area |= {"startColumnIndex": indexes[0], "endColumnIndex": indexes[-1] + 1}
    protected = {"range": area, "description": _PROTECTED, "warningOnly": True}
    return {"addProtectedRange": {"protectedRange": protected}}


def insert_rows(
    columns: Mapping[int, Column], rows: Sequence[Mapping[int, CellContent]], sheet_id: int, at: int
) -> Iterator[Json]:
    """New rows from `at` on, filled in the same batch: no sort can come between the two.

    `columns` and the cells of a row are keyed by their position.
    """
    end = at + len(rows)
    yield {"insertDimension": {"range": _span(sheet_id, "ROWS", at, end)}}
    # The look of the row below is taken over, its colours and choices with it.
    plain = {"sheetId": sheet_id, "startRowIndex": at, "endRowIndex": end}
    fill = "userEnteredFormat.backgroundColorStyle"
    yield {"repeatCell": {"range": plain, "cell": {}, "fields": fill}}
    for index, column in columns.items():
        yield column_format(column, _box(sheet_id, index, at, end))
    for first, last in spans(sorted(columns)):
        lines = [
            {"values": [cell_body(row.get(c, CellContent())) for c in range(first, last)]} for row in rows
        ]
        start = {"sheetId": sheet_id, "rowIndex": at, "columnIndex": first}
        yield {"updateCells": {"start": start, "rows": lines, "fields": WRITTEN}}


def spans(indexes: Sequence[int], gap: int = 0) -> Iterator[tuple[int, int]]:
    """Sorted indexes as spans without holes wider than `gap`; ends are not included."""
    first = last = None
    for index in indexes:
        if first is None or last is None:
            first = last = index
        elif index - last > gap + 1:
            yield first, last + 1
            first = index
        last = index
    if first is not None and last is not None:
        yield first, last + 1


def add_chart(chart: Chart, indexes: Mapping[str, int], sheet_id: int, rows: int, beside: int) -> Json:
    """The picture beside the table; it grows with the rows. The newest is at the top, and so at the right."""

    def source(key: str) -> Json:
        column = {"startColumnIndex": indexes[key], "endColumnIndex": indexes[key] + 1}
        area = {"sheetId": sheet_id, "startRowIndex": 0, "endRowIndex": rows, **column}
        return {"sourceRange": {"sources": [area]}}

    basic: Json = {
        "chartType": chart.kind.upper(),
        "legendPosition": "BOTTOM_LEGEND",
        "headerCount": 1,
        "domains": [{"domain": source(chart.x), "reversed": True}],
        "series": [{"series": source(key), "targetAxis": "LEFT_AXIS"} for key in chart.ys],
    }
    corner = {"anchorCell": {"sheetId": sheet_id, "rowIndex": 1, "columnIndex": beside}}
    place = {"overlayPosition": corner | {"widthPixels": 600, "heightPixels": 320}}
    return {"addChart": {"chart": {"spec": {"title": chart.title, "basicChart": basic}, "position": place}}}


def append_rows(sheet_id: int) -> Json:
    """Empty rows below the last one."""
    return {"appendDimension": {"sheetId": sheet_id, "dimension": "ROWS", "length": SPARE_ROWS}}


def delete_rows(sheet_id: int, rows: Sequence[int]) -> Iterator[Json]:
    """Rows go, the last ones first."""
    for first, last in reversed(list(spans(sorted(rows)))):
        yield {"deleteDimension": {"range": _span(sheet_id, "ROWS", first, last)}}


def _span(sheet_id: int, dimension: str, start: int, end: int) -> Json:
    return {"sheetId": sheet_id, "dimension": dimension, "startIndex": start, "endIndex": end}


def _box(sheet_id: int, column: int, top: int, bottom: int | None = None) -> Json:
    area = {"sheetId": sheet_id, "startColumnIndex": column, "endColumnIndex": column + 1}
    area["startRowIndex"] = top
    return area if bottom is None else area | {"endRowIndex": bottom}


# Google recommends at most 2 MB a request.
LARGEST = 1_900_000
_FILL = "userEnteredFormat.backgroundColorStyle"


@dataclass
class Changes:
    """Requests in groups that belong into one batch, in the order in which they are to be sent.

    `first` changes columns, fills and notes; `values` are cells of rows that were there, by column
    metadata; `last` makes new rows and worksheets. `places` are the columns once all is done.
    """

    worksheet: Worksheet
    sheet_id: int
    title: str
    header: int
    places: dict[str, ColumnPosition]
    first: list[list[Json]] = field(default_factory=list)
    values: list[Json] = field(default_factory=list)
    last: list[list[Json]] = field(default_factory=list)
    added: list[Mapping[int, CellContent]] = field(default_factory=list)
    updated: dict[str, int] = field(default_factory=dict)
    cells: int = 0
    notes: list[Message | str] = field(default_factory=list)
    created: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to write."""
        return not (self.first or self.values or self.last)


def new_worksheet(worksheet: Worksheet, title: str, called: str, language: Language) -> Changes:
    """A worksheet that is not there yet."""
    sheet_id = new_id()
    places = {column.key: ColumnPosition(index, None) for index, column in enumerate(worksheet.columns)}
    made = Changes(worksheet, sheet_id, title, 0, places, created=True)
    made.added = [_row(row, worksheet, places, language) for row in worksheet.rows]
    made.last = _row_groups(made) or [[]]
    made.last[0][:0] = add_worksheet(worksheet, sheet_id, title, called)
    if worksheet.chart:
        indexes = {key: place.column for key, place in places.items()}
        rows = 1 + SPARE_ROWS + len(made.added)
        chart = add_chart(worksheet.chart, indexes, sheet_id, rows, len(worksheet.columns) + 1)
        made.last[-1].append(chart)
    return made


def updated_worksheet(
    worksheet: Worksheet, state: SheetState, called: str, now: Cells, language: Language
) -> Changes:
    """A worksheet that is there; `now` has the cells of the rows whose keys are pushed."""
    made = Changes(worksheet, state.tab.id, state.tab.title, state.header, dict(state.places))
    amended = [*_tags(made, state, called), *_new_columns(made, state, called)]
    amended += _old_rows(made, state, now, language)
    made.first = [amended] if amended else []
    fresh = _unknown(worksheet, state)
    made.added = [_row(row, worksheet, made.places, language) for row in fresh]
    made.last = _row_groups(made)
    if made.last and state.header + 1 >= state.tab.rows:
        made.last[0].insert(0, append_rows(state.tab.id))
    below = len(made.added)
    made.updated = {key: row + below * (row > state.header) for key, row in made.updated.items()}
    return made


def _tags(made: Changes, state: SheetState, called: str) -> Iterator[Json]:
    """A copy is adopted: it is given the metadata that it has lost."""
    if WORKSHEET not in state.tab.tags:
        keys = [column.key for column in made.worksheet.columns]
        yield from tag_worksheet(state.tab.id, called, keys)
    for key, place in made.places.items():
        if place.tag is None:
            made.places[key] = place._replace(tag=new_id())
            yield tag_column(state.tab.id, place.column, key, made.places[key].tag or 0)


def _new_columns(made: Changes, state: SheetState, called: str) -> Iterator[Json]:
    """Columns that were never there, each after its neighbour; what people deleted stays deleted."""
    before, fresh = "key", []
    for column in made.worksheet.columns:
        if column.key in made.places:
            before = column.key
        elif column.key in state.ever:
            made.notes.append(
                _(
                    "{title}: the column {title2} was deleted and is left out.",
                    title=made.title,
                    title2=column.title,
                )
            )
        else:
            index, tag = made.places[before].column + 1, new_id()
            moved = {key: p._replace(column=p.column + (p.column >= index)) for key, p in made.places.items()}
            made.places = moved | {column.key: ColumnPosition(index, tag)}
            spot = ColumnPlace(state.tab.id, index, state.header, called, tag)
            yield from insert_column(made.worksheet, column, spot)
            before = column.key
            fresh.append(column.key)
    if fresh and (known := state.tab.tags.get(EVER)):
        yield retag(known.id, " ".join((*state.ever, *fresh)))


def _old_rows(made: Changes, state: SheetState, now: Cells, language: Language) -> Iterator[Json]:
    """Values go by column metadata, fills and notes by place; a row whose values are right is left."""
    columns: dict[str, dict[int, str | float]] = {}
    for row in made.worksheet.rows:
        at = state.keys.get(row.key)
        if at is None:
            continue
        was = {key: content_of(now.get((at, place.column), {})) for key, place in state.places.items()}
        pairs = [(key, want, was.get(key, CellContent())) for key, want in _wanted(row, made, language)]
        wrong = [(key, want) for key, want, have in pairs if want.value != have.value]
        for key, want in wrong:
            columns.setdefault(key, {})[at] = want.value
        if wrong:
            made.updated[row.key] = at
            for key, want, have in pairs:
                yield from _looks(made.sheet_id, at, made.places[key].column, want, have)
    made.cells = sum(map(len, columns.values()))
    made.values = [_by_column(made.places[key].tag or 0, rows) for key, rows in columns.items()]


def _wanted(row: Row, made: Changes, language: Language) -> Iterator[tuple[str, CellContent]]:
    """What the program's cells of a row shall hold; one that is not given is empty."""
    for column in made.worksheet.columns[1:]:
        if column.owner == "program" and column.key in made.places:
            cell = row.cells.get(column.key)
            yield column.key, cell_content(cell, language) if cell else CellContent()


def _looks(sheet_id: int, row: int, column: int, want: CellContent, have: CellContent) -> Iterator[Json]:
    """A note or a colour of the team's own stays where ours has nothing to say."""
    names = ["note"] if want.note and want.note != have.note else []
    ours = have.fill in FILLS.values()
    if want.fill != have.fill and (want.fill or ours):
        names.append(_FILL)
    if names:
        start = {"sheetId": sheet_id, "rowIndex": row, "columnIndex": column}
        rows = [{"values": [formatting(want)]}]
        yield {"updateCells": {"start": start, "rows": rows, "fields": ",".join(names)}}


def _by_column(tag: int, rows: Mapping[int, str | float]) -> Json:
    """New values of a column, wherever it is by then; what is null is left alone."""
    lines = [rows.get(row) for row in range(max(rows) + 1)]
    one = {"developerMetadataLookup": {"metadataId": tag}}
    return {"dataFilter": one, "majorDimension": "COLUMNS", "values": [lines]}


def _unknown(worksheet: Worksheet, state: SheetState) -> list[Row]:
    """Rows that are not there; a question that the team wrote without a key is there."""
    loose = loose_texts(worksheet, state)
    named = worksheet.columns[1].key
    fresh = [row for row in worksheet.rows if row.key not in state.keys]
    return [row for row in fresh if named not in row.cells or folded(row.cells[named].text) not in loose]


def loose_texts(worksheet: Worksheet, state: SheetState) -> set[str]:
    """The texts of rows without a key, where all columns are the team's."""
    if not is_team_kept(worksheet) or worksheet.columns[1].key not in state.places:
        return set()
    keyed = {*state.keys.values(), *(row for row, _unused in state.duplicates), state.header}
    index = state.places[worksheet.columns[1].key].column
    found = {folded(text_of(c)) for (row, i), c in state.cells.items() if i == index and row not in keyed}
    return found - {""}


def is_team_kept(worksheet: Worksheet) -> bool:
    """Whether this worksheet is the team's own, to which the program only adds rows."""
    return all(column.owner == "team" for column in worksheet.columns[1:])


def _row(
    row: Row, worksheet: Worksheet, places: Mapping[str, ColumnPosition], language: Language
) -> dict[int, CellContent]:
    """A new row's cells by their column; the team's, too, which are theirs from now on."""
    found = {
        places[column.key].column: cell_content(row.cells[column.key], language)
        for column in worksheet.columns
        if column.key in row.cells and column.key in places
    }
    return found | {places["key"].column: CellContent(row.key)}


def _row_groups(made: Changes) -> list[list[Json]]:
    """New rows in groups of less than a request; the last rows first, for each group goes to the top."""
    columns = {made.places[c.key].column: c for c in made.worksheet.columns if c.key in made.places}
    return [
        list(insert_rows(columns, rows, made.sheet_id, made.header + 1))
        for rows in reversed(list(_portions(made.added, columns)))
    ]


def _portions(
    rows: Sequence[Mapping[int, CellContent]], columns: Mapping[int, Column]
) -> Iterator[list[Mapping[int, CellContent]]]:
    portion: list[Mapping[int, CellContent]] = []
    room = LARGEST - _overhead(columns)
    for row in rows:
        needed = size({"values": cell_body(cell)} for cell in row.values()) + 4 * len(columns)
        if portion and needed > room:
            yield portion
            portion, room = [], LARGEST - _overhead(columns)
        portion.append(row)
        room -= needed
    if portion:
        yield portion


def _overhead(columns: Mapping[int, Column]) -> int:
    """Bytes of a group without its cells."""
    return size(insert_rows(columns, [], 2**31, 0)) + 4096


def batches(groups: Sequence[list[Json]]) -> Iterator[list[Json]]:
    """The groups in requests of at most 2 MB; a group is never split."""
    batch: list[Json] = []
    room = LARGEST
    for group in groups:
        needed = size(group)
        if batch and needed > room:
            yield batch
            batch, room = [], LARGEST
        batch += group
        room -= needed
    if batch:
        yield batch


_DATA = (
    "sheets(properties(sheetId),data(startRow,startColumn,rowData(values(userEnteredValue,note)),"
    "columnMetadata(developerMetadata(metadataKey,metadataValue))))"
)


def verify(client: SheetsClient, key: str, work: Sequence[Changes], notes: dict[Message | str, None]) -> None:
    """Reads keys and columns again; raises Conflict where something is no longer where it was written."""
    found = _read(client, key, [one for made in work for one in (_verify_header(made), _keys(made))])
    moved = []
    for made in work:
        known, places = found.get(made.sheet_id, ({}, {}))
        if any(places.get(column) != place.column for column, place in made.places.items()):
            _remove_misplaced(client, key, made)
            moved.append(made.title)
            continue
        index = made.places["key"].column
        rows = {row: text_of(cell) for (row, column), cell in known.items() if column == index}
        hit = [row for name, row in made.updated.items() if rows.get(row) != name]
        notes |= dict.fromkeys(_affected_rows(made, rows, hit))
        if hit or not {row[index].value for row in made.added} <= set(rows.values()):
            moved.append(made.title)
    if moved:
        raise Conflict(", ".join(moved))


def _verify_header(made: Changes) -> Json:
    return {"sheetId": made.sheet_id, "startRowIndex": made.header, "endRowIndex": made.header + 1}


def _keys(made: Changes) -> Json:
    index = made.places["key"].column
    return {"sheetId": made.sheet_id, "startColumnIndex": index, "endColumnIndex": index + 1}


def _read(client: SheetsClient, key: str, ranges: Sequence[Json]) -> dict[int, tuple[Cells, dict[str, int]]]:
    """Cells and columns' places by worksheet; one that was deleted by now is a Conflict."""
    from gspread.exceptions import APIError

    body = {"dataFilters": [{"gridRange": one} for one in ranges]}
    try:
        response = client.read(f"{SPREADSHEETS}/{key}:getByDataFilter", query=fields(_DATA), body=body)
    except APIError as error:
        if is_refusal(error):
            raise Conflict(str(error)) from None
        raise
    found: dict[int, tuple[Cells, dict[str, int]]] = {}
    for sheet in response.get("sheets", ()):
        cells, places = found.setdefault(int(sheet["properties"].get("sheetId", 0)), ({}, {}))
        for data in sheet.get("data", ()):
            cells.update(placed(data))
            for index, column in enumerate(data.get("columnMetadata", ()), int(data.get("startColumn", 0))):
                for tag in column.get("developerMetadata", ()):
                    if tag["metadataKey"] == COLUMN:
                        places.setdefault(tag["metadataValue"], index)
    return found


def _remove_misplaced(client: SheetsClient, key: str, made: Changes) -> None:
    """Removes the new rows that were filled by an older order of the columns, and hold nothing else.

    Where the columns were moved only after the rows were written, the rows are right and none is found.
    """
    top = made.header + 1
    span = {"sheetId": made.sheet_id, "startRowIndex": top, "endRowIndex": top + len(made.added)}
    cells, _unused = _read(client, key, [span])[made.sheet_id] if made.added else ({}, {})
    lines: dict[int, dict[int, CellContent]] = {}
    for (row, column), cell in cells.items():
        if content_of(cell) != CellContent():
            lines.setdefault(row, {})[column] = content_of(cell)
    planned = {_comparable(row) for row in made.added}
    wrong = [row for row, line in lines.items() if _comparable(line) in planned]
    if wrong:
        client.write(f"{SPREADSHEETS}/{key}:batchUpdate", {"requests": [*delete_rows(made.sheet_id, wrong)]})


def _comparable(row: Any) -> frozenset[tuple[int, str | float]]:
    return frozenset((column, cell.value) for column, cell in row.items() if cell.value != "")


def _affected_rows(made: Changes, rows: dict[int, str], hit: Sequence[int]) -> list[str]:
    """Rows of other runs, or of people's own, that may show what was meant for another row."""
    pushed = {row.key for row in made.worksheet.rows}
    return [
        f"{made.title}: people sorted it meanwhile, and row {row + 1} may show another row's figures;"
        f" {f'push {rows[row]} again' if rows.get(row) else 'look at it'}."
        for row in hit
        if rows.get(row) not in pushed
    ]


_KEYS = "userEnteredValue,note"
_CONTENT_FIELDS = "userEnteredValue,note,userEnteredFormat(backgroundColorStyle)"
# Gaps of so many rows are read along: fewer, larger areas.
_GAP = 50
_REFUSALS = 2


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
    return work.summary()


class _Push:
    """One push; every round reads the sheet again and writes what is still missing."""

    def __init__(
        self, client: SheetsClient, worksheets: Sequence[Worksheet], target: Target, language: Language
    ) -> None:
        self.client, self.worksheets, self.target, self.language = client, worksheets, target, language
        self.titles = {sheet.name: Titles(sheet.name, sheet.columns) for sheet in worksheets}
        self.wrote, self._refusals, self._url = False, 0, ""
        self._made: dict[str, None] = {}
        self._rows: set[tuple[str, str]] = set()
        self._notes: dict[Message | str, None] = {}
        self._cells = 0

    def summary(self) -> PushSummary:
        """What was done in all rounds."""
        return PushSummary(
            url=self._url,
            worksheets=tuple(self._made),
            rows=len(self._rows),
            cells=self._cells,
            reads=self.client.reads,
            writes=self.client.writes,
            notes=tuple(self._notes),
        )

    def round(self) -> None:
        """Reads, compares, writes, and verifies."""
        found = read_spreadsheet(self.client, self.target.key)
        self._url, self.wrote = found.url, False
        states = self._stands(found)
        now = self._rows_of(states)
        work = [made for sheet in self.worksheets if (made := self._changes(sheet, found, states, now))]
        for made in work:
            self._notes |= dict.fromkeys(made.notes)
        work = [made for made in work if not made.is_empty]
        self._write(work, found)
        if work:
            verify(self.client, self.target.key, work, self._notes)

    def _called(self, worksheet: Worksheet) -> str:
        return identity(worksheet.name, self.target.suffix)

    def _stands(self, found: Spreadsheet) -> dict[str, SheetState | None]:
        """Our worksheets that are there; None for one that has lost its column of keys."""
        tabs = {sheet.name: tab for sheet in self.worksheets if (tab := found.tab(self._called(sheet)))}
        untagged = [tab for tab in found.tabs if WORKSHEET not in tab.tags]
        missing = [sheet for sheet in self.worksheets if sheet.name not in tabs]
        areas = [
            one for sheet in self.worksheets if sheet.name in tabs for one in _areas(sheet, tabs[sheet.name])
        ]
        areas += [area(tab, rows=(0, HEAD)) for tab in untagged if missing]
        known = cells(self.client, self.target.key, areas, _KEYS)
        for sheet in missing:
            if tab := recognised_copy(untagged, known, self._called(sheet), self.titles[sheet.name]):
                tabs[sheet.name] = tab
                untagged.remove(tab)
                known |= cells(self.client, self.target.key, [area(tab)], _KEYS)
        return {
            name: sheet_state(tab, known.get(tab.id, {}), self.titles[name]) for name, tab in tabs.items()
        }

    def _rows_of(self, states: dict[str, SheetState | None]) -> dict[int, Cells]:
        """The rows whose keys are pushed, as far as the program's columns go."""
        areas = []
        for sheet in self.worksheets:
            state = states.get(sheet.name)
            if state is None or is_team_kept(sheet):
                continue
            ours = [state.places[c.key].column for c in sheet.columns if c.key in state.places]
            rows = sorted(state.keys[row.key] for row in sheet.rows if row.key in state.keys)
            columns = (min(ours), max(ours) + 1)
            areas += [area(state.tab, rows=span, columns=columns) for span in spans(rows, _GAP)]
        return cells(self.client, self.target.key, areas, _CONTENT_FIELDS)

    def _changes(
        self,
        sheet: Worksheet,
        found: Spreadsheet,
        states: dict[str, SheetState | None],
        now: dict[int, Cells],
    ) -> Changes | None:
        called = self._called(sheet)
        if sheet.name not in states:
            return new_worksheet(sheet, _free(found, sheet.title, self.target.suffix), called, self.language)
        state = states[sheet.name]
        if state is None:
            what = "its column of keys (キー) was deleted, so its rows cannot be told apart; undo that in the"
            how = "version history (変更履歴), or delete the worksheet, and push again."
            self._notes[f"{sheet.title}: {what} {how}"] = None
            return None
        return updated_worksheet(sheet, state, called, now.get(state.tab.id, {}), self.language)

    def _write(self, work: Sequence[Changes], found: Spreadsheet) -> None:
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
            self.client.write(
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
    if is_team_kept(sheet) and (named := tab.places.get(sheet.columns[1].key)):
        wanted.append(named.column)
    columns = [area(tab, columns=(index, index + 1)) for index in wanted]
    return [area(tab, rows=(0, HEAD)), *columns]


def _free(found: Spreadsheet, title: str, suffix: str) -> str:
    """A name for a worksheet that no other one has."""
    stem, taken = f"{title} {suffix}".rstrip(), found.titles
    names = (stem, *(f"{stem} ({number})" for number in range(2, len(taken) + 3)))
    return next(name for name in names if name.casefold() not in taken)


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
    try:
        return client.once(lambda: _made(client, title, folder), _("new sheet {title}", title=title))
    except SinkUnavailable as error:
        msg = _(
            "{error} It may have been made: look for {title} in Drive first, and give it with --sheet.",
            error=error,
            title=title,
        )
        raise SinkUnavailable(msg) from None


def _made(client: SheetsClient, title: str, folder: str) -> str:
    if not folder:
        return str(client.write(SPREADSHEETS, {"properties": {"title": title}})["spreadsheetId"])
    metadata = {"name": title, "mimeType": "application/vnd.google-apps.spreadsheet", "parents": [folder]}
    address = "https://www.googleapis.com/drive/v3/files"
    return str(client.write(address, metadata, query={"supportsAllDrives": "true"})["id"])
