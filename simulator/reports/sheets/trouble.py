"""What goes wrong between here and Google, and the one line that says what to do about it."""

from typing import Any

from simulator.core.errors import InputError, RehearsalError

SHARE = "open the sheet, click Share (共有), add {who} as an editor (編集者)"


class SinkUnavailable(RehearsalError):
    """Google stays away: the run is complete, only the sheet is not."""


class Conflict(Exception):
    """People moved rows or columns between our reading and our writing: look again, then write."""


def is_transient(error: BaseException) -> bool:
    """Whether trying again later may help: too many requests, a server's fault, a lost connection."""
    import requests
    from google.auth.exceptions import GoogleAuthError

    if isinstance(error, GoogleAuthError):
        return bool(error.retryable)
    lost = (
        requests.ConnectionError,
        requests.Timeout,
        requests.exceptions.ChunkedEncodingError,
        requests.exceptions.ContentDecodingError,
        requests.exceptions.JSONDecodeError,
    )
    return isinstance(error, lost) or _code(error) in (408, 429) or _code(error) >= 500


def is_too_many(error: BaseException | None) -> bool:
    """Whether this minute's requests are used up."""
    return _code(error) == 429


def is_refusal(error: BaseException) -> bool:
    """Whether Google found the request itself wrong, as after a worksheet was deleted under it."""
    return _code(error) == 400


def is_known(error: BaseException) -> bool:
    """Whether looking again cannot help: what is to be done stands in the message."""
    return any(words in str(error) for words in _KNOWN)


def is_expired(error: BaseException) -> bool:
    """Whether the token is no longer taken."""
    return _code(error) == 401


def in_one_line(error: BaseException, name: str, who: str, *, writing: bool = False) -> RehearsalError:
    """The typed error for what Google, or the way to it, answered; `who` is the account that asked."""
    from google.auth.exceptions import GoogleAuthError

    if is_transient(error):
        why = "refused for now" if _code(error) == 429 else "cannot be reached"
        return SinkUnavailable(f"{name}: Google Sheets {why} ({short(error)}); try again later.")
    if isinstance(error, GoogleAuthError):
        return InputError(
            f"{name}: Google refused the credentials ({short(error)}); make a new key, or sign in again."
        )
    return InputError(f"{name}: {_why(error, who or 'the account of your credentials', writing)}.")


def _why(error: BaseException, who: str, writing: bool) -> str:
    code, text = _code(error), str(_told(error).get("message", error))
    for words, why in _KNOWN.items():
        if words in text or words in _reasons(error):
            return why.format(who=who, link=_link(error))
    if code == 404:
        return "there is no such sheet; copy the part between /d/ and /edit of its address"
    if code == 403 and writing:
        return (
            f"it is shared for reading only; in Share (共有) make {who} an editor (編集者 instead of 閲覧者)"
        )
    if code == 403:
        return f"no access; {SHARE.format(who=who)}"
    if code == 401:
        return "Google refused the credentials; make a new key, or sign in again"
    return f"Google Sheets answered {code} ({short(error)})"


# What Google's message or its list of reasons says, and what to do.
_KNOWN = {
    "SERVICE_DISABLED": "the API is switched off in the project of your credentials; enable it at {link}"
    " and try again after some minutes",
    "domainPolicy": "your organisation does not let apps or outside accounts in (外部共有禁止); ask its"
    " administrator to allow {who}, or sign in as a user of the organisation",
    "ACCESS_TOKEN_SCOPE_INSUFFICIENT": "the credentials do not cover Google Sheets; sign in again with the"
    " scope https://www.googleapis.com/auth/spreadsheets",
    "storageQuotaExceeded": "the Drive of {who} is full, or has no room at all as with service accounts;"
    " give --folder with a folder of a shared drive (共有ドライブ), or --sheet with a sheet of your own",
    "limit of 10000000 cells": "the spreadsheet is full (10 million cells); push to a new one with --sheet",
    "protected cell": "part of it is protected against {who}; allow it in Data > Protect sheets and ranges"
    " (データ > シートと範囲を保護)",
    "not supported for this document": "this is an Excel file in Drive; open it and choose File > Save as"
    " Google Sheets (Google スプレッドシートとして保存)",
    "File not found": "there is no such folder, or it is not shared; copy what stands behind /folders/ of its"
    " address, and add {who} to it as a content manager (コンテンツ管理者)",
}


def _reasons(error: BaseException) -> list[str]:
    told = _told(error)
    listed = [*(told.get("errors") or []), *(told.get("details") or [])]
    return [str(entry.get("reason", "")) for entry in listed if isinstance(entry, dict)]


def _link(error: BaseException) -> str:
    for entry in _told(error).get("details") or []:
        found = entry.get("metadata", {}).get("activationUrl", "") if isinstance(entry, dict) else ""
        if str(found).startswith("https://"):
            return str(found)
    return "https://console.cloud.google.com/apis/library/sheets.googleapis.com"


def _told(error: BaseException) -> dict[str, Any]:
    found = getattr(error, "error", None)
    return found if isinstance(found, dict) else {}


def _code(error: BaseException | None) -> int:
    status = getattr(getattr(error, "response", None), "status_code", None)
    return status if isinstance(status, int) else 0


def short(error: BaseException) -> str:
    """An error's first words; a page of HTML is told by its status."""
    text = str(error)
    if "<html" in text.casefold():
        text = f"status {_code(error)}"
    return " ".join(text.split())[:160]
