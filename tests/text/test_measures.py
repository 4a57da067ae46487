"""The measures of an answer against its references, and what they count, held to other packages."""

import random
import unicodedata
from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulator.shelves.judges.meteor import compared as meteor

from simulator.text.metrics import (
    Measured,
    char_ngram_overlap,
    chrf,
    contains,
    exact_match,
    lcs_length,
    ngram_overlap,
    rouge_l,
    token_f1,
)
from tests.metric_references import committed

ALL = (exact_match, contains, token_f1, rouge_l, chrf)
Measure = Callable[[str, Sequence[str]], Measured]
EVERY = pytest.mark.parametrize("measure", ALL, ids=lambda measure: measure.__name__)
# Two lines of the article this program grew from.
CURL = "curl -X GET http://example.com/data", "curl -X http://example.com/data"
LETTERS = st.text(st.sampled_from("富士山はＡａ 1，0。ｶﾞー々-."), max_size=40)


@EVERY
@settings(deadline=None)
@given(one=LETTERS, other=LETTERS)
def test_values_lie_between_zero_and_one_whatever_the_width(measure: Measure, one: str, other: str) -> None:
    """A text and its NFKC form have the same value."""
    found = measure(one, [other])

    assert 0 <= found.value <= 1
    assert measure(unicodedata.normalize("NFKC", one), [other]).value == found.value
    assert measure(one, [unicodedata.normalize("NFKC", other)]).value == found.value


@EVERY
@pytest.mark.parametrize("text", ["富士山です。", "ー", "The capital is Oslo.", "ＡＰＩキーが必要", "5"])
def test_identical_texts_have_one(measure: Measure, text: str) -> None:
    """In Japanese as in English."""
    assert measure(text, [text]).value == 1


@EVERY
def test_the_nearest_reference_counts(measure: Measure) -> None:
    """Any of several answers may be right; the result says which it was."""
    found = measure("富士山です。", ["桜島です。", "富士山です。", "阿蘇山です。"])

    assert found.nearest == 1
    assert found.value >= 0.99


@pytest.mark.parametrize(("measure", "empty"), [(exact_match, 1), (contains, 0), (token_f1, 1), (rouge_l, 0)])
def test_two_empty_texts(measure: Measure, empty: float) -> None:
    """Equal, and without anything in common: as SQuAD and rouge_score have it."""
    assert measure("", [""]).value == empty
    assert measure("", ["富士山"]).value == measure("富士山", [""]).value == 0


@pytest.mark.parametrize(
    ("answer", "reference", "value"),
    [
        ("料金は１，０００円です。", "1000円", 1),
        ("料金は100円です。", "10", 0),
        ("It is 1.5 km.", "5", 0),
        ("It is -5 degrees; 気温は−5度", "5", 0),
        ("pages 3-5", "5", 1),
        ("気温は−5度です", "-5", 1),
        ("The Osloer Straße", "Oslo", 0),
        ("The capital is OSLO, of course", "oslo", 1),
        ("東京都です", "京都", 1),
        ("C#です", "C", 1),
        ("富士山", "富士山です", 0),
    ],
)
def test_a_reference_stands_in_the_answer_as_a_whole(answer: str, reference: str, value: float) -> None:
    """Not within a number or a word of a script with spaces; kana and kanji have no bounds."""
    assert contains(answer, [reference]).value == value


def test_the_lines_of_the_article() -> None:
    """ROUGE-L by words is 0.923; METEOR depends on the direction."""
    long, short = CURL

    assert rouge_l(long, [short]).value == pytest.approx(0.923, abs=5e-4)
    assert meteor(long, [short]).value == pytest.approx(0.965, abs=5e-4)
    assert meteor(short, [long]).value == pytest.approx(0.853, abs=5e-4)


def test_every_result_says_how_it_was_computed() -> None:
    """Variant and tokenizer, with its version."""
    found = {measure.__name__: measure("富士山", ["富士山"]) for measure in ALL}
    named = {name: (result.variant, result.tokenizer) for name, result in found.items()}

    assert meteor("a", ["a"]).variant.startswith("exact+stem")
    assert named == {
        "exact_match": ("nfkc-3", "none"),
        "contains": ("nfkc-3", "none"),
        "token_f1": ("f1", "cjk-char-1"),
        "rouge_l": ("rouge-l", "cjk-char-1"),
        "chrf": ("chrF2", "characters-1"),
    }


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


@pytest.mark.parametrize(("n", "f"), [(1, 0.75), (2, 1 / 3), (3, 0.0), (5, 0.0)])
def test_ngrams_count_as_often_as_both_have_them(n: int, f: float) -> None:
    """`aabb` and `aacb` share three letters, one pair and no longer run."""
    assert ngram_overlap(list("aabb"), list("aacb"), n).f == pytest.approx(f)


def test_sacrebleu_gives_the_same_for_random_and_real_texts() -> None:
    """chrF2 of single sentences, in English and Japanese; theirs is a hundred times ours."""
    oracle = pytest.importorskip("sacrebleu.metrics.chrf").CHRF()
    rng = random.Random(7)
    texts = ["".join(rng.choices("ab あい。,(", k=rng.randint(0, 25))) for _ in range(300)]
    texts += [row[side] for kind in ("en", "ja") for row in committed(kind) for side in ("candidate",)]
    texts += [row["references"][0] for row in committed("ja")]

    for one, other in pairwise(texts):
        expected = oracle.sentence_score(one, [other]).score / 100
        found = char_ngram_overlap(one, other).f
        assert found == pytest.approx(expected), (one, other)


@pytest.mark.parametrize(
    ("answer", "reference"),
    [
        ("解\u200b約\u200b窓口です。", "解約窓口"),
        ("葛\U000e0100城です。", "葛城"),
        ("☎\ufe0f 0120-1", "☎ 0120-1"),
        ("０１２０ー１２３ー４５６です。", "0120-123-456"),
    ],
)
def test_signs_that_nobody_sees_or_types_otherwise(answer: str, reference: str) -> None:
    """What looks the same is the same; a long vowel within a word stays one."""
    assert contains(answer, [reference]).value == 1
    assert contains("サーバ-の設定", ["サーバーの設定"]).value == 0
