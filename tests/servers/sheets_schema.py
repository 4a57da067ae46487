"""Validates requests against Google's own discovery document of Sheets v4: names, types, enums, one-ofs."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from tests.paths import FIXTURES
from tests.servers.sheets_errors import Json, bad_mask, invalid, violations

_FILE = FIXTURES / "sheets.v4.json"
_INT32 = 2**31
# Fields of which only one may be set; the discovery document does not say so, Google's reference does.
_ONE_OF: dict[str, tuple[str, frozenset[str]]] = {
    "ExtendedValue": (
        "value",
        frozenset({"numberValue", "stringValue", "boolValue", "formulaValue", "errorValue"}),
    ),
    "ColorStyle": ("kind", frozenset({"rgbColor", "themeColor"})),
    "UpdateCellsRequest": ("area", frozenset({"start", "range"})),
    "DeveloperMetadataLocation": ("location", frozenset({"spreadsheet", "sheetId", "dimensionRange"})),
    "DataFilter": ("filter", frozenset({"a1Range", "gridRange", "developerMetadataLookup"})),
    "ConditionalFormatRule": ("rule", frozenset({"booleanRule", "gradientRule"})),
    "FindReplaceRequest": ("scope", frozenset({"range", "sheetId", "allSheets"})),
}
# A place in a body: the place around it and the name or number within that; spelt out only for a message.
Place = tuple["Place | None", str | int]


class Method(NamedTuple):
    """One method of the API: its verb, its path, what may be in its query and its body, who may call it."""

    name: str
    verb: str
    path: re.Pattern[str]
    query: Json
    request: str | None
    scopes: frozenset[str]


@cache
def document() -> Json:
    """The trimmed discovery document."""
    loaded: Json = json.loads(_FILE.read_text(encoding="utf-8"))
    return loaded


@cache
def methods() -> tuple[Method, ...]:
    """All methods; those with a colon after their last path segment come first."""
    made = [_method(name, told) for name, told in document()["methods"].items()]
    return tuple(sorted(made, key=lambda method: -len(method.path.pattern)))


def _method(name: str, told: Json) -> Method:
    path = re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/:]+)", re.escape("/" + told["path"]))
    path = path.replace("(?P<range>[^/:]+)", "(?P<range>.+)")
    return Method(
        name.removeprefix("sheets."),
        told["method"],
        re.compile(path),
        told["query"],
        told.get("request"),
        frozenset(told["scopes"]),
    )


def parsed(raw: bytes, method: Method) -> Any:
    """The body as JSON, checked; an empty body is an empty object."""
    try:
        body = json.loads(raw or b"{}", parse_constant=_no_constant)
    except ValueError:
        raise invalid("Invalid JSON payload received. Unexpected token.") from None
    if method.request is None:
        if raw:
            raise invalid('Invalid JSON payload received. Unknown name "": Root element must be a message.')
        return {}
    if not isinstance(body, dict):
        raise invalid('Invalid JSON payload received. Unknown name "": Root element must be a message.')
    found = list(_message(method.request, body, None))
    if found:
        raise violations(found)
    return _set_only(body)


def _set_only(value: Any) -> Any:
    """Without fields that are null: to Google they are not set. A null within a list stays."""
    if isinstance(value, dict):
        return {name: _set_only(inner) for name, inner in value.items() if inner is not None}
    return [_set_only(inner) for inner in value] if isinstance(value, list) else value


def _no_constant(name: str) -> None:
    raise ValueError(name)


def _message(name: str, value: Any, place: Place | None) -> Iterator[tuple[str, str]]:
    if not isinstance(value, dict):
        yield _type_error(place, f"type.googleapis.com/google.apps.sheets.v4.{name}", value)
        return
    fields = document()["schemas"][name]
    for key, inner in value.items():
        if (field := fields.get(key)) is None:
            yield _unknown(place, key)
        elif inner is not None:
            yield from _field(field, inner, (place, key))
    kind, names = ("kind", fields.keys()) if name == "Request" else _ONE_OF.get(name, ("", ()))
    if names:
        yield from _one_of(kind, [key for key in names if value.get(key) is not None], place)


def _one_of(kind: str, given: list[str], place: Place | None) -> Iterator[tuple[str, str]]:
    if len(given) > 1:
        text = f"oneof field '{kind}' is already set. Cannot set '{given[1]}'"
        yield _spelt(place), f"Invalid value at '{_spelt(place)}' (oneof), {text}"


def _field(field: Json, value: Any, place: Place) -> Iterator[tuple[str, str]]:
    kind = field.get("type")
    if kind is None:
        yield from _message(field["$ref"], value, place)
    elif kind == "array":
        yield from _array(field["items"], value, place)
    elif kind == "object":
        for key, inner in value.items() if isinstance(value, dict) else ():
            yield from _field(field["additionalProperties"], inner, (place, key))
    elif not _SCALARS[kind](value, field):
        yield _type_error(place, _named(field), value)


def _array(items: Json, value: Any, place: Place) -> Iterator[tuple[str, str]]:
    if not isinstance(value, list):
        # Google takes a lone value for a list of one; a client that relies on it is better told.
        yield _type_error(place, "list", value)
        return
    for number, inner in enumerate(value):
        yield from _field(items, inner, (place, number))


def _is_integer(value: Any, _: Json) -> bool:
    if isinstance(value, str) and re.fullmatch(r"-?\d+", value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
        return False
    return -_INT32 <= value < _INT32


def _is_text(value: Any, field: Json) -> bool:
    return isinstance(value, str) and ("enum" not in field or value in field["enum"])


_SCALARS: dict[str, Callable[[Any, Json], bool]] = {
    "string": _is_text,
    "integer": _is_integer,
    "boolean": lambda value, _: isinstance(value, bool),
    "number": lambda value, _: isinstance(value, int | float) and not isinstance(value, bool),
    "any": lambda value, _: True,
}


def _named(field: Json) -> str:
    if "enum" in field:
        return "type.googleapis.com/google.apps.sheets.v4.enum"
    shown = {"int32": "TYPE_INT32", "float": "TYPE_FLOAT", "double": "TYPE_DOUBLE"}
    return shown.get(field.get("format", ""), {"boolean": "TYPE_BOOL"}.get(field["type"], "TYPE_STRING"))


def _type_error(place: Place | None, kind: str, value: Any) -> tuple[str, str]:
    where, shown = _spelt(place), json.dumps(value, ensure_ascii=False)[:200]
    return where, f"Invalid value at '{where}' ({kind}), {shown}"


def _unknown(place: Place | None, key: str) -> tuple[str, str]:
    where = _spelt(place)
    at = f" at '{where}'" if where else ""
    return where, f'Invalid JSON payload received. Unknown name "{key}"{at}: Cannot find field.'


def _spelt(place: Place | None) -> str:
    if place is None:
        return ""
    around, key = place
    before = _spelt(around)
    if isinstance(key, int):
        return f"{before}[{key}]"
    name = re.sub(r"[A-Z]", lambda found: "_" + found[0].lower(), key)
    return f"{before}.{name}" if before else name


def checked_query(method: Method, query: Mapping[str, list[str]]) -> Json:
    """The query's parameters with their types; unknown ones, wrong ones and repeated ones are refused."""
    known = document()["common"] | method.query
    found: list[tuple[str, str]] = []
    for name, given in query.items():
        found += _parameter(name, known.get(name), given)
    if found:
        raise violations(found)
    return {name: _value(known[name], given) for name, given in query.items()}


