"""Common tokens and characters: ROUGE-N, token F1, ROUGE-L and chrF, held to laws and to other packages."""

import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.text.normalise import ascii_words
from simulator.text.overlap import char_ngram_overlap, lcs_length, lcs_overlap, ngram_overlap
from tests.metric_references import committed

TOKENS = st.lists(st.sampled_from("abcdeあい"), max_size=90)


def lcs_by_table(one: list[str], other: list[str]) -> int:
    """The textbook's quadratic way."""
    row = [0] * (len(other) + 1)
    for token in one:
        above, row = row, [0]
        for column, match in enumerate(other):
            row.append(above[column] + 1 if token == match else max(above[column + 1], row[-1]))
    return row[-1]


@settings(deadline=None)
@given(TOKENS, TOKENS)
def test_the_bits_find_the_longest_common_subsequence(one: list[str], other: list[str]) -> None:
    """As long as the one that the table finds, whichever text comes first."""
    assert lcs_length(one, other) == lcs_length(other, one) == lcs_by_table(one, other)


@settings(deadline=None)
@given(TOKENS, TOKENS)
def test_order_matters_to_rouge_l_only(one: list[str], other: list[str]) -> None:
    """A subsequence is never longer than what is common in any order."""
    assert lcs_overlap(one, other).matched <= ngram_overlap(one, other).matched
    assert ngram_overlap(sorted(one), other) == ngram_overlap(one, other)


@pytest.mark.parametrize(("n", "f"), [(1, 0.75), (2, 1 / 3), (3, 0.0), (5, 0.0)])
def test_ngrams_count_as_often_as_both_have_them(n: int, f: float) -> None:
    """`aabb` and `aacb` share three letters, one pair and no longer run."""
    assert ngram_overlap(list("aabb"), list("aacb"), n).f == pytest.approx(f)


def test_rouge_score_gives_the_same_for_random_and_real_texts() -> None:
    """ROUGE-1, ROUGE-2 and ROUGE-L, each with precision and recall."""
    scorer = pytest.importorskip("rouge_score.rouge_scorer").RougeScorer(["rouge1", "rouge2", "rougeL"])
    rng = random.Random(3)
    texts = [
        "\n".join(" ".join(rng.choices("abcdefg", k=rng.randint(0, 12))) for _ in range(3))
        for _ in range(240)
    ]
    texts += [row["candidate"] for row in committed("en")]

    for one, other in pairwise(texts):
        expected = scorer.score(other, one)
        ours, theirs = ascii_words(one), ascii_words(other)
        found = {
            "rouge1": ngram_overlap(ours, theirs),
            "rouge2": ngram_overlap(ours, theirs, 2),
            "rougeL": lcs_overlap(ours, theirs),
        }
        for name, value in found.items():
            assert value[:3] == pytest.approx(tuple(expected[name])), (name, one, other)


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
