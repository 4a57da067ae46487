"""People at work in the sheet, in a browser: what they type, insert, sort, rename, filter and delete."""

from collections.abc import Callable, Iterable
from typing import Any

from gspread.utils import column_letter_to_index

from tests.servers import sheets_dimensions as dimensions
from tests.servers.sheets_a1 import Box, parse_area
from tests.servers.sheets_cells import sort
from tests.servers.sheets_edit import Edit
from tests.servers.sheets_errors import Json
from tests.servers.sheets_grid import Axis, moved
from tests.servers.sheets_read import formatted
from tests.servers.sheets_state import Sheet, Spreadsheet, Store, grid_range
from tests.servers.sheets_values import write_value


class Person:
    """Somebody with the spreadsheet `key` open; rows are numbered from 1, columns are letters or headers.

    What is typed is read as the browser reads it: "1" is a number, "=1+1" a formula. Ranges, metadata and
    formulas follow what moves.
    """

    def __init__(self, store: Store, key: str, email: str = "mari@example.com") -> None:
        self.store, self.key, self.email = store, key, email

    @property
    def book(self) -> Spreadsheet:
        """The spreadsheet."""
        return self.store.books[self.key]

    def _edit(self, change: Callable[[Edit], object]) -> None:
        with self.store.lock:
            change(Edit(self.book, self.email))
            self.book.revision += 1

    def _column(self, sheet: Sheet, column: str, header: int = 1) -> int:
        for index in range(sheet.grid.columns):
            if formatted(sheet.grid.get(header - 1, index)) == column:
                return index
        if not column.isascii() or not column.isalpha() or len(column) > 3:
            raise KeyError(column)
        return int(column_letter_to_index(column)) - 1

    def read(self, title: str, cell: str) -> str:
        """What stands in a cell on the screen."""
        with self.store.lock:
            sheet = self.book.sheet(title)
            box = sheet.box(parse_area(cell))
            return formatted(sheet.grid.get(box.top, box.left))

    def rows(self, title: str) -> list[list[str]]:
        """All that stands on a worksheet, as shown."""
        with self.store.lock:
            sheet = self.book.sheet(title)
            used = sheet.grid.used()
            return [
                [formatted(sheet.grid.get(row, column)) for column in range(used.right)]
                for row in range(used.bottom)
            ]

    def type(self, title: str, cell: str, value: str) -> None:
        """Type into a cell; an empty text empties it."""
        self.paste(title, cell, [[value]])

    def paste(self, title: str, cell: str, rows: Iterable[Iterable[Any]]) -> None:
        """Paste plain values from here on; the grid grows as needed."""
        values = [list(row) for row in rows]

        def change(edit: Edit) -> None:
            sheet, area = edit.book.sheet(title), parse_area(cell)
            bottom, right = area.top + len(values), area.left + max(map(len, values))
            sheet.grid.rows, sheet.grid.columns = max(sheet.grid.rows, bottom), max(sheet.grid.columns, right)
            box = Box(area.top, bottom, area.left, right)
            edit.guard(sheet, box)
            for row, line in enumerate(values, start=area.top):
                for column, value in enumerate(line, start=area.left):
                    write_value(edit, sheet, (row, column), value)

        self._edit(change)

    def note(self, title: str, cell: str, text: str) -> None:
        """Write a note on a cell; an empty text removes it."""

        def change(edit: Edit) -> None:
            sheet, area = edit.book.sheet(title), parse_area(cell)
            kept = {k: v for k, v in sheet.grid.get(area.top, area.left).items() if k != "note"}
            edit.put(sheet, area.top, area.left, kept | {"note": text} if text else kept)

        self._edit(change)

    def paint(self, title: str, cells: str, color: Json) -> None:
        """Fill cells with a colour, {"red": 1} and so on."""

        def change(edit: Edit) -> None:
            sheet = edit.book.sheet(title)
            for row, column in sheet.box(parse_area(cells)).cells:
                cell = sheet.grid.get(row, column)
                look = cell.get("userEnteredFormat", {})
                look = look | {"backgroundColorStyle": {"rgbColor": color}}
                edit.put(sheet, row, column, cell | {"userEnteredFormat": look})

        self._edit(change)

    def insert_rows(self, title: str, row: int, count: int = 1) -> None:
        """Insert empty rows above `row`."""
        self._edit(lambda edit: dimensions.insert(edit, edit.book.sheet(title), "ROWS", row - 1, count))

    def insert_columns(self, title: str, column: str, count: int = 1) -> None:
        """Insert empty columns to the left of `column`."""

        def change(edit: Edit) -> None:
            sheet = edit.book.sheet(title)
            dimensions.insert(edit, sheet, "COLUMNS", self._column(sheet, column), count)

        self._edit(change)

    def delete_rows(self, title: str, row: int, count: int = 1) -> None:
        """Delete rows."""
        self._edit(lambda edit: self._delete(edit, edit.book.sheet(title), "ROWS", row - 1, count))

    def delete_columns(self, title: str, column: str, count: int = 1) -> None:
        """Delete columns."""

        def change(edit: Edit) -> None:
            sheet = edit.book.sheet(title)
            self._delete(edit, sheet, "COLUMNS", self._column(sheet, column), count)

        self._edit(change)

    def _delete(self, edit: Edit, sheet: Sheet, axis: Axis, start: int, count: int) -> None:
        span = dimensions.Span(sheet, axis, start, start + count)
        dimensions.delete(edit, span)

    def move_column(self, title: str, column: str, before: str) -> None:
        """Drag a column to the left of another one."""

        def change(edit: Edit) -> None:
            sheet = edit.book.sheet(title)
            start, goal = self._column(sheet, column), self._column(sheet, before)
            edit.guard(sheet, dimensions.Span(sheet, "COLUMNS", start, start + 1).box)
            edit.book.shift(moved(sheet.id, "COLUMNS", start, start + 1, goal))

        self._edit(change)

    def sort(self, title: str, cells: str, column: str, *, descending: bool = False) -> None:
        """Sort a range, such as A2:Z, by a column."""

        def change(edit: Edit) -> None:
            sheet = edit.book.sheet(title)
            area = parse_area(cells)
            box = Box(area.top, area.bottom or sheet.grid.rows, area.left, area.right or sheet.grid.columns)
            edit.guard(sheet, box)
            order = "DESCENDING" if descending else "ASCENDING"
            sort(edit, sheet, box, [{"dimensionIndex": self._column(sheet, column), "sortOrder": order}])

        self._edit(change)

    def rename_header(self, title: str, old: str, new: str, row: int = 1) -> None:
        """Write another name over a column's header."""
        sheet = self.book.sheet(title)
        index = self._column(sheet, old, row)
        self._edit(lambda edit: write_value(edit, sheet, (row - 1, index), new))

    def rename_sheet(self, old: str, new: str) -> None:
        """Give a worksheet another name."""
        self._edit(lambda edit: edit.book.rename_sheet(edit.book.sheet(old), new))

    def delete_sheet(self, title: str) -> None:
        """Delete a worksheet."""
        self._edit(lambda edit: edit.book.remove_sheet(edit.book.sheet(title)))

    def filter(self, title: str, column: str, hidden: Iterable[str], header: int = 1) -> None:
        """Hide rows whose cell in `column` shows one of these values, with the basic filter."""

        def change(edit: Edit) -> None:
            sheet = edit.book.sheet(title)
            used = sheet.grid.used()
            area = grid_range(sheet, Box(header - 1, sheet.grid.rows, 0, max(used.right, 1)))
            known = sheet.basic_filter or {"range": area}
            index = str(self._column(sheet, column, header))
            criteria = known.get("criteria", {}) | {index: {"hiddenValues": list(hidden)}}
            sheet.basic_filter = known | {"criteria": criteria}

        self._edit(change)

    def share(self, email: str, held: str = "writer") -> None:
        """Share the file; `held` is reader, commenter, writer or owner, "" takes it back."""
        with self.store.lock:
            self.book.permissions.pop(email, None)
            if held:
                self.book.permissions[email] = held
