"""Google's error responses, in its own wording and format."""

import contextlib
from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]
_STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
}
_RPC = "type.googleapis.com/google.rpc."
_CONSOLE = "https://console.developers.google.com/apis/api"
_EXPECTED = "Expected OAuth 2 access token, login cookie or other valid authentication credential."
_SIGN_IN = "See https://developers.google.com/identity/sign-in/web/devconsole-project."


class ApiError(Exception):
    """A refusal: an HTTP status, a message, `details` and, in Drive's older shape, `errors`."""

    def __init__(self, code: int, message: str, *, details: Any = None, errors: Any = None) -> None:
        super().__init__(message)
        self.code, self.message, self.details, self.errors = code, message, details, errors
        self.headers: dict[str, str] = {}

    @property
    def body(self) -> Json:
        """The JSON that Google sends."""
        error: Json = {"code": self.code, "message": self.message}
        if self.errors:
            error["errors"] = self.errors
        if not self.errors or self.details:
            error["status"] = _STATUS.get(self.code, "UNKNOWN")
        if self.details:
            error["details"] = self.details
        return {"error": error}


def invalid(message: str) -> ApiError:
    """400 INVALID_ARGUMENT."""
    return ApiError(400, message)


@contextlib.contextmanager
def within(where: str) -> Iterator[None]:
    """Puts `Invalid <where>: ` before a 400 that is raised inside."""
    try:
        yield
    except ApiError as error:
        if error.code == 400:
            error.message = f"Invalid {where}: {error.message}"
        raise


def bad_mask(path: str) -> ApiError:
    """400 for a `fields` parameter that selects nothing there is."""
    text = f"Error expanding 'fields' parameter. Cannot find matching fields for path '{path}'."
    details = [{"@type": _RPC + "BadRequest", "fieldViolations": [{"field": path, "description": text}]}]
    return ApiError(400, "Request contains an invalid argument.", details=details)


def not_found() -> ApiError:
    """404 for a spreadsheet that is not there."""
    return ApiError(404, "Requested entity was not found.")


def no_permission() -> ApiError:
    """403 for a spreadsheet that is not shared with the caller."""
    return ApiError(403, "The caller does not have permission")


def invalid_credential(method: str) -> ApiError:
    """401 for a request without an access token, or with one that is unknown or has expired."""
    text = f"Request had invalid authentication credentials. {_EXPECTED} {_SIGN_IN}"
    service = "drive.googleapis.com" if method.startswith("drive.") else "sheets.googleapis.com"
    error = ApiError(401, text, details=[_info("ACCESS_TOKEN_EXPIRED", service=service, method=method)])
    error.headers["WWW-Authenticate"] = 'Bearer realm="https://accounts.google.com/"'
    return error


def service_disabled(project: str) -> ApiError:
    """403 while the API is switched off in the caller's project."""
    name = "Google Sheets API"
    address = f"{_CONSOLE}/sheets.googleapis.com/overview?project={project}"
    text = f"{name} has not been used in project {project} before or it is disabled. See {address}."
    details = [_info("SERVICE_DISABLED", service="sheets.googleapis.com", activationUrl=address)]
    return ApiError(403, text, details=details)


def domain_policy() -> ApiError:
    """403 where the organisation's administrators have switched apps off."""
    return ApiError(403, "The domain administrators have disabled Drive apps.")


def _info(reason: str, **metadata: str) -> Json:
    told = {"reason": reason, "domain": "googleapis.com", "metadata": metadata}
    return {"@type": _RPC + "ErrorInfo", **told}
