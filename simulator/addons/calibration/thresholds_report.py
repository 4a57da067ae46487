"""Suggested thresholds for a terminal, in Japanese or English."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from simulator.addons.calibration.thresholds import (
    JudgedScores,
    SuggestedThreshold,
    SuggestionMethod,
    ThresholdChange,
)
from simulator.core.document import wrap
from simulator.core.templates import Texts
from simulator.core.translations import safe_text
from simulator.core.types import Language
from simulator.grading.metric_file import DEFAULT

WORDS = Texts(Path(__file__).with_name("thresholds.toml"))


class ThresholdsReport(NamedTuple):
    """What is printed: the source, the method, the suggestions, and what was written where."""

    source: str
    how: SuggestionMethod
    evidence: JudgedScores
    suggestions: Sequence[SuggestedThreshold]
    language: Language
    path: Path | None = None
    changes: Sequence[ThresholdChange] = ()


def paint(report: ThresholdsReport, console: Console) -> None:
    """Prints the table, notes, and what was written; everything as text, never as markup."""
    for line in (_say(report, "title", source=report.source), _method(report)):
        _line(console, line)
    console.print()
    console.print(_table(report), highlight=False)
    console.print()
    for line in (*_notes(report), *_written(report)):
        _line(console, line)


def _method(report: ThresholdsReport) -> str:
    how = report.how
    return _say(report, how.method, percent=f"{100 * (1 - how.quantile):g}", quantile=f"{how.quantile:g}")


def _table(report: ThresholdsReport) -> Table:
    grid = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    columns = ("output", "judge", "domain", "threshold", "interval", "right", "wrong")
    values = {"domain": any(each.domain for each in report.suggestions)}
    values["output"] = any(each.output != DEFAULT for each in report.suggestions)
    columns_shown = [column for column in columns if values.get(column, True)]
    for column in columns_shown:
        text = column in ("output", "judge", "domain")
        grid.add_column(
            Text(_say(report, column), "dim"), justify="left" if text else "right", no_wrap=not text
        )
    for each in report.suggestions:
        row = dict(zip(columns, _row(each, report), strict=True))
        grid.add_row(*(Text(safe_text(row[column])) for column in columns_shown))
    return grid


def _row(each: SuggestedThreshold, report: ThresholdsReport) -> Iterator[str]:
    found, none = each.suggestion, _say(report, "none")
    yield _say(report, "whole") if each.output == DEFAULT else each.output
    yield each.judge
    yield each.domain or _say(report, "all")
    yield none if found.threshold is None else f"{found.threshold:.4g}"
    yield none if found.interval is None else f"{found.interval[0]:.3g}–{found.interval[1]:.3g}"
    yield _share(found.right_passing, found.right, report)
    yield _share(found.wrong_passing, found.wrong, report)


def _share(share: float | None, n: int, report: ThresholdsReport) -> str:
    if share is None:
        return _say(report, "none")
    return _say(report, "share", percent=f"{100 * share:.1f}", n=f"{n:,}")


def _notes(report: ThresholdsReport) -> Iterator[str]:
    wholly = {(each.judge, each.output) for each in report.suggestions if not each.domain and _is_noted(each)}
    for each in report.suggestions:
        found = each.suggestion
        if each.domain and (each.judge, each.output) in wholly:
            continue  # said of all of them
        if found.threshold is None:
            key = _why_not(each, report)
            yield f"! {_say(report, key, name=each.name)}"
        elif found.few:
            yield f"! {_say(report, 'few', name=each.name, n=f'{found.right:,}')}"
    counts = {"skipped": f"{report.evidence.skipped:,}", "failed": f"{report.evidence.failed:,}"}
    if report.evidence.skipped or report.evidence.failed:
        yield f"- {_say(report, 'skipped', **counts)}"
    if report.evidence.unlabelled:
        yield f"- {_say(report, 'unlabelled', n=f'{report.evidence.unlabelled:,}')}"
    yield f"- {_say(report, 'interval_note', seed=str(report.how.seed))}"


def _is_noted(each: SuggestedThreshold) -> bool:
    return each.suggestion.threshold is None or each.suggestion.few


def _why_not(each: SuggestedThreshold, report: ThresholdsReport) -> str:
    if not each.suggestion.right:
        return "no_right"
    if report.how.method == "quantile":
        return "low_end"
    return "no_cut" if each.suggestion.wrong else "no_wrong"


def _written(report: ThresholdsReport) -> Iterator[str]:
    if report.path is None:
        return
    if not report.changes:
        yield _say(report, "unchanged", path=str(report.path))
        return
    yield _say(report, "written", path=str(report.path))
    for each in report.changes:
        before = _say(report, "none") if each.before is None else f"{each.before:g}"
        values = {"output": each.output, "judge": each.judge, "before": before, "after": f"{each.after:g}"}
        yield _say(report, "changed", **values)


def _say(report: ThresholdsReport, key: str, **values: str) -> str:
    return WORDS(report.language, key, **values)


def _line(console: Console, text: str) -> None:
    for line in wrap(
        safe_text(text).encode(console.encoding, "replace").decode(console.encoding), console.width
    ):
        console.print(Text(line), highlight=False)
