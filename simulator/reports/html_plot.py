"""What pictures over time share: places as shares of a width that nobody knows, and lines between them.

A picture is painted without a `viewBox`: its text keeps its size on a telephone and on a wide screen alike.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

# What is left free on both sides, in percent of the width: half a label.
_MARGIN = 5.0
# Labels below a picture, at most: more would run into each other on a telephone.
LABELS = 8


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
