"""Google Sheets, by gspread: the one door to them.

`push` paints worksheets, `pull` reads them back by keys, `worksheet_values` reads questions.
"""

from simulator.reports.sheets.address import Target, target
from simulator.reports.sheets.credentials import Account, account
from simulator.reports.sheets.door import Door
from simulator.reports.sheets.pull import pull
from simulator.reports.sheets.push import Pushed, new_sheet, push
from simulator.reports.sheets.reading import worksheet_values
from simulator.reports.sheets.trouble import SinkUnavailable

__all__ = [
    "Account", "Door", "Pushed", "SinkUnavailable", "Target", "account", "new_sheet",
    "pull", "push", "target", "worksheet_values",
]  # fmt: skip
