"""The real gspread with real credentials, pointed at a local server instead of Google."""

from typing import Any
from urllib.parse import urlsplit

import gspread
from google.oauth2.service_account import Credentials as ServiceCredentials

from tests.servers.sheets_auth import SCOPES
from tests.servers.sheets_errors import Json

_GOOGLE = ("sheets.googleapis.com", "www.googleapis.com")


def door(base: str) -> Any:
    """An HTTP client class for gspread that sends what is meant for Google to `base`."""

    class Door(gspread.HTTPClient):
        """The same requests, elsewhere."""

        def request(self, method: str, endpoint: str, *rest: Any, **options: Any) -> Any:
            """Send one."""
            told = urlsplit(endpoint)
            if told.hostname in _GOOGLE:
                endpoint = base + endpoint.removeprefix(f"{told.scheme}://{told.netloc}")
            return super().request(method, endpoint, *rest, **options)

    return Door


class Robot(ServiceCredentials):
    """A service account's credentials that ask nobody but their token endpoint."""

    def _is_regional_access_boundary_lookup_required(self) -> bool:
        # Newer google-auth looks up the account's regions at Google, on a thread of its own.
        return False


def by_service_account(info: Json, base: str, scopes: tuple[str, ...] = SCOPES) -> Any:
    """A gspread client with a service account's key, as made by the server."""
    credentials = Robot.from_service_account_info(info, scopes=scopes)  # type: ignore[no-untyped-call]
    return gspread.Client(auth=credentials, http_client=door(base))
