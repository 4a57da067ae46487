"""What columns and dropdowns are called in either language: how they are known where no key is left.

`layouts.json` beside this file holds the titles of all worksheets; a test compares it with what is painted.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import get_args
from unicodedata import normalize

from simulator.core.types import Language
from simulator.reports.worksheet import Worksheet

FILE = Path(__file__).with_name("layouts.json")
LANGUAGES: tuple[Language, ...] = get_args(Language)
# Columns of which there are as many as a conversation has turns.
SPOKEN = ("user", "assistant", "check")


@dataclass
class Layout:
    """One worksheet: tabs by language, columns by title, those of the team and of dates, choices by title."""

    titles: dict[Language, list[str]] = field(default_factory=dict)
    columns: dict[str, str] = field(default_factory=dict)
    team: set[str] = field(default_factory=set)
    days: set[str] = field(default_factory=set)
    choices: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def tabs(self) -> set[str]:
        """The tab's titles in all languages, folded."""
        return {folded(title) for titles in self.titles.values() for title in titles}

    def column(self, title: str) -> str | None:
        """The key of the column of that title, in either language."""
        key = folded(title)
        if found := self.columns.get(key):
            return found
        number = key[len(key.rstrip("0123456789")) :]
        spoken = self.columns.get(key.removesuffix(number)) if number else None
        return f"{spoken}{int(number)}" if spoken in SPOKEN else None

    def choice(self, column: str, text: str) -> str:
        """The id of what was picked from a dropdown; what nobody offered stays as it is."""
        return self.choices.get(column, {}).get(folded(text), text)


def folded(title: str) -> str:
    """A title without what people change by accident: width, case and spaces."""
    return " ".join(normalize("NFKC", title).casefold().split())


@lru_cache(maxsize=1)
def layouts() -> Mapping[str, Layout]:
    """The layout of every worksheet, in the order of their tabs."""
    stored = json.loads(FILE.read_text(encoding="utf-8"))
    return {
        name: Layout(**layout | {"team": set(layout["team"]), "days": set(layout["days"])})
        for name, layout in stored.items()
    }


def language_of(sheets: Iterable[Worksheet]) -> Language:
    """The language that worksheets are titled in; Japanese where none of them is known."""
    shown = {(sheet.name, sheet.title) for sheet in sheets}
    known = (
        (language, name, title)
        for name, layout in layouts().items()
        for language, titles in layout.titles.items()
        for title in titles
    )
    found = {language for language, name, title in known if (name, title) in shown}
    return next((language for language in LANGUAGES if language in found), "ja")
