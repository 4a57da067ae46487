"""chrF: held to its laws and to sacrebleu."""

import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.text.overlap import NOTHING, char_ngram_overlap
from tests.metric_references import committed


@settings(deadline=None)
@given(st.text(), st.text())
def test_precision_of_one_is_recall_of_the_other(one: str, other: str) -> None:
    """All parts lie between 0 and 1."""
    found, swapped = char_ngram_overlap(one, other), char_ngram_overlap(other, one)

    assert (found.precision, found.recall) == (swapped.recall, swapped.precision)
    assert all(0 <= part <= 1 for part in found[:3])


@settings(deadline=None)
@given(st.text().filter(str.strip))
def test_the_same_text_has_one(text: str) -> None:
    """However short: orders that it is too short for do not count."""
    assert char_ngram_overlap(text, text).f == 1


@pytest.mark.parametrize(("one", "other"), [("", ""), ("a", ""), (" ", "a"), ("a", "b"), ("A", "a")])
def test_nothing_in_common_is_zero(one: str, other: str) -> None:
    """White space is nothing, and case counts."""
    assert char_ngram_overlap(one, other) == NOTHING


@pytest.mark.parametrize("word_order", [0, 2])
def test_sacrebleu_gives_the_same_for_random_and_real_texts(word_order: int) -> None:
    """chrF2 and chrF2++ of single sentences, in English and Japanese; theirs is a hundred times ours."""
    oracle = pytest.importorskip("sacrebleu.metrics.chrf").CHRF(word_order=word_order)
    rng = random.Random(7)
    texts = ["".join(rng.choices("ab あい。,(", k=rng.randint(0, 25))) for _ in range(300)]
    texts += [row[side] for kind in ("en", "ja") for row in committed(kind) for side in ("candidate",)]
    texts += [row["references"][0] for row in committed("ja")]

    for one, other in pairwise(texts):
        expected = oracle.sentence_score(one, [other]).score / 100
        assert char_ngram_overlap(one, other, word_order=word_order).f == pytest.approx(expected), (
            one,
            other,
        )
