"""What reports are made of: cells, lists and charts, and the texts that stand in them."""

from datetime import UTC, datetime

import pytest

from simulator.core.document import (
    PAGE,
    Cell,
    Chart,
    Fact,
    Item,
    Items,
    Line,
    Notes,
    Report,
    Section,
    Table,
    brief_reason,
    excerpt,
    figures_section,
    page_section,
    share_text,
    sparkline,
    target_points,
    zoned_time,
)
from simulator.core.messages import _


def test_a_table_shows_texts_counts_and_dashes() -> None:
    """Numbers of things with separators, and as numbers for a worksheet; nothing is a dash."""
    red = Cell(text="x", red=True)
    table = Table.of("t", ("a", "b"), [("text", 12_000), (None, red)], "Title", folded=True)

    assert table.rows == (
        (Cell(text="text"), Cell(text="12,000", number=12_000)), (Cell(text="–"), red),
    )  # fmt: skip
    assert (table.title, table.columns, table.folded) == ("Title", ("a", "b"), True)
    named = Table.listing("t", [1, 2], {"n": lambda n: n, "twice": lambda n: str(2 * n)}, "Title")
    assert [[cell.text for cell in row] for row in named.rows] == [["1", "2"], ["2", "4"]]
    assert (named.columns, named.title) == (("n", "twice"), "Title")


def test_a_list_says_how_many_it_leaves_out() -> None:
    """Nothing where all are there."""
    items, more = [Item("a"), Item("b"), Item("c")], _("and {n} more")

    assert Items.first(2, items, more, numbered=True) == Items((items[0], items[1]), more.format(n=1), True)
    assert Items.first(3, items, more) == Items(tuple(items), "", False, False)


def test_what_stands_below_an_item_is_said_line_by_line() -> None:
    """The facts, then what two runs have."""
    one, two, three = Fact("", "a"), Fact("", "b"), Fact("", "c")

    assert Item("x", (one,), sides=((two, three),)).lines == (one, two, three)
    assert Notes.of(["a", Line("b", "alarm")], "soft").lines == (Line("a", "soft"), Line("b", "alarm"))
    assert Chart.bars("d", {"a": 1200, "b": 0}) == Chart(
        "bars", "", "d", ("a", "b"), (1200.0, 0.0), ("1,200", "0")
    )


def test_a_section_says_one_thing_first() -> None:
    """Its first line; the notes on its figures stand behind them, and where there are none, nothing does."""
    table = Table.of("t", ("a",), [])
    section = figures_section("key", "Title", "Said.", [table], ["Read it so."], {"n": 1})

    assert section.blocks == (Line("Said.", "strong"), table, Notes((Line("Read it so.", "soft"),)))
    assert (section.line, section.tables, section.figures) == ("Said.", (table,), {"n": 1})
    assert figures_section("key", "Title", "Said.").blocks == (Line("Said.", "strong"),)
    assert (Section("key", "Title", (table,)).line, page_section("")) == ("", ())
    (page,) = page_section("runs/x/report.html")
    assert str(page.line) == "Page: runs/x/report.html"
    report = Report("R", "en", sections=(page, Section("p", "P", views=PAGE)))
    assert [[*(part.key for part in report.shown_in(view))] for view in ("brief", "terminal", "page")] == [
        ["page"], ["page"], ["p"],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "length", "shown"),
    [
        ("a  b\nc", 160, "a b c"), ("x" * 160, 160, "x" * 160), ("x" * 161, 160, "x" * 159 + "…"),
        ("ab cd", 4, "ab…"), (" " * 8 + "abc", 2, ""), (" " * 7 + "abc", 2, "a"),
    ],
)  # fmt: skip
def test_the_beginning_of_a_text_stands_on_one_line(text: str, length: int, shown: str) -> None:
    """Cut where it is longer; of what is mostly blanks four times the length is looked at."""
    assert excerpt(text, length) == shown
    assert length != 160 or excerpt(text) == shown


def test_reasons_shares_and_targets_are_short() -> None:
    """Japanese takes twice the room; a share says of how many, and a target is as it was set."""
    assert [len(brief_reason("x" * 999, language)) for language in ("ja", "en")] == [140, 280]
    assert [str(share_text(*given)) for given in ((8, 10), (1, 3, 1), (0, 0))] == [
        "80 % (8 of 10)", "33.3 % (1 of 3)", "–",
    ]  # fmt: skip
    assert [target_points(target) for target in (0.8, 0.795, 0.7999999)] == ["80", "79.5", "80"]
    assert (sparkline([0, 0.5, 1]), sparkline([2, 4], low=2, span=2)) == ("▁▅█", "▁█")
    assert zoned_time(datetime(2026, 11, 21, 18, 4, tzinfo=UTC)) == "2026/11/21 18:04 UTC"
