"""Scorers of three lines: what a judge has to beat before its grades add anything."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from simulator.core.types import Language
from simulator.text.overlap import lcs_length
from simulator.text.segments import tokens

Unit = str | tuple[str, str]


def length(answer: str) -> float:
    """How long the answer is: characters without blanks."""
    return float(len("".join(answer.split())))


def token_precision(answer: str, passages: Iterable[str], language: Language) -> float:
    """The share (0..1) of the answer's words (Japanese: pairs of characters) that are in the passages."""
    said = units(answer, language)
    known = set(units("\n".join(passages), language))
    return sum(unit in known for unit in said) / len(said) if said else 0.0


def token_recall(answer: str, references: Iterable[str], language: Language) -> float:
    """The share (0..1) of the nearest reference's words (Japanese: pairs of characters) in the answer."""
    said = set(units(answer, language))
    wanted = [units(reference, language) for reference in references]
    return max((sum(unit in said for unit in each) / len(each) for each in wanted if each), default=0.0)


def rouge_l(answer: str, references: Iterable[str]) -> float:
    """ROUGE-L F1 (Lin, 2004; 0..1) with the nearest reference, over words; in Japanese over characters."""
    said = tokens(answer)
    return max((_f1(said, tokens(reference)) for reference in references), default=0.0)


def units(text: str, language: Language) -> Sequence[Unit]:
    """Words; in Japanese pairs of characters, and the one character of a text that has no more."""
    found = tokens(text)
    return list(pairwise(found)) or found if language == "ja" else found


def _f1(one: Sequence[str], other: Sequence[str]) -> float:
    common = lcs_length(one, other)
    return 2 * common / (len(one) + len(other)) if common else 0.0
