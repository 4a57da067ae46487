"""Embeddings without a model: hashed character n-grams.

They stand in for the judge `cosine` where no endpoint embeds. The hashing trick needs no vocabulary and no
fitting: a gram's CRC-32 says which of the 512 numbers it changes, and its top bit whether up or down, so that
collisions cancel out on average (Weinberger et al., 2009).

    cosine of "料金はいくらですか" and "料金いくら"       -> 0.68
    cosine of "料金はいくらですか" and "住所を変えたい"   -> 0.00
"""

import re
import zlib
from collections import defaultdict
from functools import lru_cache
from typing import TYPE_CHECKING

from simulator.text.overlap import STOP_WORDS, stem
from simulator.text.segments import tokens

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DIMENSIONS = 512
# A pair of neighbours says more than one character and recurs more often than three. Grammar is common to all
# sentences of a desk, so it weighs far less here than where copied wording is looked for.
_SIZES = {1: 0.5, 2: 1.0, 3: 0.7}
_GRAMMAR = 0.15
_HIRAGANA = re.compile("[\u3041-\u309f\u30fc]")
# So much do three letters in a row count, by which forms of an English word meet.
_LETTERS = 0.25


def hash_embed(texts: list[str]) -> list[list[float]]:
    """One vector of length 1 per text, 512 numbers: signed hashes (CRC-32) of its 1-, 2- and 3-grams.

    N-grams of characters in Japanese; of words, and of the letters inside them, elsewhere. What they have in
    common with a model's embeddings is the order, not the scale: equal texts have the cosine 1, Japanese
    sentences that differ in politeness or a particle more than 0.8, unrelated ones less than 0.3. A text
    without letters or digits is all zeros.
    """
    return [_vector(text).tolist() for text in texts]


@lru_cache(maxsize=1024)
def _vector(text: str) -> "NDArray[np.float64]":
    import numpy as np

    vector = np.zeros(DIMENSIONS)
    for gram, weight in _grams(tokens(text)).items():
        code = zlib.crc32(gram.encode("utf-8", "surrogatepass"))
        vector[code % DIMENSIONS] += weight if code & 0x80000000 else -weight
    length = float(np.linalg.norm(vector))
    return vector / length if length else vector


def _grams(found: list[str]) -> dict[str, float]:
    """The n-grams of some tokens and of the letters of their words, with weights that add up."""
    words = [stem(token) for token in found]
    weights = [_GRAMMAR if token in STOP_WORDS or _HIRAGANA.match(token) else 1.0 for token in found]
    grams: dict[str, float] = defaultdict(float)
    for size, factor in _SIZES.items():
        for at in range(len(words) - size + 1):
            grams["\t".join(words[at : at + size])] += factor * sum(weights[at : at + size]) / size
    for word in words:
        for at in range(len(word) - 2):
            grams[f"<{word[at : at + 3]}"] += _LETTERS
    return grams
