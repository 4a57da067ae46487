"""Google Sheets, by gspread: the one door to them.

`push` paints worksheets, `pull` reads them back by keys, `worksheet_values` reads questions.
"""

from simulator.sheets.google_api import Account, Door, SinkUnavailable, Target, account, target
from simulator.sheets.google_pull import pull, worksheet_values
from simulator.sheets.google_push import PushSummary, new_sheet, push

__all__ = [
    "Account", "Door", "PushSummary", "SinkUnavailable", "Target", "account", "new_sheet",
    "pull", "push", "target", "worksheet_values",
]  # fmt: skip
