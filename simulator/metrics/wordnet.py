"""Synonyms of English words from WordNet (Miller, 1995), where NLTK and its data are installed."""

from collections.abc import Collection
from functools import lru_cache
from importlib import import_module
from typing import Any

from simulator.metrics.meteor import Synonyms


@lru_cache(maxsize=1)
def wordnet() -> tuple[str, Synonyms] | None:
    """Name with version, and the synonyms of a word; None where there is no NLTK or no WordNet."""
    try:
        corpus: Any = import_module("nltk.corpus").wordnet
        name = f"wordnet-{corpus.get_version()}"
    except (ImportError, LookupError, OSError):  # not installed, without data, or data that it may not read
        return None

    @lru_cache(maxsize=65536)
    def synonyms(word: str) -> Collection[str]:
        lemmas = (lemma.name() for synset in corpus.synsets(word) for lemma in synset.lemmas())
        return frozenset(lemma for lemma in lemmas if "_" not in lemma)

    return name, synonyms
