"""In which time zone a moment is told: this machine's, but in sheets, which a team shares, that of Japan."""

import re
from datetime import datetime
from zoneinfo import ZoneInfo

from simulator.core.translations import Words, plain

# The same whoever paints the sheet, a colleague's laptop or a nightly job: else one worksheet mixes zones.
JST = ZoneInfo("Asia/Tokyo")


def local(moment: datetime) -> datetime:
    """The moment in the time zone of this machine (TZ), as terminals and pages tell it."""
    return moment.astimezone()


_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~&])")


def escaped(text: str) -> str:
    """Text of others on one line: no markup, no link, and nobody is called by name."""
    line = " ".join(plain(text).split())
    return _SPECIAL.sub(r"\\\1", line).replace("@", "@\u2060").replace("://", ":\u2060//")


def stand_in(words: Words) -> str:
    """That nothing here was said or judged by a model, as a quotation that stands out."""
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
