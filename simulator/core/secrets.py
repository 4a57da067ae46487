"""Secrets of settings and environment: which values they are, and texts without them.

Three places must never hold one: the run file with its settings, what is shown of errors, and the answers of
the bot, which may quote its own configuration.

- Stored settings: a value whose name says that it is secret (`api_key`, `headers`) is stored as `***`, unless
  it only refers to the environment (`${SHOP_KEY}`); it is given anew on `--resume`.
- Errors quote anything: all secrets that are known, of the whole environment, are masked in them.
- Answers are the bot's own words, which are graded: only secrets that the run uses are masked there, or a
  password of another program that is a plain word would blot out that word in every answer.

A secret is masked by its value, wherever it was written: alone, among headers, in JSON, in an address; and
whatever a bot made of it: as it is, percent-encoded, as JSON writes it, or within a text in base64.

Where in doubt a value is masked. What is masked by mistake is seen at once; what leaks is not.

    {"url": "https://u:pw@h/x?key=abc&x=1"}  -> https://***@h/x?key=***&x=1
    {"token": "${SHOP}"}                     -> as it is
    {"api_key": "sk-1"}                      -> ***
"""

import base64
import binascii
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, quote_plus, unquote, unquote_plus

from simulator.core.patterns import LazyPattern

MASK = "***"
# Shorter values may well be meant otherwise, and so may words shorter than these: any letters, a plain word.
# "sk-12" and "password" stay, "hunter2-4711" and "Tr0ub4dor" go, as does "correct horse battery".
_SHORTEST, _WORD, _LONGEST_WORD = 6, 12, 16
_WORDS = LazyPattern(r"[^\W\d_]+(?:[ ._-][^\W\d_]+)*")
# What this program reads itself of the environment, and the names in the user's file of it.
_OURS = ("REHEARSAL_", "OPENAI_")
_IN_ENV_FILE = LazyPattern(r"^\s*(?:export\s+)?(\w+)\s*=", re.MULTILINE)
# What a setting's name says of its value, at its end: api_key, x-auth, shop.token, accessToken; not monkey or
# passage, in which the words are part of another one.
_SECRET = LazyPattern(
    r"(?:^|[_.-]|api|access|auth|secret|client|private|subscription|session|(?-i:(?<=[a-z])(?=[A-Z])))(?:keys?|token|secret|pass(?:word|wd|phrase)?|pwd|auth(?:orization)?|credentials?|cookies?"
    r"|headers?|bearer|signature|sig|jwt|pat)$",
    re.IGNORECASE,
)
# What may be `?api_key=abc` or `&sig=abc` in an address; the login in `https://user:password@host`.
_HINT = LazyPattern(r"key|token|secret|pass|auth|sig|code|jwt", re.IGNORECASE)
_QUERY = LazyPattern(r"(?P<before>[?&#](?P<name>[^=&#\s\"]+)=)(?P<value>[^&#\s\"<>]+)")
_LOGIN = LazyPattern(r"(?P<before>\b[a-z][a-z0-9+.-]*://)(?P<login>[^/@\s]+)@", re.IGNORECASE)
_REFERENCE = LazyPattern(r"\$\{?(\w+)\}?")
# Headers in a line, as the adapter http takes them; a semicolon may also stand in a cookie.
NEXT_HEADER = LazyPattern(r";\s*(?=[\w-]+\s*:)|\n")
_PIECE = LazyPattern(r"[\s,;&]+")
# Headers that every client sends or that say who asks from where: masked by their values, "application/json"
# or the address of a shop would go from answers.
_OPEN_HEADERS = LazyPattern(
    r"accept(?:-.*)?|content-.*|user-agent|host|origin|referer|cache-control|pragma|connection|date|dnt|from"
    r"|if-.*|te|upgrade.*|via|expect|forwarded|x-forwarded-.*|sec-.*|openai-beta|anthropic-version",
    re.IGNORECASE,
)
# The code of a sign-in; a postcode is no secret.
_CODE = LazyPattern(r"(?:auth|access|auth[_-]|access[_-])?code", re.IGNORECASE)
_MEDIA_TYPE = LazyPattern(r"[a-z]+/[a-z0-9+.*-]+", re.IGNORECASE)
_URL_SAFE = str.maketrans("+/", "-_")
_IN_BASE64 = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_")
# What people paste with a key, and what `docker --env-file` leaves around it.
_SCHEME = LazyPattern(r"(?:authorization\s*:\s*)?Bearer\s+", re.IGNORECASE)
# Variables that hold settings of their own: the headers and further fields of models' requests.
_OF_MODELS = LazyPattern(r"REHEARSAL_[A-Z]+_(?:HEADERS|EXTRA)")
# Values that were never written into the settings themselves: "${SHOP_KEY}", "Bearer $SHOP_KEY", nothing.
_HARMLESS = LazyPattern(r"(?:\s*(?:Bearer|Basic|Token)?\s*\$\{?\w+\}?\s*)?", re.IGNORECASE)


