"""Thresholds written back into a metric file: only they change, every other character stays."""

import contextlib
import json
import re
import shutil
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from simulator.core.errors import CaseFileError, InputError
from simulator.data.files import beside, read_text
from simulator.outputs.metric_file import items_of, members_of, objects_in

# Thresholds by output and judge, as the file names both.
Thresholds = Mapping[tuple[str, str], float]


def write_thresholds(path: Path, thresholds: Thresholds) -> None:
    """The file with these thresholds, in its own shape, whole or not at all; a missing one is made."""
    if not path.exists():
        text = _new(thresholds)
    elif path.suffix.lower() == ".toml":
        text = _in_toml(path, read_text(path), thresholds)
    else:
        text = _in_json(read_text(path), thresholds)
    _write(path, text)


def number(value: float) -> str:
    """A threshold as people write it: at most four decimals."""
    return f"{value:.4f}".rstrip("0").rstrip(".")


def _new(thresholds: Thresholds) -> str:
    outputs: dict[str, list[str]] = {}
    for (output, name), value in thresholds.items():
        entry = f'{{"name": {_quoted(name)}, "threshold": {number(value)}}}'
        outputs.setdefault(output, []).append(entry)
    lines = [
        f"  {_quoted(output)}: [\n    " + ",\n    ".join(each) + "\n  ]" for output, each in outputs.items()
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _in_json(text: str, thresholds: Thresholds) -> str:
    """The text with each threshold put where its judge stands, from the end so that no place moves."""
    for start, end, new in sorted(_json_edits(text, thresholds), reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _json_edits(text: str, thresholds: Thresholds) -> Iterator[tuple[int, int, str]]:
    for output, _, at in objects_in(text):
        for start, value, end in items_of(text, at):
            name = value if isinstance(value, str) else value["name"]
            limit = thresholds.get((output, name.strip()))
            if limit is None:
                continue
            if isinstance(value, str):
                yield start, end, f'{{"name": {_quoted(value)}, "threshold": {number(limit)}}}'
            else:
                yield _inside(text, start, end, number(limit))


def _inside(text: str, start: int, end: int, limit: str) -> tuple[int, int, str]:
    """Its threshold replaced, or put behind what stands in the object."""
    for key, at, after in members_of(text, start):
        if key == "threshold":
            return at, after, limit
    last = len(text[start : end - 1].rstrip()) + start
    return last, last, f', "threshold": {limit}'


def _in_toml(path: Path, text: str, thresholds: Thresholds) -> str:
    """One after the other; an edit counts only when the file then says exactly what it should."""
    for (output, name), value in thresholds.items():
        wanted = _with(tomllib.loads(text), output, name, float(number(value)))
        if wanted is None:
            continue
        text = next((new for new in _toml_edits(text, name, number(value)) if _says(new, wanted)), "")
        if not text:
            msg = (
                f'{path}: its form cannot be changed; put threshold = {number(value)} to {output}, "{name}".'
            )
            raise CaseFileError(msg)
    return text


def _toml_edits(text: str, name: str, limit: str) -> Iterator[str]:
    """The texts that differ from this one in a threshold: replaced, put behind a name, or instead of it."""
    quoted = rf"[\"']{re.escape(name)}[\"']"
    for found in re.finditer(r"(threshold\s*=\s*)[-+\w.]+", text):
        yield text[: found.start()] + found[1] + limit + text[found.end() :]
    for found in re.finditer(rf"name\s*=\s*{quoted}", text):
        for between in (", ", "\n"):
            yield f"{text[: found.end()]}{between}threshold = {limit}{text[found.end() :]}"
    for found in re.finditer(quoted, text):
        entry = f"{{ name = {found[0]}, threshold = {limit} }}"
        yield text[: found.start()] + entry + text[found.end() :]


def _with(tables: dict[str, Any], output: str, name: str, value: float) -> dict[str, Any] | None:
    """What the file should say; None where it does not name this judge of this output."""
    given = tables.get(output)
    items = given if isinstance(given, list) else [given]
    named = [each if isinstance(each, str) else (each or {}).get("name") for each in items]
    if name not in named:
        return None
    at = named.index(name)
    changed = [*items[:at], {"name": name, "threshold": value}, *items[at + 1 :]]
    return {**tables, output: changed if isinstance(given, list) else changed[0]}


def _says(text: str, wanted: Mapping[str, Any]) -> bool:
    try:
        return tomllib.loads(text) == wanted
    except tomllib.TOMLDecodeError:
        return False


def _write(path: Path, text: str) -> None:
    new = beside(path)
    try:
        lines = "\r\n" if path.exists() and b"\r\n" in path.read_bytes() else "\n"
        new.write_text(text, encoding="utf-8", newline=lines)
        if path.exists():
            shutil.copymode(path, new)
        new.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            new.unlink(missing_ok=True)
        msg = f"{path}: cannot be written ({error.strerror})."
        raise InputError(msg) from None


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
