"""The parts of a report that only some kinds of data have, in the order in which they are shown."""

import weakref
from collections.abc import Callable

from simulator.core.types import Language, Results
from simulator.reports import bot_usage, choices, classes, conflicts, contest, outputs, skipped
from simulator.reports.extras import harness_section
from simulator.reports.section import Section

# Each looks at the run, and gives None where it has nothing to tell of it.
SOURCES: tuple[Callable[[Results, Language], Section | None], ...] = (
    conflicts.section,
    contest.section,
    skipped.section,
    outputs.section,
    classes.section,
    choices.section,
    harness_section,
    bot_usage.section,
)


class _Latest:
    """The sections of the run that was looked at last: every view of it shows the same ones."""

    def __init__(self) -> None:
        self._run: Callable[[], Results | None] = lambda: None
        self._language: Language | None = None
        self._found: tuple[Section, ...] = ()

    def of(self, results: Results, language: Language) -> tuple[Section, ...]:
        if self._run() is not results or self._language != language:
            told = (make(results, language) for make in SOURCES)
            self._found = tuple(section for section in told if section is not None)
            self._run, self._language = weakref.ref(results), language
        return self._found


_LATEST = _Latest()


def sections(results: Results, language: Language) -> tuple[Section, ...]:
    """What there is to tell of this run beside what is told of every run."""
    return _LATEST.of(results, language)
