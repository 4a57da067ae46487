"""How the text of a person or program becomes a cell's value, and how the value is displayed."""

import re
from datetime import datetime, timedelta
from typing import Any

from tests.servers.sheets_compute import shown_error
from tests.servers.sheets_errors import Json, invalid
from tests.servers.sheets_state import LONGEST_CELL

_EPOCH = datetime(1899, 12, 30)
_NUMBER = re.compile(r"([-+]?)([¥$€£]?)(\d{1,3}(?:,\d{3})+|\d+|(?=\.\d))(\.\d*)?([eE][-+]?\d+)?(%?)")
_DATES = (
    ("%Y-%m-%d %H:%M:%S", "DATE_TIME"),
    ("%Y-%m-%d %H:%M", "DATE_TIME"),
    ("%Y/%m/%d %H:%M:%S", "DATE_TIME"),
    ("%Y/%m/%d %H:%M", "DATE_TIME"),
    ("%Y-%m-%d", "DATE"),
    ("%Y/%m/%d", "DATE"),
    ("%m/%d/%Y", "DATE"),
    ("%Y年%m月%d日", "DATE"),
    ("%H:%M:%S", "TIME"),
    ("%H:%M", "TIME"),
)
_PATTERNS = {
    "DATE": "yyyy/mm/dd",
    "TIME": "h:mm:ss",
    "DATE_TIME": "yyyy/mm/dd h:mm:ss",
    "PERCENT": "0.00%",
    "CURRENCY": "¥#,##0",
    "NUMBER": "#,##0.00",
    "SCIENTIFIC": "0.00E+00",
    "TEXT": "@",
}


def raw(value: Any) -> Json | None:
    """A JSON value stored as it is; None for one that leaves the cell alone."""
    if value is None:
        return None
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int | float):
        return {"numberValue": value}
    if isinstance(value, str):
        return {"stringValue": short(value)}
    raise TypeError(value)


def short(text: str) -> str:
    """The text, refused beyond 50,000 characters."""
    if len(text) > LONGEST_CELL:
        limit = f"the maximum of {LONGEST_CELL} characters in a single cell."
        raise invalid(f"Your input contains more than {limit}")
    return text


def typed(value: Any) -> tuple[Json | None, Json | None]:
    """A value as if typed by a person: formulas, numbers and dates are read; also the number format."""
    plain = raw(value)
    if not isinstance(value, str) or plain is None:
        return plain, None
    if value.startswith("=") and len(value) > 1:
        return {"formulaValue": value}, None
    if value.startswith("'"):
        return {"stringValue": value[1:]}, None
    if value.upper() in ("TRUE", "FALSE"):
        return {"boolValue": value.upper() == "TRUE"}, None
    return _number(value.strip()) or _date(value.strip()) or (plain, None)


def _number(text: str) -> tuple[Json, Json | None] | None:
    found = _NUMBER.fullmatch(text)
    if found is None:
        return None
    sign, money, whole, fraction, exponent, percent = (found[number] or "" for number in range(1, 7))
    value = float(f"{sign}{whole.replace(',', '') or '0'}{fraction}{exponent}")
    kind = "PERCENT" if percent else "CURRENCY" if money else "NUMBER" if "," in whole else ""
    digits = "." + "0" * (len(fraction) - 1) if len(fraction) > 1 else ""
    pattern = {"PERCENT": f"0{digits}%", "CURRENCY": f"{money}#,##0{digits}", "NUMBER": f"#,##0{digits}"}
    exact = round(value / 100, 15) if percent else value
    return {"numberValue": _whole(exact)}, {"type": kind, "pattern": pattern[kind]} if kind else None


def _whole(value: float) -> float:
    return int(value) if value == int(value) and abs(value) < 1e15 else value


def _date(text: str) -> tuple[Json, Json | None] | None:
    if not re.match(r"\d+[-/:年]\d", text):
        return None
    for pattern, kind in _DATES:
        try:
            moment = datetime.strptime(text, pattern)
        except ValueError:
            continue
        if kind == "TIME":
            moment = moment.replace(year=1899, month=12, day=30)
        return {"numberValue": _whole(serial(moment))}, {"type": kind, "pattern": _PATTERNS[kind]}
    return None


def serial(moment: datetime) -> float:
    """A time as days since 1899-12-30."""
    return (moment - _EPOCH) / timedelta(days=1)


def displayed(value: Json, number_format: Json | None) -> str:
    """An effective value as it stands in the cell."""
    if "boolValue" in value:
        return "TRUE" if value["boolValue"] else "FALSE"
    if "errorValue" in value:
        return shown_error(value["errorValue"]["type"])
    if "numberValue" not in value:
        return str(value.get("stringValue", ""))
    number = float(value["numberValue"])
    kind = (number_format or {}).get("type", "")
    pattern = (number_format or {}).get("pattern") or _PATTERNS.get(kind, "")
    if is_date(number_format):
        return _dated(number, pattern)
    return _patterned(number, pattern) if pattern and pattern != "@" else _general(number)


def is_date(number_format: Json | None) -> bool:
    """Whether the number is shown as a date or a time."""
    return (number_format or {}).get("type") in ("DATE", "TIME", "DATE_TIME")


def _general(number: float) -> str:
    text = f"{number:.10g}"
    return text.upper() if "e" in text else text


def _patterned(number: float, pattern: str) -> str:
    positive, *others = pattern.split(";")
    if number < 0 and others:
        positive, number = others[0], -number
    found = re.search(r"[#0,]+(\.[0#]+)?(E\+0+)?", re.sub(r'"[^"]*"', lambda m: "\0" * len(m[0]), positive))
    if found is None:
        return positive.replace('"', "")
    before, after = positive[: found.start()], positive[found.end() :]
    scaled = number * 100 if "%" in after else number
    digits = (found[1] or ".")[1:]
    body = f"{scaled:,.{len(digits)}f}" if "," in found[0] else f"{scaled:.{len(digits)}f}"
    if found[2]:
        body = f"{number:.{len(digits)}E}"
    if optional := len(digits) - len(digits.rstrip("#")):
        kept = body.rstrip("0")
        body = kept.ljust(len(body) - optional, "0").rstrip(".") if len(kept) < len(body) else body
    return (before + body + after).replace('"', "").replace("\\", "")


_DATE_PART = re.compile(r'"[^"]*"|y+|M+|m+|d+|h+|H+|s+|am/pm|a/p|.', re.IGNORECASE | re.DOTALL)


def _dated(number: float, pattern: str) -> str:
    moment = _EPOCH + timedelta(seconds=round(number * 86400))
    made, after_hour = "", False
    for part in _DATE_PART.findall(pattern):
        kind = part[0].lower()
        if part.startswith('"'):
            made += part[1:-1]
            continue
        # mm beside hours or seconds is minutes, else the month.
        minutes = kind == "m" and (after_hour or bool(re.match(r"[^a-z]*s", pattern.partition(part)[2])))
        made += _date_part(moment, "n" if minutes else kind, len(part), part)
        after_hour = kind == "h" or (after_hour and not kind.isalpha())
    return made


def _date_part(moment: datetime, kind: str, width: int, part: str) -> str:
    if kind == "y":
        return str(moment.year) if width > 2 else f"{moment.year % 100:02}"
    values = {"m": moment.month, "d": moment.day, "h": moment.hour, "n": moment.minute, "s": moment.second}
    return str(values[kind]).rjust(min(width, 2), "0") if kind in values else part
