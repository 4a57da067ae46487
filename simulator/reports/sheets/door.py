"""The door to Google Sheets: gspread's HTTP client, its credentials, its pace, and its retries.

Every attempt at a piece of work starts by reading: a write whose reply was lost, or that Google put off,
is never sent again blindly, since by then people may have moved the rows, or the rows may be there.
"""

import json
import os
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt

from simulator.core.errors import InputError
from simulator.models.limiter import RetryAfter
from simulator.reports.sheets.credentials import Account, account_of, are_named, credentials
from simulator.reports.sheets.trouble import Conflict, in_one_line, is_expired, is_too_many, is_transient

if TYPE_CHECKING:
    import requests
    from gspread import Client

T = TypeVar("T")
Json = dict[str, Any]
ATTEMPTS = 8
# Seconds after a 429 that names none: all attempts together outlast a minute.
LEAST_WAIT = 10.0
# Google gives 60 writes a minute to each user of a project.
SECONDS_BETWEEN_WRITES = 1.0
_TIMEOUT = (10.0, 180.0)
# Another address of Google's, on this machine only: for tests and for trying things out.
LOCAL = "REHEARSAL_SHEETS_URL"


class Door:
    """Reads and writes of the Sheets API, at most one write a second; `reads` and `writes` count them.

    `given` credentials may be google-auth's or oauth2client's; otherwise the environment's are used.
    `clock` and `sleep` (seconds) are there to be replaced.
    """

    def __init__(
        self,
        given: Any = None,
        *,
        drive: bool = False,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._clock, self._sleep = clock, sleep
        self._wrote = float("-inf")
        self.reads = self.writes = 0
        local = _local()
        # Somebody who tries things out on this machine needs no credentials.
        named = given is not None or not local or are_named()
        self._credentials = credentials(drive=drive, given=given) if named else None
        self.account = account_of(self._credentials) if named else Account("person")
        self._client = _client(self._credentials, local)

    def read(self, address: str, *, query: Json | None = None, body: Json | None = None) -> Json:
        """A request that changes nothing; with a body it is a POST."""
        self.reads += 1
        return self._request("get" if body is None else "post", address, query, body)

    def write(self, address: str, body: Json, *, query: Json | None = None) -> Json:
        """A request that changes something, when its turn has come."""
        wait = self._wrote + SECONDS_BETWEEN_WRITES - self._clock()
        if wait > 0:
            self._sleep(wait)
        self._wrote = self._clock()
        self.writes += 1
        return self._request("post", address, query, body)

    def _request(self, verb: str, address: str, query: Json | None, body: Json | None) -> Json:
        from gspread.exceptions import APIError

        # gspread would write Japanese as \u escapes: twice the size.
        data = None if body is None else json.dumps(body, ensure_ascii=False).encode()
        headers = {"Content-Type": "application/json; charset=utf-8"} if data else None
        send = self._client.http_client.request
        try:
            answer = send(verb, address, params=query, data=data, headers=headers)
        except APIError as error:
            if not is_expired(error) or self._credentials is None:
                raise
            # The token was taken back before its time; another one is asked for once.
            self._credentials.token = None
            answer = send(verb, address, params=query, data=data, headers=headers)
        found: Json = answer.json()
        return found

    def persist(self, work: Callable[[], T], name: str, *, writing: Callable[[], bool] = lambda: False) -> T:
        """Does the work, again and again while that may help; raises what is left as one line.

        `writing` tells whether the work had come to writing when it failed.
        """
        retrying = Retrying(
            stop=stop_after_attempt(ATTEMPTS),
            wait=_wait,
            retry=retry_if_exception(lambda error: isinstance(error, Conflict) or is_transient(error)),
            sleep=self._sleep,
            reraise=True,
        )
        try:
            return retrying(work)
        except Conflict as error:
            msg = f"{name}: people keep moving rows and columns ({error}); push again when it is quieter."
            raise InputError(msg) from None
        except Exception as error:
            if not _is_expected(error):
                raise
            raise in_one_line(error, name, self.account.email, writing=writing()) from None

    def once(self, work: Callable[[], T], name: str) -> T:
        """Does work that must not happen twice, and so is not tried again."""
        try:
            return work()
        except Exception as error:
            if not _is_expected(error):
                raise
            raise in_one_line(error, name, self.account.email) from None


_after = RetryAfter(longest=60.0)


def _wait(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, Conflict):
        return 0.0
    # The quota is one of a minute, and Google does not say when it is over.
    told = "retry-after" in getattr(getattr(error, "response", None), "headers", {})
    return _after(state) if told else max(_after(state), LEAST_WAIT if is_too_many(error) else 0.0)


def _is_expected(error: BaseException) -> bool:
    import requests
    from google.auth.exceptions import GoogleAuthError
    from gspread.exceptions import GSpreadException

    return isinstance(error, GSpreadException | GoogleAuthError | requests.RequestException)


def _local() -> str:
    base = os.environ.get(LOCAL, "").rstrip("/")
    if base and urlsplit(base).hostname not in ("127.0.0.1", "localhost", "::1"):
        msg = f"{LOCAL}={base}: only an address of this machine; leave it unset to reach Google."
        raise InputError(msg)
    return base


def _client(known: Any, local: str) -> "Client":
    """A client of gspread's over a session of our own.

    google-auth's session looks up an account's regions at iamcredentials.googleapis.com, on a thread of
    its own, and cannot be told not to; ours asks for tokens and nothing else.
    """
    import gspread  # most of a second: only for runs with a sheet
    import requests

    session = requests.Session()
    if local:
        session.trust_env = False
        session.mount("https://", _elsewhere(local))
    if known is not None:
        session.auth = _bearer(known, session)
    nobody: Any = None
    client = gspread.Client(auth=nobody, session=session)
    client.set_timeout(_TIMEOUT)
    return client


def _bearer(known: Any, session: "requests.Session") -> Any:
    import requests
    from google.auth.transport.requests import Request

    asking = requests.Session()
    asking.trust_env, asking.adapters = session.trust_env, session.adapters

    def sign(request: requests.PreparedRequest) -> requests.PreparedRequest:
        if not known.valid:
            known.refresh(Request(asking))
        known.apply(request.headers)
        return request

    return sign


def _elsewhere(base: str) -> Any:
    from requests.adapters import HTTPAdapter

    class Elsewhere(HTTPAdapter):
        """Sends what is meant for any host by https to the local address."""

        def send(self, request: Any, *rest: Any, **options: Any) -> Any:
            """The same request, elsewhere."""
            told = urlsplit(request.url)
            request.url = base + request.url.removeprefix(f"{told.scheme}://{told.netloc}")
            return super().send(request, *rest, **options)

    return Elsewhere()


def fields(*paths: str) -> Json:
    """The query that asks for these fields only."""
    return {"fields": ",".join(paths)}


def size(values: Iterable[Json]) -> int:
    """Bytes of these in a request's body."""
    return sum(len(json.dumps(value, ensure_ascii=False).encode()) + 2 for value in values)
