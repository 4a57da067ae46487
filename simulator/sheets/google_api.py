"""Google Sheets: which spreadsheet is meant, credentials, errors in one line, and the client.

gspread and google-auth are imported inside functions: only runs with a sheet load them.

Credentials are looked for in this order, and the first that is set counts, whether it works or not:

    1. REHEARSAL_GOOGLE_CREDENTIALS     a path, or the JSON itself (as a secret of a CI has it)
    2. GOOGLE_APPLICATION_CREDENTIALS   the same, and whatever google-auth takes there
    3. the machine's                    gcloud's login, or the account of a machine at Google's

Errors are of two kinds. What may pass (429, 408, 5xx, a lost connection) is tried again after a while, eight
times in all, and ends as `SinkUnavailable`: exit code 3, the run is safe. Everything else is `GoogleRefused`,
with a sentence that says what to click: exit code 2. No sentence quotes what is in a key file.
"""

import json
import os
import re
import time
import unicodedata
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from simulator.core.errors import InputError, RehearsalError
from simulator.core.messages import Message, _
from simulator.core.types import Value
from simulator.models.patience import wait_after

if TYPE_CHECKING:
    from tenacity import RetryCallState

Json = dict[str, Any]
SCHEME = "sheet:"
# A key alone, or with an address around it, as browsers and "Copy link" give it:
#     1AbC-d_9
#     https://docs.google.com/spreadsheets/d/1AbC-d_9/edit#gid=0
#     https://docs.google.com/spreadsheets/u/1/d/1AbC-d_9/edit    (of the second login of a browser)
# Behind /d/e/ stands a published copy, whose key opens nothing.
_ADDRESS = re.compile(
    r"(?:https?://[^/\s]+(?:/[^#?]*)?/spreadsheets/(?:u/\d+/)?d/(?!e/))?([A-Za-z0-9_-]+)(?:[/?#].*)?"
)
# An address with the name of a worksheet behind `#`; `#gid=12` is part of an address, and names none.
_NAMED = re.compile(r"([^#]*)(?:#gid=\d+|#(?P<name>.+))?", re.DOTALL)
# With our titles it stays below the 100 characters that Google allows a worksheet's title.
_LONGEST_SUFFIX = 60


class Target(Value):
    """A spreadsheet, and the suffix that tells one team's worksheets in it from another's."""

    key: str
    suffix: str = ""


def target(sheet: str, suffix: str = "") -> Target:
    """What `--sheet KEY_OR_URL --worksheet NAME` names; raises InputError in one line.

    ("1AbC", " Team  Tokyo ") -> Target(key="1AbC", suffix="Team Tokyo")
    """
    suffix = " ".join(suffix.split())
    if len(suffix) > _LONGEST_SUFFIX or any(unicodedata.category(c)[0] == "C" for c in suffix):
        msg = _("--worksheet: at most {n} characters, and no control characters.", n=_LONGEST_SUFFIX)
        raise InputError(msg)
    return Target(key=key_of(sheet), suffix=suffix)


def key_of(sheet: str) -> str:
    """The key in an address from the browser, or the key itself; InputError for a published page or neither.

    Nothing is asked of Google: whether there is such a sheet shows at the first read.
    """
    match = _ADDRESS.fullmatch(sheet.strip())
    if "/d/e/" in sheet:
        raise InputError(
            _("this is a published page (ウェブに公開): open the sheet itself and copy its address.")
        )
    if match is None:
        msg = _(
            "{sheet}: not a sheet's key or address; the key is between /d/ and /edit of its address.",
            sheet=sheet,
        )
        raise InputError(msg)
    return match[1]


def worksheet_of(address: str) -> tuple[str, str | None]:
    """Key and worksheet of `sheet:KEY#worksheet`, where the address may stand for the key.

    "sheet:1AbC#FAQ 7月"                                           -> ("1AbC", "FAQ 7月")
    "sheet:https://docs.google.com/spreadsheets/d/1AbC/edit#gid=12" -> ("1AbC", None)
    """
    match = _NAMED.fullmatch(address.removeprefix(SCHEME))
    if match is None or not match[1].strip():
        msg = _(
            "{address}: write sheet:KEY#worksheet; KEY is the part between /d/ and /edit of the address.",
            address=address,
        )
        raise InputError(msg)
    return key_of(match[1]), match["name"]


