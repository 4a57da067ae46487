"""What texts are made of, for the retrieval of the demo bot."""

import numpy as np
import pytest

from rag_adapters.demo import grams, places


def shared(one: str, other: str) -> float:
    """The share of `one` that is also in `other`, by weight."""
    first, second = grams(one), grams(other)
    common = np.isin(first.codes, second.codes)
    return float(first.weights[common].sum() / first.weights.sum())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ＡＢＣ１２３", "abc123"),
        ("ﾙｰﾀｰ", "ルーター"),
        ("E-205", "e-205"),
        ("plans", "plan"),
    ],
)
def test_spellings_of_the_same_word_are_the_same(one: str, other: str) -> None:
    """Width, case and English endings make no difference to whole words."""
    assert shared(one, other) > 0.5


def test_japanese_is_compared_without_spaces() -> None:
    """A word inside a sentence is found."""
    assert shared("解約金", "光の解約金はいくらですか") == pytest.approx(1)


def test_places_fit_their_vector() -> None:
    """Each code stands somewhere in 0..dimensions, evenly enough."""
    codes = grams("".join(chr(0x4E00 + number) for number in range(3000))).codes
    filled = np.bincount(places(codes, 1024), minlength=1024)

    assert len(filled) == 1024
    assert np.max(filled) < 4 * np.mean(filled)
