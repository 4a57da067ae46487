"""Google Sheets v4, as far as the program uses it, over real HTTP on this machine."""

import time
import traceback
from typing import Any
from urllib.parse import parse_qs, parse_qsl, unquote

from aiohttp import BasicAuth, web

from tests.servers import sheets_api as api
from tests.servers.loopback import LoopbackServer, dumps, reset
from tests.servers.sheets_auth import Account, Accounts
from tests.servers.sheets_client import by_service_account
from tests.servers.sheets_errors import ApiError, Json, domain_policy, service_disabled
from tests.servers.sheets_people import Person
from tests.servers.sheets_schema import Mask, Method, checked_query, mask, methods, parsed, selected
from tests.servers.sheets_state import Spreadsheet, Store
from tests.servers.sheets_troubles import Access, Entry, Log, Trouble
from tests.servers.sheets_typing import raw

Sheets = dict[str, dict[str, list[list[str]]]]
ROBOT = "robot@project-123456789012.iam.gserviceaccount.com"
MARI = "mari@example.com"


class LoggedRequest:
    """One request on its way: what is known of it so far, for the log."""

    def __init__(self, request: web.BaseRequest, raw: bytes) -> None:
        self.verb, self.raw = request.method, raw
        self.path = unquote(request.rel_url.raw_path)
        self.query = parse_qs(request.rel_url.raw_query_string, keep_blank_values=True)
        self.header = request.headers.get("Authorization", "")
        self.method, self.access = "unknown", "read"
        self.account: Account | None = None
        self.body: Any = None
        self.trouble: Trouble | None = None

    def meets(self, *kinds: str) -> Trouble | None:
        """The trouble it runs into, when it is of one of these kinds."""
        return self.trouble if self.trouble and self.trouble.kind in kinds else None


