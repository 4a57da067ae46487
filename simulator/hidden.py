"""Secrets: what of settings and environment is one, and texts without them.

A run is stored without the secrets among its adapter's settings; they are given anew on `--resume`.
"""

import os
import re
from collections.abc import Iterable, Mapping
from urllib.parse import parse_qsl, unquote, urlsplit

HIDDEN = "***"
# Shorter values are words that may well be meant.
_SHORTEST = 6
# What a setting's name says of its value.
_SECRET = re.compile(
    r"(?:^|[_.-]|api)(?:keys?|token|secret|pass(?:word|wd|phrase)?|pwd|auth(?:orization)?|credentials?|cookies?"
    r"|headers?|bearer|signature|sig|jwt|pat)$",
    re.IGNORECASE,
)
_IN_URL = re.compile(
    r"(?P<before>[?&][^=&#\s]*(?:key|token|secret|pass|auth|sig|code|jwt)[^=&#\s]*=)(?P<value>[^&#\s]+)",
    re.IGNORECASE,
)
_LOGIN = re.compile(r"(?P<before>\b[a-z][a-z0-9+.-]*://)[^/@\s]+@", re.IGNORECASE)
_REFERENCE = re.compile(r"\$\{?\w+\}?")
# Values that were never written into the settings themselves.
_HARMLESS = re.compile(r"(?:\s*(?:Bearer|Basic|Token)?\s*\$\{?\w+\}?\s*)?", re.IGNORECASE)


def is_secret(name: str) -> bool:
    """Whether a setting of this name holds a secret."""
    return bool(_SECRET.search(name))


def without_secrets(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings as they may be stored and shown; `${NAME}` of the environment is no secret."""
    return {name: _shown(name, value) for name, value in settings.items()}


def _shown(name: str, value: str) -> str:
    if is_secret(name):
        return value if _HARMLESS.fullmatch(value) or _only_references(value) else HIDDEN
    return addressed(value)


def _only_references(value: str) -> bool:
    """Headers as JSON, each of whose values is a reference or a plain word such as application/json."""
    texts = re.findall(r':\s*"([^"]*)"', value) if value.lstrip().startswith("{") else [value]
    return bool(_REFERENCE.search(value)) and all(
        _HARMLESS.fullmatch(text) or re.fullmatch(r"[a-z]+/[a-z+.-]+|\w{1,8}", text) for text in texts
    )


def addressed(text: str) -> str:
    """A text without the logins and keys of the addresses in it."""
    without_login = _LOGIN.sub(rf"\g<before>{HIDDEN}@", text)
    return _IN_URL.sub(
        lambda match: match[0] if _HARMLESS.fullmatch(match["value"]) else match["before"] + HIDDEN,
        without_login,
    )


def restored(stored: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """The settings of a run with what was hidden as it is given now."""
    return {name: given.get(name, value) if HIDDEN in value else value for name, value in stored.items()}


def lacking(settings: Mapping[str, str]) -> tuple[str, ...]:
    """The settings whose secrets are not known."""
    return tuple(name for name, value in settings.items() if HIDDEN in value)


def known_secrets(settings: Mapping[str, str], environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The secrets themselves, of an adapter's settings and of the environment, the longest first."""
    found = {value for name, value in settings.items() if is_secret(name)}
    for name, value in environ.items():
        found |= {value} if is_secret(name) and not value.startswith(("/", "{")) else set()
        found |= set(_of_address(value))
    for value in settings.values():
        found |= set(_of_address(value))
    return tuple(sorted({each.strip() for each in found if len(each.strip()) >= _SHORTEST}, key=len)[::-1])


def _of_address(text: str) -> Iterable[str]:
    """Password and keys of an address such as http://user:password@proxy or https://host/v1?key=..."""
    if "://" not in text:
        return
    try:
        parts = urlsplit(text)
        yield from filter(None, (parts.password, unquote(parts.password or "")))
        for name, value in parse_qsl(parts.query):
            if is_secret(name) or name.lower() == "code":
                yield value
    except ValueError:
        return


def concealed(text: str, secrets: Iterable[str]) -> str:
    """A text without these secrets."""
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return text
