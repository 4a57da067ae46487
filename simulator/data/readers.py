"""Rows of data files: tables, worksheets, and objects in JSON or YAML."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from simulator.core.errors import CaseFileError
from simulator.data.files import lines_of, plain_suffix, printable, read_text
from simulator.data.structured import json_rows, jsonl_rows
from simulator.data.tables import Fits, Mapped, table_rows
from simulator.data.values import (
    Row,
    Wrong,
    stop,
)

TABLES = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": "\t"}
RECORDS = frozenset({".jsonl", ".ndjson", ".json"})
YAML = frozenset({".yaml", ".yml"})
WORKBOOKS = frozenset({".xlsx", ".xlsm"})
ACCEPTED = "CSV, TSV, JSONL, JSON, YAML or Excel (.xlsx), each also as .gz"
_ELSEWHERE = re.compile(r"https?:", re.IGNORECASE)
_OLD_WORKBOOK = ".xls"
# `questions.xlsx#料金` names a worksheet; a worksheet's own name holds no slash.
_SHEET = re.compile(r"(.+\.xls[xm](?:\.gz)?)#([^/]+)", re.IGNORECASE)


def read_rows(
    path: Path, fits: Fits, wrong: Wrong = stop, columns: Mapping[str, str] | None = None
) -> Iterator[Row]:
    """The rows of a file; `fits` says whether a header has what is needed.

    That settles the delimiter of a table, and the worksheet and the header row of a workbook. `wrong` is told
    of rows that cannot be read; where it does not raise, they are left out. The columns of `--columns`, in
    `columns`, arrive under our names. Raises UnknownName where no row has a column that is named there.
    """
    if not columns:
        return _rows(path, fits, wrong)
    return Mapped(columns).rows(path, lambda fits, wrong: _rows(path, fits, wrong), fits, wrong)


def _rows(path: Path, fits: Fits, wrong: Wrong) -> Iterator[Row]:
    file, sheet = split_sheet(path)
    suffix = plain_suffix(file)
    if suffix in WORKBOOKS:
        # Loaded here, like the YAML reader: a command that reads neither starts without them.
        from simulator.data.workbooks import workbook_rows

        return workbook_rows(file, sheet, fits, wrong)
    if suffix not in TABLES and suffix not in RECORDS and suffix not in YAML:
        raise _unknown_kind(path, suffix)
    if suffix in TABLES:
        return table_rows(path, lines_of(path), TABLES[suffix], fits, wrong)
    if suffix != ".json" and suffix in RECORDS:
        return jsonl_rows(path, lines_of(path)(), wrong)
    text = read_text(path)
    if suffix in YAML:
        from simulator.data.structured import yaml_rows

        return yaml_rows(path, text, wrong)
    return json_rows(path, text, wrong)


def split_sheet(path: Path) -> tuple[Path, str]:
    """A workbook and the worksheet named behind `#`; an empty name when there is none."""
    named = _SHEET.fullmatch(str(path))
    return (Path(named[1]), named[2]) if named and not path.exists() else (path, "")


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
