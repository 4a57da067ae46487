"""A workbook of 10,000 turns: seconds and memory, beside a plain openpyxl script of the same cells."""

import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from benchmarks.measured import ROOT, measure
from simulator.sheets.model import FILLS, Worksheet

CONVERSATIONS = 3334


def main() -> None:
    """Each figure in a process of its own, less what making the worksheets alone takes."""
    with tempfile.TemporaryDirectory() as folder:
        run = str(_stored(Path(folder, "run")))
        made, ours, plain, back = (
            measure(["-m", "benchmarks.xlsx_run", way, run], environment={"PYTHONPATH": str(ROOT)})
            for way in ("none", "ours", "plain", "read")
        )
    for done in (made, ours, plain, back):
        if done.code:
            raise SystemExit(done.stderr)
    seconds, other = ours.wall - made.wall, plain.wall - made.wall
    print(
        f"xlsx, 10,000 turns  {seconds:.1f} s, {ours.memory - made.memory:.0f} MB more than the"
        f" {made.memory:.0f} MB of the worksheets; plain openpyxl {other:.1f} s,"
        f" {plain.memory - made.memory:.0f} MB (ratio {seconds / other:.2f}); {ours.stdout.strip()};"
        f" read back in {back.wall - ours.wall:.1f} s, {back.memory:.0f} MB in all"
    )


def _stored(folder: Path) -> Path:
    """The run file of a large run."""
    from simulator.core.types import Utterance
    from simulator.storage.run_file import RunFile
    from tests.sample_runs import large

    results = large(CONVERSATIONS)
    with closing(RunFile.create(folder, results.run, results.conversations, results.personas)) as file:
        for conversation in results.conversations:
            for turn in conversation.turns:
                file.save_utterance(conversation.id, turn.index, Utterance(text=turn.user))
                file.save_answer(conversation.id, turn.index, turn.answer)
        file.save_scores(results.scores)
        return file.path


def one(way: str, run: str) -> None:
    """The worksheets of a run, written one way or not at all."""
    from simulator.core.types import RedRules
    from simulator.report.worksheets import worksheets
    from simulator.results.summary import summarise
    from simulator.sheets import excel
    from simulator.sheets.excel import read_edited
    from simulator.storage.run_file import read_run
    from tests.report.views import context_of
    from tests.sample_runs import JUDGES, decide

    results = read_run(Path(run))
    summary = summarise(results, rules=RedRules(), judges=JUDGES, seed=42)
    sheets = worksheets(context_of(results, summary, decide(summary, 0.9), "ja"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "report.xlsx")
        if way == "plain":
            _plain(sheets, path)
        elif way != "none":
            excel.write(sheets, path)
            print(f"{path.stat().st_size / 1e6:.1f} MB on disk")
        if way == "read":
            read_edited(path)


def _plain(sheets: Sequence[Worksheet], path: Path) -> None:
    """What one would write without this program: cell by cell, with fills, wraps and notes."""
    import openpyxl
    from openpyxl.comments import Comment
    from openpyxl.styles import Alignment, PatternFill

    book = openpyxl.Workbook()
    for sheet in sheets:
        page = book.create_sheet(sheet.title)
        page.append([column.title for column in sheet.columns])
        for number, row in enumerate(sheet.rows, start=2):
            page.cell(number, 1).value = row.key
            for place, column in enumerate(sheet.columns, start=1):
                if (value := row.cells.get(column.key)) is None:
                    continue
                cell = page.cell(number, place)
                cell.value, cell.data_type = value.text, "s"
                cell.alignment = Alignment(wrap_text=column.wrap, vertical="top")
                if value.mark:
                    cell.fill = PatternFill("solid", FILLS[value.mark])
                if value.note:
                    cell.comment = Comment(value.note, "-")
    book.save(path)


if __name__ == "__main__":
    one(*sys.argv[1:]) if len(sys.argv) > 1 else main()
