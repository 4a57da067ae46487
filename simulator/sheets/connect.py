"""What connects a sheet: the key file, and the lines that name it and the sheet. Nobody is asked anything.

`cli/sheets.py` leads through the steps and asks; here is what they do. In the end there are

    ~/.config/rehearsal/KEY.json   the key, for its owner only (0600, in a folder of 0700)
    .env                           REHEARSAL_GOOGLE_CREDENTIALS=that path
    rehearsal.toml                 sheet = "https://docs.google.com/spreadsheets/d/...", to = ["sheets"]

Whatever else stands in the two files stays as it is, to the letter.
"""

import json
import os
import re
import shutil
import tomllib
from pathlib import Path
from typing import Any, Literal, NamedTuple

from dotenv import dotenv_values, set_key

from simulator.core.errors import InputError
from simulator.core.messages import _, system_error
from simulator.core.writing import replaced
from simulator.sheets.google_api import SHEETS, VARIABLES

# Of what a person lets the program do in their Drive: the files that it makes itself.
OWN_FILES = "https://www.googleapis.com/auth/drive.file"
ENV = Path(".env")
# Bytes. Keys have about 2,400; whatever is longer is no key, and is not read to its end.
_LONGEST_KEY = 100_000
# A setting at the start of a line; its list may go over several. It can also hit a line within a text of
# several lines: what comes of it is therefore parsed again before anything is written.
_LINE = {
    name: re.compile(rf"^{name}[ \t]*=[ \t]*(?:\[[^]]*\]|[^\r\n]*)", re.MULTILINE) for name in ("sheet", "to")
}
# The comments at the head of a file, if they stand apart from what follows; new lines go below these. With
# nothing of the kind it matches nothing, and they go to the top, above all tables.
_HEAD = re.compile(r"\ufeff?(?:(?:#.*\n)+(?=\r?\n))?")


class Key(NamedTuple):
    """A key file: of a service account, of a person who signed in, or of a client that people sign in to.

    A client opens nothing yet: `sign_in` makes the file of a person of it.
    """

    path: Path
    kind: Literal["service", "person", "client"]
    content: dict[str, Any]


def read_key(path: Path) -> Key:
    """The key in a file; raises InputError, which quotes nothing of it."""
    path = path.expanduser().absolute()
    try:
        with path.open("rb") as file:
            text = file.read(_LONGEST_KEY)
        content = json.loads(text)
    except OSError as error:
        msg = _("{path}: cannot be read ({strerror}).", path=path, strerror=system_error(error))
        raise InputError(msg) from None
    except (ValueError, RecursionError):
        content = None
    fields = content if isinstance(content, dict) else {}
    if fields.get("type") == "service_account":
        return Key(path, "service", fields)
    if fields.get("type") == "authorized_user":
        return Key(path, "person", fields)
    if isinstance(fields.get("installed"), dict):
        return Key(path, "client", fields)
    msg = _(
        "{path}: no key file of Google's. It is the JSON file that Add key > Create new key > JSON downloads,"
        " or an OAuth client of the type Desktop app.",
        path=path,
    )
    raise InputError(msg)


def newest_key(folder: Path) -> Path | None:
    """The key that was downloaded last, of a service account or of a client; None where there is none."""
    # Downloads has other JSON files as well; whatever is no key is passed over.
    for path in sorted(folder.glob("*.json"), key=lambda path: -path.lstat().st_mtime):
        try:
            if path.is_file() and read_key(path).kind != "person":
                return path
        except InputError:
            continue
    return None


def is_open(path: Path) -> bool:
    """Whether others on this machine may read the file."""
    return os.name == "posix" and bool(path.stat().st_mode & 0o077)


def lock(path: Path) -> None:
    """Lets only the owner read the file."""
    try:
        path.chmod(0o600)
    except OSError as error:
        raise _unwritable(error) from None


def repository_of(path: Path) -> Path | None:
    """The git repository that a file lies in."""
    return next((folder for folder in path.resolve().parents if (folder / ".git").exists()), None)


