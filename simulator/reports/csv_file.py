"""A run as CSV, one row per turn: for spreadsheets that people open by a double click."""

import csv
import io

from simulator.core.translations import plain
from simulator.reports.told import Told
from simulator.reports.turn_rows import turn_rows

# What a spreadsheet would take for a formula, also after blanks; full-width signs, too.
_FORMULA = tuple("=+-@＝＋－＠\t\r")
# Stands where an encoding lacks a character, and is seen: the printer's geta.
GETA = "〓"
HEAD = (
    "conversation", "turn", "persona", "case", "language", "ended", "user", "answer", "answer_failure",
    "answer_seconds", "passages", "red", "severity", "marks", "reason",
)  # fmt: skip


def csv_bytes(told: Told, encoding: str = "utf-8") -> bytes:
    """The file's content: UTF-8 with BOM, or CP932 with 〓 for every character that it lacks.

    Text that a spreadsheet would take for a formula is led by an apostrophe.
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    judges = list(told.summary.judges)
    graded = [f"{name}.{part}" for name in judges for part in ("grade", "reason")]
    writer.writerow([*HEAD, *graded])
    for row in turn_rows(told):
        scores = [row["scores"].get(name, {}) for name in judges]
        cells = [row[key] for key in HEAD]
        cells += [value for score in scores for value in (score.get("raw"), score.get("reason"))]
        writer.writerow([_cell(value) for value in cells])
    return encoded(out.getvalue(), encoding)


def encoded(text: str, encoding: str) -> bytes:
    """The text in an encoding that people's spreadsheets open."""
    if encoding.lower().replace("-", "") == "utf8":
        return text.encode("utf-8-sig")
    kept = "".join(each if _has(encoding, each) else GETA for each in text)
    return kept.encode(encoding)


def _has(encoding: str, letter: str) -> bool:
    try:
        letter.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return "red" if value else ""
    if isinstance(value, list):
        value = "|".join(map(str, value))
    if not isinstance(value, str):
        return value
    text = plain(value)
    return f"'{text}" if text.lstrip(" \u3000").startswith(_FORMULA) else text
