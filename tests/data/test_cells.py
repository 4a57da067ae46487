"""A cell is the text that it shows."""

from datetime import date, datetime, time, timedelta

import pytest

from simulator.data.workbooks import cell_text


@pytest.mark.parametrize(
    ("value", "number_format", "shown"),
    [
        (1, "000", "001"),
        (7, '"Q-"0000', "Q-0007"),
        (-7, "000", "-007"),
        (4180, "#,##0", "4,180"),
        (4180, '#,##0"円"', "4,180円"),
        (4180, '"¥"#,##0;[Red]"¥"\\-#,##0', "¥4,180"),
        (-4180, '"¥"#,##0;[Red]"¥"\\-#,##0', "¥-4,180"),
        (1234567, "[$¥-411]#,##0", "¥1,234,567"),
        (-5, '#,##0;"▲"#,##0', "▲5"),
        (0.25, "0%", "25%"),
        (0.255, "0.0%", "25.5%"),
        (2.5, "0", "3"),
        (3.14159, "0.00", "3.14"),
        (1234, "#,##0_ ", "1,234"),
    ],
)
def test_numbers_look_as_formatted(value: float, number_format: str, shown: str) -> None:
    """Leading zeros, separators, signs, units and decimals are those of the number format."""
    assert cell_text(value, number_format) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (datetime(2026, 4, 1), "2026-04-01"),
        (datetime(2026, 4, 1, 9, 30), "2026-04-01T09:30:00"),
        (date(2026, 4, 1), "2026-04-01"),
        (time(9, 30), "09:30:00"),
        (timedelta(hours=30, seconds=5), "30:00:05"),
        (True, "TRUE"),
        (None, ""),
        ("001", "001"),
        ("一\r\n二_x000D_\n三", "一\n二\n三"),
        ("a_x005F_x0041_", "a_x0041_"),
        ("_x0000__xD800_", "\ufffd\ufffd"),
        (1e300, "1e+300"),
        (float("inf"), "inf"),
    ],
)
def test_other_values(value: object, shown: str) -> None:
    """Dates are ISO 8601, hours go beyond 24, texts stay, escapes are undone."""
    assert cell_text(value) == shown
