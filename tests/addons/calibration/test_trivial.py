"""The trivial scorers that a judge has to beat."""

import random

import pytest

from simulator.addons.calibration.grade import answer_length, rouge_l, token_precision, token_recall
from simulator.text.overlap import lcs_length


def by_table(one: str, other: str) -> int:
    """The longest common subsequence, cell by cell."""
    row = [0] * (len(one) + 1)
    for letter in other:
        before, row = row, [0]
        for at, mine in enumerate(one):
            row.append(before[at] + 1 if mine == letter else max(row[at], before[at + 1]))
    return row[-1]


@pytest.mark.parametrize("seed", range(8))
def test_the_common_subsequence_is_that_of_the_table(seed: int) -> None:
    """Bits of a number give what the table gives."""
    draw = random.Random(seed)
    one, other = ("".join(draw.choices("abcd", k=draw.randrange(90))) for _ in range(2))

    assert lcs_length(one, other) == by_table(one, other)


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
