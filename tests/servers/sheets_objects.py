"""Batch requests about what lies on a worksheet: protection and filters."""

import secrets
from typing import Any

from tests.servers.sheets_edit import Edit
from tests.servers.sheets_errors import Json, invalid


def _new_id(edit: Edit, name: str, key: str, given: Any) -> int:
    taken = {known[key] for sheet in edit.book.sheets for known in sheet.lists[name]}
    if given is not None and int(given) in taken:
        raise invalid(f"The {key} {given} already exists.")
    return secrets.randbelow(2**31) if given is None else int(given)


def add_protected_range(edit: Edit, told: Json) -> Json:
    """addProtectedRange, of which the program makes such that only warn."""
    given = {name: value for name, value in (told.get("protectedRange") or {}).items() if value is not None}
    sheet, _ = edit.box(given.get("range") or {})
    number = _new_id(edit, "protectedRanges", "protectedRangeId", given.get("protectedRangeId"))
    made = given | {"protectedRangeId": number, "requestingUserCanEdit": True}
    made["range"] = {"sheetId": sheet.id, **(given.get("range") or {})}
    sheet.lists["protectedRanges"].append(made)
    return {"addProtectedRange": {"protectedRange": made}}


def set_basic_filter(edit: Edit, told: Json) -> Json:
    """SetBasicFilter."""
    given = told.get("filter") or {}
    sheet, _ = edit.box(given.get("range") or {})
    sheet.basic_filter = {**given, "range": {"sheetId": sheet.id, **(given.get("range") or {})}}
    return {}
