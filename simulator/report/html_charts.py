"""The pictures of a run's page: lines of means by turn, and the table of judges by customer.

A picture is drawn without a `viewBox`: x is a share of a width that only the browser knows, so that its text
keeps its size on a telephone and on a wide screen alike.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from simulator.core.translations import Words, points, target_points
from simulator.core.types import Language, Results
from simulator.report import tables
from simulator.report.html_conversations import FEELING, PAGE
from simulator.stats.figures import Mean, Summary
from simulator.stats.summary import Course, course

if TYPE_CHECKING:
    from simulator.report.judges import JudgeTrusts

# Free on both sides, in percent of the width: half a label.
_MARGIN = 5.0
# Labels below a picture, at most: more would run into each other on a telephone.
LABELS = 8
# Width of the scale and height of the picture, in pixels; the lines take the rest of the width.
AXIS, HEIGHT = 62, 208
_TOP, _BOTTOM = 22, 42
# A mark of the scale gives way to a limit that is this near, in pixels.
_NEAR = 12
# Where a figure begins and ends above its dot, in pixels.
_FIGURE = (26, 7)
# More lines than this cannot be told apart; the table has everyone.
LINES = 4
# The cell to fix first is one of these judges' (beside the deciding one): they turn an answer red.
_REDDENING = ("groundedness", "claims", "facts")
# And its mean is below that of the other customers by at least this much: the lowest of ten that are alike
# is lowest by chance. Single customers have no interval of their own that could be used instead.
_APART = 0.05


class Segment(NamedTuple):
    """A straight line between two neighbours; x in percent of the width, y in pixels from the top."""

    x1: float
    y1: float
    x2: float
    y2: float


def across(at: int, of: int) -> float:
    """Where the place `at` (from 0) of `of` stands, in percent of the width."""
    return round(_MARGIN + at * (100 - 2 * _MARGIN) / max(1, of - 1), 2)


def segments(heights: Sequence[float | None]) -> list[Segment]:
    """A line through what stands at these heights (pixels), broken where there is none."""
    of = len(heights)
    return [
        Segment(across(at, of), one, across(at + 1, of), other)
        for at, (one, other) in enumerate(pairwise(heights))
        if one is not None and other is not None
    ]


def labelled(at: int, of: int) -> bool:
    """Whether the place `at` of `of` has a label below the picture."""
    return at % -(-of // LABELS) == 0


@dataclass(frozen=True, slots=True)
class Dot:
    """One mean of the overall line, with its figure at height `at` and how many grades it rests on.

    `x` is in percent of the width; not every dot is `labelled` where there are many.
    """

    turn: int
    x: float
    y: float
    text: str
    at: float
    n: int
    labelled: bool


@dataclass(frozen=True, slots=True)
class Tick:
    """A horizontal line of the picture."""

    y: float
    text: str
    limit: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture with its text alternative (`description`) and the figures behind it (`rows`)."""

    title: str
    note: str
    description: str
    ticks: list[Tick]
    dots: list[Dot]
    path: list[Segment]
    lines: list[tuple[str, list[Segment]]]
    rows: list[tuple[str, list[tuple[str, str]]]]
    turns: int


@dataclass(frozen=True, slots=True)
class _Scale:
    """What a picture's height stands for, and how its figures are written."""

    low: float
    high: float
    marks: tuple[float, ...]
    signed: bool
    limit: float | None = None

    def y(self, value: float) -> float:
        """Pixels from the top."""
        share = (value - self.low) / (self.high - self.low)
        return round(HEIGHT - _BOTTOM - share * (HEIGHT - _TOP - _BOTTOM), 1)

    def text(self, value: float | None) -> str:
        """A figure as people read it."""
        if value is None or not self.signed:
            return points(value, against=self.limit)
        shown = f"{value:+.1f}".replace("-", "−")
        return "0" if shown.strip("+−0.") == "" else shown.removesuffix(".0")


