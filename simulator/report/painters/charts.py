"""Charts as places on a page.

A line chart is drawn without a `viewBox`: x is a share of a width that only the browser knows, so that its
text keeps its size on a telephone and on a wide screen alike. y is in pixels, from the top: on the scale from
0 to 1, 0 is at 166 and 1 at 22.
"""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

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


class Tick(NamedTuple):
    """A line of the scale; the limit stands out."""

    at: float
    text: Text
    limit: bool = False


def line_chart(chart: Chart, text: Callable[[Text], str]) -> dict[str, Any]:
    """The places of a chart of lines; its marks are the ends of the scale. `text` shows a text.

    `paths` are the lines of all series, as segments between neighbours: x1, y1, x2, y2. `dots` are the values
    of the first series, each with its figure at the height `above` and the ends of its interval. An x is in
    percent of the width, a y in pixels from the top. Where a value is missing there is neither dot nor
    segment: a line that ran over the gap would show a value that nobody measured.

    Two turns, 0.5 and none, limit 0.6 -> a dot at x 5, y 94; ticks at 166, 94, 22; the limit at 79.6
    """
    low, high = (min(value for value, _ in chart.marks), max(value for value, _ in chart.marks))

    def y(value: float) -> float:
        return round(HEIGHT - _BOTTOM - (value - low) / (high - low) * (HEIGHT - _TOP - _BOTTOM), 1)

    def path(values: Sequence[float | None]) -> list[tuple[float, float, float, float]]:
        return [
            (_across(at, len(values)), y(value), _across(at + 1, len(values)), y(other))
            for at, (value, other) in enumerate(pairwise(values))
            if value is not None and other is not None
        ]

    ticks, limit = [Tick(y(value), name) for value, name in chart.marks], -math.inf
    if chart.limit is not None:
        limit = y(chart.limit[0])
        ticks = [tick for tick in ticks if abs(tick.at - limit) >= _NEAR]
        ticks.append(Tick(limit, chart.limit[1], True))
    first = chart.series[0]
    last = len(first.values) - 1
    is_long = max(len(text(label)) for label in chart.labels) > _LONG_LABEL
    step = max(1, last) if is_long else -(-len(first.values) // _LABELS)
    dots = []
    for at, value in enumerate(first.values):
        if value is None:
            continue
        place = y(value)
        crosses = place - _FIGURE[0] < limit < place - _FIGURE[1]
        start, end = first.low[at] if first.low else None, first.high[at] if first.high else None
        dot = {
            "x": _across(at, len(first.values)),
            "y": place,
            "text": first.texts[at],
            "above": round(place + 21 if crosses else place - 11, 1),
            "label": chart.labels[at],
            "labelled": at % step == 0,
            "anchor": "middle" if not is_long else "start" if not at else "end",
            "note": first.notes[at] if first.notes else "",
            "low": y(value if start is None else start),
            "high": y(value if end is None else end),
        }
        dots.append(dot)
    return {"ticks": ticks, "dots": dots, "paths": [path(series.values) for series in chart.series]}


def bar_lengths(chart: Chart) -> list[float]:
    """The bars of a chart in percent of the longest one: 3 and 1 -> 100.0, 33.3."""
    (series,) = chart.series
    most = max((value or 0.0 for value in series.values), default=0.0) or 1.0
    return [round(100 * (value or 0.0) / most, 1) for value in series.values]


def _across(at: int, of: int) -> float:
    """Where the place `at` (from 0) of `of` stands, in percent of the width: three are at 5, 50 and 95."""
    return round(_MARGIN + at * (100 - 2 * _MARGIN) / max(1, of - 1), 2)
