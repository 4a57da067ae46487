"""chrF: the runs of characters that answer and reference share."""

from simulator.extending import GradingContext, Score, metrics

from ._text_metrics import graded

SCALE = (0, 1)


def chrf(context: GradingContext, references: tuple[str, ...] = ()) -> Score:
    """chrF2 (0..1) against the nearest reference (Popović, 2015): a hundredth of what sacrebleu shows."""
    return graded("chrf", context, references, metrics.chrf)
