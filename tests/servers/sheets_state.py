"""The state of spreadsheets: worksheets with their cells, and the objects attached to them."""

import copy
import secrets
import threading

from tests.servers.sheets_a1 import Area, Box
from tests.servers.sheets_errors import ApiError, Json, invalid
from tests.servers.sheets_grid import Axis, Grid, Shift, shifted

LONGEST_CELL = 50_000
# What a worksheet has lists of, named as in the Sheet resource.
KEPT_LISTS = ("protectedRanges",)


class Sheet:
    """A worksheet: `properties` as in the API (grid size and index are filled in), `grid`, `lists`."""

    def __init__(self, properties: Json, grid: Grid) -> None:
        self.properties, self.grid = properties, grid
        self.lists: dict[str, list[Json]] = {name: [] for name in KEPT_LISTS}
        self.basic_filter: Json | None = None

    @property
    def id(self) -> int:
        """The number behind gid= in the address."""
        return int(self.properties["sheetId"])

    @property
    def title(self) -> str:
        """The name on the tab."""
        return str(self.properties["title"])

    def box(self, area: Area) -> Box:
        """The area within the grid; one that begins or ends beyond it is refused."""
        bottom = self.grid.rows if area.bottom is None else area.bottom
        right = self.grid.columns if area.right is None else area.right
        if bottom > self.grid.rows or right > self.grid.columns or area.top >= bottom or area.left >= right:
            raise ApiError(400, "exceeds grid limits")
        return Box(area.top, bottom, area.left, right)

    def copy(self) -> "Sheet":
        """A copy that can be changed on its own; entries of lists are replaced, never changed."""
        made = Sheet(dict(self.properties), self.grid.copy())
        made.lists = {name: list(entries) for name, entries in self.lists.items()}
        made.basic_filter = self.basic_filter
        return made

    def shift(self, shift: Shift) -> None:
        """Let all ranges follow a shift of rows or columns, of this worksheet or of another."""
        if shift.sheet_id == self.id:
            self.grid.shift(shift)
        self.lists = {name: shifted(entries, shift) for name, entries in self.lists.items()}
        self.basic_filter = shifted(self.basic_filter, shift) if self.basic_filter else None


