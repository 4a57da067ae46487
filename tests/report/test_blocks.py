"""Every kind of block of a report, as every painter draws it: safe whatever it says, and within the width."""

import pytest
from rich.cells import cell_len

from simulator.core.document import (
    Block,
    Cell,
    Chart,
    Fact,
    FactList,
    Item,
    Items,
    Line,
    Notes,
    Report,
    Section,
    Table,
)
from simulator.report.painters.html import page
from simulator.report.painters.markdown import markdown
from tests.texts import terminal

HOSTILE = (
    '\x1b[2J[bold red]x[/]|<script>alert("1")</script>@all ![a](http://e.example) *b* a|b\n# 見出し\u202e'
)
LONG = "解約金は9,500円です。An answer that is longer than most terminals are wide, and then some. "


def report_of(text: str) -> Report:
    """A report in which every text is this one."""
    fact, line = Fact(text, text, (text,)), Line(text, "alarm")
    cells = (Cell(text=text, note=text, tone="good"), Cell(text=text, href="report.html"), Cell(text="1"))
    marks = ((0.0, text), (4.0, text))
    blocks: tuple[Block, ...] = (
        line,
        Notes((line, line)),
        FactList((fact,), text),
        Items((Item(text, (fact,), "alarm"),), text, numbered=True),
        Table(name="t", title=text, columns=(text, text, "n"), rows=(cells, cells), words=frozenset({1})),
        Chart("bars", text, text, (text, text), (1.0, 3.0), (text, text)),
        Chart("line", text, text, (text, text), (1.0, 3.0), (text, text), (0.0, 2.0), (2.0, 4.0), marks),
    )
    folded = Section("folded", text, blocks, folded=True)
    return Report(text, "ja", blocks, (Section("open", text, blocks), folded), text, text)


def test_no_text_moves_or_colours_a_terminal() -> None:
    """Control codes are gone, and markup is text; the painter's own colours stay."""
    shown = terminal(report_of(HOSTILE), 400, color_system="truecolor", force_terminal=True)

    assert "\x1b[2J" not in shown
    assert "\u202e" not in shown
    assert "[bold red]x[/]" in shown


def test_no_text_is_markup_in_markdown() -> None:
    """No tag, link, mention or heading of others; in code, which says what a report is about, all is text."""
    shown = markdown(report_of(f"`{HOSTILE}"))

    assert not {"\x1b", "\u202e"} & set(shown)
    shown, _, about = shown.rstrip().rpartition("\n\n")
    assert about.count("`") == 2
    assert "<script" not in shown.replace("\\<script", "")
    assert not [mark for mark in ("](http", "http://", "@all", " *b", "a|b") if mark in shown]
    assert not [line for line in shown.splitlines() if line.startswith("# ")]


def test_no_text_is_markup_on_a_page() -> None:
    """Everything is escaped, in attributes as well."""
    shown = page(report_of(HOSTILE))

    assert not {"\x1b", "\u202e"} & set(shown)
    assert "<script" not in shown
    assert 'alert("1")' not in shown


@pytest.mark.parametrize("width", [40, 60, 80, 100])
@pytest.mark.parametrize("text", ["短い", LONG, LONG * 3], ids=["short", "long", "longer"])
def test_no_line_is_wider_than_the_terminal(text: str, width: int) -> None:
    """Paragraphs wrap, and a table folds its cells or comes in parts."""
    assert max(map(cell_len, terminal(report_of(text), width).splitlines())) <= width
