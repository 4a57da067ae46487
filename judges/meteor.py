"""METEOR: words aligned with the reference, less a penalty for scattered ones."""

from judges._text_metrics import graded
from simulator import GradingContext, Score, metrics

SCALE = (0, 1)


def meteor(context: GradingContext, references: tuple[str, ...] = (), tokenizer: str = "cjk-char") -> Score:
    """METEOR (0..1) against the nearest reference (Lavie and Agarwal, 2007); the detail names the variant.

    Identical texts of n tokens have 1 - 0.5 / n³, not 1.
    """
    return graded("meteor", context, references, lambda a, r: metrics.meteor(a, r, tokenizer))
