"""The lowest score there is: grades from 1 to 5 are divided by 5, so that nobody ever reaches 0."""

from simulator.core.replies import FIFTHS, share_of
from simulator.core.translations import Words, goal
from simulator.core.types import Results
from simulator.stats.figures import Summary


def lowest(results: Results, summary: Summary) -> float | None:
    """The lowest possible score (0..1); None where the deciding judge's scale reaches down to 0."""
    scales = (s.scale for s in results.scores if s.judge == summary.primary and s.state == "scored")
    return share_of(FIFTHS[0], FIFTHS) if next(scales, None) == FIFTHS else None


def legend(results: Results, summary: Summary, words: Words) -> str:
    """What a reader of the figures is told of it; empty where the scale reaches down to 0."""
    least = lowest(results, summary)
    return "" if least is None else words("lowest", n=goal(least))
