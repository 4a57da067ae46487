"""Secrets of settings and environment: which values they are, and texts without them.

Three places must never hold one: the run file with its settings, what is shown of errors, and the answers of
the bot, which may quote its own configuration.

- Stored settings: a value whose name says that it is secret (`api_key`, `headers`) is stored as `***`, unless
  it only refers to the environment (`${SHOP_KEY}`); it is given anew on `--resume`.
- Errors quote anything: all secrets that are known, of the whole environment, are masked in them.
- Answers are the bot's own words, which are graded: only secrets that the run uses are masked there, or a
  password of another program that is a plain word would blot out that word in every answer.

Where in doubt a value is masked. What is masked by mistake is seen at once; what leaks is not.

    {"url": "https://u:pw@h/x?key=abc&x=1"}  -> https://***@h/x?key=***&x=1
    {"token": "${SHOP}"}                     -> as it is
    {"api_key": "sk-1"}                      -> ***
"""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

MASK = "***"
# Shorter values may well be meant otherwise, and so may words shorter than these: any letters, a plain word.
# "sk-12" and "password" stay, "hunter2-4711" and "Tr0ub4dor" go, as does "correct horse battery".
_SHORTEST, _WORD, _LONGEST_WORD = 6, 12, 16
_WORDS = re.compile(r"[^\W\d_]+(?:[ ._-][^\W\d_]+)*")
# What this program reads itself of the environment, and the names in the user's file of it.
_OURS = ("REHEARSAL_", "OPENAI_")
_IN_ENV_FILE = re.compile(r"^\s*(?:export\s+)?(\w+)\s*=", re.MULTILINE)
# What a setting's name says of its value, at its end: api_key, x-auth, shop.token; not monkey or passage, in
# which the words are part of another one.
_SECRET = re.compile(
    r"(?:^|[_.-]|api)(?:keys?|token|secret|pass(?:word|wd|phrase)?|pwd|auth(?:orization)?|credentials?|cookies?"
    r"|headers?|bearer|signature|sig|jwt|pat)$",
    re.IGNORECASE,
)
# `?api_key=abc` and `&sig=abc` in an address; the login in `https://user:password@host`.
_IN_URL = re.compile(
    r"(?P<before>[?&][^=&#\s]*(?:key|token|secret|pass|auth|sig|code|jwt)[^=&#\s]*=)(?P<value>[^&#\s]+)",
    re.IGNORECASE,
)
_LOGIN = re.compile(r"(?P<before>\b[a-z][a-z0-9+.-]*://)[^/@\s]+@", re.IGNORECASE)
_REFERENCE = re.compile(r"\$\{?(\w+)\}?")
# Values that were never written into the settings themselves: "${SHOP_KEY}", "Bearer $SHOP_KEY", nothing.
_HARMLESS = re.compile(r"(?:\s*(?:Bearer|Basic|Token)?\s*\$\{?\w+\}?\s*)?", re.IGNORECASE)


def is_secret(name: str) -> bool:
    """Whether a setting of this name holds a secret."""
    return bool(_SECRET.search(name))


def without_secrets(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings as they may be stored and shown; `${NAME}` of the environment is no secret."""
    return {
        name: without_url_secrets(value) if not is_secret(name) else (value if _is_reference(value) else MASK)
        for name, value in settings.items()
    }


def _is_reference(value: str) -> bool:
    """Whether a secret stands elsewhere; in headers as JSON, each value does or is a word like text/html."""
    if _HARMLESS.fullmatch(value):
        return True
    # The values of {"Authorization": "Bearer ${TOKEN}", "Accept": "text/html"}: each is looked at by itself.
    texts = re.findall(r':\s*"([^"]*)"', value) if value.lstrip().startswith("{") else [value]
    return bool(_REFERENCE.search(value)) and all(
        _HARMLESS.fullmatch(text) or re.fullmatch(r"[a-z]+/[a-z+.-]+|\w{1,8}", text) for text in texts
    )


def without_url_secrets(text: str) -> str:
    """A text without the logins and keys of the addresses in it."""
    without_login = _LOGIN.sub(rf"\g<before>{MASK}@", text)
    return _IN_URL.sub(
        lambda match: match[0] if _HARMLESS.fullmatch(match["value"]) else match["before"] + MASK,
        without_login,
    )


def restore_secrets(stored: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """The stored settings of a run, masked values replaced by those of `given`.

    Other values stay as they were stored: a resumed run asks the bot that it was started with.
    """
    return {name: given.get(name, value) if MASK in value else value for name, value in stored.items()}


def missing_secrets(settings: Mapping[str, str]) -> tuple[str, ...]:
    """The names of the settings whose secrets are still masked."""
    return tuple(name for name, value in settings.items() if MASK in value)


def is_telling(value: str) -> bool:
    """Whether a value gives a secret away wherever it occurs: "hunter2-4711" does, "password" does not.

    A single plain word has to be longer (16 letters) than several words or odd spelling (12).
    """
    if len(value) < _SHORTEST:
        return False
    is_one = value.isalpha() and value in (value.lower(), value.upper(), value.capitalize())
    return not _WORDS.fullmatch(value) or len(value) >= (_LONGEST_WORD if is_one else _WORD)


def known_secrets(settings: Mapping[str, str], environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The secrets themselves, of an adapter's settings and of the environment, the longest first.

    For errors, which may quote anything; what is a mere word stays.
    """
    secrets = {value for name, value in settings.items() if is_secret(name)}
    secrets |= {
        value for name, value in environ.items() if is_secret(name) and not value.startswith(("/", "{"))
    }
    # A proxy's password stands in the middle of an address, under a harmless name.
    for value in (*environ.values(), *settings.values()):
        secrets |= set(_of_address(value))
    return _longest_first(secrets)


def used_secrets(
    settings: Mapping[str, str],
    providers: Iterable[str] = (),
    environ: Mapping[str, str] = os.environ,
    env_file: Path = Path(".env"),
) -> tuple[str, ...]:
    """The secrets that a run itself uses, the longest first: they are masked in answers, too.

    An adapter's settings and what they name of the environment, the keys of the models (`providers` begin the
    names of their variables: "ANTHROPIC"), and what the file `.env` holds.
    """
    prefixes = (*_OURS, *(f"{provider}_" for provider in providers))
    try:
        # Whatever a team keeps in .env is meant for this program, whatever it is called.
        listed = set(_IN_ENV_FILE.findall(env_file.read_text(encoding="utf-8-sig")))
    except (OSError, ValueError):
        listed = set()
    ours = {name: value for name, value in environ.items() if name.startswith(prefixes) or name in listed}
    named = {name for text in settings.values() for name in _REFERENCE.findall(text)}
    named |= {text for text in settings.values() if is_secret(text)}  # api_key_env=SHOP_KEY
    # A path under such a name is where a secret lies, and no secret: SHOP_CREDENTIALS=/run/secrets/shop.
    referenced = {environ[name] for name in named if not environ.get(name, "/").startswith("/")}
    return _longest_first({*known_secrets(settings, ours), *referenced})


def _longest_first(values: Iterable[str]) -> tuple[str, ...]:
    """Without what is too short or too plain to be masked."""
    telling = {value.strip() for value in values if is_telling(value.strip())}
    # The longest first, or a secret that begins with another one would leave its end behind.
    return tuple(sorted(telling, key=lambda value: (-len(value), value)))


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


def mask_secrets(text: str, secrets: Iterable[str]) -> str:
    """A text without these secrets."""
    for secret in secrets:
        text = text.replace(secret, MASK)
    return text
