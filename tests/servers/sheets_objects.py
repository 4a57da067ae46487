"""Batch requests about what lies on a worksheet: protection, filters, charts, conditional formats, names."""

import secrets
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.servers.sheets_edit import PROTECTED, Edit, fields_of, updated
from tests.servers.sheets_errors import Json, invalid
from tests.servers.sheets_state import Sheet

Handler = Callable[[Edit, Json], Json]


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
FILTER_VIEW = Kind("filterViews", "filterViewId", "filter", "FilterView", "filter view")
BANDING = Kind("bandedRanges", "bandedRangeId", "bandedRange", "BandedRange", "banding")
CHART = Kind("charts", "chartId", "chart", "EmbeddedChart", "chart")


def find_object(edit: Edit, kind: Kind, number: Any) -> tuple[Sheet, int]:
    """The worksheet and place of an object, refused when there is none."""
    for sheet in edit.book.sheets:
        for place, known in enumerate(sheet.lists[kind.list]):
            if known[kind.id] == int(number or 0):
                return sheet, place
    raise invalid(f"No {kind.called} with id: {number}")


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


def delete(edit: Edit, kind: Kind, number: Any) -> Json:
    """Delete an object."""
    sheet, place = find_object(edit, kind, number)
    del sheet.lists[kind.list][place]
    return {}


def update(edit: Edit, kind: Kind, told: Json) -> Json:
    """Update an object by its mask."""
    tree = fields_of(told, kind.schema, kind.name)
    given = told.get(kind.name) or {}
    sheet, place = find_object(edit, kind, given.get(kind.id))
    known = sheet.lists[kind.list][place]
    sheet.lists[kind.list][place] = updated(known, given, tree) | {kind.id: known[kind.id]}
    return {}


def add_protected_range(edit: Edit, told: Json) -> Json:
    """addProtectedRange: the caller and the owner may always edit."""
    given = dict(told.get("protectedRange") or {})
    if given.get("warningOnly") and given.get("editors"):
        raise invalid("Cannot specify editors when warningOnly is true.")
    if given.get("range") is None and given.get("namedRangeId"):
        given["range"] = _named(edit, given["namedRangeId"])["range"]
    given.pop("requestingUserCanEdit", None)
    if not given.get("warningOnly"):
        editors = _clean(given.get("editors") or {})
        always = [email for email in (edit.caller, edit.book.owner) if email]
        given["editors"] = editors | {"users": list(dict.fromkeys([*(editors.get("users") or []), *always]))}
        _check_editors(edit, given["editors"]["users"])
    made = add(edit, PROTECTED_RANGE, {"protectedRange": given})["protectedRange"]
    made["requestingUserCanEdit"] = True
    return {"addProtectedRange": {"protectedRange": made}}


def _check_editors(edit: Edit, users: list[str]) -> None:
    allowed = {email for email, role in edit.book.permissions.items() if role in ("writer", "owner")}
    for user in users:
        if user not in allowed and user != edit.caller and "anyone" not in allowed:
            raise invalid(f"{user} does not have edit access to the document.")


def update_protected_range(edit: Edit, told: Json) -> Json:
    """updateProtectedRange, by those who may edit it."""
    sheet, place = find_object(
        edit, PROTECTED_RANGE, (told.get("protectedRange") or {}).get("protectedRangeId")
    )
    if not edit.may_edit(sheet.lists["protectedRanges"][place]):
        raise invalid(PROTECTED)
    return update(edit, PROTECTED_RANGE, told)


def delete_protected_range(edit: Edit, told: Json) -> Json:
    """deleteProtectedRange, by those who may edit it."""
    sheet, place = find_object(edit, PROTECTED_RANGE, told.get("protectedRangeId"))
    if not edit.may_edit(sheet.lists["protectedRanges"][place]):
        raise invalid(PROTECTED)
    return delete(edit, PROTECTED_RANGE, told.get("protectedRangeId"))


def set_basic_filter(edit: Edit, told: Json) -> Json:
    """SetBasicFilter."""
    given = told.get("filter") or {}
    sheet, _ = edit.box(given.get("range") or {})
    sheet.basic_filter = {**given, "range": {"sheetId": sheet.id, **(given.get("range") or {})}}
    return {}


def clear_basic_filter(edit: Edit, told: Json) -> Json:
    """ClearBasicFilter."""
    edit.sheet(told).basic_filter = None
    return {}


