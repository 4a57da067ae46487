"""The methods of Sheets v4 that this server knows, each on a spreadsheet that is locked while it runs.

Also the calls to Drive v3 that the program makes: a new file, who may open it, and an invitation.
"""

import re
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
    drive_error,
    file_not_found,
    no_permission,
    not_found,
    storage_quota,
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
    """What an account may do with a file: its own share, everybody's, or its folder's."""
    given = [book.permissions.get(name, "") for name in (email, "anyone")]
    given += [store.folders.get(parent, {}).get(email, "") for parent in book.parents]
    return max(given, key=("", "reader", "commenter", "writer", "owner").index)


def answer(store: Store, call: Call) -> Json:
    """Carry out a call; a refused one leaves everything as it was."""
    if call.method == "spreadsheets.create":
        return create(store, call)
    book = store.books.get(call.parts["spreadsheetId"])
    if book is None:
        raise not_found()
    if call.account:
        held = role(store, book, call.account.email)
        if not held or (held in ("reader", "commenter") and not call.is_read):
            raise no_permission()
    if (method := METHODS.get(call.method)) is None:
        raise ApiError(501, f"{call.method}: Google knows this method, this server does not.")
    caller, project = (call.account.email, call.account.project) if call.account else (None, None)
    edit = Edit(book, caller, project)
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


def create(store: Store, call: Call) -> Json:
    """spreadsheets.create: in the caller's own Drive, of which a service account has none."""
    if call.account and call.account.is_service and not store.service_drives:
        raise storage_quota()
    title = (call.body.get("properties") or {}).get("title")
    book = Spreadsheet(store.new_key(), title or "Untitled spreadsheet")
    book.add_sheet({})
    if call.account:
        book.permissions[call.account.email] = "owner"
    store.books[book.key] = book
    return resource(book, None, False, None)


def create_in_drive(store: Store, account: Account | None, query: dict[str, str], body: Json) -> Json:
    """drive.files.create, of spreadsheets: a service account has room in shared drives only."""
    if body.get("mimeType") != MIME:
        raise drive_error(400, "badRequest", "This server makes spreadsheets only.")
    parents = list(body.get("parents") or [])
    for folder in parents:
        if folder not in store.folders or (account and account.email not in store.folders[folder]):
            raise file_not_found(folder)
    is_shared = any(folder in store.shared_drives for folder in parents)
    if is_shared and query.get("supportsAllDrives", "").lower() != "true":
        raise file_not_found(parents[0])
    if account and account.is_service and not (is_shared or store.service_drives):
        raise storage_quota()
    book = Spreadsheet(store.new_key(), body.get("name") or "Untitled")
    book.parents = parents
    book.permissions = {account.email: "owner"} if account and not is_shared else {}
    book.add_sheet({})
    store.books[book.key] = book
    return {"kind": "drive#file", "id": book.key, "name": book.properties["title"], "mimeType": MIME}


def permissions(
    store: Store, account: Account | None, key: str, query: dict[str, str], invitation: Json | None
) -> Json:
    """drive.permissions.list, or .create with an invitation; a folder's members are among a file's."""
    book = store.books.get(key)
    held = role(store, book, account.email) if book and account else "owner"
    if book is None or not held:
        raise file_not_found(key)
    if invitation is None:
        members = {email: given for each in book.parents for email, given in store.folders[each].items()}
        listed = [_permission(email, given) for email, given in (members | book.permissions).items()]
        return {"permissions": listed}
    if held in ("reader", "commenter"):
        text = "The user does not have sufficient permissions for this file."
        raise drive_error(403, "insufficientFilePermissions", text)
    email = invitation["emailAddress"]
    if invitation["type"] != "user" or not re.fullmatch(r"[^@\s]+@[^@\s]+\.[a-z]+", email):
        raise drive_error(400, "invalidSharingRequest", f'Bad Request. User message: "{email}"')
    book.permissions[email] = invitation["role"]
    if query.get("sendNotificationEmail", "true").lower() == "true":
        store.mails.append((email, key))
    return _permission(email, invitation["role"])


def _permission(email: str, given: str) -> Json:
    return {"kind": "drive#permission", "type": "user", "emailAddress": email, "role": given}


def _get(edit: Edit, call: Call) -> Json:
    # A mask decides alone whether cells are shown.
    fields = call.query.get("fields", "")
    cells = "data" in fields or fields == "*" if fields else call.query.get("includeGridData", False)
    return resource(edit.book, None, cells, edit.project)


def _get_by_filter(edit: Edit, call: Call) -> Json:
    boxes: dict[int, list[Box]] = {}
    for told in call.body.get("dataFilters") or []:
        for sheet, box in metadata.boxes_of(edit.book, told, edit.project):
            boxes.setdefault(sheet.id, []).append(box)
    fields = call.query.get("fields", "")
    cells = "data" in fields if fields else bool(call.body.get("includeGridData"))
    return resource(edit.book, boxes, cells, edit.project)


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
