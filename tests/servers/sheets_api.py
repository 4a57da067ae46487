"""The methods of Sheets v4, each on a spreadsheet that is locked while it runs."""

from collections.abc import Callable
from typing import NamedTuple

from tests.servers import sheets_metadata as metadata
from tests.servers import sheets_values as values
from tests.servers.sheets_a1 import Box
from tests.servers.sheets_auth import Account
from tests.servers.sheets_edit import Edit
from tests.servers.sheets_errors import Json, invalid, no_permission, not_found, storage_quota
from tests.servers.sheets_read import resource, sheet_properties
from tests.servers.sheets_requests import HANDLERS, batch_update
from tests.servers.sheets_state import Spreadsheet, Store, now

READERS = frozenset({"reader", "commenter", "writer", "owner"})
WRITERS = frozenset({"writer", "owner"})
_READS = frozenset(
    {
        "spreadsheets.get",
        "spreadsheets.getByDataFilter",
        "spreadsheets.values.get",
        "spreadsheets.values.batchGet",
        "spreadsheets.values.batchGetByDataFilter",
        "spreadsheets.developerMetadata.get",
        "spreadsheets.developerMetadata.search",
    }
)


class Call(NamedTuple):
    """One request: the method, what stands in its path, its query and its body; who sent it."""

    method: str
    parts: dict[str, str]
    query: Json
    body: Json
    account: Account | None

    @property
    def is_read(self) -> bool:
        """Whether it counts as a read request."""
        return self.method in _READS


def role(store: Store, book: Spreadsheet, email: str) -> str:
    """What an account may do with a file: its own share, its domain's, everybody's, or its folder's."""
    domain = "domain:" + email.partition("@")[2]
    given = [book.permissions.get(name, "") for name in (email, domain, "anyone")]
    given += [store.folders.get(parent, {}).get(email, "") for parent in book.parents]
    return max(given, key=("", "reader", "commenter", "writer", "owner").index)


def answer(store: Store, call: Call, carries_metadata: bool) -> Json:
    """Carry out a call; a refused one leaves everything as it was."""
    if call.method == "spreadsheets.create":
        return create(store, call)
    book = store.books.get(call.parts["spreadsheetId"])
    if book is None:
        raise not_found()
    if call.account and role(store, book, call.account.email) not in (READERS if call.is_read else WRITERS):
        raise no_permission()
    caller, project = (call.account.email, call.account.project) if call.account else (None, None)
    edit = Edit(book, caller, project, carries_metadata)
    if call.is_read:
        return METHODS[call.method](edit, call, store)
    earlier = book.copy()
    try:
        made = METHODS[call.method](edit, call, store)
    except Exception:
        book.restore(earlier)
        raise
    book.revision, book.modified = book.revision + 1, now()
    return made


def create(store: Store, call: Call) -> Json:
    """spreadsheets.create: in the caller's own Drive, of which a service account has none."""
    if call.account and call.account.is_service:
        raise storage_quota()
    given = call.body.get("properties") or {}
    book = Spreadsheet(store.new_key(), given.get("title") or "Untitled spreadsheet")
    book.properties |= {name: value for name, value in given.items() if value is not None}
    for told in call.body.get("sheets") or [{}]:
        book.add_sheet(
            {k: v for k, v in (told.get("properties") or {}).items() if v is not None and k != "index"}
        )
    if call.account:
        book.permissions[call.account.email] = "owner"
    store.books[book.key] = book
    return resource(book, None, False, None)


def _get(edit: Edit, call: Call, _: Store) -> Json:
    ranges = call.query.get("ranges")
    boxes: dict[int, list[Box]] | None = None
    if ranges:
        boxes = {}
        for text in ranges:
            sheet, box = edit.book.box(text, clip=True)
            boxes.setdefault(sheet.id, []).append(box)
    # A mask decides alone whether cells are shown.
    fields = call.query.get("fields", "")
    cells = "data" in fields or fields == "*" if fields else call.query.get("includeGridData", False)
    return resource(edit.book, boxes, cells, edit.project)


def _get_by_filter(edit: Edit, call: Call, _: Store) -> Json:
    boxes: dict[int, list[Box]] = {}
    for told in call.body.get("dataFilters") or []:
        for sheet, box in metadata.boxes_of(edit.book, told, edit.project):
            boxes.setdefault(sheet.id, []).append(box)
    fields = call.query.get("fields", "")
    cells = "data" in fields if fields else bool(call.body.get("includeGridData"))
    return resource(edit.book, boxes, cells, edit.project)


