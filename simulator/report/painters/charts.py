"""Charts as places on a page.

A line chart is drawn without a `viewBox`: x is a share of a width that only the browser knows, so that its
text keeps its size on a telephone and on a wide screen alike.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from simulator.core.document import Chart, Text

# Width of the scale and height of a line chart, in pixels; the lines take the rest of the width.
AXIS, HEIGHT = 62, 208
_TOP, _BOTTOM = 22, 42
# Free on both sides, in percent of the width: half a label.
_MARGIN = 5.0
# Labels below a line chart, at most: more would run into each other on a telephone. Of labels that are longer
# than this, only the first and the last are shown.
_LABELS, _LONG_LABEL = 8, 8
# A mark of the scale gives way to a limit that is this near, in pixels.
_NEAR = 12
# Where a figure begins and ends above its dot, in pixels.
_FIGURE = (26, 7)
# Width of a chart of ranges, and of the names at its left; the height of a row.
WIDTH, LEFT = 720, 210
_RIGHT, _ROW, _PAD = 64, 26, 8
# As many letters of a name as fit beside its range.
_NAME = 26


class Segment(NamedTuple):
    """A straight line between two neighbours; x in percent of the width, y in pixels from the top."""

    x1: float
    y1: float
    x2: float
    y2: float


class Tick(NamedTuple):
    """A line of the scale; the limit stands out."""

    at: float
    text: Text
    limit: bool = False


@dataclass(frozen=True, slots=True)
class Dot:
    """One value: its place, its figure at height `above`, the label below it, the ends of its interval."""

    x: float
    y: float
    text: Text
    above: float
    label: Text
    labelled: bool
    anchor: str
    note: Text
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class LineChart:
    """A chart of lines over labels; `dots` are of the first series, `paths` of all."""

    ticks: list[Tick]
    dots: list[Dot]
    paths: list[list[Segment]]


@dataclass(frozen=True, slots=True)
class Range:
    """A value with its interval, in pixels; `whole` is the name that may be cut in `name`."""

    name: str
    whole: str
    y: float
    x: float
    low: float
    high: float
    text: Text
    best: bool


@dataclass(frozen=True, slots=True)
class RangeChart:
    """Values with intervals, one below the other."""

    height: float
    ticks: list[Tick]
    ranges: list[Range]


def line_chart(chart: Chart, text: Callable[[Text], str]) -> LineChart:
    """The places of a chart of lines; its marks are the ends of the scale. `text` shows a text."""
    low, high = (min(value for value, _ in chart.marks), max(value for value, _ in chart.marks))

    def y(value: float) -> float:
        return round(HEIGHT - _BOTTOM - (value - low) / (high - low) * (HEIGHT - _TOP - _BOTTOM), 1)

    def path(values: Sequence[float | None]) -> list[Segment]:
        heights = [None if value is None else y(value) for value in values]
        of = len(heights)
        return [
            Segment(_across(at, of), one, _across(at + 1, of), other)
            for at, (one, other) in enumerate(pairwise(heights))
            if one is not None and other is not None
        ]

    first = chart.series[0]
    limit = None if chart.limit is None else y(chart.limit[0])
    ticks = [Tick(y(value), text) for value, text in chart.marks]
    if chart.limit is not None and limit is not None:
        ticks = [
            *(tick for tick in ticks if abs(tick.at - limit) >= _NEAR),
            Tick(limit, chart.limit[1], True),
        ]
    last = len(first.values) - 1
    is_long = max(len(text(label)) for label in chart.labels) > _LONG_LABEL
    step = max(1, last) if is_long else -(-len(first.values) // _LABELS)
    dots = []
    for at, value in enumerate(first.values):
        if value is None:
            continue
        place = y(value)
        crosses = limit is not None and place - _FIGURE[0] < limit < place - _FIGURE[1]
        start, end = _interval(first.low, first.high, at, value)
        dots.append(
            Dot(
                x=_across(at, len(first.values)),
                y=place,
                text=first.texts[at],
                above=round(place + 21 if crosses else place - 11, 1),
                label=chart.labels[at],
                labelled=at % step == 0,
                anchor="middle" if not is_long else "start" if not at else "end",
                note=first.notes[at] if first.notes else "",
                low=y(start),
                high=y(end),
            )
        )
    return LineChart(ticks, dots, [path(series.values) for series in chart.series])


def range_chart(chart: Chart, text: Callable[[Text], str]) -> RangeChart:
    """The places of a chart of ranges. A note at a value marks the best one."""
    low, high = (min(value for value, _ in chart.marks), max(value for value, _ in chart.marks))

    def x(value: float) -> float:
        share = min(1.0, max(0.0, (value - low) / (high - low)))
        return round(LEFT + share * (WIDTH - LEFT - _RIGHT), 1)

    (series,) = chart.series
    ranges: list[Range] = []
    for at, (label, value) in enumerate(zip(chart.labels, series.values, strict=True)):
        if value is None:
            continue
        start, end = _interval(series.low, series.high, at, value)
        whole = text(label)
        name = whole if len(whole) <= _NAME else whole[: _NAME - 1] + "…"
        y = round(_PAD + _ROW * (len(ranges) + 0.5), 1)
        best = bool(series.notes and series.notes[at])
        ranges.append(Range(name, whole, y, x(value), x(start), x(end), series.texts[at], best))
    ticks = [Tick(x(value), text) for value, text in chart.marks]
    return RangeChart(_PAD + _ROW * len(ranges) + 24, ticks, ranges)


def parts(chart: Chart, at: int) -> Iterator[tuple[float, float]]:
    """Start and length of each part of the bar of one label, in percent of it; one for each series."""
    values = [series.values[at] or 0.0 for series in chart.series]
    total, start = sum(values) or 1.0, 0.0
    for value in values:
        yield round(start, 2), round(100 * value / total, 2)
        start += 100 * value / total


def bar_lengths(chart: Chart) -> list[float]:
    """The bars of a chart in percent of the longest one."""
    (series,) = chart.series
    most = max((value or 0.0 for value in series.values), default=0.0) or 1.0
    return [round(100 * (value or 0.0) / most, 1) for value in series.values]


def _interval(
    low: Sequence[float | None], high: Sequence[float | None], at: int, value: float
) -> tuple[float, float]:
    """The ends of a value's interval; the value itself where it has none."""
    start, end = low[at] if low else None, high[at] if high else None
    return value if start is None else start, value if end is None else end


def _across(at: int, of: int) -> float:
    """Where the place `at` (from 0) of `of` stands, in percent of the width."""
    return round(_MARGIN + at * (100 - 2 * _MARGIN) / max(1, of - 1), 2)
