"""The first page: the runs of a folder, the newest first, and how the score developed."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from simulator.core.document import Cell, Line, Report, Section, Table, Text, target_points
from simulator.core.errors import RehearsalError
from simulator.core.messages import _
from simulator.core.types import Language
from simulator.report.history import history_report, run_decision, run_time, run_verdict, time_heading
from simulator.results.history import PastRun, history, past_run
from simulator.storage.run_file import RUN_FILE, run_ids
from simulator.web.review import mark_of


class Runs:
    """The runs of a folder, each read again when it has changed."""

    def __init__(self, folder: Path) -> None:
        """Nothing is read yet."""
        self.folder = folder
        self._read: dict[str, tuple[tuple[int, ...], PastRun | None]] = {}

    def report(self) -> Report:
        """What the first page shows."""
        names = run_ids(self.folder)
        runs = [(name, self._run(name)) for name in names]
        there = sorted((run for _name, run in runs if run), key=lambda run: (run.created, run.run))
        past = history(there, [name for name, run in runs if not run])
        language: Language = there[-1].language if there else "ja"
        report = history_report(past, language, commands=False)
        block = _table(there) if there else Line(_("There are no runs."))
        return replace(report, title=_("Runs"), sections=(Section("runs", "", (block,)),))

    def _run(self, name: str) -> PastRun | None:
        """A run in short; None for one that cannot be read."""
        path = self.folder / name / RUN_FILE
        mark = mark_of(path)
        if name not in self._read or self._read[name][0] != mark:
            try:
                self._read[name] = mark, past_run(path)
            except RehearsalError:
                self._read[name] = mark, None
        return self._read[name][1]


def _table(runs: Sequence[PastRun]) -> Table:
    earlier = {run.run: runs[:at] for at, run in enumerate(runs)}
    return Table.listing(
        "runs",
        reversed(runs),
        {
            time_heading(runs): lambda run: Cell(text=run_time(run, runs), href=_address(run)),
            _("Score"): lambda run: None if run.score is None else f"{100 * run.score:.0f}",
            _("Questions needing review"): lambda run: run.questions,
            _("Target"): _target,
            _("Verdict"): run_verdict,
            _("Release decision"): run_decision,
            _("Since the last run"): lambda run: _beside(run, earlier[run.run]),
        },
        words=frozenset({4, 5, 6}),
    )


def _address(run: PastRun) -> str:
    return f"{quote(run.run, safe='')}/"


def _target(run: PastRun) -> Text | None:
    return None if run.gate is None or run.gate.target is None else target_points(run.gate.target)


def _beside(run: PastRun, earlier: Sequence[PastRun]) -> Cell | None:
    """The page of a run beside the last one that it can be compared with; None without one."""
    if not any(other.kind == run.kind and other.is_whole and other.score is not None for other in earlier):
        return None
    return Cell(text=_("Side by side →"), href=f"{_address(run)}side-by-side.html")
