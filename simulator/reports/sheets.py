"""Google Sheets, by gspread: the one door to them. Reads a worksheet of questions.

Credentials come from the environment: a service account (GOOGLE_APPLICATION_CREDENTIALS, a file, or
REHEARSAL_GOOGLE_CREDENTIALS, its JSON) or what `gcloud auth application-default login` left behind.
"""

import json
import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from tenacity import Retrying, retry_if_exception, stop_after_attempt

from simulator.errors import InputError
from simulator.limits import RetryAfter

if TYPE_CHECKING:
    from gspread import Client

T = TypeVar("T")
SCHEME = "sheet:"
SCOPES = ("https://www.googleapis.com/auth/spreadsheets",)
ATTEMPTS = 5
_ADDRESS = re.compile(
    r"sheet:(?:https://docs\.google\.com/spreadsheets/d/)?([\w-]+)[^#]*(?:#(?!gid=)(.+)|#gid=\d+)?"
)
_GOOGLE = "https://sheets.googleapis.com"
# Another address of the Sheets API, on this machine only: for tests and for trying things out.
_LOCAL = "REHEARSAL_SHEETS_URL"


def worksheet_values(address: str) -> tuple[str, list[list[str]]]:
    """Name and cells (as shown) of the worksheet in `sheet:KEY#worksheet`; without a name the first one.

    Raises InputError in one line that says what to click or to set.
    """
    named = _ADDRESS.fullmatch(address)
    if named is None:
        msg = (
            f"{address}: write sheet:KEY#worksheet; KEY is what stands between /d/ and /edit in the address."
        )
        raise InputError(msg)
    return _told(address, lambda: _values(_client(), named[1], named[2]))


def _values(client: "Client", key: str, name: str | None) -> tuple[str, list[list[str]]]:
    sheet = client.open_by_key(key)
    worksheet = sheet.worksheet(name) if name else sheet.get_worksheet(0)
    return worksheet.title, worksheet.get_all_values()


def _client() -> "Client":
    import gspread  # most of a second: only for runs with a sheet
    import requests

    local = os.environ.get(_LOCAL, "")
    if local:
        nobody: Any = None
        return gspread.authorize(nobody, http_client=_local_door(local), session=requests.Session())
    return gspread.authorize(_credentials())


def _local_door(base: str) -> Any:
    import gspread

    if urlsplit(base).hostname not in ("127.0.0.1", "localhost", "::1"):
        msg = f"{_LOCAL}={base}: only an address of this machine; leave it unset to reach Google."
        raise InputError(msg)

    class LocalDoor(gspread.HTTPClient):
        """Sends what is meant for Google to the local address."""

        def request(self, method: str, endpoint: str, *rest: Any, **options: Any) -> Any:
            """The same request, elsewhere."""
            return super().request(method, endpoint.replace(_GOOGLE, base, 1), *rest, **options)

    return LocalDoor


def _credentials() -> Any:
    import google.auth
    from google.auth.exceptions import DefaultCredentialsError
    from google.oauth2.service_account import Credentials

    given = os.environ.get("REHEARSAL_GOOGLE_CREDENTIALS", "")
    try:
        if given:
            info: dict[str, str] = json.loads(given)
            return Credentials.from_service_account_info(info, scopes=SCOPES)  # type: ignore[no-untyped-call]
        return google.auth.default(scopes=SCOPES)[0]
    except (DefaultCredentialsError, ValueError):
        msg = (
            "no credentials for Google Sheets: set GOOGLE_APPLICATION_CREDENTIALS to a service account's"
            " key file and share the sheet with its address."
        )
        raise InputError(msg) from None


def _told(address: str, read: Callable[[], T]) -> T:
    """Retries what passes; everything else as one line."""
    from google.auth.exceptions import GoogleAuthError
    from gspread.exceptions import APIError, GSpreadException, SpreadsheetNotFound, WorksheetNotFound
    from requests import RequestException

    retrying = Retrying(
        stop=stop_after_attempt(ATTEMPTS),
        wait=RetryAfter(longest=60),
        retry=retry_if_exception(_is_transient),
        reraise=True,
    )
    try:
        return retrying(read)
    except WorksheetNotFound as error:
        why = f"there is no worksheet {error}; its name stands on the tab at the bottom of the sheet"
    except SpreadsheetNotFound:
        why = "there is no such sheet; copy the part between /d/ and /edit of its address"
    except PermissionError:
        why = "no access; open the sheet, click Share, and add the service account's address as an editor"
    except APIError as error:
        why = f"Google Sheets answered {error.response.status_code} ({_short(error)})"
    except (GoogleAuthError, GSpreadException, RequestException) as error:
        why = f"Google Sheets cannot be reached ({_short(error)})"
    msg = f"{address}: {why}."
    raise InputError(msg)


def _is_transient(error: BaseException) -> bool:
    status = getattr(getattr(error, "response", None), "status_code", None)
    return status == 429 or (isinstance(status, int) and status >= 500)


def _short(error: BaseException) -> str:
    return " ".join(str(error).split())[:160]
