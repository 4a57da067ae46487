"""Validates requests against Google's own discovery document of Sheets v4: names, types, enums, one-ofs."""

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

from tests.paths import FIXTURES
from tests.servers.sheets_errors import Json, bad_mask, invalid

_FILE = FIXTURES / "sheets.v4.json"
_INT32 = 2**31
# Fields of which only one may be set; the discovery document does not say so, Google's reference does.
_ONE_OF: dict[str, frozenset[str]] = {
    "ExtendedValue": frozenset({"numberValue", "stringValue", "boolValue", "formulaValue", "errorValue"}),
    "ColorStyle": frozenset({"rgbColor", "themeColor"}),
    "UpdateCellsRequest": frozenset({"start", "range"}),
    "DeveloperMetadataLocation": frozenset({"spreadsheet", "sheetId", "dimensionRange"}),
    "DataFilter": frozenset({"a1Range", "gridRange", "developerMetadataLookup"}),
}


class Method(NamedTuple):
    """One method of the API: its verb, its path, what may be in its query and its body."""

    name: str
    verb: str
    path: re.Pattern[str]
    query: Json
    request: str | None


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
    )


def parsed(raw: bytes, method: Method) -> Any:
    """The body as JSON, checked; an empty body is an empty object."""
    try:
        body = json.loads(raw or b"{}", parse_constant=_no_constant)
    except ValueError:
        raise invalid("Invalid JSON payload received. Unexpected token.") from None
    if method.request is None or not isinstance(body, dict):
        if raw:
            raise invalid('Invalid JSON payload received. Unknown name "": Root element must be a message.')
        return {}
    _check(method.request, body, "")
    return _set_only(body)


def _set_only(value: Any) -> Any:
    """Without fields that are null: to Google they are not set. A null within a list stays."""
    if isinstance(value, dict):
        return {name: _set_only(inner) for name, inner in value.items() if inner is not None}
    return [_set_only(inner) for inner in value] if isinstance(value, list) else value


def _no_constant(name: str) -> None:
    raise ValueError(name)


def _check(name: str, value: Any, place: str) -> None:
    """Refuses what is no message of this name: an unknown field, a wrong type, two of which one is meant."""
    if not isinstance(value, dict):
        raise invalid(f"Invalid value at '{place}': not a {name}")
    fields = document()["schemas"][name]
    for key, inner in value.items():
        where = f"{place}.{key}".lstrip(".")
        if key not in fields:
            raise invalid(f"Invalid JSON payload received. Unknown name at '{where}'")
        if inner is not None:
            _check_field(fields[key], inner, where)
    exclusive = fields.keys() if name == "Request" else _ONE_OF.get(name, frozenset())
    if len(given := [key for key in exclusive if value.get(key) is not None]) > 1:
        raise invalid(f"Invalid value at '{place}': only one of {', '.join(given)}")


def _check_field(field: Json, value: Any, place: str) -> None:
    kind = field.get("type")
    if kind is None:
        _check(field["$ref"], value, place)
    elif kind == "array":
        # Google takes a lone value for a list of one; a client that relies on it is better told.
        if not isinstance(value, list):
            raise invalid(f"Invalid value at '{place}': not a list")
        for number, inner in enumerate(value):
            _check_field(field["items"], inner, f"{place}[{number}]")
    elif kind != "object" and not _SCALARS[kind](value, field):
        raise invalid(f"Invalid value at '{place}': not of type {field.get('format') or kind}")


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


def checked_query(method: Method, query: Mapping[str, list[str]]) -> Json:
    """The query's parameters with their types; unknown ones, wrong ones and repeated ones are refused."""
    known = document()["common"] | method.query
    for name, given in query.items():
        field = known.get(name)
        if field is None or (len(given) > 1 and not field.get("repeated")):
            raise invalid(f"Cannot bind query parameter '{name}'")
        # Google takes Python's way of writing truth values, which gspread relies on.
        is_truth = field["type"] == "boolean"
        if not all(
            text.lower() in ("true", "false") if is_truth else _is_text(text, field) for text in given
        ):
            raise invalid(f"Invalid value at '{name}'")
    return {name: _value(known[name], given) for name, given in query.items()}


def _value(field: Json, given: list[str]) -> Any:
    if field.get("repeated"):
        return given
    return given[0].lower() == "true" if field["type"] == "boolean" else given[0]


Mask = dict[str, "Mask"]


@cache
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


def selected(value: Any, tree: Mask, done: dict[tuple[int, int], Any] | None = None) -> Any:
    """What the mask leaves of a JSON value; of objects that are in it twice, as many cells are, once."""
    if not value or not tree or "*" in tree:
        return value
    done = {} if done is None else done
    if isinstance(value, list):
        return [
            done[place] if (place := (id(inner), id(tree))) in done else selected(inner, tree, done)
            for inner in value
        ]
    if not isinstance(value, dict):
        return value
    left = {name: selected(value[name], tree[name], done) for name in tree.keys() & value.keys()}
    for name in left.keys() & {"rowData", "values"}:
        # Cells and rows in which the mask leaves nothing are dropped from the end.
        while left[name] and left[name][-1] in ({}, {"values": []}):
            left[name].pop()
    done[id(value), id(tree)] = left
    return left