def _batch_update(edit: Edit, call: Call, _: Store) -> Json:
    replies = batch_update(edit, call.body)
    made: Json = {"spreadsheetId": edit.book.key, "replies": replies}
    if call.body.get("includeSpreadsheetInResponse"):
        query = {"ranges": call.body.get("responseRanges")}
        query["includeGridData"] = call.body.get("responseIncludeGridData", False)
        made["updatedSpreadsheet"] = _get(edit, call._replace(query=query), _)
    return made


def _update(edit: Edit, call: Call, _: Store) -> Json:
    return values.update(edit, call.parts["range"], call.body, call.query)


def _append(edit: Edit, call: Call, _: Store) -> Json:
    return values.append(edit, call.parts["range"], call.body, call.query)


def _clear(edit: Edit, call: Call, _: Store) -> Json:
    cleared = values.clear(edit, *edit.book.box(call.parts["range"]))
    return {"spreadsheetId": edit.book.key, "clearedRange": cleared}


def _batch_clear_by_filter(edit: Edit, call: Call, _: Store) -> Json:
    found = [
        place
        for told in call.body.get("dataFilters") or []
        for place in metadata.boxes_of(edit.book, told, edit.project)
    ]
    cleared = [values.clear(edit, sheet, box) for sheet, box in found]
    return {"spreadsheetId": edit.book.key, "clearedRanges": cleared}


def _copy_to(edit: Edit, call: Call, store: Store) -> Json:
    goal = store.books.get(call.body.get("destinationSpreadsheetId") or "")
    if goal is None:
        raise not_found()
    if call.account and role(store, goal, call.account.email) not in WRITERS:
        raise no_permission()
    source = edit.book.sheet_by_id(int(call.parts["sheetId"]))
    titles = {sheet.title for sheet in goal.sheets}
    title = next(
        t for n in range(99) if (t := f"Copy of {source.title}" + (f" {n}" if n else "")) not in titles
    )
    size = {"rowCount": source.grid.rows, "columnCount": source.grid.columns}
    look = source.properties.get("gridProperties", {}) | size
    made = goal.add_sheet(source.properties | {"sheetId": None, "title": title, "gridProperties": look})
    made.grid = source.grid.copy()
    return sheet_properties(goal, made)


def _metadata_get(edit: Edit, call: Call, _: Store) -> Json:
    if not call.parts["metadataId"].isdigit():
        raise invalid("Invalid value at 'metadata_id' (TYPE_INT32)")
    return metadata.get(edit, int(call.parts["metadataId"]))


METHODS: dict[str, Callable[[Edit, Call, Store], Json]] = {
    "spreadsheets.get": _get,
    "spreadsheets.getByDataFilter": _get_by_filter,
    "spreadsheets.batchUpdate": _batch_update,
    "spreadsheets.sheets.copyTo": _copy_to,
    "spreadsheets.values.get": lambda edit, call, _: values.get(edit.book, call.parts["range"], call.query),
    "spreadsheets.values.batchGet": lambda edit, call, _: values.batch_get(edit.book, call.query),
    "spreadsheets.values.batchGetByDataFilter": lambda edit, call, _: values.batch_get_by_filter(
        edit, call.body
    ),
    "spreadsheets.values.update": _update,
    "spreadsheets.values.append": _append,
    "spreadsheets.values.clear": _clear,
    "spreadsheets.values.batchUpdate": lambda edit, call, _: values.batch_update(edit, call.body),
    "spreadsheets.values.batchUpdateByDataFilter": lambda edit, call, _: values.batch_update_by_filter(
        edit, call.body
    ),
    "spreadsheets.values.batchClear": lambda edit, call, _: values.batch_clear(edit, call.body),
    "spreadsheets.values.batchClearByDataFilter": _batch_clear_by_filter,
    "spreadsheets.developerMetadata.get": _metadata_get,
    "spreadsheets.developerMetadata.search": lambda edit, call, _: metadata.search(edit, call.body),
}


def kinds_in(body: Json) -> tuple[str, ...]:
    """The kinds of request in a batch."""
    requests = body.get("requests") or []
    return tuple(name for request in requests for name in request if name in HANDLERS)
