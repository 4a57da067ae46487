"""Which spreadsheet is meant: its key, or its address in the browser."""

import re
import unicodedata

from simulator.core.errors import InputError
from simulator.core.types import Value

SCHEME = "sheet:"
# Behind /d/e/ stands a published copy, whose key opens nothing.
_ADDRESS = re.compile(
    r"(?:https?://[^/\s]+(?:/[^#?]*)?/spreadsheets/(?:u/\d+/)?d/(?!e/))?([A-Za-z0-9_-]+)(?:[/?#].*)?"
)
_NAMED = re.compile(r"([^#]*)(?:#gid=\d+|#(?P<name>.+))?", re.DOTALL)
_LONGEST_SUFFIX = 60


class Target(Value):
    """A spreadsheet, and the suffix that tells one team's worksheets in it from another's.

    `fresh`: it was made for this push, so its empty first worksheet goes.
    """

    key: str
    suffix: str = ""
    fresh: bool = False


def target(sheet: str, suffix: str = "") -> Target:
    """What `--sheet KEY_OR_URL --worksheet NAME` names; raises InputError in one line."""
    suffix = " ".join(suffix.split())
    if len(suffix) > _LONGEST_SUFFIX or any(unicodedata.category(c)[0] == "C" for c in suffix):
        msg = f"--worksheet: at most {_LONGEST_SUFFIX} characters, and no control characters."
        raise InputError(msg)
    return Target(key=key_of(sheet), suffix=suffix)


def key_of(sheet: str) -> str:
    """The key in an address from the browser, or the key itself."""
    found = _ADDRESS.fullmatch(sheet.strip())
    if "/d/e/" in sheet:
        msg = "this is a published page (ウェブに公開): open the sheet itself and copy its address."
        raise InputError(msg)
    if found is None:
        msg = f"{sheet}: no sheet's key or address; the key stands between /d/ and /edit of its address."
        raise InputError(msg)
    return found[1]


def worksheet_of(address: str) -> tuple[str, str | None]:
    """Key and worksheet of `sheet:KEY#worksheet`, where the address may stand for the key."""
    found = _NAMED.fullmatch(address.removeprefix(SCHEME))
    if found is None or not found[1].strip():
        msg = (
            f"{address}: write sheet:KEY#worksheet; KEY is what stands between /d/ and /edit in the address."
        )
        raise InputError(msg)
    return key_of(found[1]), found["name"]
