"""Token F1: the words and characters that answer and reference share."""

from simulator.extending import GradingContext, Score, metrics

from ._text_metrics import graded

SCALE = (0, 1)


def token_f1(context: GradingContext, references: tuple[str, ...] = ()) -> Score:
    """F1 (0..1) of the tokens in common with the nearest reference, in any order (SQuAD)."""
    return graded("token_f1", context, references, metrics.token_f1)
