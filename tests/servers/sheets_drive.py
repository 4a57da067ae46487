"""The few calls of Drive v3 that gspread makes: find, create, copy, delete and share files."""

import re
import secrets
import zlib
from collections.abc import Callable
from typing import Any

from tests.servers.sheets_api import READERS, WRITERS, role
from tests.servers.sheets_auth import Account
from tests.servers.sheets_errors import ApiError, Json, drive_error, file_not_found, storage_quota
from tests.servers.sheets_state import Spreadsheet, Store, now

MIME = "application/vnd.google-apps.spreadsheet"
SCOPES = frozenset({"drive", "drive.file", "drive.readonly"})
_FILE = r"/drive/v3/files/([\w-]+)"
_ROLES = ("owner", "organizer", "fileOrganizer", "writer", "commenter", "reader")


class Request:
    """One call to Drive."""

    def __init__(self, store: Store, account: Account | None, query: Json, body: Json) -> None:
        self.store, self.account, self.query, self.body = store, account, query, body

    def book(self, key: str, roles: frozenset[str]) -> Spreadsheet:
        """The file, if the caller may do with it what is asked."""
        book = self.store.books.get(key)
        held = book and (role(self.store, book, self.account.email) if self.account else "owner")
        if book is None or held not in READERS:
            raise file_not_found(key)
        if held not in roles:
            text = "The user does not have sufficient permissions for this file."
            raise drive_error(403, "insufficientFilePermissions", text)
        return book

    def home(self) -> list[str]:
        """The folder a new file goes to, where the caller may put one."""
        parents = list(self.body.get("parents") or [])
        email = self.account.email if self.account else None
        for folder in parents:
            known = self.store.folders.get(folder)
            if known is None or (email and email not in known):
                raise file_not_found(folder)
        owned = any(folder in self.store.shared_drives for folder in parents)
        if owned and self.query.get("supportsAllDrives", "").lower() != "true":
            raise file_not_found(parents[0])
        if self.account and self.account.is_service and not owned:
            raise storage_quota()
        return parents


def _list(request: Request) -> Json:
    found = [book for book in request.store.books.values() if _listed(request, book)]
    for folder in re.findall(r'parents in "([^"]*)"', request.query.get("q", "")):
        found = [book for book in found if folder in book.parents]
    for name in re.findall(r'name = "((?:[^"\\]|\\.)*)"', request.query.get("q", "")):
        found = [book for book in found if book.properties["title"] == name.replace('\\"', '"')]
    return {"kind": "drive#fileList", "files": [file_of(book) for book in found]}


def _listed(request: Request, book: Spreadsheet) -> bool:
    if request.account is None:
        return True
    held = role(request.store, book, request.account.email)
    # What anybody with the link may read is in nobody's list.
    return held in READERS and (request.account.email in book.permissions or bool(book.parents))


def file_of(book: Spreadsheet) -> Json:
    """A file as Drive shows it."""
    times = {"createdTime": book.created, "modifiedTime": book.modified}
    return {"kind": "drive#file", "id": book.key, "name": book.properties["title"], "mimeType": MIME, **times}


def _create(request: Request) -> Json:
    if request.body.get("mimeType") != MIME:
        raise drive_error(400, "badRequest", "This server makes spreadsheets only.")
    book = Spreadsheet(request.store.new_key(), request.body.get("name") or "Untitled")
    book.parents = request.home()
    book.add_sheet({})
    return _kept(request, book)


def _kept(request: Request, book: Spreadsheet) -> Json:
    drives = any(folder in request.store.shared_drives for folder in book.parents)
    book.permissions = {request.account.email: "owner"} if request.account and not drives else {}
    book.created = book.modified = now()
    request.store.books[book.key] = book
    return file_of(book)


def _get(request: Request, key: str) -> Json:
    return file_of(request.book(key, READERS))


def _copy(request: Request, key: str) -> Json:
    book = request.book(key, READERS).copy()
    book.key, book.parents = request.store.new_key(), request.home()
    book.properties["title"] = request.body.get("name") or f"Copy of {book.properties['title']}"
    return _kept(request, book)


def _delete(request: Request, key: str) -> Json:
    del request.store.books[request.book(key, frozenset({"owner"})).key]
    return {}


def _rename(request: Request, key: str) -> Json:
    book = request.book(key, WRITERS)
    book.properties["title"] = request.body.get("name") or book.properties["title"]
    if added := request.query.get("addParents"):
        book.parents = [added]
    return file_of(book)


def _permission(email: str, held: str) -> Json:
    told: Json = {"kind": "drive#permission", "id": _permission_id(email), "role": held}
    if email == "anyone":
        return told | {"type": "anyone"}
    if email.startswith("domain:"):
        return told | {"type": "domain", "domain": email.removeprefix("domain:")}
    return told | {"type": "user", "emailAddress": email}


def _permission_id(email: str) -> str:
    return "anyoneWithLink" if email == "anyone" else str(zlib.crc32(email.encode()))


def _permissions(request: Request, key: str) -> Json:
    book = request.book(key, READERS)
    return {"permissions": [_permission(*entry) for entry in book.permissions.items()]}


def _share(request: Request, key: str) -> Json:
    book = request.book(key, WRITERS)
    kind, held = request.body.get("type"), request.body.get("role")
    if held not in _ROLES:
        raise drive_error(400, "required", "The permission role field is required.")
    names = {"anyone": "anyone", "domain": f"domain:{request.body.get('domain')}"}
    email = names.get(str(kind)) or request.body.get("emailAddress")
    if not email:
        raise drive_error(400, "invalid", "The emailAddress field is required.")
    book.permissions[email] = held
    return _permission(email, held)


def _unshare(request: Request, key: str, permission: str) -> Json:
    book = request.book(key, WRITERS)
    for email in list(book.permissions):
        if _permission_id(email) == permission:
            del book.permissions[email]
            return {}
    raise drive_error(404, "notFound", f"Permission not found: {permission}.")


def _comments(request: Request, key: str) -> Json:
    request.book(key, READERS)
    return {"comments": []}


Route = tuple[str, str, str, str, Callable[..., Json]]
ROUTES: tuple[Route, ...] = (
    ("GET", r"/drive/v3/files", "drive.files.list", "read", _list),
    ("POST", r"/drive/v3/files", "drive.files.create", "write", _create),
    ("GET", _FILE, "drive.files.get", "read", _get),
    ("PATCH", _FILE, "drive.files.update", "write", _rename),
    ("DELETE", _FILE, "drive.files.delete", "write", _delete),
    ("POST", _FILE + "/copy", "drive.files.copy", "write", _copy),
    ("GET", _FILE + "/permissions", "drive.permissions.list", "read", _permissions),
    ("POST", _FILE + "/permissions", "drive.permissions.create", "write", _share),
    ("DELETE", _FILE + r"/permissions/(\w+)", "drive.permissions.delete", "write", _unshare),
    ("GET", _FILE + "/comments", "drive.comments.list", "read", _comments),
)


def routed(verb: str, path: str) -> tuple[Route, tuple[Any, ...]]:
    """The call that a path stands for, and what stands in it."""
    for route in ROUTES:
        if route[0] == verb and (found := re.fullmatch(route[1], path)):
            return route, found.groups()
    raise ApiError(404, f"This server does not know {verb} {path}.")


def new_folder_id() -> str:
    """An id as long as Drive's."""
    return "0A" + secrets.token_urlsafe(16)[:17]
