"""Whether the bot answers, declines and hands over where it should: lines and tables for reports."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from simulator.core.templates import Texts
from simulator.core.types import Language, Results
from simulator.stats.answerability import Answerability, Handovers, Interval, answerability, handovers

TEXT = Texts(Path(__file__).with_suffix(".toml"))


class Row(NamedTuple):
    """One row of a table: what should be done, the counts of what was done, and the share that is right."""

    key: str
    title: str
    counts: tuple[str, ...]
    rate: float | None
    right: str
    interval: str


class Grid(NamedTuple):
    """A 2 x 2 table; `columns` are the titles of its counts, `line` says it in one sentence."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, Row]
    line: str
    note: str


def grids(results: Results, language: Language) -> list[Grid]:
    """The table of answers and that of handovers, each only where a case is marked for it."""
    return [*_answers(answerability(results), language), *_handovers(handovers(results), language)]


def facts(results: Results, language: Language) -> Iterator[tuple[str, str]]:
    """Each table as a name and one line."""
    for grid in grids(results, language):
        yield grid.title, grid.line


def _answers(found: Answerability, language: Language) -> Iterator[Grid]:
    if not found.marked:
        return
    yes = (found.answered_answerable, found.refused_answerable, found.clarified_answerable)
    no = (found.answered_unanswerable, found.refused_unanswerable, found.clarified_unanswerable)
    rows = (
        _row("answerable", yes, 0, found.answered_correctly, found.answered_interval(), language),
        _row("unanswerable", no, 1, found.refused_correctly, found.refused_interval(), language),
    )
    beside = {"failed": str(found.not_answered), "unmarked": str(found.unmarked)}
    notes = [TEXT(language, "note"), TEXT(language, "beside", **beside)]
    if found.refused_unanswerable:
        held = _share(found.held, found.refused_unanswerable, language)
        notes.append(TEXT(language, "held", share=held))
    yield Grid(
        title=TEXT(language, "title"),
        columns=tuple(TEXT(language, key) for key in ("did_answer", "did_refuse", "did_ask")),
        rows=rows,
        line=TEXT(language, "line", answered=rows[0].right, refused=rows[1].right),
        note=("" if language == "ja" else " ").join(notes),
    )


def _handovers(found: Handovers, language: Language) -> Iterator[Grid]:
    if not found.marked:
        return
    yes, no = (found.handed_required, found.kept_required), (found.handed_forbidden, found.kept_forbidden)
    rows = (
        _row("required", yes, 0, found.handed_correctly, found.handed_interval(), language),
        _row("forbidden", no, 1, found.kept_correctly, found.kept_interval(), language),
    )
    notes = [TEXT(language, "handover_note")]
    notes += [TEXT(language, "late", n=str(found.late))] if found.late else []
    yield Grid(
        title=TEXT(language, "handover_title"),
        columns=tuple(TEXT(language, key) for key in ("did_hand", "did_keep")),
        rows=rows,
        line=TEXT(language, "handover_line", handed=rows[0].right, kept=rows[1].right),
        note=("" if language == "ja" else " ").join(notes),
    )


def _row(  # noqa: PLR0917 - one row of a table
    key: str, counts: tuple[int, ...], right: int, rate: float | None, interval: Interval, language: Language
) -> Row:
    """A row whose `right`-th count is the right one; what was asked back is beside the two."""
    ends = "" if interval is None else _interval(interval, language)
    shown = _share(counts[right], sum(counts[:2]), language)
    return Row(key, TEXT(language, key), tuple(map(str, counts)), rate, shown, ends)


def _interval(interval: tuple[float, float], language: Language) -> str:
    low, high = (f"{100 * end:.0f}" for end in interval)
    return TEXT(language, "interval", low=low, high=high)


def _share(hits: int, n: int, language: Language) -> str:
    if not n:
        return TEXT(language, "none")
    return TEXT(language, "share", percent=f"{100 * hits / n:.0f}", hits=str(hits), n=str(n))
