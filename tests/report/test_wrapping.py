"""Lines that fit a terminal, in Japanese too."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from simulator.core.messages import wrap


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("one two three", 7, ["one two", "three"]),
        ("窓口: 解約金は9,800円です。", 12, ["窓口: 解約金", "は9,800円で", "す。"]),
        ("前の「引用」と", 6, ["前の", "「引", "用」と"]),
        ("first\nsecond", 20, ["first", "second"]),
        ("", 10, [""]),
        ("比べる: python run.py diff a/b9。", 12, ["比べる:", "python run.py diff a/b9。"]),
        ("次は/home/太郎/資料/料金.mdを読む", 8, ["次は", "/home/太郎/資料/料金.md", "を読む"]),
    ],
)
def test_text_breaks_where_a_reader_would(text: str, width: int, lines: list[str]) -> None:
    """Between words and Japanese characters, not before a full stop or within what people copy."""
    assert wrap(text, width) == lines


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("採点して、レポートを書きます。", 20, ["採点して、レポートを", "書きます。"]),
        ("1ターンの採点（既定は 3）", 16, ["1ターンの採点", "（既定は 3）"]),
        ("とぎれのないひらがな", 8, ["とぎれの", "ないひら", "がな"]),
    ],
)
def test_phrases_stay_whole_where_they_fit(text: str, width: int, lines: list[str]) -> None:
    """A line ends behind hiragana or a mark, not within a word."""
    assert wrap(text, width, by_phrase=True) == lines


@given(
    st.text(alphabet=st.characters(categories=("L", "N", "P", "Zs")), max_size=80),
    st.integers(4, 40),
    st.booleans(),
)
def test_no_line_is_too_wide_and_nothing_is_lost(text: str, width: int, by_phrase: bool) -> None:
    """Only white space disappears."""
    lines = wrap(text, width, by_phrase=by_phrase)

    assert all(cell_len(line) <= width or re.search("[!-~]{2}", line) for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())
