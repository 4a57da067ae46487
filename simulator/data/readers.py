"""Rows of data files of every kind: tables, worksheets, and objects in JSON or YAML."""

import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from simulator.core.errors import CaseFileError
from simulator.core.messages import _
from simulator.data.files import open_lines, plain_suffix, printable, read_text
from simulator.data.structured import json_rows, jsonl_rows
from simulator.data.tables import ColumnMapping, Fits, table_rows
from simulator.data.values import (
    OnFault,
    Row,
    raise_fault,
)

TABLES = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": "\t"}
RECORDS = frozenset({".jsonl", ".ndjson", ".json"})
YAML = frozenset({".yaml", ".yml"})
WORKBOOKS = frozenset({".xlsx", ".xlsm"})
ACCEPTED = _("CSV, TSV, JSONL, JSON, YAML or Excel (.xlsx), each also as .gz")
_ELSEWHERE = re.compile(r"https?:", re.IGNORECASE)
_OLD_WORKBOOK = ".xls"
# `questions.xlsx#料金` names a worksheet; a worksheet's own name holds no slash.
_SHEET = re.compile(r"(.+\.xls[xm](?:\.gz)?)#([^/]+)", re.IGNORECASE)


def read_rows(
    path: Path, fits: Fits, on_fault: OnFault = raise_fault, columns: Mapping[str, str] | None = None
) -> Iterator[Row]:
    """The rows of a file; `fits` says whether column names are the needed ones.

    It decides on the delimiter of a table, and on the worksheet and the header row of a workbook. `on_fault`
    gets rows that cannot be read; unless it raises, they are left out. `columns` are those of `--columns`.
    Raises UnknownName when no row has a column that is named there.
    """
    if columns:
        return ColumnMapping(columns).rows(path, partial(_rows, path), fits, on_fault)
    return _rows(path, fits, on_fault)


def _rows(path: Path, fits: Fits, on_fault: OnFault) -> Iterator[Row]:
    file, sheet = split_sheet(path)
    suffix = plain_suffix(file)
    if suffix in WORKBOOKS:
        # Imported here, like the YAML reader: a command that needs neither starts faster.
        from simulator.data.workbooks import workbook_rows

        return workbook_rows(file, sheet, fits, on_fault)
    if suffix not in TABLES and suffix not in RECORDS and suffix not in YAML:
        raise _unknown_kind(path, suffix)
    if suffix in TABLES:
        return table_rows(path, open_lines(path), TABLES[suffix], fits, on_fault)
    if suffix != ".json" and suffix in RECORDS:
        return jsonl_rows(path, open_lines(path)(), on_fault)
    text = read_text(path)
    if suffix in YAML:
        from simulator.data.structured import yaml_rows

        return yaml_rows(path, text, on_fault)
    return json_rows(path, text, on_fault)


def split_sheet(path: Path) -> tuple[Path, str]:
    """A workbook and the name of the worksheet behind `#`; the name is empty when there is none."""
    match = _SHEET.fullmatch(str(path))
    return (Path(match[1]), match[2]) if match and not path.exists() else (path, "")


def _unknown_kind(path: Path, suffix: str) -> CaseFileError:
    name = printable(str(path))
    if _ELSEWHERE.match(name):
        where = "download it; a Google Sheet is written sheet:KEY#worksheet"
        what = f"not a file here; {where}. Read are {ACCEPTED}"
    elif suffix == _OLD_WORKBOOK:
        what = "an old Excel file; open it in Excel and save it as .xlsx"
    else:
        what = f"'{suffix or path.name}' is not a known kind of data file; save it as {ACCEPTED}"
    return CaseFileError(f"{name}: {what}.")
