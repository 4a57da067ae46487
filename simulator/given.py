"""What was given, before it is checked: values of the environment and of rehearsal.toml."""

import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from simulator.errors import InputError

PREFIX = "REHEARSAL_"


def environment_values(environ: Mapping[str, str], names: Iterable[str]) -> dict[str, Any]:
    """REHEARSAL_TURNS=5 and so on; list and table fields are read from commas."""
    found: dict[str, Any] = {}
    for name in names:
        text = environ.get(PREFIX + name.upper())
        if text and name not in {"red", "greeting"}:
            found[name] = text.split(",") if name == "set" else text
    return found


def file_values(path: Path) -> dict[str, Any]:
    """The keys of a TOML file; none where there is none. Raises InputError for one that cannot be read."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        msg = f"{path}: not valid TOML ({error})."
        raise InputError(msg) from None
    except OSError as error:
        msg = f"{path}: cannot be read ({error.strerror})."
        raise InputError(msg) from None


def plain(value: Any) -> str:
    """A TOML value as `--set` would give it; lists and tables as JSON."""
    if isinstance(value, (bool, list, dict)):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def short(value: Any) -> str:
    """A wrong value as a message shows it."""
    parts = value if isinstance(value, (list, tuple)) else [value]
    text = " ".join(" ".join(map(str, parts)).split())
    return text if len(text) <= 60 else text[:57] + "..."
