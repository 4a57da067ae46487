"""Small question files for tests."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import xlsxwriter

from simulator.cases.cases import read_cases
from simulator.core.errors import CaseFileError
from simulator.core.types import Case


def saved(folder: Path, text: str, name: str = "cases.csv", encoding: str = "utf-8") -> Path:
    """The path of a new file with this text."""
    path = folder / name
    path.write_text(text, encoding=encoding, newline="")
    return path


def one(folder: Path, **columns: Any) -> Case:
    """The only case of a JSONL file with these columns."""
    (case,) = read_cases(saved(folder, json.dumps(columns, ensure_ascii=False), "one.jsonl"))
    return case


def from_cell(folder: Path, column: str, cell: str) -> Case:
    """The only case of a CSV file with a question, unless the column is one, and this cell."""
    (case,) = read_cases(saved(folder, as_csv([{"question": "q", column: cell}])))
    return case


def refusal(path: Path) -> str:
    """Why a file is refused; empty when it is read."""
    try:
        read_cases(path)
    except CaseFileError as error:
        return str(error)
    return ""


def as_csv(rows: list[dict[str, str]], delimiter: str = ",") -> str:
    """A table as a spreadsheet writes it."""
    table = io.StringIO()
    writer = csv.DictWriter(table, list(rows[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return table.getvalue()


def as_workbook(path: Path, sheets: dict[str, list[list[Any]]], **formats: str) -> Path:
    """A new Excel file; None leaves a cell out, and texts are never formulas.

    `formats` are number formats by cell: B2="000".
    """
    book = xlsxwriter.Workbook(str(path), {"strings_to_formulas": False, "strings_to_urls": False})
    for name, rows in sheets.items():
        sheet = book.add_worksheet(name)
        for number, row in enumerate(rows):
            for column, value in enumerate(row):
                style = formats.get(f"{chr(ord('A') + column)}{number + 1}")
                sheet.write(number, column, value, style and book.add_format({"num_format": style}))
    book.close()
    return path
