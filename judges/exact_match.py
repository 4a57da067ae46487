"""Exact match: whether the answer is a reference, word for word."""

from simulator.extending import GradingContext, Score, metrics

from ._text_metrics import graded

SCALE = (0, 1)


def exact_match(context: GradingContext, references: tuple[str, ...] = ()) -> Score:
    """1 when the answer is one of the references, else 0.

    Width (NFKC), case, surrounding punctuation and the commas of thousands make no difference:
    「１，０００円。」 is 1000円.
    """
    return graded("exact_match", context, references, metrics.exact_match)
