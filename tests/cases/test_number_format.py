"""Numbers and dates are read as Excel shows them, for the formats that Japanese and English desks use."""

import contextlib
from datetime import datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.cases.number_format import UnsupportedFormat, shown_number

WINDOWS, MAC = datetime(1899, 12, 30), datetime(1904, 1, 1)
# 1 April 2026, a Wednesday, by the days since the epoch of Windows.
APRIL = 46113


@pytest.mark.parametrize(
    ("value", "number_format", "shown"),
    [
        (12000, '#,##0,"千円"', "12千円"),
        (12_345_678, '0.0,,"M"', "12.3M"),
        (9012345678, "0##-####-####", "090-1234-5678"),
        (1000001, "000-0000", "100-0001"),
        (312345678, "[<=99999999]####-####;(00) ####-####", "(03) 1234-5678"),
        (12345678, "[<=99999999]####-####;(00) ####-####", "1234-5678"),
        (4180, 'General"円"', "4180円"),
        (4180, 'G/標準"円"', "4180円"),
        (1200, "¥#,##0", "¥1,200"),
        (-1234.5, '"¥"#,##0;[Red]-"¥"#,##0', "-¥1,235"),
        (0, '0;-0;"なし"', "なし"),
        (-0.001, "0.00", "0.00"),
        (0, '_ * #,##0_ ;_ * \\-#,##0_ ;_ * "-"_ ;_ @_ ', "-"),
        (1234, '_ * #,##0_ ;_ * \\-#,##0_ ;_ * "-"_ ;_ @_ ', "1,234"),
        (1.5, "0.###", "1.5"),
        (0.256, '"約"0.0%', "約25.6%"),
        (123, "00000", "00123"),
        (1e15, "#,##0", "1,000,000,000,000,000"),
        (12345678901234567.0, "0", "12345678901234600"),
        (5, "[<0]0;[<1]0.0", "5.0"),
        (-5, '[<0]"▲"0;0', "▲5"),
        (-5, "[<=1]0;0", "-5"),
    ],
)
def test_numbers(value: float, number_format: str, shown: str) -> None:
    """Thousands are scaled, digits fill their places from the right, and letters stay."""
    assert shown_number(value, number_format, WINDOWS) == shown


@pytest.mark.parametrize(
    ("value", "number_format", "shown"),
    [
        (APRIL, "yyyy/m/d", "2026/4/1"),
        (APRIL, "yyyy/mm/dd;@", "2026/04/01"),
        (APRIL, 'yyyy"年"m"月"d"日"(aaa)', "2026年4月1日(水)"),
        (APRIL, "m月d日 aaaa", "4月1日 水曜日"),
        (APRIL, '[$-411]ggge"年"m"月"d"日"', "令和8年4月1日"),
        (APRIL, "[$-411]ge.m.d", "R8.4.1"),
        (43600, '[$-411]ggge"年"', "令和1年"),
        (43600, '[$-ja-JP-x-gannen]ggge"年";@', "令和元年"),
        (32515, '[$-411]ggge"年"m"月"d"日"', "昭和64年1月7日"),
        (APRIL, "d-mmm-yy", "1-Apr-26"),
        (APRIL, "dddd, mmmm d, yyyy", "Wednesday, April 1, 2026"),
        (APRIL, "[$-409]ddd d mmmm yyyy;@", "Wed 1 April 2026"),
        (APRIL, "[$-411]mmmm d ddd", "4月 1 水"),
        (APRIL, "[$-F800]dddd\\,\\ mmmm\\ dd\\,\\ yyyy", "2026年4月1日"),
        (0.4375, 'h"時"mm"分"', "10時30分"),
        (0.6, "h:mm AM/PM", "2:24 PM"),
        (0.6, '[$-411]AM/PM h"時"mm"分"', "午後 2時24分"),
        (0.0, "h:mm AM/PM", "12:00 AM"),
        (APRIL + 0.5, "yyyy/m/d h:mm", "2026/4/1 12:00"),
        (0.4374999999, "h:mm", "10:30"),
        (59, "yyyy/m/d", "1900/2/28"),
        (61, "yyyy/m/d", "1900/3/1"),
    ],
)
def test_dates_and_times(value: float, number_format: str, shown: str) -> None:
    """Both calendars, weekdays and halves of the day; an m beside h or s is minutes."""
    assert shown_number(value, number_format, WINDOWS) == shown


def test_dates_of_a_workbook_from_1904() -> None:
    """Days count from the epoch of the workbook."""
    assert shown_number(APRIL - 1462, "yyyy/m/d", MAC) == "2026/4/1"


@pytest.mark.parametrize(
    ("value", "number_format"),
    [
        (1.5, "# ?/?"),
        (1234, "[DBNum1]General"),
        (-1, "yyyy/m/d"),
        (0.5, "s.0"),
        (1.5, "[h]:mm"),
        (APRIL, "mmmmm"),
        (3_000_000, "yyyy/m/d"),
        (12345, "0.00E+00"),
    ],
)
def test_what_is_not_supported(value: float, number_format: str) -> None:
    """It is refused rather than shown otherwise than in Excel."""
    with pytest.raises(UnsupportedFormat):
        shown_number(value, number_format, WINDOWS)


@given(st.integers(-(10**14), 10**14), st.integers(0, 3))
def test_grouped_digits_are_those_of_python(number: int, places: int) -> None:
    """With commas and decimals it is the same text as Python's own formatting of the exact number."""
    value = number / 10**places
    exact = Decimal(repr(value))

    shown = shown_number(value, "#,##0" + ("." + "0" * places if places else ""), WINDOWS)

    assert shown == f"{exact:,.{places}f}"


@given(st.text(alphabet='0#?.,%;[]<>=-$"\\_*@ymdhsgeaEGNR年円千 /()', max_size=25), st.floats(-1e6, 1e6))
def test_any_format_gives_a_text_or_is_refused(number_format: str, value: float) -> None:
    """No format that a file may hold raises anything else."""
    with contextlib.suppress(UnsupportedFormat):
        assert isinstance(shown_number(value, number_format, WINDOWS), str)
