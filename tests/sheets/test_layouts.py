"""Columns and dropdowns are known by what they are called, in either language."""

import pytest

from simulator.core.types import Language
from simulator.report.worksheets import worksheets
from simulator.sheets.model import layouts, number_cell
from tests.report.test_worksheets import report_context
from tests.sample_runs import rehearsed


@pytest.mark.parametrize("protocol", ["dialogue", "single_turn"])
@pytest.mark.parametrize("language", ["ja", "en"])
def test_every_title_is_known(language: Language, protocol: str) -> None:
    """Of each column, also those of which there are as many as turns, and of each choice."""
    results = rehearsed(language)
    run = results.run.model_copy(update={"settings": {**results.run.settings, "protocol": protocol}})
    sheets = worksheets(report_context(language, results.model_copy(update={"run": run})))

    assert [sheet.name for sheet in sheets] == list(layouts())
    for sheet in sheets:
        layout = layouts()[sheet.name]
        assert [layout.column(column.title) for column in sheet.columns] == [c.key for c in sheet.columns]
        assert layout.team == {column.key for column in sheet.columns if column.owner == "team"}
        for column in sheet.columns:
            # Excel keeps a dropdown's choices in one text, with commas between them.
            if column.owner == "team":
                assert not any("," in title for title in column.choices.values())
            titles = column.choices.values()
            assert [layout.choice(column.key, title) for title in titles] == [*column.choices]


def test_what_is_not_known() -> None:
    """A title nobody gave, and a number that is none of a turn."""
    assert layouts()["review"].column("優先度") is None
    assert layouts()["review"].column("回答1") is None
    assert layouts()["conversations"].column("お客様１２") == "user12"
    assert layouts()["conversations"].column("Judge 3") == "check3"
    assert layouts()["review"].choice("status", "後で") == "後で"


@pytest.mark.parametrize("text", ["正しい。", "○", "👍🏽", " ＯＫ "])
def test_what_people_write_instead_of_picking_is_taken_for_what_it_means(text: str) -> None:
    """The choices of a column are words; a circle and a thumb are words, too."""
    assert layouts()["review"].choice("judge_is", text) == "right"


def test_a_count_is_shown_to_its_last_digit() -> None:
    """Not as 1.23457e+06; a share is cut."""
    assert [number_cell(n).text for n in (1_234_567, 12.0, 0.123456789)] == ["1234567", "12", "0.123457"]
