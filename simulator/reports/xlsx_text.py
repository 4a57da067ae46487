"""Text as an Excel cell can hold it, and how much room it takes there."""

import re
from math import ceil

from simulator.core.replies import encodable
from simulator.core.types import Language
from simulator.reports.sheet_words import SheetWords

# Excel counts UTF-16 units: an emoji is two.
LONGEST = 32_767
_MARK_AT_MOST = 64
_ILLEGAL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
# C0 controls have pictures of their own (␀ ␁ ...); C1 controls have none.
# Workbooks write control characters as _x0001_, and a text that looks like that with an escape before it. Of
# two that share a low line only the first is escaped: the other would be read as the character.
_OVERLAPPING = re.compile(r"(_x[0-9A-Fa-f]{4})_(?=x[0-9A-Fa-f]{4}_)")
_PICTURES = {code: 0x2400 + code for code in range(0x20) if code not in (0x09, 0x0A)}
_PICTURES |= {0x7F: 0x2421, 0xFFFE: 0xFFFD, 0xFFFF: 0xFFFD} | dict.fromkeys(range(0x80, 0xA0), 0xFFFD)
# What a spreadsheet takes for a formula as soon as somebody edits the cell.
_FORMULA = tuple("=+-@\t\n|%＝＋－＠")


def cell_text(text: str, language: Language, longest: int = LONGEST) -> str:
    """The text with control characters made visible, cut with a visible mark to what a cell holds."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if _ILLEGAL.search(text):
        text = encodable(text.translate(_PICTURES))
    if "_x" in text:
        text = _OVERLAPPING.sub(r"\1＿", text)
    return text if units(text) <= longest else _cut(text, language, longest)


def units(text: str) -> int:
    """The length of a text as Excel counts it."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def _cut(text: str, language: Language, longest: int) -> str:
    kept = text.encode("utf-16-le")[: 2 * (longest - _MARK_AT_MOST)].decode("utf-16-le", "ignore")
    return kept + SheetWords(language)("text", "left_out", n=len(text) - len(kept))


def looks_like_a_formula(text: str) -> bool:
    """Whether a spreadsheet could calculate the text once somebody edits its cell."""
    return text.lstrip(" \u3000").startswith(_FORMULA)


def columns_wide(text: str) -> float:
    """About how many narrow characters wide a line is; a kanji, three bytes of UTF-8, counts for two."""
    return (len(text) + len(text.encode())) / 2


def lines_high(text: str, width: float, most: int) -> int:
    """About how many lines a text takes when it is wrapped at `width` narrow characters, up to `most`."""
    high = 0
    for line in text.split("\n"):
        high += max(1, ceil(columns_wide(line) / width))
        if high >= most:
            return most
    return high
