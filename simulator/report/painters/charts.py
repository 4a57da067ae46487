"""Charts as places on a page.

A line chart is drawn without a `viewBox`: x is a share of a width that only the browser knows, so that its
text keeps its size on a telephone and on a wide screen alike. y is in pixels, from the top: on the scale from
0 to 1, 0 is at 166 and 1 at 22.
"""

from itertools import pairwise
from typing import Any

from simulator.core.document import Chart

# Width of the scale and height of a line chart, in pixels; the line takes the rest of the width.
AXIS, HEIGHT = 62, 208
_TOP, _BOTTOM = 22, 42
# Free on both sides, in percent of the width: half a label.
_MARGIN = 5.0


def line_chart(chart: Chart) -> dict[str, Any]:
    """The places of a chart of one line; its marks are the ends of the scale.

    `ticks` are the marks, each with its height. `path` is the line, as segments between neighbours: x1, y1,
    x2, y2. `dots` are the values, each with its figure at the height `above` and the ends of its interval. An
    x is in percent of the width, a y in pixels from the top. Where a value is missing there is neither dot
    nor segment: a line that ran over the gap would show a value that nobody measured.

    Two runs, 0.5 and none -> a dot at x 5, y 94; ticks at 166, 94, 22
    """
    low, high = (min(value for value, _ in chart.marks), max(value for value, _ in chart.marks))

    def y(value: float) -> float:
        return round(HEIGHT - _BOTTOM - (value - low) / (high - low) * (HEIGHT - _TOP - _BOTTOM), 1)

    n = len(chart.values)
    dots = []
    for at, value in enumerate(chart.values):
        if value is None:
            continue
        start, end = chart.low[at] if chart.low else None, chart.high[at] if chart.high else None
        dot = {
            "x": _across(at, n),
            "y": y(value),
            "text": chart.texts[at],
            "above": round(y(value) - 11, 1),
            "label": chart.labels[at],
            "low": y(value if start is None else start),
            "high": y(value if end is None else end),
        }
        dots.append(dot)
    path = [
        (_across(at, n), y(value), _across(at + 1, n), y(other))
        for at, (value, other) in enumerate(pairwise(chart.values))
        if value is not None and other is not None
    ]
    return {"ticks": [(y(value), name) for value, name in chart.marks], "dots": dots, "path": path}


def bar_lengths(chart: Chart) -> list[float]:
    """The bars of a chart in percent of the longest one: 3 and 1 -> 100.0, 33.3."""
    most = max((value or 0.0 for value in chart.values), default=0.0) or 1.0
    return [round(100 * (value or 0.0) / most, 1) for value in chart.values]


def _across(at: int, of: int) -> float:
    """Where the place `at` (from 0) of `of` stands, in percent of the width: three are at 5, 50 and 95."""
    return round(_MARGIN + at * (100 - 2 * _MARGIN) / max(1, of - 1), 2)
