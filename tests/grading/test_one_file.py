"""One more rubric is one file: what appears of judges/NAME.toml without a word anywhere else."""

import csv
import shutil
from pathlib import Path
from typing import Any

import pytest
from openpyxl import load_workbook

from scripts.reference import page
from simulator.core import shelves
from tests.servers.openai import OpenAIServer

RUBRIC = """
# Does the answer thank the customer for asking?
value = "grade"

[fields]
reason = "text"
grade = "grade"

[ja]
title = "お礼の有無"
criterion = "お客様にお礼を言っているか。5：言っている。1：言っていない。"
[ja.fields]
reason = "一文で"
grade = "1〜5"

[en]
title = "Thankfulness"
criterion = "Does it thank the customer? 5: it does. 1: it does not."
[en.fields]
reason = "in one sentence"
grade = "1 to 5"
"""
TITLES = {"ja": "お礼の有無", "en": "Thankfulness"}


@pytest.fixture(autouse=True)
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The shelf of judges with one rubric more."""
    folder = tmp_path / "judges"
    shutil.copytree(shelves.JUDGES, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "thanks.toml").write_text(RUBRIC, encoding="utf-8")
    monkeypatch.setattr(shelves, "JUDGES", folder)


def test_the_list_and_the_reference_have_it(command: Any) -> None:
    """By the titles in its file, in both languages."""
    line = next(line for line in command("list").out.splitlines() if "thanks" in line)

    assert line.split(maxsplit=1) == ["thanks", "Thankfulness / お礼の有無"]
    assert all("`thanks`" in page(language) for language in ("en", "ja"))


def test_a_run_grades_by_it_and_the_reports_name_it(command: Any, server: OpenAIServer) -> None:
    """--json has its name, and what people read (terminal, page, worksheets) its title."""
    done = command(
        "--judges", "turn,thanks", "--target", "thanks >= 0", "--persona", "calm", "--limit", "1",
        "--turns", "1", "--max-major", "1", "--language", "ja", "--to", "csv,xlsx", "--json",
    )  # fmt: skip
    folder = Path(done.json["store"]).parent
    cells = {
        str(cell.value) for sheet in load_workbook(folder / "report.xlsx") for row in sheet for cell in row
    }
    with (folder / "report.csv").open(encoding="utf-8-sig") as file:
        columns = csv.DictReader(file).fieldnames or ()

    assert done.code in (0, 1), done.err
    assert done.json["judges"]["thanks"]["n"] == 1
    assert TITLES["ja"] in (folder / "report.html").read_text(encoding="utf-8")
    assert any(TITLES["ja"] in cell for cell in cells)
    assert any("thanks" in column for column in columns)
    assert any(title in command("report").out for title in TITLES.values())
