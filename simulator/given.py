"""What was given, before it is checked: values of the environment and of rehearsal.toml."""

import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from simulator.errors import InputError

PREFIX = "REHEARSAL_"
# The settings that name a file of the user's own.
FILES = ("cases", "outputs", "guidelines", "contacts", "ng_words", "knowledge")


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


def named_in(file: Path, name: str) -> str:
    """What a file names: beside it where there is one, else as it is named, from where the user stands."""
    beside = file.parent / name
    return str(beside) if name and beside.exists() else name


def bot_named_in(file: Path, name: str) -> str:
    """`bot.py:answer` as a file names it; other names stay what they are."""
    module, colon, function = name.rpartition(":")
    return f"{named_in(file, module)}:{function}" if colon and module.endswith(".py") else name


def prompt_named_in(file: Path, name: str) -> str:
    """`strict.toml` and `strict.toml:variant` as a file names them; anything else is a name of the shelf."""
    named, suffix, variant = name.partition(".toml")
    return f"{named_in(file, named + suffix)}{variant}" if suffix else name


def judges_named_in(file: Path, given: Any) -> Any:
    """Judges as a file lists them: files of `mine.py:strict` and `mine.toml` beside it first."""
    if not isinstance(given, list):
        return given
    return [_judge_named_in(file, each) if isinstance(each, str) else each for each in given]


def _judge_named_in(file: Path, name: str) -> str:
    return named_in(file, name) if name.endswith(".toml") else bot_named_in(file, name)


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
