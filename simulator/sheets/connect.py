"""What connects a sheet: the key file, and the lines that name it and the sheet.

`cli/sheets.py` goes through the steps. In the end there are

    .env              REHEARSAL_GOOGLE_CREDENTIALS=the path of a key that only its owner reads
    rehearsal.toml    sheet = "https://docs.google.com/spreadsheets/d/...", to = ["sheets"]

Whatever else stands in the two files stays as it is.
"""

import json
import tomllib
from pathlib import Path

from dotenv import set_key

from simulator.core.errors import InputError
from simulator.core.messages import _, system_error
from simulator.core.writing import replaced
from simulator.sheets.google_api import VARIABLES

ENV = Path(".env")


def name_key(path: Path) -> Path:
    """Names a key file in .env, where only its owner can read it from now on; its whole path.

    Raises InputError for a file in a git repository, and where something cannot be written.
    """
    path = path.expanduser().resolve()
    if any((folder / ".git").exists() for folder in path.parents):
        msg = _("{path}: a key does not belong in a git repository; move it out of there.", path=path)
        raise InputError(msg)
    try:
        path.chmod(0o600)
        set_key(ENV, VARIABLES[0], str(path), follow_symlinks=True)
    except OSError as error:
        msg = _(
            "{filename}: cannot be written ({strerror}).",
            filename=error.filename,
            strerror=system_error(error),
        )
        raise InputError(msg) from None
    return path


def name_sheet(address: str, file: Path) -> bool:
    """Names the sheet in rehearsal.toml, and in `to` that results go there; whether that was new.

    New lines stand at the top, above all tables. Raises InputError, with the lines to write by hand, where
    the file says something else already.
    """
    text = file.read_bytes().decode("utf-8-sig") if file.exists() else ""
    settings = tomllib.loads(text)
    to = settings.get("to", [])
    to = to.split(",") if isinstance(to, str) else to
    wanted = {"sheet": address, "to": to if "sheets" in to else [*to, "sheets"]}
    changed = {name: value for name, value in wanted.items() if settings.get(name) != value}
    if wanted["to"] == to:
        changed.pop("to", None)
    lines = [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in changed.items()]
    if changed.keys() & settings.keys():
        raise InputError(
            _("{file}: write this into it yourself: {lines}", file=file.name, lines="; ".join(lines))
        )
    if lines:
        with replaced(file) as new:
            new.write_bytes("".join([*(f"{line}\n" for line in lines), text]).encode())
    return bool(lines)
