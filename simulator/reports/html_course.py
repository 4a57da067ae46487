"""Scores and feelings by turn, as pictures: figures become coordinates here, the template paints them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from simulator.core.translations import Words, goal, points
from simulator.core.types import Language, Results
from simulator.reports.html_plot import Segment, across, labelled, segments
from simulator.reports.html_talks import FEELING, PAGE
from simulator.stats.figures import Mean, Summary
from simulator.stats.summary import Course, course

# Of the scale's own column and of the picture, in pixels; the rest of the width is the lines'.
AXIS, HEIGHT = 62, 208
_TOP, _BOTTOM = 22, 42
# A mark of the scale this near to the limit gives way to it, in pixels.
_NEAR = 12
# From how far above its dot to how far a figure reaches, in pixels.
_FIGURE = (26, 7)
# More lines than this cannot be told apart; the table has everyone.
LINES = 4


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
    """A picture with its text alternative (`told`) and the figures behind it (`rows`)."""

    title: str
    note: str
    told: str
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
    found = []
    if score := course(results, summary.primary):
        title = PAGE(language, "course_score")
        found.append(_chart(score, replace(_SHARE, limit=limit), title, "", words))
    if felt := course(results, FEELING, raw=True):
        title, note = PAGE(language, "course_feeling"), PAGE(language, "course_feeling_note")
        found.append(_chart(felt, _FEELINGS, title, note, words))
    return found


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
        told=_told(found, scale, title, language),
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
    """A dot whose figure stands above it, or below where it would else stand on the line of the limit."""
    y = scale.y(mean)
    strikes = scale.limit is not None and y - _FIGURE[0] < scale.y(scale.limit) < y - _FIGURE[1]
    figure = round(y + 21 if strikes else y - 11, 1)
    return Dot(at + 1, across(at, turns), y, scale.text(mean), figure, n, labelled(at, turns))


def _ticks(scale: _Scale, language: Language) -> list[Tick]:
    """The marks of a scale and the limit below which a turn is red."""
    ticks = [Tick(scale.y(mark), scale.text(mark)) for mark in scale.marks]
    if scale.limit is None:
        return ticks
    text = f"{PAGE(language, 'course_limit')} {goal(scale.limit)}"
    found = Tick(scale.y(scale.limit), text, limit=True)
    return [*(tick for tick in ticks if abs(tick.y - found.y) >= _NEAR), found]


def _told(found: Course, scale: _Scale, title: str, language: Language) -> str:
    """The picture in a sentence."""
    each = [
        PAGE(language, "course_point", turn=str(at), value=scale.text(mean.mean), n=str(mean.n))
        for at, mean in enumerate(found.overall, 1)
    ]
    return PAGE(language, "course_told", title=title, told=("、" if language == "ja" else ", ").join(each))


def _path(means: Sequence[Mean], scale: _Scale) -> list[Segment]:
    """A line through the means, broken where there is none."""
    return segments([None if mean.mean is None else scale.y(mean.mean) for mean in means])
