"""The measures of an answer against one or more references, as judges and analyses use them.

Each takes texts and gives the value for the nearest reference, with all that was counted. Identical
texts have 1 in Japanese as in English (METEOR below 1, by its definition); values are 0..1.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from simulator.counting.segments import CJK
from simulator.metrics.chrf import char_ngram_overlap
from simulator.metrics.forms import PLAIN, plain_form
from simulator.metrics.meteor import STAGES, Stage, by_synonyms, meteor_score, variant
from simulator.metrics.overlap import NOTHING, Overlap, ngram_overlap
from simulator.metrics.rouge import lcs_overlap
from simulator.metrics.tokens import DEFAULT
from simulator.metrics.tokens import tokenizer as tokenizer_called
from simulator.metrics.wordnet import wordnet

# A match would begin or end within a word or a number: 10 is not in 100, nor 5 in 1.5.
_WITHIN = rf"[^\W_{CJK}]"


class Measured(NamedTuple):
    """A value, the reference (0-based) that gave it, what it is made of, and how it was computed."""

    value: float
    nearest: int
    parts: Overlap
    variant: str
    tokenizer: str
    answer: int = 0
    reference: int = 0
    chunks: int = 0
    penalty: float = 0.0


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
    return _found([_stands(_plain(reference), given) for reference in references])


def token_f1(answer: str, references: Sequence[str], tokenizer: str = DEFAULT) -> Measured:
    """F1 of the tokens that answer and reference share, in any order (SQuAD; Rajpurkar et al., 2016).

    Two texts without any token are equal (1), as in SQuAD. Articles count, but for the tokenizer squad.
    """

    def compare(ours: Sequence[str], theirs: Sequence[str]) -> Overlap:
        return ngram_overlap(ours, theirs) if ours or theirs else Overlap(1.0, 1.0, 1.0)

    return _nearest(answer, references, tokenizer, compare, "f1")


def rouge_l(
    answer: str, references: Sequence[str], tokenizer: str = DEFAULT, *, beta: float = 1.0
) -> Measured:
    """F of the longest common subsequence (Lin, 2004); 0 for a text without any token."""

    def compare(ours: Sequence[str], theirs: Sequence[str]) -> Overlap:
        return lcs_overlap(ours, theirs, beta)

    return _nearest(
        answer, references, tokenizer, compare, "rouge-l" if beta == 1 else f"rouge-l beta {beta:g}"
    )


def meteor(
    answer: str,
    references: Sequence[str],
    tokenizer: str = DEFAULT,
    stages: Sequence[Stage] | None = None,
) -> Measured:
    """METEOR (Lavie and Agarwal, 2007): by exact words, stems and, where WordNet is installed, synonyms.

    Its variant says which, as in exact+stem. Identical texts of n tokens have 1 - 0.5 / n³, not 1.
    """
    stages = _stages() if stages is None else stages
    used = tokenizer_called(tokenizer)
    ours, theirs = used.cut(answer), [used.cut(reference) for reference in references]
    scores = [meteor_score(ours, each, stages) for each in theirs]
    at = max(range(len(scores)), key=lambda place: scores[place].value)
    best = scores[at]
    parts = Overlap(best.precision, best.recall, best.mean, best.matched)
    counts = len(ours), len(theirs[at]), best.chunks, best.penalty
    return Measured(best.value, at, parts, variant(stages), used.name, *counts)


def chrf(answer: str, references: Sequence[str], *, word_order: int = 0) -> Measured:
    """chrF2 of the texts after NFKC (Popović, 2015); a hundredth of sacrebleu's. Case counts."""
    ours = unicodedata.normalize("NFKC", answer)
    found = [
        char_ngram_overlap(ours, unicodedata.normalize("NFKC", reference), word_order=word_order)
        for reference in references
    ]
    at = max(range(len(found)), key=lambda place: found[place].f)
    return Measured(found[at].f, at, found[at], "chrF2" + "+" * word_order, "characters-1")


def _found(matches: Sequence[bool]) -> Measured:
    hit = any(matches)
    parts = Overlap(1.0, 1.0, 1.0, 1) if hit else NOTHING
    return Measured(parts.f, matches.index(True) if hit else 0, parts, PLAIN, "none")


def _nearest(
    answer: str,
    references: Sequence[str],
    tokenizer: str,
    compare: Callable[[Sequence[str], Sequence[str]], Overlap],
    name: str,
) -> Measured:
    """The overlap with the reference that gives the best F; the first of equals."""
    used = tokenizer_called(tokenizer)
    ours, theirs = used.cut(answer), [used.cut(reference) for reference in references]
    found = [compare(ours, each) for each in theirs]
    at = max(range(len(found)), key=lambda place: found[place].f)
    return Measured(found[at].f, at, found[at], name, used.name, len(ours), len(theirs[at]))


@lru_cache(maxsize=1024)
def _plain(reference: str) -> str:
    return plain_form(reference)


def _stands(wanted: str, given: str) -> bool:
    return bool(wanted) and wanted in given and _bounded(wanted).search(given) is not None


@lru_cache(maxsize=1024)
def _bounded(wanted: str) -> re.Pattern[str]:
    """Finds the text where neither end of it cuts a word or a number in two."""
    before = rf"(?<!{_WITHIN})" if re.match(_WITHIN, wanted[0]) else ""
    after = rf"(?!{_WITHIN})" if re.match(_WITHIN, wanted[-1]) else ""
    before += r"(?<!\d\.)" if wanted[0].isdigit() else ""
    after += r"(?!\.\d)" if wanted[-1].isdigit() else ""
    return re.compile(before + re.escape(wanted) + after)


@lru_cache(maxsize=1)
def _stages() -> tuple[Stage, ...]:
    source = wordnet()
    return (*STAGES, by_synonyms(*source)) if source else STAGES