# Ours comes first: the other may be there for another program.
VARIABLES = ("REHEARSAL_GOOGLE_CREDENTIALS", "GOOGLE_APPLICATION_CREDENTIALS")
# Read and write spreadsheets, and nothing else of a Drive.
SHEETS = "https://www.googleapis.com/auth/spreadsheets"


def account() -> str:
    """The address of the service account that the environment names, without asking Google.

    Empty for somebody who signed in, and for the account of a machine; InputError where there is none.
    """
    return _email(_credentials())


def _email(credentials: Any) -> str:
    email = str(getattr(credentials, "service_account_email", "") or "")
    # "default" is what a machine at Google's says until it has been asked.
    return "" if email == "default" else email


def _variable() -> str:
    """The environment variable that names credentials, or ""."""
    return next((name for name in VARIABLES if os.environ.get(name, "").strip()), "")


def _credentials() -> Any:
    """The environment's credentials of google-auth; no error message quotes what is in them."""
    name = _variable()
    if not name:
        return _of_the_machine()
    value = os.environ[name].strip()
    try:
        text = value if value.startswith("{") else Path(value).expanduser().read_text(encoding="utf-8")
        content = json.loads(text)
    except (OSError, ValueError) as error:
        missing = isinstance(error, FileNotFoundError)
        kind = _("no such file") if missing else _("it cannot be read as JSON")
        msg = _(
            "{name}: {kind}; give it the path of a service account's key file, or the JSON in it.",
            name=name,
            kind=kind,
        )
        raise InputError(msg) from None
    return _from_json(content if isinstance(content, dict) else {}, name)


def _from_json(content: dict[str, Any], name: str) -> Any:
    """Credentials by what the JSON says it is; `name` is the variable it came from, for messages.

    Other kinds (external accounts, impersonation) are left to google-auth, under its own variable alone.
    """
    from google.oauth2.credentials import Credentials as Person
    from google.oauth2.service_account import Credentials as Service

    service: Any = Service
    person: Any = Person
    msg = _(
        "{name}: neither a service account's key file nor a signed-in user's, or not all of it; download it"
        " again.",
        name=name,
    )
    try:
        if str(content.get("_module", "")).startswith("oauth2client"):
            from gspread.utils import convert_credentials
            from oauth2client.client import Credentials as Legacy

            return convert_credentials(Legacy.new_from_json(json.dumps(content)))
        if content.get("type") == "authorized_user":
            # Their scopes were settled when they signed in.
            return person.from_authorized_user_info(content)
        if content.get("type") == "service_account":
            return service.from_service_account_info(content, scopes=[SHEETS])
    except ImportError:
        msg = _("oauth2client's credentials need the extra 'legacy': pip install oauth2client==4.1.3.")
        raise InputError(msg) from None
    except (ValueError, TypeError, KeyError, AttributeError):
        raise InputError(msg) from None
    if name == VARIABLES[-1]:
        return _of_the_machine()
    raise InputError(msg)


def _of_the_machine() -> Any:
    """Application default credentials; InputError where there are none."""
    import google.auth
    from google.auth.exceptions import DefaultCredentialsError

    try:
        with warnings.catch_warnings():
            # That gcloud's sign-in names no project to be billed: Sheets bills nobody.
            warnings.filterwarnings("ignore", "Your application has authenticated", UserWarning)
            return google.auth.default(scopes=[SHEETS])[0]
    except (DefaultCredentialsError, ValueError):
        msg = _(
            "no credentials for Google Sheets: set REHEARSAL_GOOGLE_CREDENTIALS to a service account's key"
            " file (docs/review.md)."
        )
        raise InputError(msg) from None


class SinkUnavailable(RehearsalError):
    """Google cannot be reached: the run is complete, only the sheet is not."""