_SHARE = _Scale(0, 1, (0, 0.5, 1), signed=False)
_FEELINGS = _Scale(-2, 2, (-2, 0, 2), signed=True)


def charts(results: Results, summary: Summary, words: Words) -> list[Chart]:
    """The score by turn and, where someone read it, the customer's feeling; none for single turns."""
    language, limit = words.language, summary.rules.overall
    drawn = []
    if score := course(results, summary.primary):
        title = PAGE(language, "course_score")
        drawn.append(_chart(score, replace(_SHARE, limit=limit), title, "", words))
    if feelings := course(results, FEELING, raw=True):
        title, note = PAGE(language, "course_feeling"), PAGE(language, "course_feeling_note")
        drawn.append(_chart(feelings, _FEELINGS, title, note, words))
    return drawn


def _chart(found: Course, scale: _Scale, title: str, note: str, words: Words) -> Chart:
    """A picture of one course."""
    language = words.language
    names = {persona: words.name("persona", persona) for persona in found.personas}
    some = list(found.personas.items()) if 1 < len(names) <= LINES else []
    rows = [(PAGE(language, "all_rows"), found.overall)]
    rows += [(names[persona], means) for persona, means in found.personas.items()]
    return Chart(
        title=title,
        note=note,
        description=_description(found, scale, title, language),
        ticks=_ticks(scale, language),
        dots=[
            _dot(at, mean.mean, mean.n, found.turns, scale)
            for at, mean in enumerate(found.overall)
            if mean.mean is not None
        ],
        path=_path(found.overall, scale),
        lines=[(names[persona], _path(means, scale)) for persona, means in some],
        rows=[(name, [(scale.text(m.mean), f"{m.n}/{m.planned}") for m in means]) for name, means in rows],
        turns=found.turns,
    )


def _dot(at: int, mean: float, n: int, turns: int, scale: _Scale) -> Dot:
    """A dot with its figure above, or below it where the figure would cross the line of the limit."""
    y = scale.y(mean)
    crosses = scale.limit is not None and y - _FIGURE[0] < scale.y(scale.limit) < y - _FIGURE[1]
    figure = round(y + 21 if crosses else y - 11, 1)
    return Dot(at + 1, across(at, turns), y, scale.text(mean), figure, n, labelled(at, turns))


def _ticks(scale: _Scale, language: Language) -> list[Tick]:
    """The marks of a scale and the limit below which a turn is red."""
    ticks = [Tick(scale.y(mark), scale.text(mark)) for mark in scale.marks]
    if scale.limit is None:
        return ticks
    text = f"{PAGE(language, 'course_limit')} {target_points(scale.limit)}"
    limit = Tick(scale.y(scale.limit), text, limit=True)
    return [*(tick for tick in ticks if abs(tick.y - limit.y) >= _NEAR), limit]


def _description(found: Course, scale: _Scale, title: str, language: Language) -> str:
    """The picture in a sentence."""
    means = [
        PAGE(language, "course_point", turn=str(turn), value=scale.text(mean.mean), n=str(mean.n))
        for turn, mean in enumerate(found.overall, 1)
    ]
    listed = ("、" if language == "ja" else ", ").join(means)
    return PAGE(language, "course_told", title=title, told=listed)


def _path(means: Sequence[Mean], scale: _Scale) -> list[Segment]:
    """A line through the means, broken where there is none."""
    return segments([None if mean.mean is None else scale.y(mean.mean) for mean in means])


@dataclass(frozen=True, slots=True)
class Column:
    """The head of a column; `judge` is its number in the filter, empty for the score; `trust` is worded."""

    title: str
    judge: str = ""
    trust: str = ""
    warned: bool = False


@dataclass(frozen=True, slots=True)
class Square:
    """One mean; `red` when it is below the limit, `first` where most points are lost.

    Without `graded` it is how customers felt, which does not grade the bot and has no colour.
    """

    text: str
    value: float | None
    note: str
    red: bool
    first: bool
    judge: str
    graded: bool