def private_place(name: str) -> Path:
    """Where a key of this name is kept: outside of every checkout, whichever project it is for."""
    return Path("~/.config/rehearsal").expanduser() / name


def moved(path: Path, place: Path) -> Path:
    """The key in its new place; raises InputError where a file is there already."""
    if place.exists():
        raise InputError(_("{place} is already there: rename {path}.", place=place, path=path))
    try:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.move(path, place)
    except OSError as error:
        raise _unwritable(error) from None
    lock(place)
    return place


def _unwritable(error: OSError) -> InputError:
    msg = _(
        "{filename}: cannot be written ({strerror}).", filename=error.filename, strerror=system_error(error)
    )
    return InputError(msg)


def sign_in(client: Key) -> Path:
    """Has a person sign in in the browser; the file with what Google gave, for its owner only.

    Kept is the refresh token, not the access token, which ends within the hour. Raises InputError, which
    quotes no token, where the browser was closed, access refused, or Google could not be reached.
    """
    from google.auth.exceptions import GoogleAuthError
    from gspread.auth import local_server_flow
    from oauthlib.oauth2 import OAuth2Error
    from requests import RequestException

    try:
        person: Any = local_server_flow(client.content, [SHEETS, OWN_FILES])
    except (OAuth2Error, GoogleAuthError, RequestException, OSError, ValueError, Warning) as error:
        short = " ".join(str(error).split())[:160]
        raise InputError(_("signing in failed ({short}); try again.", short=short)) from None
    place = private_place("google-login.json")
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    login = json.loads(person.to_json(strip=["token", "expiry"])) | {"type": "authorized_user"}
    with replaced(place) as new:
        new.write_text(json.dumps(login), encoding="utf-8")
    return place


def named_key() -> str:
    """What .env names as the key file."""
    return dotenv_values(ENV, encoding="utf-8-sig").get(VARIABLES[0]) or ""


def name_key(path: Path) -> None:
    """Names the key file in .env, whose other lines stay."""
    try:
        set_key(ENV, VARIABLES[0], str(path), follow_symlinks=True)
    except OSError as error:
        raise _unwritable(error) from None


def name_sheet(address: str, file: Path) -> bool:
    """Names the sheet in rehearsal.toml, and in `to` that results go there; whether that was new.

    All else stays as it is; raises InputError, with the lines to write by hand, where that cannot be had. New
    lines stand above the first table, for a key below one would belong to it:

    # the bot                  # the bot
                          ->   sheet = "https://..."
    adapter = "bot.py:a"       to = ["sheets"]

                               adapter = "bot.py:a"
    """
    file = file.resolve()
    text = file.read_bytes().decode("utf-8") if file.exists() else ""
    settings = _parsed(text)
    to = settings.get("to", [])
    to = to.split(",") if isinstance(to, str) else to
    wanted = {"sheet": address, "to": to if "sheets" in to else [*to, "sheets"]}
    lines = {
        name: f"{name} = {json.dumps(value, ensure_ascii=False)}"
        for name, value in wanted.items()
        if settings.get(name) != value
    }
    if not lines:
        return False
    new = text
    for name in lines.keys() & settings.keys():
        new = _LINE[name].sub(lines[name].replace("\\", r"\\"), new, count=1)
    added = "".join(f"{line}\n" for name, line in lines.items() if name not in settings)
    new = _HEAD.sub(lambda head: head[0] + added, new, count=1)
    # The edit is by text, so that comments and order stay; whether it did what it should is read from the
    # result.
    if _parsed(new) != settings | wanted:
        msg = _(
            "{file}: write this into it yourself: {lines}", file=file.name, lines="; ".join(lines.values())
        )
        raise InputError(msg)
    # Written anew with the rights that it had: others may read the settings, which hold no key.
    mode = file.stat().st_mode & 0o777 if file.exists() else 0o644
    with replaced(file) as made:
        made.write_bytes(new.encode("utf-8"))
        made.chmod(mode)
    return True


def _parsed(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError:
        return {}
