"""What a push has to change in a worksheet as it stands: nothing, when it was pushed before."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from simulator.core.types import Language
from simulator.reports.layouts import folded
from simulator.reports.sheets.cells import Shown, held, look, shown, written
from simulator.reports.sheets.door import size
from simulator.reports.sheets.layout import (
    SPARE_ROWS,
    Spot,
    add_chart,
    add_worksheet,
    append_rows,
    insert_column,
    insert_rows,
    new_id,
    retag,
    tag_column,
    tag_worksheet,
)
from simulator.reports.sheets.standing import EVER, WORKSHEET, Cells, Place, Standing, text_of
from simulator.reports.worksheet import FILLS, Column, Row, Worksheet

Json = dict[str, Any]
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
    places: dict[str, Place]
    first: list[list[Json]] = field(default_factory=list)
    values: list[Json] = field(default_factory=list)
    last: list[list[Json]] = field(default_factory=list)
    added: list[Mapping[int, Shown]] = field(default_factory=list)
    updated: dict[str, int] = field(default_factory=dict)
    cells: int = 0
    notes: list[str] = field(default_factory=list)
    created: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to write."""
        return not (self.first or self.values or self.last)


def created(worksheet: Worksheet, title: str, called: str, language: Language) -> Changes:
    """A worksheet that is not there yet."""
    sheet_id = new_id()
    places = {column.key: Place(index, None) for index, column in enumerate(worksheet.columns)}
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


def changes(worksheet: Worksheet, stand: Standing, called: str, now: Cells, language: Language) -> Changes:
    """A worksheet that is there; `now` has the cells of the rows whose keys are pushed."""
    made = Changes(worksheet, stand.tab.id, stand.tab.title, stand.header, dict(stand.places))
    amended = [*_tags(made, stand, called), *_new_columns(made, stand, called)]
    amended += _old_rows(made, stand, now, language)
    made.first = [amended] if amended else []
    fresh = _unknown(worksheet, stand)
    made.added = [_row(row, worksheet, made.places, language) for row in fresh]
    made.last = _row_groups(made)
    if made.last and stand.header + 1 >= stand.tab.rows:
        made.last[0].insert(0, append_rows(stand.tab.id))
    below = len(made.added)
    made.updated = {key: row + below * (row > stand.header) for key, row in made.updated.items()}
    return made


def _tags(made: Changes, stand: Standing, called: str) -> Iterator[Json]:
    """A copy is adopted: it is given the metadata that it has lost."""
    if WORKSHEET not in stand.tab.tags:
        keys = [column.key for column in made.worksheet.columns]
        yield from tag_worksheet(stand.tab.id, called, keys)
    for key, place in made.places.items():
        if place.tag is None:
            made.places[key] = place._replace(tag=new_id())
            yield tag_column(stand.tab.id, place.column, key, made.places[key].tag or 0)


def _new_columns(made: Changes, stand: Standing, called: str) -> Iterator[Json]:
    """Columns that were never there, each after its neighbour; what people deleted stays deleted."""
    before, fresh = "key", []
    for column in made.worksheet.columns:
        if column.key in made.places:
            before = column.key
        elif column.key in stand.ever:
            made.notes.append(f"{made.title}: the column {column.title} was deleted and is left out.")
        else:
            index, tag = made.places[before].column + 1, new_id()
            moved = {key: p._replace(column=p.column + (p.column >= index)) for key, p in made.places.items()}
            made.places = moved | {column.key: Place(index, tag)}
            spot = Spot(stand.tab.id, index, stand.header, called, tag)
            yield from insert_column(made.worksheet, column, spot)
            before = column.key
            fresh.append(column.key)
    if fresh and (known := stand.tab.tags.get(EVER)):
        yield retag(known.id, " ".join((*stand.ever, *fresh)))