class SheetsServer(LoopbackServer):
    """Spreadsheets in `store`; `log`, `troubles` and `accounts` are there to be used by tests.

    `sheets` maps a key to its worksheets of text. Without `auth` a request without a token is the owner's.
    `disabled`: the API is switched off; `domain_policy` switches apps off.
    """

    path = ""

    def __init__(self, sheets: Sheets | None = None, *, auth: bool = False, port: int = 0) -> None:
        """Starts with these spreadsheets."""
        super().__init__(port=port)
        self.store, self.accounts = Store(), Accounts()
        self.log = Log()
        self.troubles: list[Trouble] = []
        self.disabled = self.domain_policy = False
        self.auth = auth
        for key, tabs in (sheets or {}).items():
            self.add(key, tabs)

    def add(
        self, key: str, tabs: dict[str, list[list[Any]]] | None = None, *, title: str = "t"
    ) -> Spreadsheet:
        """Add a spreadsheet owned by Mari; what is written into it stays text."""
        book = self.store.books[key] = Spreadsheet(key, title)
        book.permissions[MARI] = "owner"
        for name, rows in (tabs or {"シート1": []}).items():
            sheet = book.add_sheet({"title": name})
            for row, line in enumerate(rows):
                for column, value in enumerate(line):
                    if value:
                        sheet.grid.put(row, column, {"userEnteredValue": raw(value)})
        return book

    def book(self, key: str) -> Spreadsheet:
        """The spreadsheet with this key."""
        return self.store.books[key]

    def person(self, key: str, email: str = MARI) -> Person:
        """Somebody who has the spreadsheet open in a browser."""
        return Person(self.store, key, email)

    def share(self, key: str, email: str = ROBOT, held: str = "writer") -> None:
        """Share a spreadsheet."""
        self.person(key).share(email, held)

    @property
    def token_uri(self) -> str:
        """Where tokens are given."""
        return f"{self.url}/token"

    def service_account(self, email: str = ROBOT, project: str = "123456789012") -> Json:
        """A service account's key file, with this server's token endpoint."""
        return self.accounts.service_account(email, self.token_uri, project)

    def robot(self, email: str = ROBOT, **options: Any) -> Any:
        """A gspread client signed in as a service account."""
        return by_service_account(self.service_account(email), self.url, **options)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        raw = await request.read()
        asked, started = LoggedRequest(request, raw), time.perf_counter()
        answer, lost = self._answer(asked)
        size = len(answer.body) if isinstance(answer.body, bytes) else 0
        self.keep(request, raw, asked.body)
        took, who = time.perf_counter() - started, asked.account.email if asked.account else ""
        access: Any = asked.access
        status = 0 if lost else answer.status
        self.log.append(Entry(asked.method, access, asked.path, status, len(raw), size, took, who))
        return reset(request) if lost else answer

    def _answer(self, asked: LoggedRequest) -> tuple[web.Response, bool]:
        """The answer, and whether it never arrives."""
        try:
            return self._dispatched(asked)
        except ApiError as error:
            return _json(error.body, error.code, error.headers), False
        except Exception:
            # A fault of this server's own: the test that meets it shall see where.
            return _json(ApiError(500, traceback.format_exc()).body, 500), False

    def _dispatched(self, asked: LoggedRequest) -> tuple[web.Response, bool]:
        if asked.path == "/token":
            return self._token(asked), False
        return self._sheets(asked)

    def _named(self, asked: LoggedRequest, method: str, access: Access) -> None:
        """Now that it is known what is asked: the first trouble on its way is its own."""
        asked.method, asked.access = method, access
        asked.trouble = next((trouble for trouble in self.troubles if trouble.meets(method, access)), None)
        if asked.trouble:
            asked.trouble.times -= 1

    def _token(self, asked: LoggedRequest) -> web.Response:
        self._named(asked, "token", "token")
        if trouble := asked.meets("status"):
            return trouble.answer()
        form = dict(parse_qsl(asked.raw.decode()))
        if asked.header.startswith("Basic "):
            client = BasicAuth.decode(asked.header)
            form |= {"client_id": client.login, "client_secret": client.password}
        status, body = self.accounts.exchange(form, self.token_uri)
        return _json(body, status)

    def _admit(self, asked: LoggedRequest, method: str, access: Access) -> None:
        """Who is it, may they call at all, and not too often."""
        self._named(asked, method, access)
        asked.account = self.accounts.caller(asked.header, method, self.auth)
        project = asked.account.project if asked.account else "123456789012"
        if self.disabled:
            raise service_disabled(project)
        if self.domain_policy:
            raise domain_policy()

    def _sheets(self, asked: LoggedRequest) -> tuple[web.Response, bool]:
        method, parts = _routed(asked)
        access: Access = "read" if api.Call(method.name, {}, {}, {}, None).is_read else "write"
        self._admit(asked, method.name, access)
        if trouble := asked.meets("status", "reset"):
            return (trouble.answer(), False) if trouble.kind == "status" else (web.Response(), True)
        query = checked_query(method, asked.query)
        asked.body = body = parsed(asked.raw, method)
        tree = _mask(method, query)
        with self.store.lock:
            call = api.Call(method.name, parts, query, body, asked.account)
            made = selected(api.answer(self.store, call), tree)
            answer = _json(made)
        return answer, bool(asked.meets("lost"))


def _routed(asked: LoggedRequest) -> tuple[Method, dict[str, str]]:
    for method in methods():
        if method.verb == asked.verb and (found := method.path.fullmatch(asked.path)):
            return method, found.groupdict()
    raise ApiError(404, f"The requested URL {asked.path} was not found on this server.")


def _mask(method: Method, query: Json) -> Mask:
    fields = query.get("fields", "")
    # Other answers are small; their masks are left to Google.
    whole = method.name in ("spreadsheets.get", "spreadsheets.getByDataFilter")
    return mask(fields, "Spreadsheet") if fields and whole else {}


def _json(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    return web.Response(body=dumps(body), status=status, content_type="application/json", headers=headers)
