"""Worksheets that people edit, in Google Sheets and Excel: written, edited by a team, and read back.

model.py            what a worksheet is, and which ones with which columns a run has
merge.py            what a newer report leaves alone: the one rule for both kinds
excel.py            workbooks
google_api.py       credentials, errors in one line, the client
google_painter.py   what is written into a worksheet of a spreadsheet
google_sheets.py    spreadsheets, read and written
questions.py        the team's test questions as cases of the next run
"""
