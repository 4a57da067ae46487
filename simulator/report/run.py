"""What a merged run says of itself, in words for every report."""

import weakref
from collections.abc import Callable
from pathlib import Path

from simulator.core.document import Cell, Section, Table, count
from simulator.core.replies import FIFTHS, share_of
from simulator.core.templates import Texts
from simulator.core.translations import Words, goal, plain, told_in
from simulator.core.types import Language, Results
from simulator.data.datasets import SkippedRows
from simulator.report import features
from simulator.report.extras import harness_section
from simulator.report.gate import TEXT, condition_text, decision_text, range_text, rests_on, value_text
from simulator.runner.merge import joined_of
from simulator.stats.figures import Summary
from simulator.stats.gate import CheckedCondition, Gate

TELLING_TEXT = Texts(Path(__file__).with_name("merging.toml"))


def merged_note(results: Results, language: Language) -> tuple[str, bool]:
    """That the run was put together, and what is wrong with it: that is an alarm. Empty for any other run."""
    told = joined_of(results.notes)
    if told is None:
        return "", False
    said = [TELLING_TEXT(language, "merged", n=str(len(told.runs)))]
    gone = told.missing if not told.planned or _has_open(results) else ()
    if gone:
        said.append(TELLING_TEXT(language, "missing", shards=", ".join(gone)))
    if told.differences:
        listed = TELLING_TEXT(language, "stop").join(told_in(language, each) for each in told.differences)
        said.append(TELLING_TEXT(language, "differences", differences=listed))
    return "".join(said) if language == "ja" else " ".join(said), len(said) > 1


def _has_open(results: Results) -> bool:
    return any(conversation.ended is None for conversation in results.conversations)


def lowest(results: Results, summary: Summary) -> float | None:
    """The lowest possible score (0..1); None where the deciding judge's scale reaches down to 0."""
    scales = (s.scale for s in results.scores if s.judge == summary.primary and s.state == "scored")
    return share_of(FIFTHS[0], FIFTHS) if next(scales, None) == FIFTHS else None


def legend(results: Results, summary: Summary, words: Words) -> str:
    """What a reader of the figures is told of it; empty where the scale reaches down to 0."""
    least = lowest(results, summary)
    return "" if least is None else words("lowest", n=goal(least))


def conditions_table(gate: Gate, words: Words) -> Table | None:
    """A row for each condition: verdict, figure, range and what it rests on; None for a single one."""
    if len(gate.conditions) < 2:
        return None
    columns = ("condition", "result", "value", "range", "rests_on")
    return Table(
        name="conditions",
        title=TEXT(words.language, "title"),
        columns=tuple(TEXT(words.language, column) for column in columns),
        rows=tuple(_row(checked, gate.confidence, words) for checked in gate.conditions),
    )


def _row(checked: CheckedCondition, confidence: float | None, words: Words) -> tuple[Cell, ...]:
    added = TEXT(words.language, "by_default") if checked.by_default else ""
    return (
        Cell(text=condition_text(checked, words), note=added),
        Cell(text=decision_text(checked, words, confidence), red=checked.decision == "missed"),
        Cell(text=value_text(checked, words), number=checked.value),
        Cell(text=range_text(checked, words)),
        Cell(text=rests_on(checked, words)),
    )


SKIPPED_TEXT = Texts(Path(__file__).with_name("skipped.toml"))
# So many reasons are listed; the rows are in the run file and in --json.
SHOWN = 20
# Of one reason, so many places.
PLACES = 4


def section(results: Results, language: Language) -> Section | None:
    """What was left out; None where every row was asked."""
    skipped = SkippedRows.of(results.notes)
    if not skipped.count:
        return None
    first = plain(told_in(language, str(skipped.listed[0])))
    told = {"rows": f"{skipped.rows:,}", "count": f"{skipped.count:,}", "first": first}
    left = skipped.count - len(skipped.listed)
    more = (SKIPPED_TEXT(language, "more", n=f"{left:,}"),) if left > 0 else ()
    return Section(
        key="rows_skipped",
        title=SKIPPED_TEXT(language, "title"),
        line=SKIPPED_TEXT(language, "line", **told),
        tables=(_table(skipped, language),),
        notes=(*more, SKIPPED_TEXT(language, "counted")),
        figures=skipped.as_json(),
    )


def _table(skipped: SkippedRows, language: Language) -> Table:
    """What is wrong, with how many rows, and where these stand."""
    found: dict[str, list[str]] = {}
    for row in skipped.listed:
        found.setdefault(row.why, []).append(row.place)
    rows = tuple(
        (Cell(text=plain(told_in(language, why))), count(len(places)), Cell(text=_places(places, language)))
        for why, places in list(found.items())[:SHOWN]
    )
    columns = tuple(SKIPPED_TEXT(language, key) for key in ("why", "rows", "where"))
    return Table(name="rows_skipped", title="", columns=columns, rows=rows)


def _places(places: list[str], language: Language) -> str:
    told = [told_in(language, place) for place in places[:PLACES]]
    return SKIPPED_TEXT(language, "comma").join(told) + (" …" if len(places) > PLACES else "")


# Each looks at the run, and gives None where it has nothing to tell of it.
SOURCES: tuple[Callable[[Results, Language], Section | None], ...] = (
    features.conflicts_section,
    features.contest_section,
    section,
    features.outputs_section,
    features.classes_section,
    features.choices_section,
    harness_section,
    features.section,
)


class _LatestSections:
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


_LATEST = _LatestSections()


def sections(results: Results, language: Language) -> tuple[Section, ...]:
    """What there is to tell of this run beside what is told of every run."""
    return _LATEST.of(results, language)
