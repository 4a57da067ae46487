"""METEOR: alignment and penalty, held to their laws and to NLTK."""

import random
from itertools import pairwise
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.text.meteor import (
    EXACT,
    STAGES,
    STEM,
    alignment,
    by_synonyms,
    chunks_of,
    meteor_score,
    variant,
)
from simulator.text.normalise import blank_words, tokenizer
from tests.metric_references import committed

TOKENS = st.lists(st.sampled_from(["cat", "cats", "run", "running", "猫", "a"]), max_size=30)
# A source of synonyms behind the same seam as WordNet.
SMALL = {
    "car": {"car", "auto", "automobile"},
    "automobile": {"car", "auto", "automobile"},
    "picture": {"image"},
}


def synonyms(word: str) -> set[str]:
    return SMALL.get(word, set())


class SmallWordNet:
    """The same synonyms as NLTK reads them."""

    def synsets(self, word: str) -> list[SimpleNamespace]:
        lemmas = [SimpleNamespace(name=lambda each=each: each) for each in sorted(synonyms(word))]
        return [SimpleNamespace(lemmas=lambda: lemmas)]


@settings(deadline=None)
@given(TOKENS, TOKENS)
def test_a_score_lies_between_zero_and_one(one: list[str], other: list[str]) -> None:
    """And precision of one is recall of the other: the same words are paired from either side."""
    found, swapped = meteor_score(one, other, (EXACT,)), meteor_score(other, one, (EXACT,))

    assert all(0 <= part <= 1 for part in found[:5])
    assert (found.precision, found.recall, found.matched) == (
        swapped.recall,
        swapped.precision,
        swapped.matched,
    )
    assert found.chunks <= found.matched


@settings(deadline=None)
@given(TOKENS.filter(bool))
def test_identical_texts_stay_below_one(tokens: list[str]) -> None:
    """1 - 0.5 / n³ for n tokens: METEOR's penalty is never nothing."""
    assert meteor_score(tokens, tokens).value == pytest.approx(1 - 0.5 / len(tokens) ** 3)


@settings(deadline=None)
@given(TOKENS, TOKENS)
def test_a_word_is_paired_once(one: list[str], other: list[str]) -> None:
    """An alignment is one to one, and every pair has the same stem."""
    pairs = alignment(one, other)

    assert len({a for a, _ in pairs}) == len({b for _, b in pairs}) == len(pairs)
    assert all(STEM.takes(one[a]) == STEM.takes(other[b]) for a, b in pairs)


@pytest.mark.parametrize(("one", "other"), [("", ""), ("a", ""), ("", "a"), ("a", "b")])
def test_nothing_in_common_is_zero(one: str, other: str) -> None:
    """Also where there is nothing at all."""
    assert meteor_score(list(one), list(other)).value == 0


@pytest.mark.parametrize(
    ("pairs", "chunks"),
    [([], 0), ([(0, 0)], 1), ([(0, 0), (1, 1)], 1), ([(0, 1), (1, 0)], 2), ([(0, 0), (2, 1)], 2)],
)
def test_a_chunk_has_no_gap_in_either_text(pairs: list[tuple[int, int]], chunks: int) -> None:
    """A gap or a turn on one side begins another."""
    assert chunks_of(pairs) == chunks


def test_exact_words_are_paired_before_stems() -> None:
    """`cats` takes `cats`, though `cat` comes later."""
    assert alignment(["cats"], ["cats", "cat"]) == [(0, 0)]
    assert alignment(["cats"], ["cat"]) == [(0, 0)]
    assert alignment(["cats"], ["cat"], (EXACT,)) == []


def test_synonyms_are_paired_last() -> None:
    """Those of the word itself; a phrase that is reordered costs chunks only."""
    stages = (*STAGES, by_synonyms("small", synonyms))

    assert meteor_score(["automobile"], ["car"], stages).value == 0.5
    assert meteor_score(["automobile"], ["car"]).value == 0
    assert alignment(["car", "automobile"], ["automobile", "car"], stages) == [(0, 1), (1, 0)]


def test_nltk_looks_up_stems_and_misses_the_automobile() -> None:
    """What by_synonyms(of_stems=True) repeats, so that published values can be had."""
    stages = (*STAGES, by_synonyms("small", synonyms, of_stems=True))

    assert meteor_score(["automobile"], ["car"], stages).value == 0


def test_the_variant_names_the_stages() -> None:
    """What every result says of its METEOR."""
    assert variant(STAGES) == "exact+stem"
    assert variant((*STAGES, by_synonyms("wordnet-3.0", synonyms))) == "exact+stem+wordnet-3.0"


@pytest.mark.parametrize("stages", [(), (by_synonyms("small", synonyms, of_stems=True),)])
def test_nltk_gives_the_same_for_random_and_real_texts(stages: tuple[object, ...]) -> None:
    """In English and Japanese, without synonyms and with a small list of them."""
    oracle = pytest.importorskip("nltk.translate.meteor_score").single_meteor_score
    wordnet = SmallWordNet() if stages else SimpleNamespace(synsets=lambda _: [])
    rng = random.Random(5)
    words = ["car", "automobile", "auto", "picture", "image", "run", "running", "runs", "a"]
    texts = [rng.choices(words, k=rng.randint(1, 20)) for _ in range(200)]
    texts += [blank_words(row["candidate"]) for row in committed("en")]
    texts += [tokenizer().cut(row["candidate"]) for row in committed("ja")]

    for one, other in pairwise(texts):
        expected = oracle(other, one, wordnet=wordnet)
        assert meteor_score(one, other, (*STAGES, *stages)).value == pytest.approx(expected)  # type: ignore[arg-type]
