"""What add-ons show of a run; the module that makes it is loaded only for a run that has it."""

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from simulator.core.document import Section
from simulator.core.translations import Words
from simulator.core.types import Language, Results
from simulator.stats.figures import Summary

# By the note of the run that asks for it: the module and the function that make the text or section.
LOAD, HARNESS = "load", "harness"
FEATURES = {
    LOAD: ("simulator.addons.load.report", "load_text"),
    HARNESS: ("simulator.addons.lm_eval.report", "section"),
}
# For every run of dialogues.
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
    """The result of a load rehearsal, in words."""

    title: str
    headline: str
    note: str
    facts: tuple[LoadFact, ...]
    cautions: tuple[str, ...]


def load_text(results: Results, summary: Summary, words: Words) -> LoadText | None:
    """The result of a load rehearsal in words; None for any other run."""
    text: LoadText | None = None
    if LOAD in results.notes:
        text = _function(FEATURES[LOAD])(results, summary, words)
    return text


def load_block(results: Results, summary: Summary, words: Words) -> Any:
    """The same for the page, with answer times over the run as a picture; None for any other run."""
    return _function(LOAD_BLOCK)(results, summary, words) if LOAD in results.notes else None


def harness_section(results: Results, language: Language) -> Section | None:
    """What lm_eval measured; None for a run without it."""
    section: Section | None = None
    if HARNESS in results.notes:
        section = _function(FEATURES[HARNESS])(results, language)
    return section


def consistency_line(results: Results, language: Language) -> str | None:
    """One sentence where the bot told customers different things; None where it did not."""
    line: str | None = None if results.run.asks_once else _function(CONSISTENCY)(results, language)
    return line


def _function(place: tuple[str, str]) -> Callable[..., Any]:
    module, name = place
    function: Callable[..., Any] = getattr(import_module(module), name)
    return function
