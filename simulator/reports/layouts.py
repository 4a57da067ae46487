"""What columns and dropdowns are called in either language: how they are known where no key is left."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import get_args
from unicodedata import normalize

from simulator.analysis.gate import decide
from simulator.analysis.summary import summarise
from simulator.reports.sheet_words import SheetWords
from simulator.reports.told import Told
from simulator.reports.worksheet import Worksheet
from simulator.reports.worksheets import worksheets
from simulator.types import Language, RedRules, Results, Run

LANGUAGES: tuple[Language, ...] = get_args(Language)
# Columns of which there are as many as a conversation has turns.
_SPOKEN = ("user", "assistant", "check")


@dataclass
class Layout:
    """One worksheet: tab titles; columns by title; those of the team and of dates; choices by title."""

    tabs: set[str] = field(default_factory=set)
    columns: dict[str, str] = field(default_factory=dict)
    team: set[str] = field(default_factory=set)
    days: set[str] = field(default_factory=set)
    choices: dict[str, dict[str, str]] = field(default_factory=dict)

    def column(self, title: str) -> str | None:
        """The key of the column of that title, in either language."""
        key = folded(title)
        if found := self.columns.get(key):
            return found
        number = key[len(key.rstrip("0123456789")) :]
        spoken = self.columns.get(key.removesuffix(number)) if number else None
        return f"{spoken}{int(number)}" if spoken in _SPOKEN else None

    def choice(self, column: str, text: str) -> str:
        """The id of what was picked from a dropdown; what nobody offered stays as it is."""
        return self.choices.get(column, {}).get(folded(text), text)


def folded(title: str) -> str:
    """A title without what people change by accident: width, case and spaces."""
    return " ".join(normalize("NFKC", title).casefold().split())


@lru_cache(maxsize=1)
def layouts() -> Mapping[str, Layout]:
    """The layout of every worksheet, in the order of their tabs, from those of a run without a word in it."""
    known: dict[str, Layout] = {}
    for language in LANGUAGES:
        for rows in (False, True):
            for sheet in _empty(language, rows):
                _add(known.setdefault(sheet.name, Layout()), sheet)
            words = SheetWords(language, rows=rows)
            spoken = {folded(words("column", key, n="")): key for key in _SPOKEN}
            known["conversations"].columns |= spoken
    return known


def language_of(sheets: Iterable[Worksheet]) -> Language:
    """The language that worksheets are titled in."""
    titles = {(sheet.name, sheet.title) for sheet in sheets}
    known = ((each, sheet) for each in LANGUAGES for rows in (False, True) for sheet in _empty(each, rows))
    return next((each for each, sheet in known if (sheet.name, sheet.title) in titles), "ja")


def _add(layout: Layout, sheet: Worksheet) -> None:
    layout.tabs.add(folded(sheet.title))
    for column in sheet.columns:
        layout.columns.setdefault(folded(column.title), column.key)
        if column.owner == "team":
            layout.team.add(column.key)
        if column.kind == "date":
            layout.days.add(column.key)
        for choice in column.choices:
            offered = layout.choices.setdefault(column.key, {})
            offered |= {folded(choice.title): choice.id, folded(choice.id): choice.id}


@lru_cache(maxsize=4)
def _empty(language: Language, rows: bool) -> tuple[Worksheet, ...]:
    settings = {"protocol": "single_turn"} if rows else {}
    run = Run(id="", created=datetime(2020, 1, 1, tzinfo=UTC), settings=settings)
    results = Results(run=run, planned=0)
    summary = summarise(results, rules=RedRules(), judges=("turn",), seed=0)
    return worksheets(Told(results, summary, decide(summary, None, 0.0), language))
