"""Files of what was answered in a benchmark: written after each answer, so that one that was cut goes on.

An answer that is in the file is not asked for again; another prompt makes all of them worth nothing.
"""

import json
from pathlib import Path
from typing import Any


def read_record(path: Path, prompt: str = "") -> dict[str, Any]:
    """What is in the file; empty without one, and where it is of another `prompt` than the one given."""
    body: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return body if not prompt or body.get("prompt") == prompt else {}


def write_record(path: Path, body: dict[str, Any]) -> None:
    """Replaces the file as a whole: whoever is killed in between leaves the one before."""
    fresh = path.with_name(f"{path.name}.new")
    fresh.write_text(json.dumps(body, ensure_ascii=False, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    fresh.replace(path)