def _rules(edit: Edit, told: Json) -> list[Json]:
    ranges = (told.get("rule") or {}).get("ranges") or []
    sheet_id = told.get("sheetId", ranges[0].get("sheetId", 0) if ranges else 0)
    for one in ranges:
        edit.box(one)
    return edit.sheet({"sheetId": sheet_id}).lists["conditionalFormats"]


def _at(rules: list[Json], told: Json) -> int:
    index = int(told.get("index", 0))
    if index >= len(rules):
        raise invalid(f"No conditional format on sheet at index: {index}")
    return index


def add_conditional_format_rule(edit: Edit, told: Json) -> Json:
    """AddConditionalFormatRule."""
    if not (told.get("rule") or {}).get("ranges"):
        raise invalid("ConditionalFormatRule.ranges is required.")
    _rules(edit, told).insert(int(told.get("index", 0)), told["rule"])
    return {}


def update_conditional_format_rule(edit: Edit, told: Json) -> Json:
    """updateConditionalFormatRule: another rule, or another place for it."""
    rules = _rules(edit, told)
    index = _at(rules, told)
    old = rules[index]
    if told.get("rule"):
        rules[index] = told["rule"]
        return {"updateConditionalFormatRule": {"oldRule": old, "newRule": told["rule"], "newIndex": index}}
    rules.insert(int(told.get("newIndex", 0)), rules.pop(index))
    moved = {"oldIndex": index, "newIndex": int(told.get("newIndex", 0)), "newRule": old}
    return {"updateConditionalFormatRule": moved}


def delete_conditional_format_rule(edit: Edit, told: Json) -> Json:
    """DeleteConditionalFormatRule."""
    rules = _rules(edit, told)
    return {"deleteConditionalFormatRule": {"rule": rules.pop(_at(rules, told))}}


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


def update_chart_spec(edit: Edit, told: Json) -> Json:
    """updateChartSpec: the whole of it."""
    sheet, place = find_object(edit, CHART, told.get("chartId"))
    _check_sources(edit, told.get("spec") or {})
    sheet.lists["charts"][place] = sheet.lists["charts"][place] | {"spec": told.get("spec") or {}}
    return {}


def update_chart_position(edit: Edit, told: Json) -> Json:
    """UpdateEmbeddedObjectPosition."""
    sheet, place = find_object(edit, CHART, told.get("objectId"))
    tree = fields_of(told, "OverlayPosition", "newPosition.overlayPosition")
    known = sheet.lists["charts"][place]
    given = (told.get("newPosition") or {}).get("overlayPosition") or {}
    over = updated(known["position"].get("overlayPosition") or {}, given, tree)
    sheet.lists["charts"][place] = known | {"position": {"overlayPosition": over}}
    return {"updateEmbeddedObjectPosition": {"position": {"overlayPosition": over}}}


def _named(edit: Edit, number: str) -> Json:
    for known in edit.book.named_ranges:
        if known["namedRangeId"] == number:
            return known
    raise invalid(f"No named range with id: {number}")


def _check_name(edit: Edit, name: str, number: str) -> None:
    taken = [k for k in edit.book.named_ranges if k["name"].casefold() == name.casefold()]
    if any(known["namedRangeId"] != number for known in taken):
        raise invalid(f"A named range with name {name} already exists.")


def add_named_range(edit: Edit, told: Json) -> Json:
    """AddNamedRange."""
    given = told.get("namedRange") or {}
    if not given.get("name"):
        raise invalid("NamedRange.name is required.")
    sheet, _ = edit.box(given.get("range") or {})
    number = given.get("namedRangeId") or secrets.token_hex(6)
    _check_name(edit, given["name"], number)
    area = {"sheetId": sheet.id, **(given.get("range") or {})}
    made = {"namedRangeId": number, "name": given["name"], "range": area}
    edit.book.named_ranges.append(made)
    return {"addNamedRange": {"namedRange": made}}


def update_named_range(edit: Edit, told: Json) -> Json:
    """UpdateNamedRange."""
    tree = fields_of(told, "NamedRange", "namedRange")
    given = told.get("namedRange") or {}
    known = _named(edit, given.get("namedRangeId", ""))
    new = updated(known, given, tree) | {"namedRangeId": known["namedRangeId"]}
    _check_name(edit, new["name"], new["namedRangeId"])
    edit.book.named_ranges[edit.book.named_ranges.index(known)] = new
    return {}


def delete_named_range(edit: Edit, told: Json) -> Json:
    """DeleteNamedRange."""
    edit.book.named_ranges.remove(_named(edit, told.get("namedRangeId", "")))
    return {}