@dataclass(frozen=True, slots=True)
class Row:
    """One customer (`persona` is its number in the filter), or all of them."""

    title: str
    conversations: int | None
    persona: str
    red: str
    squares: list[Square]


@dataclass(frozen=True, slots=True)
class HeatMap:
    """The whole table; `first` names the cell to fix first, empty when none is low."""

    columns: list[Column]
    rows: list[Row]
    first: str
    first_persona: str
    first_judge: str


def heat_map(summary: Summary, trusts: "JudgeTrusts", judges: Sequence[str], words: Words) -> HeatMap:
    """The means of a run by customer and judge; `judges` are in the order of the page's filter."""
    first, language = _first(summary), words.language
    numbers = {name: str(judges.index(name)) for name in summary.judges}
    columns = [Column(words("score"))]
    columns += [_column(name, numbers[name], trusts, words) for name in summary.judges]
    rows = list(_rows(summary, first, numbers, language))
    if first is None:
        return HeatMap(columns, rows, "", "", "")
    place, judge, mean = first
    line = PAGE(
        language,
        "first_line",
        judge=words.name("judge", judge),
        persona=words.name("persona", summary.personas[place].persona),
        n=f"{mean.n:,}",
        value=points(mean.mean, against=summary.rules.overall),
    )
    return HeatMap(columns, rows, line, str(place + 1), numbers[judge])


def _first(summary: Summary) -> tuple[int, str, Mean] | None:
    """Persona, judge and mean of the cell that loses most points, of those that are low and stand apart."""
    limit = summary.rules.overall
    deciding = [name for name in (summary.primary, *_REDDENING) if name in summary.judges]
    cells = [
        (place, judge, persona.judges[judge])
        for place, persona in enumerate(summary.personas)
        for judge in deciding
    ]
    low = [c for c in cells if limit is not None and c[2].mean is not None and c[2].mean < limit]
    apart = [cell for cell in low if _is_apart(cell, cells)]
    # What all graded turns together lack for full marks.
    return max(apart, key=lambda cell: (1 - (cell[2].mean or 0.0)) * cell[2].n, default=None)


def _is_apart(cell: tuple[int, str, Mean], cells: Sequence[tuple[int, str, Mean]]) -> bool:
    """Whether a mean is well below that of all other customers together; one customer alone is not."""
    place, judge, mean = cell
    others = [each for at, name, each in cells if name == judge and at != place and each.n]
    graded = sum(each.n for each in others)
    if mean.mean is None or not graded:
        return False
    together = sum((each.mean or 0.0) * each.n for each in others) / graded
    return together - mean.mean >= _APART - 1e-9


def _column(name: str, number: str, trusts: "JudgeTrusts", words: Words) -> Column:
    """The head of a judge's column; its trust is empty where nothing is known of any judge."""
    title = words.name("judge", name)
    if not trusts.judges:
        return Column(title, number)
    trust = trusts.judges.get(name)
    text = PAGE(words.language, f"trust_{trust.level if trust else 'rule'}")
    return Column(title, number, text, warned=bool(trust and trust.warnings))


def _rows(
    summary: Summary, first: tuple[int, str, Mean] | None, numbers: dict[str, str], language: Language
) -> Iterator[Row]:
    judges = ["", *summary.judges]
    for place, cells in enumerate(tables.personas_table(summary, language).rows):
        name, score, red, *rest = cells
        persona = str(place + 1) if place < len(summary.personas) else ""
        squares = [
            Square(
                text=cell.text,
                value=cell.number,
                note=cell.note,
                red=cell.red,
                first=first is not None and (place, judge) == first[:2],
                judge=numbers.get(judge, ""),
                graded=judge.partition("@")[0] != FEELING,
            )
            for judge, cell in zip(judges, (score, *rest), strict=True)
        ]
        yield Row(name.text, None if name.number is None else int(name.number), persona, red.text, squares)
