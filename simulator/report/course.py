"""Means turn by turn: of the score and, where someone read it, of the customer's feeling."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from simulator.core.document import PAGE, Cell, Chart, Section, Series, Table, Text, points, target_points
from simulator.core.messages import Message, _
from simulator.core.titles import Titles
from simulator.core.types import Results
from simulator.report.html_conversations import FEELING, signed
from simulator.stats.figures import Summary
from simulator.stats.summary import Course, course

# More lines than this cannot be told apart; the table has everyone.
LINES = 4


def course_sections(results: Results, summary: Summary, titles: Titles) -> Iterator[Section]:
    """The charts, and folded the figures behind them; none where no turn was graded."""
    limit, drawn = summary.rules.overall, list[tuple[Chart, Table]]()
    if score := course(results, summary.primary):
        line = None if limit is None else (limit, _("limit {limit}", limit=target_points(limit)))
        text = partial(points, against=limit)
        drawn.append(_drawn(score, _("Score"), (0, 0.5, 1), text, titles, limit=line))
    if feelings := course(results, FEELING, raw=True):
        note = _("−2 angry … 0 even … +2 glad. No part of the bot's score.")
        drawn.append(_drawn(feelings, _("Customer's feeling"), (-2, 0, 2), signed, titles, note=note))
    if drawn:
        charts, tables = zip(*drawn, strict=True)
        yield Section("course", _("Turn by turn"), charts, views=PAGE)
        yield Section("course_table", _("The figures as a table"), tables, views=PAGE, folded=True)


def _drawn(
    means: Course,
    title: Message,
    marks: Sequence[float],
    text: Callable[[float | None], str],
    titles: Titles,
    *,
    limit: tuple[float, Message] | None = None,
    note: Text = "",
) -> tuple[Chart, Table]:
    """The course of everyone, with those of single customers where they are few; and all in figures."""
    turns = tuple(_("Turn {n}", n=turn) for turn in range(1, means.turns + 1))
    figures = [
        _("turn {turn}: {value} ({n} graded)", turn=turn, value=text(mean.mean), n=mean.n)
        for turn, mean in enumerate(means.overall, 1)
    ]
    everyone = Series(
        _("All"),
        tuple(mean.mean for mean in means.overall),
        tuple(text(mean.mean) for mean in means.overall),
        notes=tuple(f"n {mean.n}" for mean in means.overall),
    )
    personas = [(titles("persona", persona), each) for persona, each in means.personas.items()]
    lines = [Series(name, tuple(mean.mean for mean in each)) for name, each in personas]
    chart = Chart(
        kind="lines",
        title=title,
        description=_("{title}. {figures}.", title=title, figures=figures),
        labels=turns,
        series=(everyone, *(lines if 1 < len(lines) <= LINES else ())),
        marks=tuple((mark, text(mark)) for mark in marks),
        limit=limit,
        note=note,
    )
    rows = [
        (name, *(Cell(text=text(m.mean), number=m.mean, note=f"{m.n}/{m.planned}") for m in each))
        for name, each in [(_("All"), means.overall), *personas]
    ]
    return chart, Table.of("course", ("", *turns), rows, title)
