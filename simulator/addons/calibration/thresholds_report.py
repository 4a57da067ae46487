"""Suggested thresholds for a terminal, in Japanese or English."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from simulator.addons.calibration.thresholds import Change, Evidence, How, SuggestedThreshold
from simulator.core.document import wrap
from simulator.core.templates import Texts
from simulator.core.translations import plain
from simulator.core.types import Language
from simulator.grading.metric_file import DEFAULT

WORDS = Texts(Path(__file__).with_name("thresholds.toml"))


class ThresholdsReport(NamedTuple):
    """What is painted: where it is from, how it was made, what came of it, and what was written where."""

    source: str
    how: How
    evidence: Evidence
    found: Sequence[SuggestedThreshold]
    language: Language
    path: Path | None = None
    changes: Sequence[Change] = ()


def paint(shown: ThresholdsReport, console: Console) -> None:
    """Prints the table, what to mind, and what was written; everything as text, never as markup."""
    for line in (_say(shown, "title", source=shown.source), _method(shown)):
        _line(console, line)
    console.print()
    console.print(_table(shown), highlight=False)
    console.print()
    for line in (*_notes(shown), *_written(shown)):
        _line(console, line)


def _method(shown: ThresholdsReport) -> str:
    how = shown.how
    return _say(shown, how.method, percent=f"{100 * (1 - how.quantile):g}", quantile=f"{how.quantile:g}")


def _table(shown: ThresholdsReport) -> Table:
    grid = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    columns = ("output", "judge", "domain", "threshold", "interval", "right", "wrong")
    told = {"domain": any(each.domain for each in shown.found)}
    told["output"] = any(each.output != DEFAULT for each in shown.found)
    kept = [column for column in columns if told.get(column, True)]
    for column in kept:
        text = column in ("output", "judge", "domain")
        grid.add_column(
            Text(_say(shown, column), "dim"), justify="left" if text else "right", no_wrap=not text
        )
    for each in shown.found:
        row = dict(zip(columns, _row(each, shown), strict=True))
        grid.add_row(*(Text(plain(row[column])) for column in kept))
    return grid


def _row(each: SuggestedThreshold, shown: ThresholdsReport) -> Iterator[str]:
    found, none = each.suggestion, _say(shown, "none")
    yield _say(shown, "whole") if each.output == DEFAULT else each.output
    yield each.judge
    yield each.domain or _say(shown, "all")
    yield none if found.threshold is None else f"{found.threshold:.4g}"
    yield none if found.interval is None else f"{found.interval[0]:.3g}–{found.interval[1]:.3g}"
    yield _share(found.right_passing, found.right, shown)
    yield _share(found.wrong_passing, found.wrong, shown)


def _share(share: float | None, n: int, shown: ThresholdsReport) -> str:
    if share is None:
        return _say(shown, "none")
    return _say(shown, "share", percent=f"{100 * share:.1f}", n=f"{n:,}")


def _notes(shown: ThresholdsReport) -> Iterator[str]:
    wholly = {(each.judge, each.output) for each in shown.found if not each.domain and _is_noted(each)}
    for each in shown.found:
        found = each.suggestion
        if each.domain and (each.judge, each.output) in wholly:
            continue  # said of all of them
        if found.threshold is None:
            key = _why_not(each, shown)
            yield f"! {_say(shown, key, name=each.name)}"
        elif found.few:
            yield f"! {_say(shown, 'few', name=each.name, n=f'{found.right:,}')}"
    counts = {"skipped": f"{shown.evidence.skipped:,}", "failed": f"{shown.evidence.failed:,}"}
    if shown.evidence.skipped or shown.evidence.failed:
        yield f"- {_say(shown, 'skipped', **counts)}"
    if shown.evidence.unlabelled:
        yield f"- {_say(shown, 'unlabelled', n=f'{shown.evidence.unlabelled:,}')}"
    yield f"- {_say(shown, 'interval_note', seed=str(shown.how.seed))}"


def _is_noted(each: SuggestedThreshold) -> bool:
    return each.suggestion.threshold is None or each.suggestion.few


def _why_not(each: SuggestedThreshold, shown: ThresholdsReport) -> str:
    if not each.suggestion.right:
        return "no_right"
    if shown.how.method == "quantile":
        return "low_end"
    return "no_cut" if each.suggestion.wrong else "no_wrong"


def _written(shown: ThresholdsReport) -> Iterator[str]:
    if shown.path is None:
        return
    if not shown.changes:
        yield _say(shown, "unchanged", path=str(shown.path))
        return
    yield _say(shown, "written", path=str(shown.path))
    for each in shown.changes:
        before = _say(shown, "none") if each.before is None else f"{each.before:g}"
        told = {"output": each.output, "judge": each.judge, "before": before, "after": f"{each.after:g}"}
        yield _say(shown, "changed", **told)


def _say(shown: ThresholdsReport, key: str, **values: str) -> str:
    return WORDS(shown.language, key, **values)


def _line(console: Console, text: str) -> None:
    for line in wrap(plain(text).encode(console.encoding, "replace").decode(console.encoding), console.width):
        console.print(Text(line), highlight=False)
