"""What texts are made of, for the retrieval of the demo bot."""

import numpy as np
import pytest
from simulator.shelves.rag_adapters.demo import grams


def shared(one: str, other: str) -> float:
    """The share of `one` that is also in `other`, by weight."""
    first, second = grams(one), grams(other)
    common = np.isin(first.codes, second.codes)
    return float(first.weights[common].sum() / first.weights.sum())


@pytest.mark.parametrize(
    ("one", "other"),
    [("ＡＢＣ１２３", "abc123"), ("ﾙｰﾀｰ", "ルーター"), ("E-205", "e-205"), ("plans", "plan")],
)
def test_spellings_of_the_same_word_are_the_same(one: str, other: str) -> None:
    """Width, case and English endings make no difference to whole words."""
    assert shared(one, other) > 0.5


def test_japanese_is_compared_without_spaces() -> None:
    """A word inside a sentence is found."""
    assert shared("解約金", "光の解約金はいくらですか") == pytest.approx(1)
