"""Batch requests about what lies on a worksheet: protection, filters, charts, conditional formats, names."""

import secrets
from typing import Any, NamedTuple

from tests.servers.sheets_edit import Edit
from tests.servers.sheets_errors import Json, invalid


class Kind(NamedTuple):
    """A kind of object: its list, its id's name, its name in requests, its schema, what it is called."""

    list: str
    id: str
    name: str
    schema: str
    called: str


PROTECTED_RANGE = Kind(
    "protectedRanges", "protectedRangeId", "protectedRange", "ProtectedRange", "protected range"
)
CHART = Kind("charts", "chartId", "chart", "EmbeddedChart", "chart")


def _new_id(edit: Edit, kind: Kind, given: Any) -> int:
    taken = {known[kind.id] for sheet in edit.book.sheets for known in sheet.lists[kind.list]}
    if given is not None and int(given) in taken:
        raise invalid(f"A {kind.called} with id {given} already exists.")
    return secrets.randbelow(2**31) if given is None else int(given)


def add(edit: Edit, kind: Kind, told: Json) -> Json:
    """Add an object with a range; the reply has it with its id."""
    given = told.get(kind.name) or {}
    sheet, _ = edit.box(given.get("range") or {})
    made = {kind.id: _new_id(edit, kind, given.get(kind.id)), **_clean(given)}
    made["range"] = {"sheetId": sheet.id, **_clean(given.get("range") or {})}
    sheet.lists[kind.list].append(made)
    return {kind.name: made}


def _clean(told: Json) -> Json:
    return {name: value for name, value in told.items() if value is not None}


def add_protected_range(edit: Edit, told: Json) -> Json:
    """addProtectedRange, of which the program makes such that only warn."""
    given = dict(told.get("protectedRange") or {})
    given.pop("requestingUserCanEdit", None)
    made = add(edit, PROTECTED_RANGE, {"protectedRange": given})["protectedRange"]
    made["requestingUserCanEdit"] = True
    return {"addProtectedRange": {"protectedRange": made}}


def set_basic_filter(edit: Edit, told: Json) -> Json:
    """SetBasicFilter."""
    given = told.get("filter") or {}
    sheet, _ = edit.box(given.get("range") or {})
    sheet.basic_filter = {**given, "range": {"sheetId": sheet.id, **(given.get("range") or {})}}
    return {}


def add_chart(edit: Edit, told: Json) -> Json:
    """addChart, over cells or on a worksheet of its own."""
    given = told.get("chart") or {}
    position = given.get("position") or {}
    if position.get("newSheet"):
        sheet = edit.book.add_sheet({"sheetType": "OBJECT"})
        position = {"sheetId": sheet.id}
    else:
        anchor = (position.get("overlayPosition") or {}).get("anchorCell") or {}
        sheet = edit.sheet(anchor or position)
    _check_sources(edit, given.get("spec") or {})
    made = {"chartId": _new_id(edit, CHART, given.get("chartId")), "spec": given.get("spec") or {}}
    made["position"] = position
    sheet.lists["charts"].append(made)
    return {"addChart": {"chart": made}}


def _check_sources(edit: Edit, told: Any) -> None:
    """Every range a chart draws must exist."""
    if isinstance(told, list):
        for inner in told:
            _check_sources(edit, inner)
    elif isinstance(told, dict):
        if "startRowIndex" in told or "startColumnIndex" in told:
            edit.box(told)
        for inner in told.values():
            _check_sources(edit, inner)
