"""The requests that a real endpoint refuses with 400, and its error messages."""

import re
from collections.abc import Collection
from typing import Any

from tests.servers.faults import Reply, error
from tests.servers.replies import ChatRequest, text_of

_SAMPLING = ("temperature", "top_p", "presence_penalty", "frequency_penalty")


def objection_to(body: ChatRequest, refuses: Collection[str]) -> Reply | None:
    """The 400 this chat request earns: something is missing, refused by the model, or no strict schema."""
    if not body.get("model") or not isinstance(body.get("messages"), list) or not body["messages"]:
        return error(400, "Missing required parameter.", code="missing_required_parameter")
    for name in refuses:
        if body.get(name) is None or name == "response_format":
            continue
        if name in _SAMPLING:
            told = f"Unsupported value: '{name}' does not support {body[name]} with this model."
            return error(
                400, f"{told} Only the default (1) value is supported.", param=name, code="unsupported_value"
            )
        told = f"Unsupported parameter: '{name}' is not supported with this model."
        return error(400, told, param=name, code="unsupported_parameter")
    return _objection_to_format(body, refuses)


def _objection_to_format(body: ChatRequest, refuses: Collection[str]) -> Reply | None:
    wanted = body.get("response_format") or {"type": "text"}
    kind = wanted["type"]
    if kind != "text" and (kind in refuses or "response_format" in refuses):
        told = f"Invalid parameter: 'response_format' of type '{kind}' is not supported with this model."
        return error(400, told, param="response_format", code="unsupported_value")
    if kind == "json_object" and not any("json" in text_of(each).lower() for each in body["messages"]):
        told = "'messages' must contain the word 'json' in some form, to use 'response_format' of type"
        return error(400, f"{told} 'json_object'.", param="messages")
    return _objection_to_schema(wanted["json_schema"]) if kind == "json_schema" else None


def _objection_to_schema(asked: dict[str, Any]) -> Reply | None:
    wrong = None
    if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", asked["name"]):
        wrong = "its name must match [a-zA-Z0-9_-]"
    elif asked.get("strict"):
        wrong = _not_strict(asked["schema"])
    told = f"Invalid schema for response_format '{asked['name']}': {wrong}."
    return error(400, told, param="response_format") if wrong else None


def _not_strict(schema: Any) -> str | None:
    """What strict mode refuses anywhere in a schema: open objects and optional properties."""
    if isinstance(schema, list):
        return next(filter(None, map(_not_strict, schema)), None)
    if not isinstance(schema, dict):
        return None
    if schema.get("type") == "object":
        if schema.get("additionalProperties") is not False:
            return "'additionalProperties' is required to be supplied and to be false"
        if set(schema.get("required", ())) != set(schema.get("properties", {})):
            return "'required' is required to be supplied and to include every key in properties"
    return _not_strict(list(schema.values()))
