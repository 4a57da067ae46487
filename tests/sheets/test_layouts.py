"""Columns and dropdowns are known by what they are called, in either language."""

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from simulator.core.types import Language, RedRules, Results, Run
from simulator.report.worksheets import worksheets
from simulator.sheets.model import (
    FILE,
    LANGUAGES,
    TURN_COLUMNS,
    SheetWords,
    Worksheet,
    folded,
    language_of,
    layouts,
)
from simulator.stats.gate import decide
from simulator.stats.summary import summarise
from tests.report.test_worksheets import report_context
from tests.report.views import context_of


def painted(language: Language, *, rows: bool) -> tuple[Worksheet, ...]:
    """The worksheets of a run without a word in it."""
    settings: dict[str, Any] = {"protocol": "single_turn"} if rows else {}
    run = Run(id="", created=datetime(2020, 1, 1, tzinfo=UTC), settings=settings)
    results = Results(run=run, planned=0)
    summary = summarise(results, rules=RedRules(), judges=("turn",), seed=0)
    return worksheets(context_of(results, summary, decide(summary, None, 0.0), language))


def titles() -> Iterator[tuple[str, dict[str, Any]]]:
    """What the worksheets of all languages and kinds of runs are called, and all in them."""
    sheets = [
        (language, sheet)
        for language in LANGUAGES
        for rows in (False, True)
        for sheet in painted(language, rows=rows)
    ]
    for name in dict.fromkeys(sheet.name for _, sheet in sheets):
        mine = [(language, sheet) for language, sheet in sheets if sheet.name == name]
        columns = {folded(c.title): c.key for _, sheet in reversed(mine) for c in reversed(sheet.columns)}
        if name == "conversations":
            for language in LANGUAGES:
                for rows in (False, True):
                    words = SheetWords(language, rows=rows)
                    columns |= {folded(words("column", key, n="")): key for key in TURN_COLUMNS}
        choices: dict[str, dict[str, str]] = {}
        for _, sheet in mine:
            for column in sheet.columns:
                for choice in column.choices:
                    offered = choices.setdefault(column.key, {})
                    offered |= {folded(choice.title): choice.id, folded(choice.id): choice.id}
        yield (
            name,
            {
                "titles": {
                    each: list(dict.fromkeys(s.title for lang, s in mine if lang == each))
                    for each in LANGUAGES
                },
                "columns": columns,
                "team": sorted({c.key for _, sheet in mine for c in sheet.columns if c.owner == "team"}),
                "days": sorted({c.key for _, sheet in mine for c in sheet.columns if c.kind == "date"}),
                "choices": choices,
            },
        )


def test_the_stored_titles_are_those_that_reports_paint() -> None:
    """A new column or another title is found here: UPDATE_GOLDEN=1 writes the file anew."""
    now = dict(titles())
    if os.environ.get("UPDATE_GOLDEN"):
        FILE.write_text(json.dumps(now, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")

    assert json.loads(FILE.read_text(encoding="utf-8")) == now


@pytest.mark.parametrize("language", ["ja", "en"])
def test_every_title_is_known(language: Language) -> None:
    """Of each column, also those of which there are as many as turns, and of each choice."""
    sheets = worksheets(report_context(language))

    assert language_of(sheets) == language
    assert [sheet.name for sheet in sheets] == list(layouts())
    for sheet in sheets:
        layout = layouts()[sheet.name]
        assert [layout.column(column.title) for column in sheet.columns] == [c.key for c in sheet.columns]
        assert layout.team == {column.key for column in sheet.columns if column.owner == "team"}
        for column in sheet.columns:
            assert [layout.choice(column.key, c.title) for c in column.choices] == [
                c.id for c in column.choices
            ]


def test_what_is_not_known() -> None:
    """A title nobody gave, and a number that is none of a turn."""
    assert layouts()["review"].column("優先度") is None
    assert layouts()["review"].column("回答1") is None
    assert layouts()["conversations"].column("お客様１２") == "user12"
    assert layouts()["review"].choice("status", "後で") == "後で"
