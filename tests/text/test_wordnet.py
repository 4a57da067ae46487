"""WordNet as a source of synonyms: used where it is, done without where it is not."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from simulator.text import overlap
from simulator.text.meteor import data_at_hand, wordnet


class Corpus:
    """What NLTK offers as its corpus: words by meaning, or the error of one that is not there."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.meanings = {"car": [["car", "automobile", "motor_car"], ["car", "railcar"]]}

    def get_version(self) -> str:
        if self.error:
            raise self.error
        return "3.0"

    def synsets(self, word: str) -> list[Any]:
        return [
            SimpleNamespace(lemmas=lambda names=names: _lemmas(names))
            for names in self.meanings.get(word, [])
        ]


def _lemmas(names: list[str]) -> list[Any]:
    return [SimpleNamespace(name=lambda each=each: each) for each in names]


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[None]:
    """NLTK with this corpus, or no NLTK; what was found before is forgotten, and what is found here too."""
    corpus = SimpleNamespace(wordnet=request.param) if request.param else None
    monkeypatch.setitem(sys.modules, "nltk.corpus", corpus)
    for cache in (wordnet, overlap._stages):
        cache.cache_clear()
    yield
    for cache in (wordnet, overlap._stages):
        cache.cache_clear()


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    "installed", [None, Corpus(LookupError("no data")), Corpus(PermissionError("hard link"))], indirect=True
)
def test_without_nltk_or_its_data_there_are_no_synonyms() -> None:
    """Nothing is raised and nothing is fetched; METEOR says that it went by exact words and stems."""
    assert wordnet() is None
    found = overlap.meteor("car", ["automobile"])
    assert (found.value, found.variant) == (0, "exact+stem")


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("installed", [Corpus()], indirect=True)
def test_the_synonyms_of_all_meanings_come_with_the_version() -> None:
    """Single words only; METEOR uses them where they are, and says so."""
    source = wordnet()
    assert source is not None
    name, synonyms = source

    assert name == "wordnet-3.0"
    assert synonyms("car") == {"car", "automobile", "railcar"}
    assert synonyms("車") == frozenset()
    found = overlap.meteor("car", ["automobile"])
    assert (found.value, found.variant) == (0.5, "exact+stem+wordnet-3.0")


def test_nltk_is_not_loaded_where_it_would_find_no_wordnet(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Loading it takes seconds and much memory; its data may also be where NLTK_DATA says."""
    monkeypatch.delenv("NLTK_DATA", raising=False)
    if data_at_hand():
        pytest.skip("WordNet is installed here")
    monkeypatch.delitem(sys.modules, "nltk.corpus", raising=False)
    wordnet.cache_clear()

    assert wordnet() is None
    assert "nltk.corpus" not in sys.modules

    (tmp_path / "corpora").mkdir()
    (tmp_path / "corpora" / "wordnet.zip").touch()
    monkeypatch.setenv("NLTK_DATA", f"/nowhere:{tmp_path}")
    assert data_at_hand()
