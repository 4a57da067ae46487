"""Means turn by turn: of the score and, where someone read it, of the customer's feeling."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from simulator.core.document import PAGE, Cell, Chart, Section, Series, Table
from simulator.core.translations import Words, points, target_points
from simulator.core.types import Results
from simulator.report.html_conversations import FEELING, page_words
from simulator.stats.figures import Mean, Summary
from simulator.stats.summary import Course, course

# More lines than this cannot be told apart; the table has everyone.
LINES = 4
_Text = Callable[[float | None], str]


def course_sections(results: Results, summary: Summary, words: Words) -> Iterator[Section]:
    """The charts, and folded the figures behind them; none where no turn was graded."""
    say, limit, charts, tables = page_words(words), summary.rules.overall, list[Chart](), list[Table]()
    if score := course(results, summary.primary):
        text = partial(points, against=limit)
        line = None if limit is None else (limit, f"{say('course_limit')} {target_points(limit)}")
        charts.append(_chart(score, say("course_score"), (0, 0.5, 1), text, words, limit=line))
        tables.append(_table(score, say("course_score"), text, words))
    if feelings := course(results, FEELING, raw=True):
        title, note = say("course_feeling"), say("course_feeling_note")
        charts.append(_chart(feelings, title, (-2, 0, 2), _signed, words, note=note))
        tables.append(_table(feelings, title, _signed, words))
    if charts:
        yield Section("course", say("course"), tuple(charts), views=PAGE)
        yield Section("course_table", say("course_table"), tuple(tables), views=PAGE, folded=True)


def _signed(value: float | None) -> str:
    """A feeling with its sign: '+1', '−0.5', '0'."""
    if value is None:
        return points(value)
    shown = f"{value:+.1f}".replace("-", "−")
    return "0" if shown.strip("+−0.") == "" else shown.removesuffix(".0")


def _chart(
    means: Course,
    title: str,
    marks: Sequence[float],
    text: _Text,
    words: Words,
    *,
    limit: tuple[float, str] | None = None,
    note: str = "",
) -> Chart:
    """The course of everyone, with those of single customers where there are few."""
    say, some = page_words(words), list(means.personas.items())
    listed = [
        say("course_point", turn=str(turn), value=text(mean.mean), n=str(mean.n))
        for turn, mean in enumerate(means.overall, 1)
    ]
    everyone = Series(
        say("all_rows"),
        tuple(mean.mean for mean in means.overall),
        tuple(text(mean.mean) for mean in means.overall),
        notes=tuple(f"n {mean.n}" for mean in means.overall),
    )
    return Chart(
        kind="lines",
        title=title,
        description=say("course_told", title=title, told=words("comma").join(listed)),
        labels=_turns(means, words),
        series=(
            everyone,
            *(
                Series(words.name("persona", persona), tuple(mean.mean for mean in course))
                for persona, course in (some if 1 < len(some) <= LINES else [])
            ),
        ),
        marks=tuple((mark, text(mark)) for mark in marks),
        limit=limit,
        note=note,
    )


def _table(means: Course, title: str, text: _Text, words: Words) -> Table:
    """The means of everyone and of each customer, with how many turns they rest on."""
    rows: list[tuple[str, Sequence[Mean]]] = [(page_words(words)("all_rows"), means.overall)]
    rows += [(words.name("persona", persona), course) for persona, course in means.personas.items()]
    return Table(
        name="course",
        title=title,
        columns=("", *_turns(means, words)),
        rows=tuple(
            (
                Cell(text=name),
                *(
                    Cell(text=text(mean.mean), number=mean.mean, note=f"{mean.n}/{mean.planned}")
                    for mean in course
                ),
            )
            for name, course in rows
        ),
    )


def _turns(means: Course, words: Words) -> tuple[str, ...]:
    return tuple(page_words(words)("turn_of", n=str(turn)) for turn in range(1, means.turns + 1))
