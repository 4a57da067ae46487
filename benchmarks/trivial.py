"""Scorers that count words and need no model: a judge that does not beat them has not been shown to read."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from simulator.core.types import Language
from simulator.lab.judging.figures import Scorer, ranked
from simulator.results.draws import Draws
from simulator.runner.labelled_answers import LabelledAnswer, labelled_context
from simulator.text.metrics import lcs_overlap
from simulator.text.segments import tokens


def answer_length(answer: str) -> float:
    """How long the answer is: characters without blanks."""
    return float(len("".join(answer.split())))


def token_precision(answer: str, passages: Iterable[str], language: Language) -> float:
    """The share (0..1) of the answer's words (Japanese: pairs of characters) that are in the passages."""
    words = _units(answer, language)
    units = set(_units("\n".join(passages), language))
    return sum(unit in units for unit in words) / len(words) if words else 0.0


def token_recall(answer: str, references: Iterable[str], language: Language) -> float:
    """The share (0..1) of the nearest reference's words (Japanese: pairs of characters) in the answer."""
    words = set(_units(answer, language))
    units_of_references = [_units(reference, language) for reference in references]
    return max(
        (sum(unit in words for unit in units) / len(units) for units in units_of_references if units),
        default=0.0,
    )


def rouge_l(answer: str, references: Iterable[str]) -> float:
    """ROUGE-L F1 (Lin, 2004; 0..1) with the nearest reference, over words; in Japanese over characters."""
    words = tokens(answer)
    return max((lcs_overlap(words, tokens(reference)).f for reference in references), default=0.0)


def _units(text: str, language: Language) -> Sequence[str | tuple[str, str]]:
    """Words; in Japanese pairs of characters, and the one character of a text that has no more."""
    words = tokens(text)
    return list(pairwise(words)) or words if language == "ja" else words


def scores_of(row: LabelledAnswer) -> dict[str, float]:
    """By scorer, what each gives an answer, as far as the row has something to compare with."""
    case, answer, references = row.case, row.case.answer or "", labelled_context(row).references
    scores = {"length": answer_length(answer)}
    if case.contexts:
        scores["token_precision"] = token_precision(answer, case.contexts, case.language)
    if references:
        scores["token_recall"] = token_recall(answer, references, case.language)
        scores["rouge_l"] = rouge_l(answer, references)
    return scores


def measured(rows: Sequence[tuple[LabelledAnswer, bool]], seed: int) -> list[Scorer]:
    """Every scorer on the rows that it has, which people call good or not."""
    values: dict[str, list[tuple[float, bool, str]]] = {}
    for row, is_good in rows:
        for name, score in scores_of(row).items():
            values.setdefault(name, []).append((score, is_good, row.group))
    scorers = []
    for name, having in values.items():
        scores, good, groups = zip(*having, strict=True)
        scorers.append(ranked(name, scores, good, Draws(groups, seed=seed)))
    return scorers
