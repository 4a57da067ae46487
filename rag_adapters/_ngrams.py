"""Texts as weighted character n-grams and words: the retrieval of the demo bot, without a model.

Japanese has no spaces, so it is cut into single kanji and runs of two and three characters; other
scripts into words, with their runs of three characters beside them so that word forms meet.
"""

import re
import unicodedata
import zlib
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

VERSION = "ngrams-1"  # part of an index's name on disk: raise it with every change of what is counted

_WORD = re.compile(r"[^\W_ぁ-ヿ㐀-鿿々]+(?:[-.,:][^\W_ぁ-ヿ㐀-鿿々]+)*")
_PART = re.compile(r"[^\W_]+")
_ENDING = re.compile(r"(?<=\w{3})(?:ations?|ing|ies|ed|es|s|e)$")
# Words that hold an English sentence together and say nothing of what it is about.
_FUNCTION_WORDS = frozenset(
    """
    a am an and any are as at be been but by can could did do does for from get got had has have he her
    him his how i if in into is it its just let me more my no not of on one or our out please she should
    so some than that the their them then there these they this those to too up us very want was we were
    what when where which who why will with would you your
    """.split()  # noqa: SIM905 - a hundred words are read as text, not as a list
)
# Japanese runs of hiragana are mostly endings and particles, runs within a word only catch its other forms.
_HIRAGANA, _KATAKANA, _KANJI, _OTHER = 1, 2, 3, 4
_GRAMMAR, _WORD_PART = 0.3, 0.5
_SPREAD = 0x9E3779B97F4A7C15  # makes 64 bits of 32, as evenly as they come
_MULTIPLIERS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], dtype=np.uint64)


class Grams(NamedTuple):
    """What a text is made of: each n-gram's 64-bit code once, and how much it counts."""

    codes: NDArray[np.uint64]
    weights: NDArray[np.float32]


def grams(text: str) -> Grams:
    """The n-grams of a text; a repeated one counts by the logarithm of its number."""
    shown = unicodedata.normalize("NFKC", text).lower()
    found = [_words(shown), *(_runs(shown, length) for length in (1, 2, 3))]
    codes = np.concatenate([codes for codes, _ in found])
    weights = np.concatenate([weights for _, weights in found])
    unique, places = np.unique(codes, return_inverse=True)
    summed = np.bincount(places, weights=weights, minlength=len(unique))
    return Grams(unique, np.log1p(summed).astype(np.float32))


def places(codes: NDArray[np.uint64], dimensions: int) -> NDArray[np.int64]:
    """Where the codes stand in a vector of `dimensions` places, a power of two: the hashing trick."""
    shift = np.uint64(64 - (dimensions.bit_length() - 1))
    return (codes >> shift).astype(np.int64)


def _words(text: str) -> tuple[NDArray[np.uint64], NDArray[np.float32]]:
    codes = [code for word in _WORD.findall(text) for code in _word_codes(word)]
    return np.array(codes, dtype=np.uint64), np.ones(len(codes), dtype=np.float32)


@lru_cache(16_384)
def _word_codes(word: str) -> tuple[int, ...]:
    """A word without its ending; of a compound ("two-step", "e-205") the whole and the parts."""
    parts = {word, *_PART.findall(word)} - _FUNCTION_WORDS
    kept = {_ENDING.sub("", part) for part in parts if len(part) > 1 or part.isdigit()}
    return tuple(zlib.crc32(part.encode("utf-8", "surrogatepass")) * _SPREAD % 2**64 for part in sorted(kept))


def _runs(text: str, length: int) -> tuple[NDArray[np.uint64], NDArray[np.float32]]:
    """Runs of `length` characters that do not cross from Japanese into another script or a mark."""
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    scripts = _scripts(text, points)
    size = max(len(points) - length + 1, 0)
    codes = np.zeros(size, dtype=np.uint64)
    for offset in range(length):
        codes += points[offset : offset + size].astype(np.uint64) * _MULTIPLIERS[offset]
    codes = (codes ^ (codes >> np.uint64(29))) * _MULTIPLIERS[length - 1] | np.uint64(1)
    weights = _weights(scripts, length, size)
    return codes[weights > 0], weights[weights > 0]


def _scripts(text: str, points: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """Per character which script it is of, 0 for spaces and marks."""
    scripts = np.zeros(len(points), dtype=np.uint8)
    scripts[np.fromiter(map(str.isalnum, text), dtype=bool, count=len(text))] = _OTHER
    scripts[(points >= 0x3041) & (points <= 0x309F)] = _HIRAGANA
    scripts[((points >= 0x30A0) & (points <= 0x30FF)) & (points != 0x30FB)] = _KATAKANA
    scripts[((points >= 0x3400) & (points <= 0x9FFF)) | (points == 0x3005)] = _KANJI
    return scripts


def _weights(scripts: NDArray[np.uint8], length: int, size: int) -> NDArray[np.float32]:
    windows = np.stack([scripts[offset : offset + size] for offset in range(length)])
    lowest, highest = np.min(windows, axis=0), np.max(windows, axis=0)
    weights = np.zeros(size, dtype=np.float32)
    if length == 1:
        weights[lowest == _KANJI] = _GRAMMAR
        return weights
    weights[(lowest >= _HIRAGANA) & (highest <= _KANJI)] = 1
    weights[(lowest == _HIRAGANA) & (highest == _HIRAGANA)] = _GRAMMAR
    if length == 3:
        weights[(lowest == _OTHER)] = _WORD_PART
    return weights
