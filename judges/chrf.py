"""chrF: the runs of characters that answer and reference share."""

from judges._text_metrics import graded
from simulator import GradingContext, Score, metrics

SCALE = (0, 1)


def chrf(context: GradingContext, references: tuple[str, ...] = ()) -> Score:
    """chrF2 (0..1) against the nearest reference (Popović, 2015): a hundredth of what sacrebleu shows."""
    return graded("chrf", context, references, metrics.chrf)
