"""Whether the bot answers, declines and hands over where it should: one table for each, and a line of it."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from simulator.core.templates import Texts
from simulator.core.types import Language, Results
from simulator.stats.answerability import Answerability, Handovers, Interval, answerability, handovers

TEXTS = Texts(Path(__file__).with_name("answerable.toml"))


class Row(NamedTuple):
    """One row of a table: what should be done, the counts of what was done, and the share that is right.

    `rate` is that share (0..1; None of no conversation), `right` and `interval` are its wording.
    """

    key: str
    title: str
    counts: tuple[str, ...]
    rate: float | None
    right: str
    interval: str


class Grid(NamedTuple):
    """A 2 x 2 table; `columns` are the titles of its counts, `line` is its result in one sentence."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, Row]
    line: str
    note: str


def grids(results: Results, language: Language) -> list[Grid]:
    """The table of answers and that of handovers, each only where a case is marked for it."""
    answers, handed = answerability(results), handovers(results)
    return [
        *([_answers(answers, language)] if answers.marked else []),
        *([_handovers(handed, language)] if handed.marked else []),
    ]


def facts(results: Results, language: Language) -> Iterator[tuple[str, str]]:
    """Each table as a name and one line."""
    for grid in grids(results, language):
        yield grid.title, grid.line


def _answers(found: Answerability, language: Language) -> Grid:
    yes = (found.answered_answerable, found.refused_answerable, found.clarified_answerable)
    no = (found.answered_unanswerable, found.refused_unanswerable, found.clarified_unanswerable)
    rows = (
        _row("answerable", yes, 0, found.answered_correctly, found.answered_interval(), language),
        _row("unanswerable", no, 1, found.refused_correctly, found.refused_interval(), language),
    )
    uncounted = {"failed": str(found.not_answered), "unmarked": str(found.unmarked)}
    notes = [TEXTS(language, "note"), TEXTS(language, "beside", **uncounted)]
    if found.refused_unanswerable:
        notes.append(TEXTS(language, "held", share=_share(found.held, found.refused_unanswerable, language)))
    return Grid(
        title=TEXTS(language, "title"),
        columns=tuple(TEXTS(language, key) for key in ("did_answer", "did_refuse", "did_ask")),
        rows=rows,
        line=TEXTS(language, "line", answered=rows[0].right, refused=rows[1].right),
        note=("" if language == "ja" else " ").join(notes),
    )


def _handovers(found: Handovers, language: Language) -> Grid:
    yes, no = (found.handed_required, found.kept_required), (found.handed_forbidden, found.kept_forbidden)
    rows = (
        _row("required", yes, 0, found.handed_correctly, found.handed_interval(), language),
        _row("forbidden", no, 1, found.kept_correctly, found.kept_interval(), language),
    )
    notes = [TEXTS(language, "handover_note")]
    notes += [TEXTS(language, "late", n=str(found.late))] if found.late else []
    return Grid(
        title=TEXTS(language, "handover_title"),
        columns=tuple(TEXTS(language, key) for key in ("did_hand", "did_keep")),
        rows=rows,
        line=TEXTS(language, "handover_line", handed=rows[0].right, kept=rows[1].right),
        note=("" if language == "ja" else " ").join(notes),
    )


def _row(  # noqa: PLR0917 - one row of a table
    key: str, counts: tuple[int, ...], right: int, rate: float | None, interval: Interval, language: Language
) -> Row:
    """A row whose count at `right` is the correct one; the share leaves out a third count (asked back)."""
    interval_text = ""
    if interval is not None:
        low, high = (f"{100 * end:.0f}" for end in interval)
        interval_text = TEXTS(language, "interval", low=low, high=high)
    share = _share(counts[right], sum(counts[:2]), language)
    return Row(key, TEXTS(language, key), tuple(map(str, counts)), rate, share, interval_text)


def _share(hits: int, n: int, language: Language) -> str:
    """`80 % (8 of 10)`, or a dash of none."""
    if not n:
        return TEXTS(language, "none")
    return TEXTS(language, "share", percent=f"{100 * hits / n:.0f}", hits=str(hits), n=str(n))
