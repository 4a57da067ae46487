"""How the text of a person or program becomes a cell's value, and how the value is displayed."""

import re
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from tests.servers.sheets_errors import Json, invalid
from tests.servers.sheets_state import LONGEST_CELL

_EPOCH = datetime(1899, 12, 30)
_NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+|(?=\.\d))(?:\.\d*)?(?:[eE][-+]?\d+)?")
_SUM = re.compile(r"=(\d+)([+/])(\d+)")
_DATES = ("%Y-%m-%d", "%Y/%m/%d", "%m/%d/%Y", "%Y年%m月%d日")
_DATE_FORMAT = {"type": "DATE", "pattern": "yyyy/mm/dd"}
_ERRORS = {"DIVIDE_BY_ZERO": "#DIV/0!", "NAME": "#NAME?"}


def raw(value: Any) -> Json:
    """A text or a number stored as it is: nothing else is sent."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return {"numberValue": value}
    if not isinstance(value, str):
        raise TypeError(value)
    return {"stringValue": short(value)}


def short(text: str) -> str:
    """The text, refused beyond 50,000 characters."""
    if len(text) > LONGEST_CELL:
        limit = f"the maximum of {LONGEST_CELL} characters in a single cell."
        raise invalid(f"Your input contains more than {limit}")
    return text


def typed(value: Any) -> tuple[Json, Json | None]:
    """A value as if typed by a person: formulas, numbers and dates are read; also the number format."""
    plain = raw(value)
    if not isinstance(value, str):
        return plain, None
    if value.startswith(("=", "'")) and len(value) > 1:
        return {"formulaValue": value} if value[0] == "=" else {"stringValue": value[1:]}, None
    text = value.strip()
    if _NUMBER.fullmatch(text):
        return {"numberValue": _whole(float(text.replace(",", "")))}, None
    for pattern in _DATES:
        with suppress(ValueError):
            days = (datetime.strptime(text, pattern) - _EPOCH) / timedelta(days=1)
            return {"numberValue": _whole(days)}, _DATE_FORMAT
    return plain, None


def _whole(value: float) -> float:
    return int(value) if value == int(value) and abs(value) < 1e15 else value


def effective(value: Json) -> Json:
    """What an entered value comes to: formulas are added or divided whole numbers, or #NAME? here."""
    if (formula := value.get("formulaValue")) is None:
        return value
    if (found := _SUM.fullmatch(formula)) is None:
        return {"errorValue": {"type": "NAME", "message": "This server does not know the function."}}
    first, second = int(found[1]), int(found[3])
    if found[2] == "+":
        return {"numberValue": first + second}
    if not second:
        return {"errorValue": {"type": "DIVIDE_BY_ZERO", "message": "Parameter 2 cannot be zero."}}
    return {"numberValue": first / second}


def displayed(value: Json, number_format: Json | None) -> str:
    """An effective value as it stands in the cell."""
    if "errorValue" in value:
        return _ERRORS[value["errorValue"]["type"]]
    if "numberValue" not in value:
        return str(value.get("stringValue", ""))
    number = float(value["numberValue"])
    told = number_format or {}
    if told.get("type") == "DATE":
        return _dated(_EPOCH + timedelta(days=number), told.get("pattern", "yyyy/mm/dd"))
    text = f"{number:.10g}"
    return text.upper() if "e" in text else text


def _dated(moment: datetime, pattern: str) -> str:
    parts = {"yyyy": f"{moment:%Y}", "mm": f"{moment:%m}", "dd": f"{moment:%d}"}
    return re.sub("yyyy|mm|dd", lambda found: parts[found[0]], pattern)
