"""The JSON schemas of rehearsal.toml, personas and rubrics, by which editors complete and check such a file.

They are made from the models that read the files, and are as generous as these: what a validator reads before
its type is checked (`0.9`, `90`, "90 %"; a list, or names between commas) may stand there in each form.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from simulator import plugins
from simulator.core import replies, shelves
from simulator.core.settings import Settings, added_settings, half_width, read_word
from simulator.core.types import Persona
from simulator.grading.rubric import JudgeFile

FOLDER = shelves.ROOT / "docs" / "schemas"
_TEXTS: JsonSchemaValue = {"type": "array", "items": {"type": ["string", "number", "boolean"]}}


class _AsTyped(GenerateJsonSchema):
    """A value that a validator reads first may stand there in every form that it reads."""

    def function_before_schema(self, schema: core_schema.BeforeValidatorFunctionSchema) -> JsonSchemaValue:
        """Of a list or table: itself, a list, or a text; of anything else: text, number, boolean."""
        read = self.generate_inner(schema["schema"])
        if schema["function"]["function"] in (half_width, read_word):  # only people type other forms
            return read
        match read.get("type"):
            case "object" if "properties" in read:
                return read
            case "array":
                return {"anyOf": [_TEXTS, {"type": "string"}]}
            case "object":
                return {"anyOf": [{"type": "object"}, _TEXTS, {"type": "string"}]}
        if "$ref" in read:
            return read
        words = [{"enum": read["enum"]}] if "enum" in read else []  # offered first
        return {"anyOf": [*words, {"type": ["string", "number", "boolean"]}]}


def schemas() -> Mapping[Path, str]:
    """The text of every schema, by its file."""
    made = {"rehearsal": _settings(), "persona": _persona(), "rubric": _rubric()}
    return {
        FOLDER / f"{name}.schema.json": json.dumps(
            {"$schema": "http://json-schema.org/draft-07/schema#", **_plain(schema)},
            ensure_ascii=False,
            indent=1,
        ).replace("#/$defs/", "#/definitions/").replace('"$defs"', '"definitions"')
        + "\n"
        for name, schema in made.items()
    }  # fmt: skip


def _settings() -> dict[str, Any]:
    plugins.offer()
    schema = _schema(Settings)
    del schema["properties"]["added"], schema["$defs"]["JsonValue"]
    for rule in schema["$defs"]["RedRules"]["properties"].values():  # TOML has no null: false switches it off
        rule["anyOf"] = [{"enum": [False]}, *rule.pop("anyOf", [{"type": rule.pop("type", "boolean")}])]
    for model in added_settings():
        added = _schema(model)
        schema["properties"] |= added["properties"]
        schema["$defs"] |= added.get("$defs", {})
    return schema


def _persona() -> dict[str, Any]:
    schema = _schema(Persona)
    schema["required"].remove("id")  # the name of the file
    schema["$defs"]["PersonaText"]["properties"]["phrases"]["propertyNames"] = {
        "enum": sorted(shelves.SITUATIONS)
    }
    return schema


def _rubric() -> dict[str, Any]:
    schema = _schema(JudgeFile)
    schema["properties"]["fields"]["additionalProperties"] = {"enum": [*replies.FIELD_KINDS]}
    wording = schema["$defs"]["_Wording"]
    wording["properties"] = {key: {"type": "string"} for key in ("title", "criterion", "short")} | wording[
        "properties"
    ]
    wording["required"] = ["title", "criterion"]
    return schema


def _schema(model: type[BaseModel]) -> dict[str, Any]:
    return model.model_json_schema(schema_generator=_AsTyped)


def _plain(value: Any, *, names: bool = False) -> Any:
    """A schema without the titles, which only repeat names; `names`: its keys are names, and not keywords."""
    if isinstance(value, dict):
        return {
            key: _plain(part, names=key in ("properties", "$defs") and not names)
            for key, part in value.items()
            if names or key != "title"
        }
    return [_plain(part) for part in value] if isinstance(value, list) else value
