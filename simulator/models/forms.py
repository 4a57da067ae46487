"""A form as a model is asked for it: a strict JSON schema, and the most tokens of a reply in it."""

import functools
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel


@functools.lru_cache(maxsize=512)
def strict_schema(reply_form: type[BaseModel]) -> dict[str, Any]:
    """The form as the JSON schema that strict endpoints accept: closed objects, everything required.

    Names and types only: what a field means the prompt says, also to endpoints that take no schema, and a
    docstring of ours is no business of a model's. Made once per form, for every call of a run carries one;
    callers must not change it.
    """
    return _strict(reply_form.model_json_schema())  # type: ignore[no-any-return]


# Tokens that a reply may have: for what a model thinks or writes before the form; for a text, for a number
# or a word, and for a text in an item of a list. And the items of a list.
_BEFORE, _TEXT, _WORD, _ITEM_TEXT, _ITEMS = 2000, 300, 20, 60, 15


@functools.lru_cache(maxsize=512)
def most_tokens(reply_form: type[BaseModel]) -> int:
    """More tokens than a reply in this form needs; what runs on for longer has lost its way.

    A reason and a grade: 2000 before, 20 for each key, 300 for the text, 20 for the number: 2360. Small
    models do repeat themselves for ever, and would be paid for it.
    """
    schema = strict_schema(reply_form)
    return _BEFORE + _most(schema, schema.get("$defs", {}), _TEXT)


def _most(node: Mapping[str, Any], forms: Mapping[str, Any], text: int) -> int:
    if "$ref" in node:
        node = forms[node["$ref"].rpartition("/")[2]]
    if "properties" in node:
        return sum(_WORD + _most(each, forms, text) for each in node["properties"].values())
    if "anyOf" in node:
        return max(_most(each, forms, text) for each in node["anyOf"])
    if node.get("type") == "array":
        return _ITEMS * _most(node["items"], forms, _ITEM_TEXT)
    return text if node.get("type") == "string" and "enum" not in node else _WORD


_OF_NAMES = {"properties", "$defs"}


def _strict(node: Any) -> Any:
    if isinstance(node, list):
        return [_strict(item) for item in node]
    if not isinstance(node, dict):
        return node
    # Of an object and of the definitions the keys are names, which may be "title" or "description", too.
    closed = {
        key: {name: _strict(each) for name, each in value.items()} if key in _OF_NAMES else _strict(value)
        for key, value in node.items()
        if key not in {"title", "default", "description"}
    }
    # All fields required, those with a default as well: a strict endpoint accepts no optional key.
    if "properties" in closed:
        closed |= {"additionalProperties": False, "required": list(closed["properties"])}
    return closed
