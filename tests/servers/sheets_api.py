"""The methods of Sheets v4 that this server knows, each on a spreadsheet that is locked while it runs.

Also the calls to Drive v3 that the program makes: a new file, who may open it, and an invitation.
"""

from collections.abc import Callable
from typing import NamedTuple

from tests.servers import sheets_metadata as metadata
from tests.servers import sheets_values as values
from tests.servers.sheets_a1 import Box
from tests.servers.sheets_auth import Account
from tests.servers.sheets_edit import Edit
from tests.servers.sheets_errors import (
    ApiError,
    Json,
    no_permission,
    not_found,
)
from tests.servers.sheets_read import resource
from tests.servers.sheets_requests import batch_update
from tests.servers.sheets_state import Spreadsheet, Store

MIME = "application/vnd.google-apps.spreadsheet"
DRIVE_SCOPES = frozenset({"drive", "drive.file", "drive.readonly"})
_READS = ("spreadsheets.get", "spreadsheets.getByDataFilter")


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
    """What an account may do with a file."""
    return book.permissions.get(email, "")


def answer(store: Store, call: Call) -> Json:
    """Carry out a call; a refused one leaves everything as it was."""
    book = store.books.get(call.parts["spreadsheetId"])
    if book is None:
        raise not_found()
    if call.account:
        held = role(store, book, call.account.email)
        if not held or (held == "reader" and not call.is_read):
            raise no_permission()
    if (method := METHODS.get(call.method)) is None:
        raise ApiError(501, f"{call.method}: Google knows this method, this server does not.")
    edit = Edit(book, call.account.email if call.account else None)
    if call.is_read:
        return method(edit, call)
    earlier = book.copy()
    try:
        made = method(edit, call)
    except Exception:
        book.restore(earlier)
        raise
    book.revision += 1
    return made


def _get(edit: Edit, call: Call) -> Json:
    # A mask decides alone whether cells are shown.
    whole = "data" if call.query.get("includeGridData") else ""
    return resource(edit.book, None, call.query.get("fields") or whole)


def _get_by_filter(edit: Edit, call: Call) -> Json:
    boxes: dict[int, list[Box]] = {}
    for told in call.body.get("dataFilters") or []:
        for sheet, box in metadata.boxes_of(edit.book, told):
            boxes.setdefault(sheet.id, []).append(box)
    return resource(edit.book, boxes, call.query.get("fields", ""))


def _batch_update(edit: Edit, call: Call) -> Json:
    return {"spreadsheetId": edit.book.key, "replies": batch_update(edit, call.body)}


def _batch_update_values(edit: Edit, call: Call) -> Json:
    return values.batch_update_by_filter(edit, call.body)


METHODS: dict[str, Callable[[Edit, Call], Json]] = {
    "spreadsheets.get": _get,
    "spreadsheets.getByDataFilter": _get_by_filter,
    "spreadsheets.batchUpdate": _batch_update,
    "spreadsheets.values.batchUpdateByDataFilter": _batch_update_values,
}
