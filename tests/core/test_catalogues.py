"""The catalogues of the program's own sentences, against the source they are made of."""

import re
import tomllib
from functools import cache
from pathlib import Path

import pytest
from babel.messages import Catalog
from babel.messages.catalog import Message

from scripts.messages import LOCALES, catalogue, compiled, extracted, with_variants
from simulator.core.shelves import ROOT

CATALOGUES = sorted(LOCALES.rglob("*.po"))
pytestmark = pytest.mark.parametrize("path", CATALOGUES, ids=lambda path: path.parent.parent.name)
PLACE = re.compile(r"(?<!\{)\{(\w+(?::[^{}]*)?)\}(?!\})")


@cache
def source() -> Catalog:
    return extracted()


def sentences(known: Catalog) -> dict[tuple[str | None, str], Message]:
    """By context and English; of a plural, the English for one."""
    return {(message.context, texts(message.id)[0]): message for message in known if message.id}


def texts(of_message: str | list[str] | tuple[str, ...] | None) -> tuple[str, ...]:
    return tuple(of_message) if isinstance(of_message, (list, tuple)) else (of_message or "",)


def test_every_sentence_of_the_source_has_a_translation(path: Path) -> None:
    """None is missing, doubtful or out of date; `make messages` tells which are."""
    known = sentences(catalogue(path))
    wanted = sentences(with_variants(source(), catalogue(path)))

    assert sorted(wanted.keys() ^ known.keys(), key=str) == []
    assert [english for english, message in known.items() if not all(texts(message.string))] == []
    assert [english for english, message in known.items() if message.fuzzy] == []


def test_a_translation_has_the_places_of_its_sentence(path: Path) -> None:
    """No other variable; a format is one of the English, or the value itself as a part of a sentence."""
    for (_context, english), message in sentences(catalogue(path)).items():
        places = {place for text in texts(message.id) for place in PLACE.findall(text)}
        names = {place.partition(":")[0] for place in places}
        for place in PLACE.findall("".join(texts(message.string))):
            name, _colon, form = place.partition(":")
            assert name in names, english
            assert place in places or form in ("", "clause", "sentence"), english


def test_the_compiled_catalogue_is_that_of_the_text(path: Path) -> None:
    """A checkout runs without a build, so it is committed: `make messages` writes it."""
    assert path.with_suffix(".mo").read_bytes() == compiled(catalogue(path))


EXTRA = re.compile(r"(?:extra|extra の|追加機能) ['「`]?([a-z][a-z-]+)['」`]?(?=[):）]|：|。|の| holds)")


def test_extras_are_called_as_they_are_installed(path: Path) -> None:
    """A name that pip does not know would be ignored with a warning."""
    there = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    said = {
        name
        for message in catalogue(path)
        for text in (*texts(message.id), *texts(message.string))
        for name in EXTRA.findall(text)
    }

    assert said <= there.keys()
    assert path.parts[-3] == "en" or {"dask", "lm-eval"} <= said


def test_pages_that_are_named_are_there(path: Path) -> None:
    """In a translation, in the language of the reader."""
    for (_context, english), message in sentences(catalogue(path)).items():
        for text in (english, *texts(message.string)):
            for page in re.findall(r"\bdocs/[\w.]+\.md\b", text):
                assert (ROOT / page).is_file(), page
        if "docs/" in english and ".md" in english and path.parts[-3] == "ja":
            assert ".ja.md" in "".join(texts(message.string)), english
