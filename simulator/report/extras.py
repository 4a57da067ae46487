"""What only some runs have to tell, by modules that are named here and loaded for such a run alone."""

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from simulator.core.document import Section
from simulator.core.translations import Words
from simulator.core.types import Language, Results
from simulator.stats.figures import Summary

# A note of the run, and the module and function that make of it what reports show.
LOAD, HARNESS = "load", "harness"
FEATURES = {
    LOAD: ("simulator.addons.load.report", "load_text"),
    HARNESS: ("simulator.addons.lm_eval.report", "section"),
}
# The same for every run of dialogues.
CONSISTENCY = ("simulator.addons.consistency.report", "consistency_line")
# The load rehearsal's block on the page, with its picture.
LOAD_BLOCK = ("simulator.addons.load.report", "block")


class LoadFact(NamedTuple):
    """A figure of a load rehearsal; `item` is its name among other figures, `p95` is in seconds."""

    key: str
    name: str
    value: str
    item: str
    p95: float | None = None
    p95_text: str = ""


class LoadText(NamedTuple):
    """What a load rehearsal came to, in words."""

    title: str
    headline: str
    note: str
    facts: tuple[LoadFact, ...]
    cautions: tuple[str, ...]


def load_text(results: Results, summary: Summary, words: Words) -> LoadText | None:
    """What a load rehearsal came to; None for any other run."""
    found: LoadText | None = (
        _function(FEATURES[LOAD])(results, summary, words) if LOAD in results.notes else None
    )
    return found


def load_block(results: Results, summary: Summary, words: Words) -> Any:
    """The same for the page, with answer times over the run as a picture; None for any other run."""
    return _function(LOAD_BLOCK)(results, summary, words) if LOAD in results.notes else None


def harness_section(results: Results, language: Language) -> Section | None:
    """What lm_eval measured; None in a run that it has not measured."""
    found: Section | None = (
        _function(FEATURES[HARNESS])(results, language) if HARNESS in results.notes else None
    )
    return found


def consistency_line(results: Results, language: Language) -> str | None:
    """One sentence where customers were told different things; None where they were not."""
    found: str | None = None if results.run.asks_once else _function(CONSISTENCY)(results, language)
    return found


def _function(named: tuple[str, str]) -> Callable[..., Any]:
    module, name = named
    function: Callable[..., Any] = getattr(import_module(module), name)
    return function
