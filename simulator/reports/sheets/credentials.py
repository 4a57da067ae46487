"""Who we are to Google: a service account, a person who signed in, or what the machine is known as.

Looked for in this order: REHEARSAL_GOOGLE_CREDENTIALS (the path of a key file, or its JSON), the same in
GOOGLE_APPLICATION_CREDENTIALS, then what `gcloud auth application-default login` left behind.
"""

import json
import os
import warnings
from pathlib import Path
from typing import Any, Literal, NamedTuple

from simulator.core.errors import InputError

VARIABLES = ("REHEARSAL_GOOGLE_CREDENTIALS", "GOOGLE_APPLICATION_CREDENTIALS")
SHEETS = "https://www.googleapis.com/auth/spreadsheets"
# Only to put a new file into a folder that is already there.
DRIVE = "https://www.googleapis.com/auth/drive"


class Account(NamedTuple):
    """Whose credentials these are; a person's address is not told by them."""

    kind: Literal["service", "person", "machine"]
    email: str = ""


def account() -> Account:
    """The account that the environment names, without asking Google; InputError when there is none."""
    return account_of(credentials())


def account_of(known: Any) -> Account:
    """Whose credentials these are."""
    from google.oauth2.credentials import Credentials as Person

    email = str(getattr(known, "service_account_email", "") or "")
    if email and email != "default":
        return Account("service", email)
    return Account("person" if isinstance(known, Person) else "machine")


def are_named() -> bool:
    """Whether the environment names credentials."""
    return any(os.environ.get(name) for name in VARIABLES)


def credentials(*, drive: bool = False, given: Any = None) -> Any:
    """Credentials of google-auth; `given` ones may be oauth2client's. `drive` asks for Drive, too."""
    scopes = [SHEETS, DRIVE] if drive else [SHEETS]
    if given is not None:
        return _converted(given)
    for name in VARIABLES:
        if said := os.environ.get(name, "").strip():
            return _from_json(_contents(name, said), name, scopes)
    return _of_the_machine(scopes)


def _contents(name: str, said: str) -> dict[str, Any]:
    """The JSON in a variable, or in the file that it names. Nothing of it is ever shown."""
    try:
        text = said if said.startswith("{") else Path(said).expanduser().read_text(encoding="utf-8")
        found = json.loads(text)
    except (OSError, ValueError) as error:
        kind = (
            "there is no such file" if isinstance(error, FileNotFoundError) else "it cannot be read as JSON"
        )
        msg = f"{name}: {kind}; give it the path of a service account's key file, or the JSON in it."
        raise InputError(msg) from None
    if not isinstance(found, dict):
        msg = f"{name}: no key file of Google's; download a service account's JSON key."
        raise InputError(msg)
    return found


def _from_json(found: dict[str, Any], name: str, scopes: list[str]) -> Any:
    from google.oauth2.credentials import Credentials as Person
    from google.oauth2.service_account import Credentials as Service

    service: Any = Service
    person: Any = Person
    try:
        if str(found.get("_module", "")).startswith("oauth2client"):
            return _converted(_legacy(found))
        if found.get("type") == "authorized_user":
            # Their scopes were settled when they signed in.
            return person.from_authorized_user_info(found)
        if found.get("type") == "service_account":
            return service.from_service_account_info(found, scopes=scopes)
    except (ValueError, TypeError, KeyError):
        msg = f"{name}: the key file is incomplete; download it again (GOOGLE_APPLICATION_CREDENTIALS)."
        raise InputError(msg) from None
    if name == VARIABLES[-1]:
        return _of_the_machine(scopes)
    msg = f"{name}: neither a service account's key file nor a signed-in user's."
    raise InputError(msg)


def _of_the_machine(scopes: list[str]) -> Any:
    import google.auth
    from google.auth.exceptions import DefaultCredentialsError

    try:
        with warnings.catch_warnings():
            # That gcloud's sign-in names no project to be billed: Sheets bills nobody.
            warnings.filterwarnings("ignore", "Your application has authenticated", UserWarning)
            return google.auth.default(scopes=scopes)[0]
    except (DefaultCredentialsError, ValueError):
        msg = (
            "no credentials for Google Sheets: set REHEARSAL_GOOGLE_CREDENTIALS to a service account's"
            " key file and share the sheet with its address."
        )
        raise InputError(msg) from None


def _legacy(found: dict[str, Any]) -> Any:
    try:
        from oauth2client.client import Credentials as Legacy
    except ImportError:
        msg = "oauth2client's credentials need the extra 'legacy': pip install oauth2client==4.1.3."
        raise InputError(msg) from None
    return Legacy.new_from_json(json.dumps(found))


def _converted(given: Any) -> Any:
    """Credentials of google-auth, made by gspread of oauth2client's."""
    from gspread.utils import convert_credentials

    try:
        return convert_credentials(given)
    except (TypeError, AttributeError):
        msg = f"{type(given).__name__}: no credentials of google-auth or oauth2client."
        raise InputError(msg) from None
