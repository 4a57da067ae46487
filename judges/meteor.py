"""METEOR: words aligned with the reference, less a penalty for scattered ones (NLTK's).

There are several METEORs, and their values differ. This is NLTK's, with alpha 0.9, beta 3 and gamma 0.5:
words are paired when they are the same, have the same stem (Porter), or are synonyms in WordNet, where its
data is installed. It is not METEOR 1.5, which knows paraphrases and function words.
"""

from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

from simulator.extending import GradingContext, InputError, Score, _, metrics, normalise

from ._text_metrics import graded

if find_spec("nltk") is None:
    raise InputError(_("the judge meteor needs the extra 'metrics': pip install 'nltk>=3.10'."))

SCALE = (0, 1)


def meteor(context: GradingContext, references: tuple[str, ...] = ()) -> Score:
    """METEOR (0..1) against the nearest reference (Lavie and Agarwal, 2007); the detail names the variant.

    Identical texts of n tokens have 1 - 0.5 / n³, not 1.
    """
    return graded("meteor", context, references, compared)


def compared(
    answer: str, references: Sequence[str], cut: Callable[[str], list[str]] = normalise.words
) -> metrics.Measured:
    """The METEOR with the reference that gives the most, and what it is made of; `cut` gives the words."""
    # Takes a second or two, so not before it is needed.
    from nltk.translate.meteor_score import align_words, single_meteor_score

    variant, wordnet = synonyms()
    ours, theirs = cut(answer), [cut(reference) for reference in references]
    values = [single_meteor_score(words_of_reference, ours, wordnet=wordnet) for words_of_reference in theirs]
    at = max(range(len(values)), key=values.__getitem__)
    pairs, _ours, _theirs = align_words(ours, theirs[at], wordnet=wordnet)
    # Pieces without a gap in either text.
    chunks = bool(pairs) + sum(
        (place + 1, partner + 1) != following for (place, partner), following in pairwise(pairs)
    )
    precision, recall = len(pairs) / max(1, len(ours)), len(pairs) / max(1, len(theirs[at]))
    mean = precision * recall / (0.9 * precision + 0.1 * recall) if pairs else 0.0
    parts = metrics.Overlap(precision, recall, mean, len(pairs))
    return metrics.Measured(
        values[at], at, parts, variant, normalise.TOKENIZER, len(ours), len(theirs[at]), chunks
    )


class NoSynonyms:
    """In place of WordNet where its data is missing."""

    def synsets(self, word: str) -> tuple[()]:
        """None of any word."""
        return ()


@cache
def synonyms() -> tuple[str, Any]:
    """The name of the variant, and NLTK's WordNet; without its data none is fetched, and no word has any."""
    from nltk.corpus import wordnet

    try:
        return f"exact+stem+wordnet-{wordnet.get_version()}", wordnet
    except (LookupError, OSError):
        return "exact+stem", NoSynonyms()
