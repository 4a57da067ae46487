"""A look after a write: is all where it should be, or did people move it while we wrote."""

from collections.abc import Sequence
from typing import Any

from simulator.reports.sheets.cells import Shown, held
from simulator.reports.sheets.changes import Changes
from simulator.reports.sheets.door import Door, fields
from simulator.reports.sheets.layout import delete_rows
from simulator.reports.sheets.standing import COLUMN, SPREADSHEETS, Cells, placed, text_of
from simulator.reports.sheets.trouble import Conflict, is_refusal

Json = dict[str, Any]
_DATA = (
    "sheets(properties(sheetId),data(startRow,startColumn,rowData(values(userEnteredValue,note)),"
    "columnMetadata(developerMetadata(metadataKey,metadataValue))))"
)


def look_again(door: Door, key: str, work: Sequence[Changes], notes: dict[str, None]) -> None:
    """Reads keys and columns once more; raises Conflict when something is not where it was written."""
    found = _read(door, key, [one for made in work for one in (_header(made), _keys(made))])
    moved = []
    for made in work:
        known, places = found.get(made.sheet_id, ({}, {}))
        if any(places.get(column) != place.column for column, place in made.places.items()):
            _take_back(door, key, made)
            moved.append(made.title)
            continue
        index = made.places["key"].column
        rows = {row: text_of(cell) for (row, column), cell in known.items() if column == index}
        hit = [row for name, row in made.updated.items() if rows.get(row) != name]
        notes |= dict.fromkeys(_others(made, rows, hit))
        if hit or not {row[index].value for row in made.added} <= set(rows.values()):
            moved.append(made.title)
    if moved:
        raise Conflict(", ".join(moved))


def _header(made: Changes) -> Json:
    return {"sheetId": made.sheet_id, "startRowIndex": made.header, "endRowIndex": made.header + 1}


def _keys(made: Changes) -> Json:
    index = made.places["key"].column
    return {"sheetId": made.sheet_id, "startColumnIndex": index, "endColumnIndex": index + 1}


def _read(door: Door, key: str, ranges: Sequence[Json]) -> dict[int, tuple[Cells, dict[str, int]]]:
    """Cells and columns' places by worksheet; one that was deleted by now is a Conflict."""
    from gspread.exceptions import APIError

    body = {"dataFilters": [{"gridRange": one} for one in ranges]}
    try:
        told = door.read(f"{SPREADSHEETS}/{key}:getByDataFilter", query=fields(_DATA), body=body)
    except APIError as error:
        if is_refusal(error):
            raise Conflict(str(error)) from None
        raise
    found: dict[int, tuple[Cells, dict[str, int]]] = {}
    for sheet in told.get("sheets", ()):
        cells, places = found.setdefault(int(sheet["properties"].get("sheetId", 0)), ({}, {}))
        for data in sheet.get("data", ()):
            cells.update(placed(data))
            for index, column in enumerate(data.get("columnMetadata", ()), int(data.get("startColumn", 0))):
                for tag in column.get("developerMetadata", ()):
                    if tag["metadataKey"] == COLUMN:
                        places.setdefault(tag["metadataValue"], index)
    return found


def _take_back(door: Door, key: str, made: Changes) -> None:
    """Removes the new rows that were filled by an older order of the columns, and hold nothing else.

    Where the columns were moved only after the rows were written, the rows are right and none is found.
    """
    top = made.header + 1
    span = {"sheetId": made.sheet_id, "startRowIndex": top, "endRowIndex": top + len(made.added)}
    cells, _ = _read(door, key, [span])[made.sheet_id] if made.added else ({}, {})
    lines: dict[int, dict[int, Shown]] = {}
    for (row, column), cell in cells.items():
        if held(cell) != Shown():
            lines.setdefault(row, {})[column] = held(cell)
    planned = {_frozen(row) for row in made.added}
    wrong = [row for row, line in lines.items() if _frozen(line) in planned]
    if wrong:
        door.write(f"{SPREADSHEETS}/{key}:batchUpdate", {"requests": [*delete_rows(made.sheet_id, wrong)]})


def _frozen(row: Any) -> frozenset[tuple[int, str | float]]:
    return frozenset((column, cell.value) for column, cell in row.items() if cell.value != "")


def _others(made: Changes, rows: dict[int, str], hit: Sequence[int]) -> list[str]:
    """Rows of other runs, or of people's own, that may show what was meant for another row."""
    pushed = {row.key for row in made.worksheet.rows}
    return [
        f"{made.title}: people sorted it meanwhile, and row {row + 1} may show another row's figures;"
        f" {f'push {rows[row]} again' if rows.get(row) else 'look at it'}."
        for row in hit
        if rows.get(row) not in pushed
    ]
