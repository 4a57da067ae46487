"""What reports are made of (cells, tables, sections), and how their texts are wrapped, escaped and dated."""

import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from simulator.core.translations import Words, safe_text
from simulator.core.types import Value


class Cell(Value):
    """What one cell shows; `number` is the exact figure (a score is 0..1), `note` explains it.

    `shade` is how good that is (0..1), for views that paint squares.
    `red` cells are painted FADBDA; their text or note says why, for those who see no colour.
    """

    text: str
    number: float | None = None
    red: bool = False
    note: str = ""
    shade: float | None = None


class Table(Value):
    """A named sheet: `name` is its stable id, `title` and `columns` are in the reader's language.

    The first column names the row, and `counts` is the place of the figure that counts, where one stands out.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    counts: int = 1


@dataclass(frozen=True, slots=True)
class Section:
    """A title, one line that says it all, tables, notes; `figures` is what `--json` shows under `key`.

    In every table the first column names the row, and the one at `counts` holds the figure that counts.
    """

    key: str
    title: str
    line: str
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()
    figures: dict[str, Any] = field(default_factory=dict)


def count_cell(n: int) -> Cell:
    """A number of things."""
    return Cell(text=f"{n:,}", number=n)


# The same whoever paints the sheet, a colleague's laptop or a nightly job: else one worksheet mixes zones.
JST = ZoneInfo("Asia/Tokyo")


def local_time(moment: datetime) -> datetime:
    """The moment in the time zone of this machine (TZ), as terminals and pages show it."""
    return moment.astimezone()


_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~&])")


def escape_markdown(text: str) -> str:
    """Text of others on one line of Markdown: no markup, no link, no @mention."""
    line = " ".join(safe_text(text).split())
    return _SPECIAL.sub(r"\\\1", line).replace("@", "@\u2060").replace("://", ":\u2060//")


def stand_in_notice(words: Words) -> str:
    """The notice that no model took part, as a quotation that stands out."""
    return f"> **{words('standin')}** {words('standin_why')}"


# Japanese breaks between any two characters, but not before a closing mark or after an opening one.
_WIDE = "\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6"
_OPENING, _ENDING = "（「『【〈《［", "、。，．）」』】〉》］！？：；・…"
_CLOSING = _ENDING + "ー々"
_UNIT = re.compile(
    rf"\s+|[{_OPENING}]*(?:[^\s{_WIDE}]+|[{_WIDE}])[{_CLOSING}]*(?:(?<=[{_WIDE}])[,.:;!?)]+)?|[{_OPENING}]+"
)
# Short texts read better when words stay whole: a phrase is about what ends in hiragana (1ターンの・採点を).
_HONORIFIC = "[おご][一-鿿]"
_PHRASE = re.compile(
    rf"\s+|[{_OPENING}]*[^\s{_WIDE}]*[おご]?(?:(?![ぁ-ゟ{_OPENING}{_ENDING}])[{_WIDE}])*"
    rf"(?:(?!{_HONORIFIC})[ぁ-ゟ])*[{_ENDING}]*(?:(?<=[{_WIDE}])[,.:;!?)]+(?!\w))?"
)


def wrap(text: str, width: int, *, by_phrase: bool = False) -> list[str]:
    """The text in lines of at most `width` cells; its own line breaks are kept."""
    units = _PHRASE if by_phrase else _UNIT
    return [line for paragraph in text.split("\n") for line in _wrapped(paragraph, max(2, width), units)]


def _wrapped(paragraph: str, width: int, units: re.Pattern[str]) -> list[str]:
    """One paragraph in lines; a unit that is wider than the line is cut where it must be."""
    from rich.cells import cell_len, chop_cells  # --help does without

    lines, free = [""], width
    for unit in (part for found in units.findall(paragraph) for part in chop_cells(found, width)):
        size = cell_len(unit)
        if size > free:
            lines.append("")
            free = width
            if unit.isspace():
                continue
        lines[-1] += unit
        free -= size
    return [line.rstrip() for line in lines]
