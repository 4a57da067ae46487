"""Lines that fit a terminal, in Japanese too."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from simulator.reports.wrapping import wrap


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("one two three", 7, ["one two", "three"]),
        ("窓口: 解約金は9,800円です。", 12, ["窓口: 解約金", "は9,800円で", "す。"]),
        ("機器は返却。次へ", 10, ["機器は返", "却。次へ"]),
        ("前の「引用」と", 6, ["前の", "「引", "用」と"]),
        ("first\nsecond", 20, ["first", "second"]),
        ("abcdefgh", 3, ["abc", "def", "gh"]),
        ("", 10, [""]),
    ],
)
def test_text_breaks_where_a_reader_would(text: str, width: int, lines: list[str]) -> None:
    """Between words, between Japanese characters, never before a full stop."""
    assert wrap(text, width) == lines


@given(st.text(alphabet=st.characters(categories=("L", "N", "P", "Zs")), max_size=80), st.integers(4, 40))
def test_no_line_is_too_wide_and_nothing_is_lost(text: str, width: int) -> None:
    """Only white space disappears."""
    lines = wrap(text, width)

    assert all(cell_len(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())