def unquoted(text: str) -> str:
    """A value without white space and the quotation marks around it, which `docker --env-file` leaves."""
    text = text.strip()
    while len(text) > 1 and text[0] == text[-1] and text[0] in "\"'`":
        text = text[1:-1].strip()
    return text


def bare_key(text: str) -> str:
    """A key without what people paste with it: `"Bearer sk-1"` and `Authorization: Bearer sk-1` are sk-1."""
    return unquoted(text[scheme.end() :] if (scheme := _SCHEME.match(text := unquoted(text))) else text)


def is_secret(name: str) -> bool:
    """Whether a setting of this name holds a secret."""
    return bool(_SECRET.search(name))


def without_secrets(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings as they may be stored and shown; `${NAME}` of the environment is no secret."""
    return {
        name: MASK if any(map(_is_written_out, _parts(name, value))) else without_url_secrets(value)
        for name, value in settings.items()
    }


class _Part(NamedTuple):
    """A text of a setting under its own name: the setting, one of its headers, or a text in its JSON."""

    name: str
    text: str
    is_header: bool = False

    @property
    def is_secret(self) -> bool:
        """Whether it is one by its name; or looks like one, among headers of other names."""
        if not self.is_header or is_secret(self.name):
            return is_secret(self.name)
        is_open = _OPEN_HEADERS.fullmatch(self.name) or _MEDIA_TYPE.fullmatch(self.text)
        return not is_open and "://" not in self.text and is_telling(self.text)


def _parts(name: str, value: str) -> Iterator[_Part]:
    is_headers = name.lower().endswith(("headers", "header"))
    if value.lstrip().startswith(("{", "[")):
        try:
            yield from _leaves(name, json.loads(value), is_header=False)
            return
        except (ValueError, RecursionError):  # not JSON after all
            pass
    for line in NEXT_HEADER.split(value) if is_headers else ():
        header, colon, text = line.partition(":")
        # Without a name there is nothing to say that it is harmless.
        yield _Part(header.strip(), text.strip(), is_header=True) if colon else _Part(name, line.strip())
    if not is_headers:
        yield _Part(name, value)


def _leaves(name: str, value: Any, *, is_header: bool) -> Iterator[_Part]:
    if isinstance(value, dict):
        inside = name.lower().endswith(("headers", "header"))
        for key, item in value.items():
            yield from _leaves(key, item, is_header=inside)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(name, item, is_header=is_header)
    elif isinstance(value, str | int) and not isinstance(value, bool):
        yield _Part(name, str(value), is_header)


def _is_written_out(part: _Part) -> bool:
    """Whether this part has a secret that does not stand elsewhere."""
    return part.is_secret and not _HARMLESS.fullmatch(part.text)


def without_url_secrets(text: str) -> str:
    """A text without the logins and keys of the addresses in it."""
    without_login = _LOGIN.sub(rf"\g<before>{MASK}@", text)

    def masked(match: re.Match[str]) -> str:
        is_open = not (_HINT.search(match["name"]) or is_secret(match["name"]))
        return match[0] if is_open or _HARMLESS.fullmatch(match["value"]) else match["before"] + MASK

    return _QUERY.sub(masked, without_login)


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
    secrets = {
        value for name, value in environ.items() if is_secret(name) and not value.startswith(("/", "{"))
    }
    secrets |= set(map(bare_key, secrets))
    of_models = _of_models(environ)
    secrets |= {
        environ[name] for name in _references(of_models) if not environ.get(name, "/").startswith("/")
    }
    secrets.update(written_out(of_models))
    # A proxy's password stands in the middle of an address, under a harmless name.
    secrets |= {secret for value in environ.values() for secret in _of_addresses(value)}
    secrets.update(written_out(settings))
    return _longest_first(secrets)


def written_out(settings: Mapping[str, str]) -> Iterator[str]:
    """The secrets that settings themselves hold: alone, among headers, in JSON, in addresses.

    Of `Authorization: Bearer abc` it is abc, and so is what stands in it, however it is joined: of a cookie
    each value, of base64 the password behind the colon.
    """
    for part in (part for name, value in settings.items() for part in _parts(name, value)):
        yield from _of_addresses(part.text)
        if not _is_written_out(part):
            continue
        for literal in _literals(part.text):
            yield literal
            for piece in _PIECE.split(literal):
                yield from (piece, piece.partition("=")[2].strip("\"'"))


def _of_models(environ: Mapping[str, str]) -> dict[str, str]:
    """The headers and further fields of models' requests, as settings."""
    return {name: unquoted(value) for name, value in environ.items() if _OF_MODELS.fullmatch(name)}


def _references(settings: Mapping[str, str]) -> set[str]:
    """The variables of the environment that these settings name."""
    return {name for text in settings.values() for name in _REFERENCE.findall(text)}


def _literals(text: str) -> Iterator[str]:
    """What a text with variables says itself; a plain dollar may be written twice."""
    if "$" in text:
        yield text
    for literal in _REFERENCE.split(text.replace("$$", "\0"))[::2]:
        yield literal.replace("\0", "$").strip()


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
    named = _references({**settings, **_of_models(environ)})
    named |= {text for text in settings.values() if is_secret(text)}  # api_key_env=SHOP_KEY
    # A path under such a name is where a secret lies, and no secret: SHOP_CREDENTIALS=/run/secrets/shop.
    referenced = {environ[name] for name in named if not environ.get(name, "/").startswith("/")}
    return _longest_first({*known_secrets(settings, ours), *referenced})


def _longest_first(values: Iterable[str]) -> tuple[str, ...]:
    """With what they hold in base64, and without what is too short or too plain to be masked."""
    whole = {text.strip() for value in values for text in (value, *_decoded(value))}
    telling = filter(is_telling, whole)
    # The longest first, or a secret that begins with another one would leave its end behind.
    return tuple(sorted(telling, key=lambda value: (-len(value), value)))


def _decoded(value: str) -> Iterator[str]:
    """Of a login in base64, as in `Authorization: Basic`, the login and its password."""
    try:
        text = base64.b64decode(value + "=" * (-len(value) % 4), validate=True).decode("utf-8")
    except (binascii.Error, ValueError):  # hardly any secret is one
        return
    _user, colon, password = text.partition(":")
    if colon and text.isprintable():
        yield from (text, password)


def _of_addresses(text: str) -> Iterator[str]:
    """Password and keys of addresses such as http://user:password@proxy or https://host/v1?key=..."""
    logins = (match["login"].partition(":") for match in _LOGIN.finditer(text) if "://" in text)
    secrets = [password if colon else user for user, colon, password in logins]  # https://TOKEN@host
    secrets += [
        match["value"]
        for match in _QUERY.finditer(text)
        if is_secret(match["name"]) or _CODE.fullmatch(match["name"])
    ]
    for literal in (literal for value in secrets for literal in _literals(value)):
        yield from (literal, unquote(literal), unquote_plus(literal))


def mask_secrets(text: str, secrets: Iterable[str]) -> str:
    """A text without these secrets, as they are or as a bot may write them: see the module.

    What is as short as the "x" that local servers take for a key is no secret: it stands everywhere.
    """
    listed = tuple(secret for secret in secrets if len(secret) >= _SHORTEST)
    for secret in listed:
        text = text.replace(secret, MASK)
    for form in (form for secret in listed for form in _written_otherwise(secret)):
        text = text.replace(form, MASK)
    for part in (part for secret in listed for part in _in_base64(secret)):
        text = _without_base64(text, part)
    return text


@lru_cache(maxsize=1024)
def _written_otherwise(secret: str) -> tuple[str, ...]:
    """The secret in an address and in JSON, where it is another text there."""
    encoded = secret.encode("utf-8", "replace")
    in_json = (json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1])
    forms = {quote(encoded, safe=""), quote(encoded), quote_plus(encoded), *in_json} - {secret}
    return tuple(sorted(forms, key=len, reverse=True))


@lru_cache(maxsize=1024)
def _in_base64(secret: str) -> tuple[str, ...]:
    """What base64 of any text with the secret in it has in common: three, by where the secret begins."""
    encoded = secret.encode("utf-8", "replace")
    parts = []
    for before in range(3):
        whole = base64.b64encode(bytes(before) + encoded).decode()
        # Six bits a sign: those that share bits with other signs of the text are not known.
        first, last = -(-before * 8 // 6), (before + len(encoded)) * 8 // 6
        parts.append(whole[first:last])
    # The other alphabet, and the signs that are encoded in an address.
    others = (form for part in parts for form in (part, part.translate(_URL_SAFE), quote(part, safe="")))
    return tuple(dict.fromkeys(others))


def _without_base64(text: str, part: str) -> str:
    """A text without the base64 around this part of it."""
    at = text.find(part)
    while at >= 0:
        end = at + len(part)
        while at > 0 and text[at - 1] in _IN_BASE64:
            at -= 1
        while end < len(text) and text[end] in _IN_BASE64:
            end += 1
        text = text[:at] + MASK + text[end:].lstrip("=")
        at = text.find(part, at + len(MASK))
    return text
