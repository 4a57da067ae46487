"""Text metrics, right in Japanese and in English: pure functions, each naming what it was computed with.

    rouge_l("富士山です", ["富士山です。"])      -> 1.0 (cjk-char-1: punctuation is no token)
    token_f1("a b c", ["a b d"])               -> 0.67
    contains("答えは42です", ["42"])            -> 1.0; contains("100円", ["10"]) -> 0.0
    exact_match("「富士山」", ["富士山"])       -> 1.0
    chrf("富士山", ["富士"])                    -> 0.87

All of them are 0 to 1, take the best of several references, and return a `Measured` with that reference, its
precision and recall, the variant and the tokenizer. They agree with rouge_score, NLTK and sacrebleu to 1e-9
where these compute the same (`make bench-metrics`, tests/text/test_references.py); METEOR, which needs stems
and synonyms, stands in judges/meteor.py.
"""

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from simulator.core.patterns import LazyPattern
from simulator.text.normalise import PLAIN_FORM_VERSION, TOKENIZER, plain_form, words
from simulator.text.segments import CJK
from simulator.text.typography import nfkc


class Overlap(NamedTuple):
    """What of the answer is right, what of the reference is there, and both in one number; all 0..1."""

    precision: float
    recall: float
    f: float
    matched: int = 0


NOTHING = Overlap(0.0, 0.0, 0.0)


def f_measure(precision: float, recall: float, beta: float = 1.0) -> float:
    """(1 + b²)PR / (b²P + R), 0..1: recall counts b times as much as precision (van Rijsbergen, 1979)."""
    weighed = beta**2 * precision + recall
    return (1 + beta**2) * precision * recall / weighed if weighed else 0.0


def overlap(matched: int, answer: int, reference: int, beta: float = 1.0) -> Overlap:
    """The overlap of `matched` tokens with so many in the answer and so many in the reference.

    2 of 3 and 2 of 4 give precision 0.67, recall 0.5 and F 0.57. Nothing matched is 0, also for two empty
    texts.
    """
    if not matched:
        return NOTHING
    # From the counts, so that 6 of 8 are 0.75 and no rounding leads over 1, as precision and recall
    # multiplied might.
    f = min(1.0, (1 + beta**2) * matched / (beta**2 * reference + answer))
    return Overlap(matched / answer, matched / reference, f, matched)


def ngram_overlap(answer: Sequence[str], reference: Sequence[str], n: int = 1) -> Overlap:
    """Common n-grams, each counted as often as both have it: ROUGE-N of Lin (2004); 0 without any.

    With n = 1 this is the token F1 of SQuAD (Rajpurkar et al., 2016).
    """
    ours, theirs = Counter(_ngrams(answer, n)), Counter(_ngrams(reference, n))
    return overlap((ours & theirs).total(), ours.total(), theirs.total())


def _ngrams(tokens: Sequence[str], n: int) -> Iterable[Hashable]:
    return tokens if n == 1 else zip(*(tokens[start:] for start in range(n)), strict=False)


# chrF counts runs of one to so many characters, and recall twice as much as precision (Popović, 2015).
_CHRF_ORDER, _CHRF_BETA = 6, 2.0


def char_ngram_overlap(answer: str, reference: str) -> Overlap:
    """chrF2, 0..1: mean precision and recall of character 1..6-grams, recall weighing twice as much.

    White space is left out; upper and lower case differ. Orders that one of the texts is too short for
    are left out. A hundredth of what sacrebleu shows.
    """
    precisions, recalls, matched = [], [], 0
    ours, theirs = _chrf_ngrams(answer), _chrf_ngrams(reference)
    for mine, right in zip(ours, theirs, strict=True):
        if mine and right:
            common = _common(mine, right)
            precisions.append(common / mine.total())
            recalls.append(common / right.total())
            matched += common
    if not matched:
        return NOTHING
    precision, recall = sum(precisions) / len(precisions), sum(recalls) / len(recalls)
    return Overlap(precision, recall, f_measure(precision, recall, _CHRF_BETA), matched)


def _common(mine: Counter[str], right: Counter[str]) -> int:
    """How many both have: each once, and those that come again as often as in both.

    The sum of the smaller counts; this way round it is set arithmetic for the many that come once.
    """
    again = (min(count, right[each]) - 1 for each, count in mine.items() if count > 1 and each in right)
    return len(mine.keys() & right.keys()) + sum(again)


@lru_cache(maxsize=64)
def _chrf_ngrams(text: str) -> tuple[Counter[str], ...]:
    """The n-grams of each order; a reference is met again with each answer, so they are kept a while."""
    characters = "".join(text.split())
    return tuple(
        Counter(characters[at : at + n] for at in range(len(characters) - n + 1))
        for n in range(1, _CHRF_ORDER + 1)
    )


Tokens = Sequence[str]


