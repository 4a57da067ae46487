"""The schemas that editors take: true of every file that this program brings, and strict about keys."""

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scripts.schemas import FOLDER, schemas
from simulator.cli.init import START
from simulator.core import shelves

KINDS: dict[str, type | tuple[type, ...]] = {
    "string": str, "number": (int, float), "integer": int, "boolean": bool, "object": dict, "array": list,
    "null": type(None),
}  # fmt: skip
BOUNDS = {"minimum": float.__ge__, "maximum": float.__le__,
          "exclusiveMinimum": float.__gt__, "exclusiveMaximum": float.__lt__}  # fmt: skip
SAMPLES = [*START.glob("*/rehearsal.toml"), shelves.ROOT / "demo" / "story" / "rehearsal.toml"]


def problems(value: Any, schema: Any, whole: dict[str, Any], at: str = "") -> Iterator[str]:
    """Where a value is not as the schema says; of JSON Schema, the part that our schemas use."""
    if not isinstance(schema, dict):  # `true`: anything
        return
    yield from _of_value(value, schema, at)
    if "$ref" in schema:
        yield from problems(value, whole["definitions"][schema["$ref"].rpartition("/")[2]], whole, at)
    if "anyOf" in schema and all([*problems(value, form, whole, at)] for form in schema["anyOf"]):
        yield f"{at}: {value!r} fits none"
    if isinstance(value, dict):
        names, rest = schema.get("properties", {}), schema.get("additionalProperties", True)
        yield from (f"{at}: {key} is missing" for key in schema.get("required", ()) if key not in value)
        yield from (f"{at}: {key} is unknown" for key in value if key not in names and rest is False)
        for key, part in value.items():
            yield from problems(part, names.get(key, rest), whole, f"{at}.{key}")
            yield from problems(key, schema.get("propertyNames", True), whole, f"{at}.{key}")
    for part in value if isinstance(value, list) else ():
        yield from problems(part, schema.get("items", True), whole, f"{at}[]")


def _of_value(value: object, schema: dict[str, Any], at: str) -> Iterator[str]:
    """Words, kinds and bounds."""
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at}: {value!r} is not one of {schema['enum']}"
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_is(value, kind) for kind in kinds):
        yield f"{at}: {value!r} is no {kinds}"
    for name, holds in BOUNDS.items():
        if name in schema and isinstance(value, int | float) and not holds(float(value), float(schema[name])):
            yield f"{at}: {value!r} is beyond {name}"


def _is(value: object, kind: str) -> bool:
    return isinstance(value, KINDS[kind]) and (kind == "boolean" or not isinstance(value, bool))


def wrong(name: str, text: str) -> list[str]:
    """What the schema of that name says of a TOML file."""
    schema = json.loads((FOLDER / f"{name}.schema.json").read_text(encoding="utf-8"))
    return [*problems(tomllib.loads(text), schema, schema)]


def test_they_are_those_of_the_program() -> None:
    """Written by `python -m scripts.reference`; run it after a change of settings, personas or rubrics."""
    assert {path: path.read_text(encoding="utf-8") for path in FOLDER.iterdir()} == schemas()


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("persona", [shelves.PERSONAS / f"{name}.toml" for name in shelves.persona_names()]),
        ("rubric", [path for path in shelves.JUDGES.glob("*.toml") if not path.name.startswith("_")]),
        ("rehearsal", SAMPLES),
    ],
)
def test_the_files_of_the_program_are_right(name: str, files: list[Path]) -> None:
    """Every persona and rubric on the shelf, and every rehearsal.toml that is copied."""
    assert len(files) >= 3
    assert {str(path): wrong(name, path.read_text(encoding="utf-8")) for path in files} == {
        str(path): [] for path in files
    }


@pytest.mark.parametrize(
    ("name", "text", "word"),
    [
        ("rehearsal", "trget = 90", "trget is unknown"),
        ("rehearsal", "[red]\noveral = 0.7", ".red: overal is unknown"),
        ("rehearsal", "turns = 0", ".turns: 0 is beyond minimum"),
        ("rehearsal", "judging = 'seperate'", "'seperate' is not one of"),
        ("persona", "patienc = 2", "patienc is unknown"),
        ("persona", "[ja]\nname = 'a'\nvoice = 'b'\nvioce = 'c'", ".ja: vioce is unknown"),
        ("rubric", "vlaue = 'overall'", "vlaue is unknown"),
        ("rubric", "[fields]\noverall = 'grad'", "'grad' is not one of"),
    ],
)
def test_a_misspelt_key_or_word_is_refused(name: str, text: str, word: str) -> None:
    """It is named, where other keys may be missing as well."""
    assert any(word in problem for problem in wrong(name, text))


@pytest.mark.parametrize(
    "line",
    [
        "target = 0.9", "target = 90", "target = 'turn >= 0.9 and red <= 0.1'",
        "persona = 'angry,calm'", "persona = ['angry', 'calm']", "budget = 5", "budget = '800円'",
        "redact = true", "redact = 'auto'", "confidence = 'off'",
        "[set]\nport = 8000\nstream = true", "[red]\noverall = false", "customers = 50",
    ],
)  # fmt: skip
def test_what_is_read_in_several_forms_may_stand_in_each(line: str) -> None:
    """As people type it: numbers, per cent, words, lists; settings of the lab as well."""
    assert wrong("rehearsal", line) == []
