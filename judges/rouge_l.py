"""ROUGE-L: what answer and reference have in common, in the same order."""

from simulator.extending import GradingContext, Score, metrics

from ._text_metrics import graded

SCALE = (0, 1)


def rouge_l(context: GradingContext, references: tuple[str, ...] = ()) -> Score:
    """F (0..1) of the longest common subsequence with the nearest reference (Lin, 2004)."""
    return graded("rouge_l", context, references, metrics.rouge_l)
