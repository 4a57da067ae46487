"""A worksheet's cells as Google's: text that is never a formula, numbers, fills and notes."""

import re
import unicodedata
from typing import Any, NamedTuple

from simulator.core.types import Language
from simulator.reports.sheet_words import SheetWords
from simulator.reports.worksheet import FILLS, SheetCell

Json = dict[str, Any]
# What Google takes in one cell, counted as it counts: a character beyond the first plane is two.
LONGEST = 50_000
LONGEST_NOTE = 5_000
# What an update of a cell writes; widths, wraps and number formats stay as people like them.
WRITTEN = "userEnteredValue,note,userEnteredFormat.backgroundColorStyle"
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


class Shown(NamedTuple):
    """What a cell holds, as far as the program minds; `fill` is RRGGBB, "" for none."""

    value: str | float = ""
    note: str = ""
    fill: str = ""


def shown(cell: SheetCell, language: Language) -> Shown:
    """What a cell of ours shall hold."""
    value = cell.number if cell.number is not None else printable(cell.text, language)
    note = printable(cell.note, language, LONGEST_NOTE)
    return Shown(value, note, FILLS[cell.mark] if cell.mark else "")


def printable(text: str, language: Language, longest: int = LONGEST) -> str:
    """The text with control characters made visible, cut with a mark where it is too long."""
    text = text.replace("\r\n", "\n")
    if _CONTROLS.search(text):
        # Both halves of one character find each other by way of UTF-16.
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        text = _CONTROLS.sub(_picture, text)
    return text if units(text) <= longest else _cut(text, language, longest)


def units(text: str) -> int:
    """The length in UTF-16 units."""
    return len(text) + sum(character > "\uffff" for character in text)


def _picture(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code == 0x7F:
        return "\u2421"
    return chr(0x2400 + code) if code < 0x20 else "\ufffd"


def _cut(text: str, language: Language, longest: int) -> str:
    words = SheetWords(language)
    room = longest - units(words("text", "left_out", n=len(text)))
    kept, used = 0, 0
    for character in text:
        used += 1 + (character > "\uffff")
        if used > room:
            break
        kept += 1
    while kept and (_joins(text[kept]) or text[kept - 1] == "\u200d"):
        kept -= 1
    return text[:kept] + words("text", "left_out", n=len(text) - kept)


def _joins(character: str) -> bool:
    """Whether it belongs to the character before it."""
    return (
        unicodedata.category(character) in ("Mn", "Me", "Mc", "Cf")
        or "\U0001f3fb" <= character <= "\U0001f3ff"
    )


def written(want: Shown) -> Json:
    """The cell as it is sent, all of it."""
    made = look(want)
    if want.value != "":
        kind = "stringValue" if isinstance(want.value, str) else "numberValue"
        made["userEnteredValue"] = {kind: want.value}
    return made


def look(want: Shown) -> Json:
    """Fill and note of the cell; what it has none of is cleared."""
    made: Json = {"note": want.note} if want.note else {}
    if want.fill:
        made["userEnteredFormat"] = {"backgroundColorStyle": color(want.fill)}
    return made


def color(fill: str) -> Json:
    """RRGGBB as Google's colour style."""
    red, green, blue = (int(fill[at : at + 2], 16) / 255 for at in (0, 2, 4))
    return {"rgbColor": {"red": red, "green": green, "blue": blue}}


def held(cell: Json) -> Shown:
    """What a cell that was read holds; a formula or an error is nothing of ours."""
    value = cell.get("userEnteredValue") or {}
    entered = value.get("stringValue", value.get("numberValue"))
    other = value and entered is None
    style = (cell.get("userEnteredFormat") or {}).get("backgroundColorStyle") or {}
    known: str | float = "\ufffd" if other else "" if entered is None else entered
    return Shown(known, str(cell.get("note", "")), _fill(style))


def _fill(style: Json) -> str:
    if not style:
        return ""
    rgb = style.get("rgbColor")
    if rgb is None:
        return "theme"
    fill = "".join(f"{round(255 * float(rgb.get(part, 0))):02X}" for part in ("red", "green", "blue"))
    return "" if fill == "FFFFFF" else fill
