"""What add-ons show of a run; the module that makes it is loaded only for a run that has it."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from simulator.core.document import Section
from simulator.core.types import Language, Results
from simulator.stats.figures import Summary

# By the note of the run that asks for it: the module and the function that make its section.
LOAD, HARNESS = "load", "harness"
FEATURES = {
    LOAD: ("simulator.addons.load.report", "section"),
    HARNESS: ("simulator.addons.lm_eval.report", "section"),
}
# For every run of dialogues.
CONSISTENCY = ("simulator.addons.consistency.report", "consistency_line")


def load_section(results: Results, summary: Summary, language: Language) -> Section | None:
    """What a load rehearsal measured; None for any other run."""
    section: Section | None = None
    if LOAD in results.notes:
        section = _function(FEATURES[LOAD])(results, summary, language)
    return section


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
