"""The figures of a text in one spelling, and those that stand in none of others."""

import pytest

from simulator.text.figures import differing, figures


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("解約金は１万5,000円です。", ["15000円"]),
        ("It costs $1,100 or €9.50.", ["1100$", "9.5€"]),
        ("$2k, 22k yen, €1.5m, $3bn; 10k", ["2000$", "22000円", "1500000€", "3000000000$", "10"]),
        ("3割、30%、thirty percent", ["30%"]),
        ("2週間、14 days、336時間", ["20160分"]),
        ("1年、12か月、12 months", ["12月"]),
        ("5営業日 / 5 business days", ["5営業日"]),
        ("2024年4月1日、4月1日、2024-04-01", ["2024-04-01", "04-01"]),
        ("April 1, 2024 and 3rd of May", ["2024-04-01", "05-03"]),
        ("午後6時半、18:30、6:30 pm", ["18:30"]),
        ("0120-000-371 / +81-3-1234-5678", ["0120000371", "0312345678"]),
        ("1.2 kg, 1,200 g", ["1200g"]),
        ("2人で、手順は3つ", []),
        ("13月45日、12月31日、2024-13-01", ["13", "64800分", "12-31", "2024"]),
        ("25:10、24:00、9:60、午後12時、午前9時", ["25", "10", "24:00", "60", "12:00", "9:00"]),
        ("https://a.example/12345 か a99@b.example まで", []),
    ],
)
def test_each_figure_has_one_spelling(text: str, wanted: list[str]) -> None:
    """However it is written; small counts and the digits of addresses are none."""
    assert [figure.value for figure in figures(text)] == wanted


def test_a_figure_keeps_its_words_for_a_reason_that_quotes_it() -> None:
    """A reader finds it in the answer."""
    assert [figure.text for figure in figures("料金は4,800円、$20、6 pm")] == ["4,800円", "$20", "6 pm"]


@pytest.mark.parametrize(
    ("text", "others", "wanted"),
    [
        ("解約金は5,000円です。", ["解約金は4,800円です。"], ["5,000円"]),
        ("解約金は5,000円です。", ["解約金は5千円です。"], []),
        ("解約金は5,000円です。", ["解約金, 5000"], []),
        ("14日以内です。", ["返品は2週間以内"], []),
        ("4月1日からです。", ["2024年4月1日から"], []),
        ("2024年4月1日からです。", ["4月1日から"], ["2024年4月1日"]),
        ("Call 0120-000-371.", [], ["0120-000-371"]),
        ("料金は無料です。", ["5,000円"], []),
    ],
)
def test_figures_that_stand_nowhere_else(text: str, others: list[str], wanted: list[str]) -> None:
    """Another unit, or a cell of a table, says the same; a year that nobody said does not."""
    assert [figure.text for figure in differing(text, others)] == wanted