class GoogleRefused(InputError):
    """Google said no; `reason` is Google's own word for it, or the status."""

    def __init__(self, message: Message, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


def _is_transient(error: BaseException) -> bool:
    """Whether trying again later may help: too many requests, a server's fault, a lost connection."""
    import requests
    from google.auth.exceptions import GoogleAuthError

    if isinstance(error, GoogleAuthError):
        return bool(error.retryable)
    return isinstance(error, requests.RequestException) or _code(error) in (408, 429) or _code(error) >= 500


def _one_line(error: BaseException, name: Message | str, who: str, *, writing: bool) -> RehearsalError:
    """The typed error for what Google, or the way to it, answered; `who` is the account that asked.

    Google's own word for the reason decides first (`_KNOWN`), then the status and whether it was a write
    (`_BY_CODE`): the same 403 means "not shared" to a read and "shared for reading only" to a write.
    A page of HTML, which proxies send, is cut to its status.
    """
    from google.auth.exceptions import GoogleAuthError

    # The words of others are cut, and stand on one line.
    code, short = _code(error), " ".join(str(error).split())[:160]
    if "<html" in str(error).casefold():
        short = f"status {code}"
    if _is_transient(error):
        why = _BUSY if code == 429 else _AWAY
        return SinkUnavailable(why.format(name=name, short=short))
    code = 401 if isinstance(error, GoogleAuthError) else code
    body = getattr(error, "error", None)
    body = body if isinstance(body, dict) else {}
    reasons = [str(entry.get("reason")) for entry in body.get("details") or () if isinstance(entry, dict)]
    texts = [str(body.get("message", error)), *reasons]
    by_code = _BY_CODE.get((code, writing)) or _BY_CODE.get((code, None)) or _ANSWERED
    reason = next((words for words in _KNOWN if any(words in text for text in texts)), str(code))
    account = who or _("the account of your credentials")
    why = _KNOWN.get(reason, by_code).format(who=account, link=APIS, code=code, short=short)
    return GoogleRefused(_("{name}: {why}.", name=name, why=why), reason)


# Where both APIs are switched on, after choosing the project. Google's answer has a link as well, which is
# not taken: anybody may stand in Google's place, and people click on what a program tells them to.
APIS = "https://console.cloud.google.com/flows/enableapi?apiid=sheets.googleapis.com,drive.googleapis.com"
# Google's words where people have locked what is to be written.
PROTECTED = "protected cell"
# What Google's message or its list of reasons says, and what to do.
_KNOWN = {
    "SERVICE_DISABLED": _(
        "the API is switched off in the project of your credentials; enable it at {link}"
        " and try again after some minutes"
    ),
    "domain administrators": _(
        "your organisation does not let apps or outside accounts in (外部共有禁止); ask its"
        " administrator to allow {who}, or sign in as a user of the organisation"
    ),
    "ACCESS_TOKEN_SCOPE_INSUFFICIENT": _(
        "the credentials do not cover Google Sheets; sign in again with the"
        " scope https://www.googleapis.com/auth/spreadsheets"
    ),
    PROTECTED: _(
        "part of it is protected against {who}; allow it in Data > Protect sheets and ranges"
        " (データ > シートと範囲を保護)"
    ),
    "not supported for this document": _(
        "this is an Excel file in Drive; open it and choose File > Save as"
        " Google Sheets (Google スプレッドシートとして保存)"
    ),
}
_BUSY = _("{name}: Google Sheets refused for now ({short}); try again later.")
_AWAY = _("{name}: Google Sheets cannot be reached ({short}); try again later.")
_ANSWERED = _("Google Sheets answered {code:d} ({short})")
# By status, and by whether it was a write (None: either).
_BY_CODE = {
    (400, None): _(
        "Google Sheets refused the request ({short}); if worksheets were changed meanwhile, try again"
    ),
    (401, None): _("Google refused the credentials ({short}); make a new key, or sign in again"),
    (403, True): _(
        "it is shared for reading only; in Share (共有) make {who} an editor (編集者 instead of 閲覧者)"
    ),
    (403, False): _("no access; open the sheet, click Share (共有), add {who} as an editor (編集者)"),
    (404, None): _("no such sheet; copy the part between /d/ and /edit of its address"),
}


def _code(error: BaseException | None) -> int:
    status = getattr(getattr(error, "response", None), "status_code", None)
    return status if isinstance(status, int) else 0


T = TypeVar("T")
# With the waits between them these outlast a minute, Google's unit of quota.
ATTEMPTS = 8
# Seconds after a 429 that names none: all attempts together outlast a minute.
LEAST_WAIT = 10.0
# Seconds to connect, and to wait for an answer: Google itself gives up a request after 180.
_TIMEOUT = (10.0, 180.0)
# Another address of Google's, on this machine only: for tests and for trying things out.
LOCAL = "REHEARSAL_SHEETS_URL"


class SheetsClient:
    """Reads and writes of the Sheets API.

    Its requests raise what gspread and requests raise; whoever uses it wraps a whole piece of work in
    `persist`, which tries again and has the last word. `sleep` (seconds) can be replaced.
    """

    def __init__(self, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self._sleep, self._writing = sleep, False
        local = os.environ.get(LOCAL, "").rstrip("/")
        if local and urlsplit(local).hostname not in ("127.0.0.1", "localhost", "::1"):
            msg = _(
                "{name}={value}: only an address of this machine; leave it unset to reach Google.",
                name=LOCAL,
                value=local,
            )
            raise InputError(msg)
        # Somebody who tries things out on this machine needs no credentials. Any other address would get a
        # real token, which is why only this machine's are taken.
        credentials = None if local and not _variable() else _credentials()
        self.account = _email(credentials)
        self._http = _http(credentials, local)

    def read(self, address: str, *, query: Json | None = None, body: Json | None = None) -> Json:
        """A request that changes nothing; with a body it is a POST."""
        self._writing = False
        return self._request("get" if body is None else "post", address, query, body)

    def write(self, address: str, body: Json) -> Json:
        """A request that changes something."""
        self._writing = True
        return self._request("post", address, None, body)

    def _request(self, verb: str, address: str, query: Json | None, body: Json | None) -> Json:
        from requests.exceptions import InvalidJSONError

        # gspread would write Japanese as \u escapes: twice the size.
        data = None if body is None else json.dumps(body, ensure_ascii=False).encode()
        headers = {"Content-Type": "application/json; charset=utf-8"} if data else None
        answer = self._http.request(verb, address, params=query, data=data, headers=headers)
        try:
            fields = answer.json()
        except RecursionError:
            fields = None
        if not isinstance(fields, dict):
            raise InvalidJSONError(_("its answer is not a JSON object"))  # of whoever stands before Google
        return fields

    def persist(self, work: Callable[[], T], name: Message | str) -> T:
        """Does the work, trying again where that may help; raises the last error as one line.

        `work` is repeated as a whole, so it has to read before it writes. `name` is what the line begins
        with: the sheet, or an address.
        """
        import requests
        from google.auth.exceptions import GoogleAuthError
        from gspread.exceptions import GSpreadException
        from tenacity import Retrying, retry_if_exception, stop_after_attempt

        retrying = Retrying(
            stop=stop_after_attempt(ATTEMPTS),
            wait=_wait,
            retry=retry_if_exception(_is_transient),
            sleep=self._sleep,
            reraise=True,
        )
        try:
            return retrying(work)
        except (GSpreadException, GoogleAuthError, requests.RequestException) as error:
            raise _one_line(error, name, self.account, writing=self._writing) from None


def _wait(state: "RetryCallState") -> float:
    """Seconds until the next attempt: what Retry-After says, else exponential, after a 429 ten at least."""
    error = state.outcome.exception() if state.outcome else None
    wait = wait_after(error, state.attempt_number, longest=60.0)
    # The quota is one of a minute, and Google does not say when it is over.
    names_wait = "retry-after" in getattr(getattr(error, "response", None), "headers", {})
    return wait if names_wait else max(wait, LEAST_WAIT if _code(error) == 429 else 0.0)


def _http(credentials: Any, local: str) -> Any:
    """The HTTP client of gspread over a session of our own.

    google-auth's session looks up an account's regions at iamcredentials.googleapis.com, on a thread of
    its own, and cannot be told not to; ours asks for tokens and nothing else.
    """
    import requests
    from google.auth.transport.requests import Request
    from gspread.http_client import HTTPClient  # most of a second: only for runs with a sheet
    from requests.adapters import HTTPAdapter

    class Elsewhere(HTTPAdapter):
        """Sends what is meant for any host by https to the local address."""

        def send(self, request: Any, *rest: Any, **options: Any) -> Any:
            """The same request, elsewhere."""
            request.url = local + request.path_url
            return super().send(request, *rest, **options)

    session, tokens = requests.Session(), requests.Session()
    for http in (session, tokens) if local else ():
        http.trust_env = False
        http.mount("https://", Elsewhere())

    def sign(request: requests.PreparedRequest) -> requests.PreparedRequest:
        if not credentials.valid:
            credentials.refresh(Request(tokens))
        credentials.apply(request.headers)
        return request

    if credentials is not None:
        session.auth = sign
    nobody: Any = None
    client = HTTPClient(nobody, session)
    client.set_timeout(_TIMEOUT)
    return client
