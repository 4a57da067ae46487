"""Answers without a model: the sentences of the retrieved passages that say most of the question."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from rag_adapters._ngrams import Grams, grams
from simulator import Passage

MOST_SENTENCES = 3

_BULLET = re.compile(r"^\s*(?:[-*・]|\d+[.)])\s+")
_HEADING = re.compile(r"^\s*#+\s")
_SENTENCE_END = re.compile(r"(?<=[。！？])(?![」』）])\s*|(?<=[.!?])\s+(?=[\"“(A-Z0-9])")
# A further sentence has to add this share of the question to what is said already.
_WORTH_SAYING = 0.12

Weigh = Callable[[str], Grams]


@dataclass(frozen=True)
class Extract:
    """The chosen sentences, in the order in which the passages have them.

    `coverage` is the share (0..1) of the question, weighed by rarity, that they repeat.
    """

    sentences: tuple[str, ...]
    coverage: float


@dataclass(frozen=True)
class _Sentence:
    text: str
    follows: bool  # whether it goes on where the candidate before it ended
    says: NDArray[np.bool_]  # which n-grams of the question it has
    trust: float  # the similarity of its passage beside that of the best one


def sentences(text: str) -> list[list[str]]:
    """The sentences of a Markdown text, per line that has any; headings and bullet marks are left out."""
    lines = [_BULLET.sub("", line).strip() for line in text.splitlines() if not _HEADING.match(line)]
    return [[part.strip() for part in _SENTENCE_END.split(line) if part.strip()] for line in lines if line]


def extract(question: str, passages: Sequence[Passage], weigh: Weigh) -> Extract:
    """One to three sentences that repeat most of the question, and what follows the first of them."""
    asked = weigh(question)
    total = float(asked.weights.sum())
    candidates = _candidates(asked, passages)
    if not candidates or not total:
        return Extract((), 0.0)
    shares = asked.weights / total
    chosen = _covering(shares, candidates)
    coverage = float(shares[np.any(np.stack([candidates[at].says for at in chosen]), axis=0)].sum())
    after = chosen[0] + 1
    if len(chosen) < MOST_SENTENCES and after < len(candidates) and candidates[after].follows:
        chosen.append(after)
    return Extract(tuple(candidates[at].text for at in sorted(set(chosen))), coverage)


def _covering(shares: NDArray[np.float32], candidates: Sequence[_Sentence]) -> list[int]:
    """Greedy: always the sentence that adds most to what is said already; ties go to the first."""
    said = np.zeros(len(shares), dtype=np.bool_)
    chosen: list[int] = []
    while len(chosen) < MOST_SENTENCES:
        gains = [float(shares[each.says & ~said].sum()) * each.trust for each in candidates]
        best = int(np.argmax(gains))
        if chosen and gains[best] < _WORTH_SAYING:
            break
        chosen.append(best)
        said |= candidates[best].says
    return chosen


def _candidates(asked: Grams, passages: Sequence[Passage]) -> list[_Sentence]:
    best = max((passage.score or 0.0 for passage in passages), default=0.0)
    return [
        _Sentence(text, follows, np.isin(asked.codes, codes), (passage.score or 0.0) / best if best else 0.0)
        for passage in passages
        for text, follows, codes in _counted(passage.text)
    ]


@lru_cache(1_024)
def _counted(text: str) -> tuple[tuple[str, bool, NDArray[np.uint64]], ...]:
    """The sentences of a passage with their n-grams; the same few passages are asked for all the time."""
    return tuple(
        (sentence, position > 0, grams(sentence).codes)
        for line in sentences(text)
        for position, sentence in enumerate(line)
    )
