"""Synonyms of English words from WordNet (Miller, 1995), where NLTK and its data are installed."""

import os
import sys
from collections.abc import Collection
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

from simulator.metrics.meteor import Synonyms

_SHARED = ("/usr/share", "/usr/local/share", "/usr/lib", "/usr/local/lib")


@lru_cache(maxsize=1)
def wordnet() -> tuple[str, Synonyms] | None:
    """Name with version, and the synonyms of a word; None where there is no NLTK or no WordNet."""
    if "nltk.corpus" not in sys.modules and not data_at_hand():
        return None
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


def data_at_hand() -> bool:
    """Whether NLTK would find WordNet: to import it for nothing takes up to two seconds and 200 MB."""
    if sys.platform == "win32":  # where it may be on any drive
        return True
    own = [f"{sys.prefix}/{part}".rstrip("/") for part in ("", "share", "lib")]
    folders = [f"{folder}/nltk_data" for folder in ("~", *own, *_SHARED)]
    folders += filter(None, os.environ.get("NLTK_DATA", "").split(os.pathsep))
    # Not Path.expanduser, which fails where a user has no home.
    homes = [Path(os.path.expanduser(folder)) for folder in folders]  # noqa: PTH111
    return any((home / "corpora" / name).exists() for home in homes for name in ("wordnet", "wordnet.zip"))