def _parameter(name: str, field: Json | None, given: list[str]) -> list[tuple[str, str]]:
    if field is None:
        text = f"Cannot bind query parameter. Field '{name}' could not be found in request message."
        return [("", f'Invalid JSON payload received. Unknown name "{name}": {text}')]
    if len(given) > 1 and not field.get("repeated"):
        text = "Proto field is not repeating, cannot start list."
        return [("", f'Invalid JSON payload received. Unknown name "{name}": {text}')]
    if field["type"] == "boolean":
        # Google takes Python's way of writing them, which gspread relies on.
        wrong = [text for text in given if text.lower() not in ("true", "false")]
    else:
        wrong = [text for text in given if not _is_text(text, field)]
    return [(name, _type_error((None, name), _named(field), text)[1]) for text in wrong]


def _value(field: Json, given: list[str]) -> Any:
    if field.get("repeated"):
        return given
    return given[0].lower() == "true" if field["type"] == "boolean" else given[0]


Mask = dict[str, "Mask"]


def mask(text: str, schema: str) -> Mask:
    """`a.b,c(d,e)` as a tree; an empty branch is all that is below; unknown names and spaces are refused."""
    tree: Mask = {}
    if _selected(text, 0, tree) != len(text):
        raise bad_mask(text)
    _known(tree, schema, "")
    return tree


def _selected(text: str, at: int, tree: Mask) -> int:
    while True:
        found = re.compile(r"[\w$*]+(?:[./][\w$*]+)*").match(text, at)
        if found is None:
            raise bad_mask(text[at:])
        inner = tree
        for name in re.split(r"[./]", found[0]):
            inner = inner.setdefault(name, {})
        at = found.end()
        if text[at : at + 1] == "(":
            at = _selected(text, at + 1, inner)
            if text[at : at + 1] != ")":
                raise bad_mask(text)
            at += 1
        if text[at : at + 1] != ",":
            return at
        at += 1


def _known(tree: Mask, schema: str | None, around: str) -> None:
    fields = document()["schemas"].get(schema, {})
    for name, inner in tree.items():
        path = f"{around}{name}"
        if name == "*":
            continue
        if name not in fields:
            raise bad_mask(path)
        _known(inner, _inner(fields[name]), path + ".")


def _inner(field: Json) -> str | None:
    if field.get("type") == "array":
        field = field["items"]
    return field.get("$ref")


def selected(value: Any, tree: Mask) -> Any:
    """What the mask leaves of a JSON value."""
    if not tree or "*" in tree:
        return value
    if isinstance(value, list):
        return [selected(inner, tree) for inner in value]
    if not isinstance(value, dict):
        return value
    left = {name: selected(value[name], inner) for name, inner in tree.items() if name in value}
    for name in ("rowData", "values"):
        # Cells and rows in which the mask leaves nothing are dropped from the end.
        while left.get(name) and left[name][-1] in ({}, {"values": []}):
            left[name].pop()
    return left