class Spreadsheet:
    """A file: its worksheets, developer metadata, and who may do what with it."""

    def __init__(self, key: str, title: str = "t") -> None:
        self.key = key
        self.properties: Json = {"title": title, "locale": "ja_JP", "timeZone": "Asia/Tokyo"}
        self.sheets: list[Sheet] = []
        self.metadata: list[Json] = []
        self.permissions: dict[str, str] = {}
        self.revision = 0

    @property
    def owner(self) -> str | None:
        """Whose file it is; a shared drive's file is nobody's."""
        return next((email for email, role in self.permissions.items() if role == "owner"), None)

    def copy(self) -> "Spreadsheet":
        """A copy that can be changed on its own."""
        made = copy.copy(self)
        made.properties = dict(self.properties)
        made.sheets = [sheet.copy() for sheet in self.sheets]
        made.metadata = list(self.metadata)
        made.permissions = dict(self.permissions)
        return made

    def restore(self, earlier: "Spreadsheet") -> None:
        """Become what an earlier copy is."""
        self.__dict__.update(earlier.__dict__)

    def sheet(self, title: str) -> Sheet:
        """The worksheet of this name; KeyError when there is none."""
        for sheet in self.sheets:
            if sheet.title.casefold() == title.casefold():
                return sheet
        raise KeyError(title)

    def sheet_by_id(self, sheet_id: int) -> Sheet:
        """The worksheet with this id, refused as Google does when there is none."""
        for sheet in self.sheets:
            if sheet.id == sheet_id:
                return sheet
        raise invalid(f"No grid with id: {sheet_id}")

    def add_sheet(self, properties: Json, index: int | None = None) -> Sheet:
        """A new worksheet; a title that is taken is refused."""
        taken = {sheet.id for sheet in self.sheets}
        title = properties.get("title") or self._free_title()
        self._check_title(title, None)
        sheet_id = properties.get("sheetId")
        if sheet_id is None:
            sheet_id = secrets.randbelow(2**31) if taken else 0
        if int(sheet_id) in taken:
            raise invalid(f"Sheet with id {sheet_id} already exists. Please enter another id.")
        given = properties.get("gridProperties", {})
        grid = Grid(int(given.get("rowCount", 1000)), int(given.get("columnCount", 26)))
        made = {"sheetId": int(sheet_id), "title": title, "index": 0, "sheetType": "GRID"}
        sheet = Sheet(made | {k: v for k, v in properties.items() if k not in made}, grid)
        self.sheets.insert(len(self.sheets) if index is None else index, sheet)
        return sheet

    def _free_title(self) -> str:
        taken = {sheet.title for sheet in self.sheets}
        return next(f"シート{n}" for n in range(1, len(taken) + 2) if f"シート{n}" not in taken)

    def _check_title(self, title: str, of: Sheet | None) -> None:
        if any(s.title.casefold() == title.casefold() for s in self.sheets if s is not of):
            raise invalid(f'A sheet with the name "{title}" already exists. Please enter another name.')
        if len(title) > 100:
            raise invalid("Sheet name cannot be greater than 100 characters.")

    def rename_sheet(self, sheet: Sheet, title: str) -> None:
        """Another name on the tab."""
        self._check_title(title, sheet)
        sheet.properties["title"] = title

    def shift(self, shift: Shift) -> None:
        """Rows or columns move: cells, ranges and metadata follow."""
        for every in self.sheets:
            every.shift(shift)
        elsewhere = [told for told in self.metadata if metadata_sheet(told) != shift.sheet_id]
        here = [told for told in self.metadata if metadata_sheet(told) == shift.sheet_id]
        self.metadata = elsewhere + shifted(here, shift)

    def remove_sheet(self, sheet: Sheet) -> None:
        """Remove a worksheet and what is bound to it; the last visible one is kept."""
        if not any(other is not sheet and not other.properties.get("hidden") for other in self.sheets):
            raise invalid("You can't remove all the visible sheets in a document.")
        self.sheets.remove(sheet)
        self.metadata = [told for told in self.metadata if metadata_sheet(told) != sheet.id]


def grid_area(grid_range: Json) -> Area:
    """A GridRange as an area."""
    top, left = int(grid_range.get("startRowIndex", 0)), int(grid_range.get("startColumnIndex", 0))
    bottom, right = grid_range.get("endRowIndex"), grid_range.get("endColumnIndex")
    return Area(top, None if bottom is None else int(bottom), left, None if right is None else int(right))


def grid_range(sheet: Sheet, box: Box) -> Json:
    """A box as a GridRange."""
    rows = {"startRowIndex": box.top, "endRowIndex": box.bottom}
    return {"sheetId": sheet.id, **rows, "startColumnIndex": box.left, "endColumnIndex": box.right}


def metadata_sheet(metadata: Json) -> int | None:
    """The worksheet a piece of developer metadata is bound to, None for the spreadsheet."""
    location = metadata["location"]
    if "dimensionRange" in location:
        return int(location["dimensionRange"].get("sheetId", 0))
    return int(location["sheetId"]) if "sheetId" in location else None


def axis_of(text: str) -> Axis:
    """A dimension's name; anything else is refused."""
    if text not in ("ROWS", "COLUMNS"):
        raise invalid("No dimension specified.")
    return "ROWS" if text == "ROWS" else "COLUMNS"


class Store:
    """All spreadsheets there are, and the one lock that requests and people take turns with."""

    def __init__(self) -> None:
        self.books: dict[str, Spreadsheet] = {}
        self.lock = threading.RLock()
