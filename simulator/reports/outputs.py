"""The outputs of JSON answers for reports: what passed, each output's judges, and what was not extracted."""

from collections.abc import Iterator
from pathlib import Path

from simulator.core.templates import Texts
from simulator.core.translations import plain
from simulator.core.types import Language, Results
from simulator.reports.section import Section
from simulator.reports.table import Cell, Table, count
from simulator.stats.outputs import MetricFigures, OutputsFigures, Share, outputs_of

TEXT = Texts(Path(__file__).with_suffix(".toml"))
# So many keys that nobody asked for are named.
_NAMED = 5


def section(results: Results, language: Language) -> Section | None:
    """What came of each output; None in a run whose answers were graded as a whole."""
    found = outputs_of(results)
    if found is None:
        return None
    tables = [_outputs(found, language)] if found.passed else []
    return Section(
        key="outputs",
        title=TEXT(language, "title"),
        line=_line(found, language),
        tables=(*tables, _metrics(found, language)),
        notes=tuple(_notes(found, language)),
        figures=found.as_json(),
    )


def _line(found: OutputsFigures, language: Language) -> str:
    missing = f"{found.not_extracted:,}"
    if found.passed is None:
        return TEXT(language, "line_measured", missing=missing)
    return TEXT(language, "line", share=share_text(found.passed, language), missing=missing)


def share_text(share: Share | None, language: Language) -> str:
    """`92.5 % (37 of 40)`, or a stroke."""
    if share is None or share.value is None:
        return TEXT(language, "none")
    percent = f"{100 * share.value:.1f}"
    return TEXT(language, "share", percent=percent, right=f"{share.right:,}", of=f"{share.of:,}")


def _outputs(found: OutputsFigures, language: Language) -> Table:
    rows = [_output(each.output, each.passed, language) for each in found.outputs]
    if len(rows) > 1:
        rows.append(_output(TEXT(language, "all"), found.passed, language))
    columns = ("output", "passed", "interval")
    return _table("outputs", columns, rows, language)


def _output(name: str, share: Share | None, language: Language) -> tuple[Cell, ...]:
    return Cell(text=plain(name)), _share(share, language), Cell(text=_between(share, language))


def _metrics(found: OutputsFigures, language: Language) -> Table:
    rows = [_metric(each, language) for output in found.outputs for each in output.metrics]
    columns = ("metric", "mean", "threshold", "passed", "interval", "graded", "not_extracted")
    return _table("metrics", columns, rows, language)


def _metric(each: MetricFigures, language: Language) -> tuple[Cell, ...]:
    none = TEXT(language, "none")
    error = "" if each.stderr is None else f" ± {each.stderr:.4f}"
    mean = none if each.mean is None else f"{each.mean:.4f}{error}"
    return (
        Cell(text=plain(each.name)),
        Cell(text=mean, number=None if each.mean is None else round(each.mean, 4)),
        Cell(text=none if each.threshold is None else f"{each.threshold:g}", number=each.threshold),
        _share(each.passed, language),
        Cell(text=_between(each.passed, language)),
        Cell(text=f"{each.n:,}/{each.planned:,}", number=each.n),
        count(each.not_extracted),
    )


def _share(share: Share | None, language: Language) -> Cell:
    value = share.value if share else None
    return Cell(text=share_text(share, language), number=None if value is None else round(value, 4))


def _between(share: Share | None, language: Language) -> str:
    if share is None or share.interval is None:
        return TEXT(language, "none")
    low, high = (f"{100 * end:.1f}" for end in share.interval)
    return TEXT(language, "between", low=low, high=high)


def _table(name: str, columns: tuple[str, ...], rows: list[tuple[Cell, ...]], language: Language) -> Table:
    titles = tuple(TEXT(language, column) for column in columns)
    return Table(name=name, title=TEXT(language, name), columns=titles, rows=tuple(rows))


def _notes(found: OutputsFigures, language: Language) -> Iterator[str]:
    """How the figures are to be read, each where it matters."""
    if found.passed:
        yield TEXT(language, "note_threshold")
    if found.missing:
        counts = {kind: f"{found.missing.get(kind, 0):,}" for kind in ("json", "key")}
        yield TEXT(language, "note_missing", **counts)
    if found.failed:
        yield TEXT(language, "note_failed", n=f"{found.failed:,}")
    if found.extra:
        named = list(found.extra.items())[:_NAMED]
        keys = [TEXT(language, "extra", key=plain(key), n=f"{n:,}") for key, n in named]
        yield TEXT(language, "note_extra", keys=TEXT(language, "comma").join(keys))
