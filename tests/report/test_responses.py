"""What an answer does, as the judge of turns says, is shown to people and stands in files for programs."""

import csv
import json
import re

from openpyxl import load_workbook

from simulator.core.types import Response
from tests.commands import Command
from tests.diff_runs import a_result, grades_of, stored


def test_it_stands_on_the_page_in_the_workbook_and_in_files(command: Command) -> None:
    """An answer that simply answers has no label; the files name it all the same."""
    results = a_result(grades_of([0.2, 0.4, 1.0]), "1-run")
    did: list[Response] = ["declined", "handed_over", "answered"]
    scores = [
        score.model_copy(update={"response": each}) for score, each in zip(results.scores, did, strict=True)
    ]
    folder = stored(results.model_copy(update={"scores": tuple(scores)})).parent
    command("report", "1-run", "--to", "json,csv,xlsx")
    page = (folder / "report.html").read_text(encoding="utf-8")
    rows = json.loads((folder / "report.json").read_text(encoding="utf-8"))["rows"]
    table = list(csv.DictReader((folder / "report.csv").read_text(encoding="utf-8-sig").splitlines()))
    book = load_workbook(folder / "report.xlsx")
    cells = [str(cell.value) for sheet in book for row in sheet for cell in row]

    for word in ("断った", "取り次いだ"):
        assert re.search(rf'fold grades"><summary><i>{word}</i>', page)
        assert any(f" · {word}" in cell for cell in cells)
    assert "<summary><i>回答した" not in page
    assert [row["response"] for row in rows] == [row["response"] for row in table] == did
    assert [row["scores"]["turn"]["response"] for row in rows] == did
