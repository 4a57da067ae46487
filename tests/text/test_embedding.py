"""Embeddings without a model: hashed n-grams."""

import math

import pytest

from simulator.text.embedding import DIMENSIONS, hash_embed


def cosine(one: str, other: str) -> float:
    a, b = hash_embed([one, other])
    return sum(x * y for x, y in zip(a, b, strict=True))


def test_embeddings_have_length_one_and_are_the_same_every_time() -> None:
    """Except for a text without letters, which is all zeros."""
    (vector,) = hash_embed(["解約金は4,800円です。"])

    assert len(vector) == DIMENSIONS
    assert math.hypot(*vector) == pytest.approx(1)
    assert hash_embed(["解約金は4,800円です。"]) == [vector]
    assert set(hash_embed(["、。"])[0]) == {0.0}


def test_near_texts_are_near_and_unrelated_ones_far() -> None:
    """Above 0.8 for other politeness, below 0.3 for another matter, in order between."""
    same = cosine("解約は毎月20日までにお申し込みください。", "解約は毎月20日までに申し込んでください。")
    related = cosine("解約は毎月20日までにお申し込みください。", "解約は月末にはお申し込みになれません。")
    unrelated = cosine("解約は毎月20日までにお申し込みください。", "ルーターの電源を入れ直してください。")

    assert same > 0.8 > related > 0.3 > unrelated
    assert cosine("The fee is 5,000 yen.", "The fee is 5000 yen") > 0.8
    assert cosine("Reset your password online.", "We issue no receipts.") < 0.3