def lcs_length(one: Tokens, other: Tokens) -> int:
    """How many tokens stand in both texts in the same order.

    Bit-parallel (Crochemore et al., 2001; Hyyrö, 2004): a column of the usual table is one integer, in
    which a 0 bit stands for a step upwards.
    """
    if len(one) > len(other):  # the integers are as long as the shorter text
        one, other = other, one
    places: dict[str, int] = {}
    for position, token in enumerate(one):
        places[token] = places.get(token, 0) | 1 << position
    # Python's integers are as long as they must be: one addition does a whole column of the table.
    column = full = (1 << len(one)) - 1
    for token in other:
        if token in places:
            matching = column & places[token]
            column = (column + matching | column - matching) & full
    return len(one) - column.bit_count()


def lcs_overlap(answer: Tokens, reference: Tokens, beta: float = 1.0) -> Overlap:
    """ROUGE-L, 0..1: P = LCS / answer, R = LCS / reference, F = (1 + b²)PR / (b²P + R).

    With b = 1 the values of ROUGE-1.5.5 and the rouge_score package; COCO's captions use b = 1.2.
    """
    return overlap(lcs_length(answer, reference), len(answer), len(reference), beta)


_plain = lru_cache(maxsize=1024)(plain_form)  # a reference is met again with each answer


# Words and numbers, in which no match begins or ends (10 is not in 100, nor 5 in 1.5 or -5);
# other signs singly.
_UNCUT = LazyPattern(
    rf"(?:(?<![^\s(\[「:=はがをにで約])-(?=\d))?+(?:[^\W_{CJK}]|(?<=\d)\.(?=\d))++|.",
    re.DOTALL,
)


class Measured(NamedTuple):
    """A value, the reference (0-based) that gave it, what it is made of, and how it was computed.

    `answer` and `reference` count tokens, `chunks` those of METEOR; 0 where a metric has none. `variant` and
    `tokenizer` carry versions, because a figure of another version is another figure.
    """

    value: float
    nearest: int
    parts: Overlap
    variant: str
    tokenizer: str
    answer: int = 0
    reference: int = 0
    chunks: int = 0


def exact_match(answer: str, references: Sequence[str]) -> Measured:
    """1 when the answer is a reference but for width, case, idle space and surrounding punctuation; or 0."""
    given = plain_form(answer)
    return _found([given == _plain(reference) for reference in references])


def contains(answer: str, references: Sequence[str]) -> Measured:
    """1 when a reference stands in the answer, at the bounds of words and numbers; or 0.

    Compared as in `exact_match`. Kana and kanji have no word bounds, so 京都 stands in 東京都. An empty
    reference stands nowhere.
    """
    given = plain_form(answer)
    plain = map(_plain, references)
    # The plain search first: it is fast, and nearly always says no.
    return _found([bool(each) and each in given and _cut(each) in _cut(given) for each in plain])


def token_f1(answer: str, references: Sequence[str]) -> Measured:
    """F1 of the tokens that answer and reference share, in any order (SQuAD; Rajpurkar et al., 2016).

    Two texts without any token are equal (1), as in SQuAD. Articles count.
    """

    def compare(ours: Sequence[str], theirs: Sequence[str]) -> Overlap:
        return ngram_overlap(ours, theirs) if ours or theirs else Overlap(1.0, 1.0, 1.0)

    return _nearest(answer, references, compare, "f1")


def rouge_l(answer: str, references: Sequence[str]) -> Measured:
    """F of the longest common subsequence (Lin, 2004); 0 for a text without any token."""
    return _nearest(answer, references, lcs_overlap, "rouge-l")


def chrf(answer: str, references: Sequence[str]) -> Measured:
    """chrF2 of the texts after NFKC (Popović, 2015); a hundredth of sacrebleu's. Case counts."""
    ours = nfkc(answer)
    overlaps = [char_ngram_overlap(ours, nfkc(reference)) for reference in references]
    # The first of equal references, so that results do not change with their number.
    at = max(range(len(overlaps)), key=lambda place: overlaps[place].f)
    return Measured(overlaps[at].f, at, overlaps[at], "chrF2", "characters-1")


def _found(matches: Sequence[bool]) -> Measured:
    hit = any(matches)
    parts = Overlap(1.0, 1.0, 1.0, 1) if hit else NOTHING
    return Measured(parts.f, matches.index(True) if hit else 0, parts, PLAIN_FORM_VERSION, "none")


def _nearest(
    answer: str,
    references: Sequence[str],
    compare: Callable[[Sequence[str], Sequence[str]], Overlap],
    name: str,
) -> Measured:
    """The overlap with the reference that gives the best F; the first of equals."""
    ours, theirs = words(answer), [words(reference) for reference in references]
    overlaps = [compare(ours, tokens) for tokens in theirs]
    at = max(range(len(overlaps)), key=lambda place: overlaps[place].f)
    return Measured(overlaps[at].f, at, overlaps[at], name, TOKENIZER, len(ours), len(theirs[at]))


def _cut(text: str) -> str:
    """The text with a mark around each word, number and other sign: where something else may begin or end."""
    return "\0".join(("", *_UNCUT.findall(text), ""))
