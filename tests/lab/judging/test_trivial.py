"""The trivial scorers that a judge has to beat."""

import pytest

from benchmarks.trivial import answer_length, rouge_l, token_precision, token_recall


def test_rouge_l_is_the_f1_with_the_nearest_reference() -> None:
    """Police kill the gunman / police killed the gunman: 3 of 4 words both ways; Japanese by characters."""
    assert rouge_l("police kill the gunman", ["nothing", "police killed the gunman"]) == 0.75
    assert rouge_l("返品は無料です", ["返品は無料です"]) == 1
    assert rouge_l("", ["a"]) == rouge_l("a", []) == 0


def test_precision_and_recall_count_words_or_pairs_of_characters() -> None:
    """Words in English, pairs of characters in Japanese."""
    assert token_precision("free returns today", ["Returns are free."], "en") == pytest.approx(2 / 3)
    assert token_precision("返品無料", ["返品は無料です"], "ja") == pytest.approx(2 / 3)
    assert token_recall("free", ["free returns", "pay"], "en") == 0.5
    assert token_precision("!", ["a"], "en") == 0
    assert answer_length(" a b\n") == 2
