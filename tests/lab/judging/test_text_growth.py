"""The bench of hostile texts: it knows every function over text, and tells linear growth from a square."""

import inspect
import pkgutil
import re
from importlib import import_module

from benchmarks.text_growth import TEXTS, functions
from simulator import text as package

# What takes no text of a stranger, or only what another function of the same module has cut out of one.
NO_TEXT_OF_STRANGERS = frozenset(
    {"letters", "right_letter"}
    | {"digits_of", "f_measure", "overlap", "ngram_overlap", "char_ngram_overlap"}
    | {"lcs_length", "lcs_overlap", "wording", "percent"}
)


def test_every_function_over_text_is_measured() -> None:
    """A new public function is measured, or named here as one that reads nobody's text."""
    measured = {re.split("[. ]", name)[1] for name in functions()}
    public = {
        name
        for each in pkgutil.iter_modules(package.__path__)
        for module in [import_module(f"simulator.text.{each.name}")]
        for name, function in inspect.getmembers(module, callable)
        if getattr(function, "__module__", "") == module.__name__
        and not inspect.isclass(function)
        and not name.startswith("_")
    }

    assert public - measured == NO_TEXT_OF_STRANGERS


def test_every_function_takes_every_text() -> None:
    """None of them raises on a hostile text, however short."""
    for use in functions().values():
        for text in TEXTS.values():
            use(text(60))