def _old_rows(made: Changes, stand: Standing, now: Cells, language: Language) -> Iterator[Json]:
    """Values go by column metadata, fills and notes by place; a row whose values are right is left."""
    columns: dict[str, dict[int, str | float]] = {}
    for row in made.worksheet.rows:
        at = stand.keys.get(row.key)
        if at is None:
            continue
        was = {key: held(now.get((at, place.column), {})) for key, place in stand.places.items()}
        pairs = [(key, want, was.get(key, Shown())) for key, want in _wanted(row, made, language)]
        wrong = [(key, want) for key, want, have in pairs if want.value != have.value]
        for key, want in wrong:
            columns.setdefault(key, {})[at] = want.value
        if wrong:
            made.updated[row.key] = at
            for key, want, have in pairs:
                yield from _looks(made.sheet_id, at, made.places[key].column, want, have)
    made.cells = sum(map(len, columns.values()))
    made.values = [_by_column(made.places[key].tag or 0, rows) for key, rows in columns.items()]


def _wanted(row: Row, made: Changes, language: Language) -> Iterator[tuple[str, Shown]]:
    """What the program's cells of a row shall hold; one that is not given is empty."""
    for column in made.worksheet.columns[1:]:
        if column.owner == "program" and column.key in made.places:
            cell = row.cells.get(column.key)
            yield column.key, shown(cell, language) if cell else Shown()


def _looks(sheet_id: int, row: int, column: int, want: Shown, have: Shown) -> Iterator[Json]:
    """A note or a colour of the team's own stays where ours has nothing to say."""
    names = ["note"] if want.note and want.note != have.note else []
    ours = have.fill in FILLS.values()
    if want.fill != have.fill and (want.fill or ours):
        names.append(_FILL)
    if names:
        start = {"sheetId": sheet_id, "rowIndex": row, "columnIndex": column}
        rows = [{"values": [look(want)]}]
        yield {"updateCells": {"start": start, "rows": rows, "fields": ",".join(names)}}


def _by_column(tag: int, rows: Mapping[int, str | float]) -> Json:
    """New values of a column, wherever it is by then; what is null is left alone."""
    lines = [rows.get(row) for row in range(max(rows) + 1)]
    one = {"developerMetadataLookup": {"metadataId": tag}}
    return {"dataFilter": one, "majorDimension": "COLUMNS", "values": [lines]}


def _unknown(worksheet: Worksheet, stand: Standing) -> list[Row]:
    """Rows that are not there; a question that the team wrote without a key is there."""
    loose = loose_texts(worksheet, stand)
    named = worksheet.columns[1].key
    fresh = [row for row in worksheet.rows if row.key not in stand.keys]
    return [row for row in fresh if named not in row.cells or folded(row.cells[named].text) not in loose]


def loose_texts(worksheet: Worksheet, stand: Standing) -> set[str]:
    """The texts of rows without a key, where all columns are the team's."""
    if not is_the_teams(worksheet) or worksheet.columns[1].key not in stand.places:
        return set()
    keyed = {*stand.keys.values(), *(row for row, _ in stand.again), stand.header}
    index = stand.places[worksheet.columns[1].key].column
    found = {folded(text_of(c)) for (row, i), c in stand.cells.items() if i == index and row not in keyed}
    return found - {""}


def is_the_teams(worksheet: Worksheet) -> bool:
    """Whether people keep this worksheet, and the program only adds to it."""
    return all(column.owner == "team" for column in worksheet.columns[1:])


def _row(row: Row, worksheet: Worksheet, places: Mapping[str, Place], language: Language) -> dict[int, Shown]:
    """A new row's cells by where they stand; the team's, too: they are theirs from now on."""
    found = {
        places[column.key].column: shown(row.cells[column.key], language)
        for column in worksheet.columns
        if column.key in row.cells and column.key in places
    }
    return found | {places["key"].column: Shown(row.key)}


def _row_groups(made: Changes) -> list[list[Json]]:
    """New rows in groups of less than a request; the last rows first, for each group goes to the top."""
    columns = {made.places[c.key].column: c for c in made.worksheet.columns if c.key in made.places}
    return [
        list(insert_rows(columns, rows, made.sheet_id, made.header + 1))
        for rows in reversed(list(_portions(made.added, columns)))
    ]


def _portions(
    rows: Sequence[Mapping[int, Shown]], columns: Mapping[int, Column]
) -> Iterator[list[Mapping[int, Shown]]]:
    portion: list[Mapping[int, Shown]] = []
    room = LARGEST - _overhead(columns)
    for row in rows:
        needed = size({"values": written(cell)} for cell in row.values()) + 4 * len(columns)
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
