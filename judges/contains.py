"""Contains: whether a reference answer stands in the answer, word for word."""

from simulator.extending import GradingContext, Score, metrics

from ._text_metrics import graded

SCALE = (0, 1)


def contains(context: GradingContext, references: tuple[str, ...] = ()) -> Score:
    """1 when one of the references stands in the answer, else 0; compared as exact_match does.

    A number is found whole (10 is not in 100), and so is a word of a script with spaces.
    """
    return graded("contains", context, references, metrics.contains)
